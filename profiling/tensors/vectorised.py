"""Why an elementwise kernel moves one element at a time: which input's strides, type or start.

torch loads several elements at once only where every operand lies densely and in the same order
of dimensions, no operand is cast on the way, and every pointer is aligned to such a load. Source:
aten/src/ATen/native/cuda/{CUDALoops.cuh,Loops.cuh} and TensorIterator.cpp, `compute_fast_setup`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptx.profiling.kernels.decode import decode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ptx.profiling.tensors.inputs import Input, Tensor

_STRIDED = frozenset(("elementwise_kernel", "elementwise_kernel_manual_unroll"))
_UNROLLED = "unrolled_elementwise_kernel"


def why_not_vectorised(inputs: Sequence[Input], kernel_name: str) -> str | None:
    """Returns what keeps an elementwise kernel from wide loads, in words.

    None for a kernel that is vectorised or is not one of torch's elementwise templates.

    Args:
        inputs: the recorded inputs of the op that launched the kernel, in order.
        kernel_name: its whole name.
    """
    template = decode(kernel_name, cut=False).fields.get("template")
    if template not in _STRIDED and template != _UNROLLED:
        return None
    tensors = [(f"in{k}", item.tensor) for k, item in enumerate(inputs) if item.tensor]
    # A number in a 0-dimensional tensor on the host is passed by value.
    tensors = [(name, tensor) for name, tensor in tensors if tensor.shape]
    if template == _UNROLLED:
        return _mixed_types(tensors) or "a pointer is not aligned to a wide load (probably)"
    return _scattered(tensors)


def _mixed_types(tensors: Sequence[tuple[str, Tensor]]) -> str | None:
    if len({tensor.dtype for _, tensor in tensors}) < 2:
        return None
    kinds = ", ".join(f"{name} is {tensor.dtype}" for name, tensor in tensors)
    return f"elements are cast on the way: {kinds}"


def _scattered(tensors: Sequence[tuple[str, Tensor]]) -> str | None:
    if any(tensor.strides is None for _, tensor in tensors):
        return "some operand is not contiguous; the strides are not recorded"
    rank = max((len(tensor.shape) for _, tensor in tensors), default=0)
    whole = tuple(
        max((_size(tensor, rank, dim) for _, tensor in tensors), default=1) for dim in range(rank)
    )
    reasons, orders = [], {}
    for name, tensor in tensors:
        padded = tuple(_size(tensor, rank, dim) for dim in range(rank))
        if any(n not in (1, size) for n, size in zip(padded, whole, strict=True)):
            # The kernel works on something else than the op's own operands.
            return None
        if padded != whole:
            reasons.append(f"{name} of shape {_listed(tensor.shape)} is broadcast")
        elif (order := _dense_order(tensor)) is None:
            reasons.append(f"{name} has strides {_listed(tensor.strides or ())}")
        else:
            orders[name] = order
    if not reasons and len(set(orders.values())) > 1:
        reasons.append(f"{' and '.join(orders)} lie in different orders of dimensions")
    return ", ".join(reasons) or "the inputs are dense, so the output is not"


def _size(tensor: Tensor, rank: int, dim: int) -> int:
    at = dim - (rank - len(tensor.shape))
    return tensor.shape[at] if at >= 0 else 1


def _dense_order(tensor: Tensor) -> tuple[int, ...] | None:
    """Returns the dimensions from innermost to outermost, None for a tensor with gaps."""
    dims = sorted(
        (stride, dim)
        for dim, (n, stride) in enumerate(zip(tensor.shape, tensor.strides or (), strict=False))
        if n != 1
    )
    packed = 1
    for stride, dim in dims:
        if stride != packed:
            return None
        packed *= tensor.shape[dim]
    return tuple(dim for _, dim in dims)


def _listed(numbers: Sequence[int]) -> str:
    return f"({','.join(map(str, numbers))})"
