"""What a kernel name says: the answer of `decode`, and the parts that it is made of."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from ptx.profiling.kernels import words

if TYPE_CHECKING:
    from collections.abc import Mapping

FieldValue: TypeAlias = "str | int | bool | tuple[str, ...]"
"""The value of a canonical field; bytes, elements and counts are ints."""


@dataclass(frozen=True)
class KernelName:
    """What one kernel name states.

    A field is there only if the name states it, or a cited source proves it for every name of that
    form. `epilogue_supported` is what the binary can do; `epilogue` is what the launch does.

    Attributes:
        name: the name as given.
        family: the generator or library template, such as `cublas_nvjet`; `unknown` if none fits.
        vendor: nvidia, amd, intel or ascend; None where the name does not tell.
        fields: the canonical fields and their values.
        spans: where in `name` each field was read, as (start, end).
        notes: what was not understood, not stated or only probable.
        complete: the whole name was seen and every part of it was understood.
        rule: what the reading rests on: the published source, or that it was inferred.
    """

    name: str
    family: str
    vendor: str | None
    fields: Mapping[str, FieldValue] = field(hash=False)
    spans: Mapping[str, tuple[int, int]] = field(hash=False)
    notes: tuple[str, ...]
    complete: bool
    rule: str

    @cached_property
    def short(self) -> str:
        """Returns at most 34 columns, for tables."""
        return words.short(self)

    @cached_property
    def category(self) -> str:
        """Returns one letter for what the kernel does.

        G matmul and convolution, A attention, P pointwise, R reduction, norm, softmax and pooling,
        C copy, cast, cat and gather, M memcpy and memset, X communication, O other.
        """
        return words.category(self)

    @property
    def text(self) -> str:
        """Returns one sentence for a reader who does not know the grammar."""
        return words.sentence(self)


@dataclass(frozen=True)
class Part:
    """One piece of a name and its meaning.

    Attributes:
        start: where the piece starts in the name.
        end: where it ends.
        text: the piece itself.
        meaning: what it says, in words.
        fields: the canonical fields that were read from it.
    """

    start: int
    end: int
    text: str
    meaning: str
    fields: tuple[str, ...]
