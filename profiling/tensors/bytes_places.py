"""Bytes of ops that move elements to other places: cat, gather, scatter, embedding, pooling, loss.

A gather reads each row that it asks for once, as if no index came twice: which rows an index
names is not in a trace.
Source: pytorch aten/src/ATen/native/cuda/{Shape.cu,IndexKernel.cpp,IndexKernelUtils.cu,
DilatedMaxPool2d.cu,AveragePool2d.cu,Embedding.cu,Loss.cu}.
"""

from __future__ import annotations

import re
from math import prod
from typing import TYPE_CHECKING

from ptx.profiling.tensors.operands import (
    UNKNOWN,
    Share,
    dense_bytes,
    only,
    per_dim,
    sized,
    total,
    touched_bytes,
)

if TYPE_CHECKING:
    from ptx.profiling.tensors.inputs import Tensor
    from ptx.profiling.tensors.operands import Call, Launch, Rule

_ELEMENT_SIZE = re.compile(r"OpaqueType<([0-9]{1,2})u?>")
_BATCH = re.compile(
    r"CatArrayBatchedCopy\w*<.*?OpaqueType<[0-9]+u?>, unsigned int, [0-9]+, ([0-9]+)"
)
_INDEX_BYTES = 8


def _cat(call: Call) -> list[Share]:
    """Returns the shares of a concatenation: one launch for each batch of its tensors."""
    tensors = [t for i in call.inputs for t in i.tensors if t.numel]
    shares, at = [], 0
    for launch in call.launches:
        size = _ELEMENT_SIZE.search(launch.name.name)
        if launch.name.family != "aten_cat" or size is None:
            shares.append(UNKNOWN)
            continue
        found = _BATCH.search(launch.name.name)
        batch = tensors[at : at + int(found.group(1))] if found else tensors[at:]
        at += len(batch)
        moved = int(size.group(1)) * sum(t.numel for t in batch)
        shares.append(Share(moved, moved) if batch else UNKNOWN)
    return shares if at == len(tensors) else [UNKNOWN] * len(shares)


def _is_index(launch: Launch) -> bool:
    return launch.name.family == "aten_index"


def _rows_taken(source: Tensor, results: int, index_bytes: int | None) -> Share:
    """Returns the share of a kernel that takes so many elements, in rows, from a table."""
    taken = dense_bytes((results,), source.dtype)
    table = touched_bytes(source)
    if taken is None or table is None:
        return UNKNOWN
    return Share(total((min(taken, table), index_bytes)), taken)


def _gather(call: Call) -> list[Share]:
    source, index = call.tensor(0), call.tensor(2)
    if source is None or index is None:
        return call.each(lambda _: UNKNOWN)
    return only(call.launches, _is_index, _rows_taken(source, index.numel, touched_bytes(index)))


def _index_select(call: Call) -> list[Share]:
    source, dim, index = call.tensor(0), call.args.number(1), call.tensor(2)
    if source is None or index is None or dim is None or not source.shape:
        return call.each(lambda _: UNKNOWN)
    others = source.numel // max(1, source.shape[dim % len(source.shape)])
    return only(call.launches, _is_index, _rows_taken(source, others * index.numel, index.nbytes))


def _index(call: Call) -> list[Share]:
    """Returns the shares of `x[i]`: the grid has one column of blocks for each index."""
    source = call.tensor(0)

    def share(launch: Launch) -> Share:
        rows = launch.grid[0]
        if source is None or not source.shape or not rows or not source.shape[0]:
            return UNKNOWN
        if launch.function != "vectorized_gather_kernel":
            return UNKNOWN
        return _rows_taken(source, source.numel // source.shape[0] * rows, rows * _INDEX_BYTES)

    return call.each(share)


def _scatter(call: Call) -> list[Share]:
    target, index, source = call.tensor(0), call.tensor(2), call.tensor(3)
    if target is None or index is None or source is None:
        return call.each(lambda _: UNKNOWN)
    written = dense_bytes((min(source.numel, target.numel),), target.dtype)
    adds = call.op.endswith("add_")
    read = total((touched_bytes(index), touched_bytes(source), written if adds else 0))
    return only(call.launches, _is_index, Share(read, written))


def _embedding_backward(call: Call) -> list[Share]:
    """Returns the shares of the kernel that adds each row of the gradient to its weight's row."""
    gradient, rows = call.tensor(0), call.args.number(2)
    if gradient is None or not gradient.shape or rows is None:
        return call.each(lambda _: UNKNOWN)
    touched = dense_bytes((min(gradient.numel, rows * gradient.shape[-1]),), gradient.dtype)
    share = Share(total((call.touched(0, 1), touched)), touched)
    return only(call.launches, lambda k: k.function == "embedding_backward_feature_kernel", share)


def _pooled_shape(call: Call) -> tuple[int, ...] | None:
    """Returns the output's shape of a pooling over the last dimensions, by the usual formula."""
    source = call.tensor(0)
    has_dilation = call.op.startswith("max_pool")
    dims = 3 if "3d" in call.op else 2
    sizes, pads = (per_dim(call.args.one_or_more(i), dims) for i in (1, 3))
    spreads = per_dim(call.args.one_or_more(4), dims) if has_dilation else (1,) * dims
    step = call.args.one_or_more(2)
    steps = sizes if step == () else per_dim(step, dims)
    ceil = call.args.flag(5 if has_dilation else 4) is True
    if source is None or sizes is None or len(source.shape) <= dims:
        return None
    if steps is None or pads is None or spreads is None or 0 in steps:
        return None
    out = []
    for n, k, s, p, d in zip(source.shape[-dims:], sizes, steps, pads, spreads, strict=True):
        count = (n + 2 * p - d * (k - 1) - 1 + (s - 1 if ceil else 0)) // s + 1
        if ceil and (count - 1) * s >= n + p:
            count -= 1
        out.append(count)
    return (*source.shape[:-dims], *out)


def _is_pool(launch: Launch) -> bool:
    return launch.name.family == "aten_pool"


def _pool(call: Call) -> list[Share]:
    source, shape = call.tensor(0), _pooled_shape(call)
    if source is None or shape is None:
        return call.each(lambda _: UNKNOWN)
    indices = dense_bytes(shape, "i64") if "indices" in call.op else 0
    share = Share(call.touched(0), total((dense_bytes(shape, source.dtype), indices)))
    return only(call.launches, _is_pool, share)


def _pool_backward(call: Call) -> list[Share]:
    last = next((t for t in reversed(call.tensors[2:]) if t.dtype == "i64"), None)
    share = Share(total((call.touched(0), touched_bytes(last))), sized(call.tensor(1)))
    return only(call.launches, _is_pool, share)


def _adaptive_pool(call: Call) -> list[Share]:
    source, size = call.tensor(0), call.args.numbers(1)
    if source is None or not size:
        return call.each(lambda _: UNKNOWN)
    kept = prod(source.shape[: len(source.shape) - len(size)])
    share = Share(call.touched(0), dense_bytes((kept, *size), source.dtype))
    return only(call.launches, _is_pool, share)


def _nll_loss(call: Call) -> list[Share]:
    """Returns the shares of a loss that looks at one score a row."""
    scores, target = call.tensor(0), call.tensor(1)
    if scores is None or target is None:
        return call.each(lambda _: UNKNOWN)
    picked = dense_bytes((target.numel,), scores.dtype)
    share = Share(total((picked, target.nbytes)), dense_bytes((2,), scores.dtype))
    return only(call.launches, lambda launch: launch.name.family == "aten_loss", share)


def _nll_loss_backward(call: Call) -> list[Share]:
    scores, target = call.tensor(1), call.tensor(2)
    if scores is None or target is None:
        return call.each(lambda _: UNKNOWN)
    share = Share(target.nbytes, dense_bytes((target.numel,), scores.dtype))
    return only(call.launches, lambda launch: launch.name.family == "aten_loss", share)


RULES: dict[str, Rule] = {
    "cat": _cat,
    "gather": _gather,
    "index_select": _index_select,
    "index": _index,
    **dict.fromkeys(("scatter_", "scatter_add_", "index_add_", "index_copy_"), _scatter),
    "embedding_dense_backward": _embedding_backward,
    **dict.fromkeys(
        ("max_pool2d_with_indices", "max_pool3d_with_indices", "avg_pool2d", "avg_pool3d"), _pool
    ),
    **dict.fromkeys(
        (
            "max_pool2d_with_indices_backward",
            "max_pool3d_with_indices_backward",
            "avg_pool2d_backward",
            "avg_pool3d_backward",
            "_adaptive_avg_pool2d_backward",
            "_adaptive_avg_pool3d_backward",
        ),
        _pool_backward,
    ),
    **dict.fromkeys(("_adaptive_avg_pool2d", "_adaptive_avg_pool3d"), _adaptive_pool),
    "nll_loss_forward": _nll_loss,
    "nll_loss_backward": _nll_loss_backward,
}
"""The rules of this family by op name without `aten::`."""
