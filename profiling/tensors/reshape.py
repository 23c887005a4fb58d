"""Whether a shape can view a tensor, and by which strides.

The rules are those of ATen (`TensorUtils.cpp: computeStride`, `InferSize.h`).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from ptx.profiling.tensors.layouts import contiguous_strides

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Place:
    """A view's sizes and strides, and by how many elements it starts behind its input."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    shift: int = 0


def view_strides(tensor: Place, shape: Sequence[int]) -> tuple[int, ...] | None:
    """Returns the strides by which a shape views a tensor, None if only a copy has that shape.

    Dimensions that lie in memory as one are merged into chunks, and each chunk is split into new
    dimensions again.
    """
    if 0 in tensor.shape:
        return tensor.strides if tuple(shape) == tensor.shape else contiguous_strides(shape)
    if not tensor.shape:
        return (1,) * len(shape)
    strides = [0] * len(shape)
    at = len(shape) - 1
    base = tensor.strides[-1]
    have = made = 1
    for dim in reversed(range(len(tensor.shape))):
        have *= tensor.shape[dim]
        if dim > 0 and (tensor.shape[dim - 1] == 1 or tensor.strides[dim - 1] == have * base):
            continue
        while at >= 0 and (made < have or shape[at] == 1):
            strides[at] = made * base
            made *= shape[at]
            at -= 1
        if made != have:
            return None
        if dim > 0:
            base = tensor.strides[dim - 1]
            have = made = 1
    return tuple(strides) if at < 0 else None


def solved(shape: Sequence[int], numel: int) -> tuple[int, ...]:
    """Returns a shape with its -1 replaced; raises ValueError if it cannot have `numel`."""
    known = prod(size for size in shape if size >= 0)
    if -1 not in shape:
        if known != numel:
            raise ValueError("the shape has another number of elements")
        return tuple(shape)
    if known == 0 or numel % known or sum(size < 0 for size in shape) > 1:
        raise ValueError("the shape cannot have this number of elements")
    return tuple(numel // known if size < 0 else size for size in shape)
