"""Outputs of elementwise ops: broadcast sizes, strides in the order of the inputs, promoted type.

The rules are those of ATen's `TensorIterator.cpp` and `TypeProperties`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptx.profiling.tensors.inputs import REAL_PARTS, Tensor
from ptx.profiling.tensors.layouts import iterated_strides

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ptx.profiling.tensors.inputs import Input


def _names(*lines: str) -> frozenset[str]:
    return frozenset(name for line in lines for name in line.split())


_COMPARE = _names(
    "eq ne lt le gt ge isnan isinf isposinf isneginf isfinite logical_and logical_or logical_not",
    "logical_xor signbit",
)
_FLOATING = _names(
    "div true_divide exp exp2 expm1 log log2 log10 log1p sqrt rsqrt reciprocal sigmoid tanh sin",
    "cos tan asin acos atan sinh cosh erf erfc erfinv lgamma atan2",
)
_OTHERS = _names(
    "add sub rsub mul neg abs pow square sign sgn clamp clamp_min clamp_max relu gelu silu mish",
    "hardswish hardsigmoid hardtanh elu leaky_relu softplus threshold maximum minimum fmax fmin",
    "remainder fmod floor ceil round trunc frac floor_divide addcmul addcdiv lerp masked_fill",
    "bitwise_and bitwise_or bitwise_xor bitwise_not where sigmoid_backward tanh_backward",
    "threshold_backward gelu_backward silu_backward hardswish_backward leaky_relu_backward",
    "elu_backward __and__ __or__ __xor__ nan_to_num",
)
_ALL = _COMPARE | _FLOATING | _OTHERS
_ORDER = ("bool", "u8", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64", "c64", "c128")


def elementwise_output(name: str, inputs: Sequence[Input]) -> Tensor | None:
    """Returns the output of an elementwise op, None for other ops and unrecorded strides."""
    if name not in _ALL or (name == "where" and len(inputs) < 3):
        return None
    tensors = [item.tensor for item in inputs if item.tensor is not None]
    shape = broadcast([tensor.shape for tensor in tensors])
    if not tensors or shape is None:
        return None
    strides = iterated_strides(shape, tensors)
    return Tensor(_dtype(name, tensors, inputs), shape, strides)


def broadcast(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...] | None:
    """Returns the common shape, None for shapes that do not broadcast."""
    rank = max(map(len, shapes), default=0)
    common = [1] * rank
    for shape in shapes:
        for dim, size in enumerate(shape, rank - len(shape)):
            if size != 1:
                if common[dim] not in (1, size):
                    return None
                common[dim] = size
    return tuple(common)


def _dtype(name: str, tensors: Sequence[Tensor], inputs: Sequence[Input]) -> str:
    if name in _COMPARE:
        return "bool"
    if name in ("where", "masked_fill"):
        tensors = tensors[1:] if name == "where" else tensors[:1]
    if not tensors:
        return ""
    dtype = promoted(tensors)
    if name == "abs":
        return REAL_PARTS.get(dtype, dtype)
    with_values = any(item.kind == "scalar" and item.value not in _FLAGS for item in inputs)
    if _category(dtype) < 2 and (name in _FLOATING or (with_values and name not in _BITS)):
        return ""  # the default float type, or a value's: neither is recorded
    return dtype


_FLAGS = ("True", "False", "1", None)  # `1` is what alpha is unless the caller gave another
_BITS = _names("bitwise_and bitwise_or bitwise_xor bitwise_not __and__ __or__ __xor__ relu abs neg")


def promoted(tensors: Sequence[Tensor]) -> str:
    """Returns the type that tensors promote to, "" where the record does not decide it.

    0-dimensional tensors only count where they are of a higher category; whether one stands for
    a Python number, which then means the default type, is not recorded.
    """
    full = [t.dtype for t in tensors if t.shape]
    if not full:
        return tensors[0].dtype if len({t.dtype for t in tensors}) == 1 else ""
    dtype = full[0]
    for other in full[1:]:
        dtype = _wider(dtype, other)
    highest = max(_category(t.dtype) for t in tensors)
    return dtype if highest <= _category(dtype) else ""


def _wider(first: str, second: str) -> str:
    if first == second:
        return first
    if first not in _ORDER or second not in _ORDER:
        return ""
    pair = {first, second}
    if pair == {"f16", "bf16"}:
        return "f32"
    if pair == {"u8", "i8"}:
        return "i16"
    if pair in ({"c64", "f64"}, {"c64", "c128"}):
        return "c128"
    return max(first, second, key=_ORDER.index)


def _category(dtype: str) -> int:
    """Returns 0 for bool, 1 for integers, 2 for floats and the rest, 3 for complex."""
    if dtype == "bool":
        return 0
    if dtype.startswith("c"):
        return 3
    return 1 if dtype[:1] in ("i", "u") else 2
