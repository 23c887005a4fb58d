"""Bytes of ops that go over every element once: arithmetic, casts, copies, fills, scans.

An operand's memory is read once (a dimension of stride 0 counts once), the output is written
once. An op whose name ends in `_` writes its first argument.
Source of the operands: the schemas in pytorch aten/src/ATen/native/native_functions.yaml.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from ptx.profiling.tensors.elementwise import broadcast, promoted
from ptx.profiling.tensors.inputs import REAL_PARTS
from ptx.profiling.tensors.operands import (
    UNKNOWN,
    Share,
    dense_bytes,
    is_whole,
    names,
    only,
    sized,
    total,
    touched_bytes,
)
from ptx.profiling.tensors.out_variants import OUT_VARIANTS

if TYPE_CHECKING:
    from ptx.profiling.tensors.inputs import Tensor
    from ptx.profiling.tensors.operands import Call, Launch, Rule

_PASSES = frozenset(("aten_elementwise", "aten_copy", "aten_xpu"))

_ONE = names(
    "abs absolute neg negative relu relu6 hardtanh leaky_relu elu selu celu silu mish gelu",
    "softplus hardswish hardsigmoid sign sgn floor ceil round trunc frac threshold bitwise_not",
    "nan_to_num square positive tril triu flip roll log_sigmoid_forward hardshrink softshrink",
)
_ONE_FLOAT = names(
    "sigmoid tanh exp exp2 expm1 reciprocal rsqrt sqrt sin cos tan asin acos atan sinh cosh asinh",
    "acosh atanh erf erfc erfinv log log2 log10 log1p lgamma digamma logit sinc special_expit",
    "special_erf",
)
_ONE_FLAG = names("logical_not isnan isinf isfinite isposinf isneginf signbit")
_TWO = names(
    "add sub rsub mul remainder fmod pow maximum minimum fmax fmin floor_divide bitwise_and",
    "bitwise_or bitwise_xor __and__ __or__ __xor__ __iand__ __ior__ __lshift__ __rshift__",
    "copysign nextafter gcd lcm _prelu_kernel mse_loss smooth_l1_loss huber_loss masked_fill",
    "threshold_backward gelu_backward silu_backward sigmoid_backward tanh_backward",
    "hardtanh_backward leaky_relu_backward elu_backward hardswish_backward mish_backward",
    "hardsigmoid_backward softplus_backward native_dropout_backward softshrink_backward",
    "hardshrink_backward",
)
_TWO_FLOAT = names("div true_divide atan2 hypot xlogy logaddexp logaddexp2")
_TWO_FLAG = names(
    "eq ne lt le gt ge logical_and logical_or logical_xor greater less equal greater_equal",
    "less_equal not_equal isclose",
)
_THREE = names(
    "addcmul addcdiv lerp where clamp clamp_min clamp_max clip binary_cross_entropy",
    "mse_loss_backward smooth_l1_loss_backward huber_loss_backward log_sigmoid_backward",
)
_FOUR = names("binary_cross_entropy_backward")
_FILLS = names(
    "fill_ zero_ normal_ uniform_ bernoulli_ random_ exponential_ log_normal_ geometric_ cauchy_"
)
_UPSAMPLES = names(
    "upsample_nearest1d upsample_nearest2d upsample_nearest3d _upsample_nearest_exact1d",
    "_upsample_nearest_exact2d _upsample_nearest_exact3d upsample_linear1d upsample_bilinear2d",
    "upsample_bicubic2d upsample_trilinear3d",
)
_SCANS = names("cumsum cumprod logcumsumexp")


def _operands(op: str) -> int:
    """Returns the most tensors that an op reads; one more is where its output goes."""
    if op in _FOUR:
        return 4
    return 3 if op in _THREE else 2 if op in (*_TWO, *_TWO_FLOAT, *_TWO_FLAG) else 1


def _pointwise(call: Call) -> list[Share]:
    return only(call.launches, _passes_over, _pointwise_share(call))


def _passes_over(launch: Launch) -> bool:
    return launch.name.family in _PASSES or launch.function in _WHOLE_KERNELS


_WHOLE_KERNELS = frozenset(("index_elementwise_kernel", "triu_tril_kernel", "roll_cuda_kernel"))


def _pointwise_share(call: Call) -> Share:
    base = call.op.removesuffix("_")
    tensors = call.tensors
    in_place = call.op.endswith("_") and not call.op.endswith("__")
    read = tensors[: _operands(base)]
    output = tensors[0] if in_place and tensors else None
    if not in_place and call.op in OUT_VARIANTS.get(len(call.inputs), ()):
        output = call.tensor(len(call.inputs) - 1)
        if output is not None and len(tensors) <= len(read):
            read = read[:-1]
    if not read:
        return UNKNOWN
    if call.in_optimizer and base == "addcmul":
        read = read[:2]  # an optimizer squares: both factors are one tensor
    if output is not None and output.numel:
        return Share(total(map(touched_bytes, read)), touched_bytes(output))
    shape = broadcast([t.shape for t in read])
    write = None if shape is None else dense_bytes(shape, _result_type(call, base, read))
    return Share(total(map(touched_bytes, read)), write)


def _result_type(call: Call, base: str, read: tuple[Tensor, ...]) -> str:
    if base in _ONE_FLAG or base in _TWO_FLAG:
        return "bool"
    if base == "where":
        return promoted(read[1:]) if len(read) > 1 else ""
    if base in ("masked_fill", "native_dropout_backward"):
        return read[0].dtype
    found = promoted(read)
    values = (i.value for i in call.inputs if i.kind == "scalar")
    has_fraction = base in _TWO and any("." in (value or "") for value in values)
    if is_whole(found) and (base in _ONE_FLOAT or base in _TWO_FLOAT or has_fraction):
        return "f32"
    return REAL_PARTS.get(found, found) if base == "abs" else found


def _fill(call: Call) -> list[Share]:
    def fills(launch: Launch) -> bool:
        return launch.name.family in _PASSES or launch.name.family == "aten_distribution"

    return only(call.launches, fills, Share(0, sized(call.tensor(0))))


def _copy(call: Call) -> list[Share]:
    share = Share(call.touched(1), call.touched(0))
    return only(call.launches, lambda launch: launch.name.family in _PASSES, share)


def _scan(call: Call) -> list[Share]:
    source = call.tensor(0)
    if source is None:
        return call.each(lambda _: UNKNOWN)
    wanted = call.args.dtype(2) or ("i64" if is_whole(source.dtype) else source.dtype)
    share = Share(call.touched(0), sized(source, wanted))
    return only(call.launches, lambda launch: "scan" in launch.function, share)


def _dropout(call: Call) -> list[Share]:
    write = total((sized(call.tensor(0)), sized(call.tensor(0), "bool")))
    share = Share(call.touched(0), write)
    return only(call.launches, lambda launch: "dropout_kernel" in launch.function, share)


def _upsample(call: Call) -> list[Share]:
    source, size = call.tensor(0), call.args.numbers(1)
    if source is None or not size:
        return call.each(lambda _: UNKNOWN)
    kept = source.shape[: len(source.shape) - len(size)]
    write = dense_bytes((prod(kept), *size), source.dtype)
    share = Share(call.touched(0), write)
    return only(call.launches, lambda launch: launch.name.family == "aten_upsample", share)


def _glu(call: Call) -> list[Share]:
    whole = sized(call.tensor(0))
    share = Share(call.touched(0), None if whole is None else whole // 2)
    return only(call.launches, _passes_over, share)


_BASES = (*_ONE, *_ONE_FLOAT, *_ONE_FLAG, *_TWO, *_TWO_FLOAT, *_TWO_FLAG, *_THREE, *_FOUR)

RULES: dict[str, Rule] = {
    **{name: _pointwise for base in _BASES for name in (base, base + "_")},
    **dict.fromkeys(_FILLS, _fill),
    **dict.fromkeys(_SCANS, _scan),
    **dict.fromkeys(_UPSAMPLES, _upsample),
    "copy_": _copy,
    "native_dropout": _dropout,
    "glu": _glu,
}
"""The rules of this family by op name without `aten::`."""
