"""The word for how a tensor lies in memory, from its sizes and strides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ptx.profiling.tensors.inputs import Tensor

Layout: TypeAlias = Literal[
    "contiguous",
    "transposed",
    "channels_last",
    "channels_last_3d",
    "broadcast",
    "strided",
    "overlapping",
    "scalar",
    "not recorded",
]
_CHANNELS_LAST_ORDER = {4: (0, 2, 3, 1), 5: (0, 2, 3, 4, 1)}  # from outermost in memory, by rank


def layout_of(tensor: Tensor) -> Layout:
    """Returns the layout word of a tensor.

    A dimension of size 1 may have any stride and does not decide, except that a stride of 0 tells
    of an expansion at any size: `broadcast`. `transposed` is a tensor without gaps whose
    dimensions lie in another order than row-major; `strided` has gaps; `overlapping` reaches an
    element in several ways, as the windows of unfold do.
    """
    shape, strides = tensor.shape, tensor.strides
    if not shape:
        return "scalar"
    if strides is None:
        return "not recorded"
    if tensor.numel == 0:
        return "contiguous"
    if 0 in strides:
        return "broadcast"
    if strides_fit(shape, strides, contiguous_strides(shape)):
        return "contiguous"
    channels_last = channels_last_strides(shape)
    if channels_last is not None and strides_fit(shape, strides, channels_last):
        return "channels_last" if len(shape) == 4 else "channels_last_3d"
    dims = [(stride, size) for size, stride in zip(shape, strides, strict=True) if size != 1]
    return _by_gaps(sorted(dims))


def _by_gaps(dims: list[tuple[int, int]]) -> Layout:
    """Returns the word for (stride, size) pairs sorted from the innermost on."""
    packed, reach = 1, 0
    dense = True
    for stride, size in dims:
        if stride <= reach:
            return "overlapping"
        dense = dense and stride == packed
        packed *= size
        reach += stride * (size - 1)
    return "transposed" if dense else "strided"


def contiguous_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Returns the row-major strides that torch gives a new tensor of this shape."""
    return packed_strides(shape, range(len(shape)))


def channels_last_strides(shape: Sequence[int]) -> tuple[int, ...] | None:
    """Returns the strides of a new NHWC or NDHWC tensor, None for other ranks.

    Sizes of 0 give strides of 0 here, unlike in row-major tensors.
    """
    order = _CHANNELS_LAST_ORDER.get(len(shape))
    if order is None:
        return None
    if 0 not in shape:
        return packed_strides(shape, order)
    strides, step = [0] * len(shape), 1
    for dim in reversed(order):
        strides[dim] = step
        step *= shape[dim]
    return tuple(strides)


def packed_strides(shape: Sequence[int], order: Sequence[int]) -> tuple[int, ...]:
    """Returns strides without gaps; `order` names the dimensions from outermost to innermost.

    Sizes of 0 count as 1, as torch has it.
    """
    strides = [1] * len(shape)
    step = 1
    for dim in reversed(order):
        strides[dim] = step
        step *= max(shape[dim], 1)
    return tuple(strides)


def strides_fit(shape: Sequence[int], strides: Sequence[int], wanted: Sequence[int]) -> bool:
    """Returns whether strides equal the wanted ones in all dimensions of another size than 1."""
    return all(
        size == 1 or stride == want
        for size, stride, want in zip(shape, strides, wanted, strict=True)
    )


def preserved_strides(shape: Sequence[int], strides: Sequence[int]) -> tuple[int, ...]:
    """Returns the strides of a new tensor that keeps another's memory format, as `clone` does.

    A tensor without gaps and overlaps is followed exactly; of any other only the order of the
    dimensions is kept (`infer_dense_strides` of ATen).
    """
    if 0 in shape:
        return tuple(strides)
    dims = sorted((stride, size) for size, stride in zip(shape, strides, strict=True) if size != 1)
    packed = 1
    for stride, size in dims:
        if stride != packed:
            return _in_order_of(shape, [strides])
        packed *= size
    return tuple(strides)


def iterated_strides(shape: tuple[int, ...], tensors: Sequence[Tensor]) -> tuple[int, ...] | None:
    """Returns the strides of an elementwise op's output, None where some are not recorded.

    Args:
        shape: the output's sizes, to which the inputs broadcast.
        tensors: the inputs.
    """
    rows = []
    for tensor in tensors:
        if tensor.strides is None:
            return None
        lead = len(shape) - len(tensor.shape)
        row = [
            0 if size == 1 and shape[lead + dim] != 1 else stride
            for dim, (size, stride) in enumerate(zip(tensor.shape, tensor.strides, strict=True))
        ]
        rows.append([0] * lead + row)
    alike = all(tensor.shape == shape for tensor in tensors)
    if alike and all(layout_of(tensor) == "contiguous" for tensor in tensors):
        return contiguous_strides(shape)
    return _in_order_of(shape, rows)


def _in_order_of(shape: Sequence[int], rows: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """Returns dense strides whose dimensions lie in the order that rows of strides have.

    An insertion sort from the innermost dimension on: the first row that tells two dimensions
    apart decides, and a stride of 0 tells nothing (`reorder_dimensions` of TensorIterator).
    """
    order = list(range(len(shape)))[::-1]
    for i in range(1, len(order)):
        at = i
        for before in range(i - 1, -1, -1):
            turn = _compare(shape, rows, order[before], order[at])
            if turn > 0:
                order[before], order[at] = order[at], order[before]
                at = before
            elif turn < 0:
                break
    return packed_strides(shape, order[::-1])


def _compare(shape: Sequence[int], rows: Sequence[Sequence[int]], a: int, b: int) -> int:
    for row in rows:
        if row[a] == 0 or row[b] == 0:
            continue
        if row[a] != row[b]:
            return -1 if row[a] < row[b] else 1
        if shape[a] > shape[b]:
            return 1
    return 0
