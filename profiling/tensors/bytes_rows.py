"""Bytes of ops that work along rows: reductions, softmax, normalisations.

Each kernel is known by its function, since one op may launch several: statistics, parameters,
then the pass over the elements. A kernel that reads its rows twice counts them once: whether the
second pass reaches memory depends on the caches.
Source: pytorch aten/src/ATen/native/cuda/{Reduce.cuh,SoftMax.cu,layer_norm_kernel.cu,
group_norm_kernel.cu,Normalization.cuh}.
"""

from __future__ import annotations

import re
from math import prod
from typing import TYPE_CHECKING, TypeAlias

from ptx.profiling.tensors.operands import (
    UNKNOWN,
    Share,
    accumulated,
    dense_bytes,
    is_whole,
    only,
    sized,
    total,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from ptx.profiling.tensors.inputs import Tensor
    from ptx.profiling.tensors.operands import Call, Launch, Rule

    Kernels: TypeAlias = "tuple[tuple[str, Callable[[Call], Share]], ...]"

_DIM_AT = {
    "sum": 1, "nansum": 1, "mean": 1, "amax": 1, "amin": 1, "aminmax": 1, "prod": 1, "all": 1,
    "any": 1, "argmax": 1, "argmin": 1, "max": 1, "min": 1, "var": 1, "std": 1, "var_mean": 1,
    "std_mean": 1, "count_nonzero": 1, "norm": 2, "linalg_vector_norm": 2,
}  # fmt: skip
_DTYPE_SECOND = ("sum", "nansum", "mean", "prod")
"""Reductions of everything whose second argument, of two, is the type."""

_DTYPE_AT = {"sum": 3, "nansum": 3, "mean": 3, "linalg_vector_norm": 4, "norm": 4}


def _reduce(call: Call) -> list[Share]:
    share = Share(call.touched(0), _reduced_bytes(call))
    return only(call.launches, lambda launch: launch.name.family == "aten_reduce", share)


def _reduced_bytes(call: Call) -> int | None:
    source = call.tensor(0)
    if source is None:
        return None
    kept = _kept(source, call, _DIM_AT[call.op])
    if kept is None:
        return None
    if call.op in ("all", "any"):
        return dense_bytes((kept,), "bool")
    if call.op in ("argmax", "argmin", "count_nonzero"):
        return dense_bytes((kept,), "i64")
    dtype = call.args.dtype(_DTYPE_AT.get(call.op, len(call.inputs))) or source.dtype
    if call.op in ("sum", "nansum", "prod") and is_whole(dtype):
        dtype = "i64"
    one = dense_bytes((kept,), dtype)
    if call.op in ("var_mean", "std_mean", "aminmax"):
        return total((one, one))
    if call.op in ("max", "min") and call.is_given(1):
        return total((one, dense_bytes((kept,), "i64")))
    return one


def _kept(source: Tensor, call: Call, at: int) -> int | None:
    """Returns the number of results of a reduction, None where its dimensions are not recorded."""
    dims = call.args.one_or_more(at)
    is_dtype = call.op in _DTYPE_SECOND and len(call.inputs) == 2
    is_flag = call.args.flag(at) is not None
    if not call.is_given(at) or dims == () or is_dtype or is_flag:
        return 1
    if dims is None or not all(-len(source.shape) <= d for d in dims):
        return None
    gone = {d % len(source.shape) for d in dims} if source.shape else set()
    return prod(n for i, n in enumerate(source.shape) if i not in gone)


def _softmax(call: Call) -> list[Share]:
    source = call.tensor(0)
    wide = call.args.flag(2) is True and source is not None and source.dtype in ("f16", "bf16")
    share = Share(call.touched(0), sized(source, "f32" if wide else None))
    return only(call.launches, lambda launch: launch.name.family == "aten_softmax", share)


def _softmax_backward(call: Call) -> list[Share]:
    dtype = call.args.dtype(3)
    share = Share(call.touched(0, 1), sized(call.tensor(0), dtype))
    return only(call.launches, lambda launch: launch.name.family == "aten_softmax", share)


def _by_function(kernels: Kernels) -> Rule:
    """Returns a rule that knows each kernel by its function; a later pattern never overrules."""
    compiled = [(re.compile(pattern), share_of) for pattern, share_of in kernels]

    def rule(call: Call) -> list[Share]:
        def share(launch: Launch) -> Share:
            text = launch.function or launch.name.name
            same = sum(1 for other in call.launches if other.function == launch.function)
            for pattern, share_of in compiled:
                if pattern.search(text):
                    return share_of(call) if same == 1 else UNKNOWN
            return UNKNOWN

        return call.each(share)

    return rule


def _rows(call: Call, source: int, shape: int) -> int | None:
    """Returns how many rows a norm over the last dimensions has."""
    tensor, dims = call.tensor(source), call.args.numbers(shape)
    if tensor is None or dims is None:
        return None
    return prod(tensor.shape[: len(tensor.shape) - len(dims)])


def _statistics(call: Call, count: int | None, at: int = 0) -> int | None:
    """Returns the bytes of so many statistics of a tensor, in the type they are kept in."""
    tensor = call.tensor(at)
    return (
        None
        if tensor is None or count is None
        else dense_bytes((count,), accumulated(tensor.dtype))
    )


def _layer_norm(call: Call) -> Share:
    rows = _rows(call, 0, 1)
    statistics = _statistics(call, rows)
    write = total((sized(call.tensor(0)), statistics, statistics))
    return Share(call.touched(0, 2, 3), write)


def _layer_norm_moments(call: Call) -> Share:
    statistics = _statistics(call, _rows(call, 0, 1))
    return Share(call.touched(0), total((statistics, statistics)))


def _rms_norm(call: Call) -> Share:
    statistics = _statistics(call, _rows(call, 0, 1))
    return Share(call.touched(0, 2), total((sized(call.tensor(0)), statistics)))


def _layer_norm_input(call: Call) -> Share:
    return Share(call.touched(0, 1, 3, 4, 5), sized(call.tensor(1)))


def _layer_norm_weights(call: Call) -> Share:
    return Share(call.touched(0, 1, 3, 4), call.touched(5, 6))


def _rms_norm_input(call: Call) -> Share:
    return Share(call.touched(0, 1, 3, 4), sized(call.tensor(1)))


def _rms_norm_weights(call: Call) -> Share:
    return Share(call.touched(0, 1, 3), call.touched(4))


def _group_counts(call: Call, at: int) -> tuple[int, int] | None:
    """Returns (images x groups, images x channels) from the arguments N, C, HxW, groups."""
    images, channels, _, groups = (call.args.number(at + i) for i in range(4))
    if images is None or channels is None or groups is None:
        return None
    return images * groups, images * channels


def _group_norm_moments(call: Call) -> Share:
    source, counts = call.tensor(0), _group_counts(call, 3)
    if source is None or counts is None:
        return UNKNOWN
    return Share(call.touched(0), dense_bytes((2, counts[0]), source.dtype))


def _group_norm_parameters(call: Call) -> Share:
    source, counts = call.tensor(0), _group_counts(call, 3)
    if source is None or counts is None:
        return UNKNOWN
    moments = dense_bytes((2, counts[0]), source.dtype)
    return Share(total((moments, call.touched(1, 2))), _statistics(call, 2 * counts[1]))


def _group_norm_apply(call: Call) -> Share:
    counts = _group_counts(call, 3)
    if counts is None:
        return UNKNOWN
    return Share(total((call.touched(0), _statistics(call, 2 * counts[1]))), sized(call.tensor(0)))


def _group_norm_gradients(call: Call) -> Share:
    counts = _group_counts(call, 5)
    if counts is None:
        return UNKNOWN
    return Share(call.touched(0, 1), _statistics(call, 2 * counts[1]))


def _group_norm_input(call: Call) -> Share:
    return Share(call.touched(0, 1), sized(call.tensor(1)))


def _channels(call: Call) -> int | None:
    source = call.tensor(0)
    return source.shape[1] if source is not None and len(source.shape) > 1 else None


def _per_channel(call: Call, count: int) -> int | None:
    channels = _channels(call)
    return None if channels is None else _statistics(call, count * channels)


def _batch_norm_statistics(call: Call) -> Share:
    return Share(call.touched(0), _per_channel(call, 2))


def _batch_norm_deviation(call: Call) -> Share:
    return Share(call.touched(4), _per_channel(call, 1))


def _batch_norm_apply(call: Call) -> Share:
    read = total((call.touched(0, 1, 2), _per_channel(call, 2)))
    return Share(read, sized(call.tensor(0)))


def _batch_norm_whole(call: Call) -> Share:
    return Share(call.touched(0, 1, 2), total((sized(call.tensor(0)), _per_channel(call, 2))))


def _batch_norm_sums(call: Call) -> Share:
    return Share(total((call.touched(0, 1), _per_channel(call, 2))), _per_channel(call, 4))


def _batch_norm_input(call: Call) -> Share:
    return Share(call.touched(0, 1, 2), sized(call.tensor(1)))


_BATCH_NORM: Kernels = (
    ("collect_statistics", _batch_norm_statistics),
    ("calc_invstd", _batch_norm_deviation),
    ("transform_input", _batch_norm_apply),
)
_BATCH_NORM_BACKWARD: Kernels = (
    ("batch_norm_backward_reduce", _batch_norm_sums),
    ("batch_norm_backward_(?:elemt|kernel)", _batch_norm_input),
    (r"bn_bw_|BatchNormBwdSpatial\Z", _batch_norm_input),
)
_LIBRARY_BATCH_NORM: Kernels = (
    (r"FwdTrainSpatialMeanVariance\Z", _batch_norm_statistics),
    (r"FwdTrainSpatialNorm\Z", _batch_norm_apply),
    (r"bn_fw_|BatchNormFwd\w*Spatial\w*(?<!FinalMeanVariance)\Z", _batch_norm_whole),
)
_ONE_ROW_KERNEL = r"vectorized_layer_norm|vectorized_rms_norm|cuApply(?:LayerNorm|RMSNorm)"

RULES: dict[str, Rule] = {
    **dict.fromkeys(_DIM_AT, _reduce),
    "_softmax": _softmax,
    "_log_softmax": _softmax,
    "_softmax_backward_data": _softmax_backward,
    "_log_softmax_backward_data": _softmax_backward,
    "native_layer_norm": _by_function(
        (
            (_ONE_ROW_KERNEL, _layer_norm),
            ("RowwiseMoments", _layer_norm_moments),
            ("LayerNormForward", _layer_norm),
        )
    ),
    "native_layer_norm_backward": _by_function(
        (
            ("layer_norm_grad_input|cuComputeGradInput", _layer_norm_input),
            (r"GammaBetaBackward(?:Simple)?CUDAKernel\Z", _layer_norm_weights),
        )
    ),
    "_fused_rms_norm": _by_function(((_ONE_ROW_KERNEL, _rms_norm),)),
    "_fused_rms_norm_backward": _by_function(
        (
            ("layer_norm_grad_input|cuComputeGradInput", _rms_norm_input),
            (r"GammaBetaBackward(?:Simple)?CUDAKernel\Z", _rms_norm_weights),
        )
    ),
    "native_group_norm": _by_function(
        (
            ("RowwiseMoments", _group_norm_moments),
            ("ComputeFusedParams", _group_norm_parameters),
            ("GroupNormKernelImplInternal", _group_norm_apply),
        )
    ),
    "native_group_norm_backward": _by_function(
        (
            ("ComputeInternalGradients", _group_norm_gradients),
            ("GroupNormBackwardKernelImplInternal", _group_norm_input),
        )
    ),
    **dict.fromkeys(
        ("native_batch_norm", "_batch_norm_with_update", "_native_batch_norm_legit",
         "batch_norm_stats", "_batch_norm_no_update"),
        _by_function(_BATCH_NORM),
    ),
    **dict.fromkeys(
        ("native_batch_norm_backward", "batch_norm_backward", "cudnn_batch_norm_backward",
         "miopen_batch_norm_backward"),
        _by_function(_BATCH_NORM_BACKWARD),
    ),
    "cudnn_batch_norm": _by_function(_LIBRARY_BATCH_NORM),
    "miopen_batch_norm": _by_function(_LIBRARY_BATCH_NORM),
}  # fmt: skip
"""The rules of this family by op name without `aten::`."""
