"""The values of an op's arguments, read out of the text that the profiler writes for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from ptx.profiling.tensors.inputs import ABSENT_INPUT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ptx.profiling.tensors.inputs import Input, Tensor

SCALAR_TYPES = {
    0: "u8", 1: "i8", 2: "i16", 3: "i32", 4: "i64", 5: "f16", 6: "f32", 7: "f64", 8: "c32",
    9: "c64", 10: "c128", 11: "bool", 12: "qi8", 13: "qu8", 14: "qi32", 15: "bf16",
    23: "f8e5m2", 24: "f8e4m3", 25: "f8e5m2fnuz", 26: "f8e4m3fnuz", 27: "u16", 28: "u32",
    29: "u64", 44: "f8e8m0", 45: "f4e2m1x2",
}  # fmt: skip
"""The word for the numbers of c10::ScalarType, by which dtype arguments are recorded."""


class Arguments:
    """An op's inputs by position; every getter returns None for a value that is not recorded."""

    def __init__(self, inputs: Sequence[Input]) -> None:
        self._inputs = inputs

    def __len__(self) -> int:
        """Returns the number of arguments recorded."""
        return len(self._inputs)

    @property
    def recorded(self) -> bool:
        """Returns whether the trace has values at all; old profilers write only their types."""
        return any(item.value is not None for item in self._inputs)

    def tensor(self, index: int) -> Tensor | None:
        """Returns the tensor at a position."""
        return self._at(index).tensor

    def number(self, index: int) -> int | None:
        """Returns a whole number; booleans are none."""
        value = self._value(index)
        return value if type(value) is int else None

    def numbers(self, index: int) -> tuple[int, ...] | None:
        """Returns a list of whole numbers."""
        value = self._value(index)
        if not isinstance(value, list) or any(type(item) is not int for item in value):
            return None
        return tuple(value)

    def one_or_more(self, index: int) -> tuple[int, ...] | None:
        """Returns a list of whole numbers, of one where a single number is given."""
        one = self.number(index)
        return self.numbers(index) if one is None else (one,)

    def flag(self, index: int) -> bool | None:
        """Returns a boolean, which the profiler writes as `True` or `False`."""
        return {"True": True, "False": False}.get(self._at(index).value or "")

    def dtype(self, index: int) -> str | None:
        """Returns the word of a dtype argument."""
        number = self.number(index)
        return None if number is None else SCALAR_TYPES.get(number)

    def _value(self, index: int) -> object:
        text = self._at(index).value
        if text is None:
            return None
        try:
            return orjson.loads(text)  # a number or a list of them; other texts do not parse
        except orjson.JSONDecodeError:
            return None

    def _at(self, index: int) -> Input:
        return self._inputs[index] if index < len(self._inputs) else ABSENT_INPUT
