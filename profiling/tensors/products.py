"""Outputs of matrix products, reductions, joins and ops that keep their input's shape."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptx.profiling.tensors.arguments import Arguments
from ptx.profiling.tensors.inputs import Tensor
from ptx.profiling.tensors.layouts import channels_last_strides, contiguous_strides, layout_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ptx.profiling.tensors.inputs import Input


_PRODUCTS = {"mm": (0, 1), "addmm": (1, 2), "bmm": (0, 1), "baddbmm": (1, 2), "mv": (0, 1),
             "addmv": (1, 2), "dot": (0, 1)}  # fmt: skip
"""The positions of the two factors."""

_SAME_SHAPE = {"_softmax": 0, "_log_softmax": 0, "_softmax_backward_data": 0,
               "_log_softmax_backward_data": 0, "cumsum": 0, "native_layer_norm": 0,
               "tril": 0, "triu": 0}  # fmt: skip
"""The position of the input whose sizes a dense output takes."""

_REDUCTIONS = frozenset(("sum", "mean", "amax", "amin", "prod", "any", "all", "argmax", "argmin"))


def product_output(name: str, inputs: Sequence[Input]) -> Tensor | None:
    """Returns the output of a matrix product, reduction or the like, None for other ops."""
    arguments = Arguments(inputs)
    if name in _PRODUCTS:
        first, second = (arguments.tensor(index) for index in _PRODUCTS[name])
        if first is None or second is None:
            return None
        shape = (*first.shape[:-1], *second.shape[:-2], *second.shape[-1:])
        if len(first.shape) == 3:
            shape = (*first.shape[:-1], second.shape[-1])
        if len(second.shape) == 1:
            shape = first.shape[:-1]
        return _dense(first.dtype, shape)
    if name in _SAME_SHAPE:
        tensor = arguments.tensor(_SAME_SHAPE[name])
        return None if tensor is None else _dense(tensor.dtype, tensor.shape)
    if name == "cat" and inputs:
        return _joined(inputs[0].tensors, arguments.number(1))
    if name == "embedding":
        table, indices = arguments.tensor(0), arguments.tensor(1)
        if table is None or indices is None:
            return None
        return _dense(table.dtype, (*indices.shape, *table.shape[1:]))
    return _reduced(name, arguments) if name in _REDUCTIONS else None


def _joined(tensors: Sequence[Tensor], dim: int | None) -> Tensor | None:
    """Returns what cat makes; the type of listed tensors is not recorded."""
    joined = [tensor for tensor in tensors if tensor.shape != (0,)]  # cat skips these
    if not joined or dim is None:
        return None
    shape = list(joined[0].shape)
    if not -len(shape) <= dim < len(shape):
        return None
    shape[dim] = sum(tensor.shape[dim] for tensor in joined)
    strides: tuple[int, ...] | None = contiguous_strides(shape)
    layouts = {layout_of(tensor) for tensor in joined}
    if "not recorded" in layouts:
        strides = None
    elif layouts in ({"channels_last"}, {"channels_last_3d"}):
        strides = channels_last_strides(shape)
    return Tensor("", tuple(shape), strides)


def _reduced(name: str, arguments: Arguments) -> Tensor | None:
    tensor = arguments.tensor(0)
    if tensor is None or (len(arguments) > 2 and not arguments.recorded):
        return None
    dtype = _reduced_dtype(name, tensor.dtype)
    dims = arguments.one_or_more(1)
    keep = arguments.flag(2)
    if keep is None:  # the forms without a dimension have no such flag
        return _dense(dtype, ())
    rank = len(tensor.shape)
    over = {dim % rank for dim in dims} if dims and rank else set(range(rank))
    if keep:
        return _dense(dtype, tuple(1 if d in over else n for d, n in enumerate(tensor.shape)))
    return _dense(dtype, tuple(n for d, n in enumerate(tensor.shape) if d not in over))


def _reduced_dtype(name: str, dtype: str) -> str:
    if name in ("argmax", "argmin"):
        return "i64"
    if name in ("any", "all"):
        return "bool"
    integral = dtype == "bool" or dtype[:1] in ("i", "u")
    return "i64" if integral and name in ("sum", "prod") else dtype


def _dense(dtype: str, shape: tuple[int, ...]) -> Tensor:
    return Tensor(dtype, shape, contiguous_strides(shape))
