"""Short forms of the names in a trace, safe to show."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from ptx.profiling.kernels.decode import decode
from ptx.profiling.sanitise import clean

if TYPE_CHECKING:
    from ptx.tui.state.rows import Role

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
FRAME = re.compile(r"(?P<path>.*?)\((?P<line>\d+)\): (?P<function>.*)\Z")
_LONGEST = 1000  # what a row can show fits into far less
CATEGORY_ROLES: dict[str, Role] = {
    "G": "matmul",
    "A": "attention",
    "P": "pointwise",
    "R": "reduce",
    "C": "copy",
    "M": "memory",
    "X": "communication",
    "O": "other",
}


@lru_cache(maxsize=1 << 16)
def short_op(name: str) -> str:
    """Returns an op, module, annotation or frame as the tree shows it."""
    name = clean(name[:_LONGEST])
    for prefix in ("aten::", "nn.Module: ", "autograd::engine::evaluate_function: "):
        if name.startswith(prefix):
            return name[len(prefix) :]
    frame = FRAME.match(name)
    if frame is not None:
        return f"{frame['path'].rpartition('/')[2]}:{frame['line']} {frame['function']}"
    return _ADDRESS.sub("", name)


def short_kernel(name: str) -> str:
    """Returns a kernel as rows show it: its category's letter and its short form."""
    kernel = decode(name, cut=False)
    return clean(f"{kernel.category} {kernel.short}")


def category_of(name: str) -> str:
    """Returns the letter of a kernel's category."""
    return decode(name, cut=False).category


def kernel_role(name: str) -> Role:
    """Returns the role that a kernel's category is drawn in."""
    return CATEGORY_ROLES[category_of(name)]
