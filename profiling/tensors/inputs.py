"""The inputs of an op as the profiler notes them: tensors, lists of tensors, values, nothing.

Four lists run side by side in an op's `args`: `Input Dims`, `Input Strides`, `Input type` and
`Concrete Inputs`. `[]` as dims means a 0-dimensional tensor, a value or an absent argument, and
only the type tells which. The lists may differ in length, and older profilers leave some out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, Literal, TypeAlias

import orjson

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from ptx.profiling.structure.structure import Structure

DTYPES = {
    "float": "f32", "double": "f64", "c10::Half": "f16", "c10::half": "f16",
    "c10::BFloat16": "bf16", "c10::bfloat16": "bf16", "bool": "bool",
    "signed char": "i8", "char": "i8", "unsigned char": "u8",
    "short": "i16", "short int": "i16", "unsigned short": "u16", "short unsigned int": "u16",
    "int": "i32", "unsigned int": "u32", "unsigned": "u32",
    "long": "i64", "long int": "i64", "long long": "i64", "__int64": "i64",
    "long unsigned int": "u64", "unsigned long": "u64", "unsigned long long": "u64",
    "unsigned __int64": "u64",
    "c10::complex<c10::Half>": "c32", "c10::complex<float>": "c64",
    "c10::complex<double>": "c128",
    "c10::Float8_e4m3fn": "f8e4m3", "c10::Float8_e5m2": "f8e5m2",
    "c10::Float8_e4m3fnuz": "f8e4m3fnuz", "c10::Float8_e5m2fnuz": "f8e5m2fnuz",
    "c10::Float8_e8m0fnu": "f8e8m0", "c10::Float4_e2m1fn_x2": "f4e2m1x2",
    "c10::qint8": "qi8", "c10::quint8": "qu8", "c10::qint32": "qi32",
}  # fmt: skip
"""The word of ptx for a scalar type as torch prints it (GCC's, Clang's and MSVC's spellings)."""

_ITEMSIZE = {
    "f64": 8, "f32": 4, "f16": 2, "bf16": 2, "i64": 8, "i32": 4, "i16": 2, "i8": 1, "u64": 8,
    "u32": 4, "u16": 2, "u8": 1, "bool": 1, "c32": 4, "c64": 8, "c128": 16, "f8e4m3": 1,
    "f8e5m2": 1, "f8e4m3fnuz": 1, "f8e5m2fnuz": 1, "f8e8m0": 1, "f4e2m1x2": 1, "qi8": 1,
    "qu8": 1, "qi32": 4,
}  # fmt: skip

REAL_PARTS = {"c32": "f16", "c64": "f32", "c128": "f64"}
"""The type of a complex number's two parts."""

# What the profiler writes for arguments that are no tensors; capitals tell `Bool` from `bool`.
_VALUE_TYPES = frozenset([
    "Scalar", "ScalarList", "Int", "Double", "Bool", "ComplexDouble", "String", "Device",
    "Generator", "Stream", "Enum", "SymInt", "SymFloat", "SymBool", "GenericList", "IntList",
    "DoubleList", "BoolList", "GenericDict", "Tuple", "Object",
])  # fmt: skip
_ABSENT_TYPES = frozenset(("", "None"))
_OPS_KEPT = 1 << 14

InputKind: TypeAlias = Literal["tensor", "tensor_list", "scalar", "absent"]


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor's scalar type and geometry: sizes and strides in elements.

    `dtype` is a word of `DTYPES`, torch's own text for a type outside it, and "" where the file
    does not say (inside tensor lists). `strides` is None where the file does not record them.
    """

    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None

    @property
    def itemsize(self) -> int | None:
        """Returns the bytes of one element, None for an unknown type."""
        return _ITEMSIZE.get(self.dtype)

    @property
    def numel(self) -> int:
        """Returns the number of elements that the shape has."""
        return prod(self.shape)

    @property
    def nbytes(self) -> int | None:
        """Returns the bytes of `numel` elements, None for an unknown type."""
        size = self.itemsize
        return None if size is None else self.numel * size

    @property
    def touched_bytes(self) -> int | None:
        """Returns the bytes of distinct memory behind the tensor, None for an unknown type.

        A dimension of stride 0 counts once, and windows that overlap no more than they span.
        Without recorded strides every element counts.
        """
        size = self.itemsize
        if size is None or self.strides is None or self.numel == 0:
            return self.nbytes
        dims = list(zip(self.shape, self.strides, strict=True))
        distinct = prod(n for n, stride in dims if stride != 0)
        span = 1 + sum((n - 1) * abs(stride) for n, stride in dims)
        return min(distinct, span) * size


@dataclass(frozen=True, slots=True)
class Input:
    """One argument of an op.

    `tensor` is set for the kind `tensor`, `tensors` for `tensor_list` (a list may be empty),
    `value` for a `scalar` whose value the file gives; lists of numbers are scalars, as text.
    An optional list of tensors (the indices of `aten::index`) is recorded as `absent`.
    """

    kind: InputKind
    tensor: Tensor | None = None
    tensors: tuple[Tensor, ...] = ()
    value: str | None = None


INPUT_KEYS = ("Input Dims", "Input dims", "Input Strides", "Input type", "Concrete Inputs")
"""The members of `args` that tell of inputs; `Input dims` is the spelling of January 2021."""

ABSENT_INPUT = Input("absent")


class OpInputs:
    """The inputs of all ops of a trace; equal records share one answer, parsed when asked for."""

    def __init__(self, structure: Structure) -> None:
        self._event = structure.tree.event
        self._records = structure.trace.args.records(INPUT_KEYS, len(structure.trace.table))
        self._parsed: list[tuple[Input, ...] | None] = [None] * len(self._records.texts)

    @property
    def records(self) -> NDArray[np.int32]:
        """Returns one code an event: events with one code record the same inputs, -1 none."""
        return self._records.code

    def at(self, node: int) -> tuple[Input, ...]:
        """Returns the inputs of a node of the tree, () where none are recorded."""
        code = int(self._records.code[self._event[node]])
        if code < 0:
            return ()
        found = self._parsed[code]
        if found is None:
            found = self._parsed[code] = inputs_of(
                dict(zip(INPUT_KEYS, map(_loaded, self._records.texts[code]), strict=True))
            )
        return found


def op_inputs(structure: Structure) -> OpInputs:
    """Returns the inputs of all ops from one pass over the file; costs half of loading it."""
    return OpInputs(structure)


def inputs_at(structure: Structure, node: int) -> tuple[Input, ...]:
    """Returns the inputs of one node, read from the file when asked; () where none are recorded."""
    event = structure.trace.args.event(int(structure.tree.event[node])) or {}
    args = event.get("args")
    return inputs_of(args) if isinstance(args, dict) else ()


def inputs_of(args: Mapping[str, object]) -> tuple[Input, ...]:
    """Returns the inputs that an event's `args` record, () for none; takes any JSON.

    Args:
        args: the member `args` of the event as decoded.
    """
    dims = _list_of(args.get("Input Dims") or args.get("Input dims"))
    strides = _list_of(args.get("Input Strides"))
    types = _list_of(args.get("Input type"))
    values = _list_of(args.get("Concrete Inputs"))
    count = max(len(dims), len(types), len(values))
    return tuple(
        _input(_at(dims, i), _at(strides, i), _at(types, i), _at(values, i)) for i in range(count)
    )


def _input(dims: object, strides: object, type_: object, value: object) -> Input:
    word = type_ if isinstance(type_, str) else None
    text = value if isinstance(value, str) and value else None
    if isinstance(dims, list) and word not in _ABSENT_TYPES:
        if word == "TensorList" or (dims and isinstance(dims[0], list)):
            return _tensor_list(dims, strides)
        if word not in _VALUE_TYPES and (dims or word is not None):
            shape = _ints(dims)
            if shape is not None:
                dtype = "" if word is None else DTYPES.get(word, word)
                return _tensor_input(dtype, shape, _strides(strides, shape))
    if text is not None or word in _VALUE_TYPES:
        return Input("scalar", value=text)
    return ABSENT_INPUT


def _tensor_list(dims: list[object], strides: object) -> Input:
    rows = (
        strides if isinstance(strides, list) and len(strides) == len(dims) else [None] * len(dims)
    )
    tensors = []
    for sizes, row in zip(dims, rows, strict=True):
        shape = _ints(sizes)
        if shape is not None:
            tensors.append(Tensor("", shape, _strides(row, shape)))
    return Input("tensor_list", tensors=tuple(tensors))


@lru_cache(_OPS_KEPT)
def _tensor_input(dtype: str, shape: tuple[int, ...], strides: tuple[int, ...] | None) -> Input:
    """Returns the input; equal ones are one object, which keeps large traces small."""
    return Input("tensor", tensor=Tensor(dtype, shape, strides))


def _strides(value: object, shape: tuple[int, ...]) -> tuple[int, ...] | None:
    if not shape:
        return ()
    strides = _ints(value)
    return strides if strides is not None and len(strides) == len(shape) else None


def _ints(value: object) -> tuple[int, ...] | None:
    """Returns a list of whole numbers as a tuple, None for anything else."""
    if not isinstance(value, list):
        return None
    numbers = tuple(n for n in value if type(n) is int)
    return numbers if len(numbers) == len(value) else None


def _list_of(value: object) -> list[object]:
    """Returns a list; some writers quote it as one string."""
    if isinstance(value, str):
        value = _loaded(value.replace("'", '"').encode("utf-8", "replace"))
    return value if isinstance(value, list) else []


def _loaded(text: bytes) -> object:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return None


def _at(items: Sequence[object], index: int) -> object:
    return items[index] if index < len(items) else None
