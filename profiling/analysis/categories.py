"""What kind of work an activity is, by its name: the letters of the kernel grammar."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ptx.profiling.kernels.decode import decode

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ptx.profiling.structure.structure import Structure

CATEGORY_WORDS = {
    "G": "matmul",
    "A": "attention",
    "P": "pointwise",
    "R": "reduce",
    "C": "copy",
    "M": "memcpy",
    "X": "communication",
    "O": "other",
}
"""The word of each category's letter, in the order of the codes of `categories_of`."""
CATEGORY_LETTERS = "".join(CATEGORY_WORDS)


def categories_of(structure: Structure) -> NDArray[np.uint8]:
    """Returns the category of each activity as an index into `CATEGORY_LETTERS`."""
    table = structure.trace.table
    codes, slot = np.unique(table.name[structure.activities.event], return_inverse=True)
    letters = [decode(table.names[code], cut=False).category for code in codes.tolist()]
    return np.array([CATEGORY_LETTERS.index(letter) for letter in letters], np.uint8)[slot]
