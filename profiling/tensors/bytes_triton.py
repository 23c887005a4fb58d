"""Bytes of kernels that torch.compile generates, from the pointers of their launch op.

The launch op records the kernel's pointers: inputs first, the output last. The first pointer is
an output too where the kernel works in place; which it does is not recorded, so it is taken from
the flow of buffers: a kernel that has as many pointers of its output's kind as there are buffers
made and not yet used makes no new one.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias

from ptx.profiling.tensors.flops import product_of
from ptx.profiling.tensors.operands import (
    UNKNOWN,
    Call,
    Share,
    dense_bytes,
    sized,
    total,
    touched_bytes,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ptx.profiling.tensors.inputs import Input, Tensor

    Buffer: TypeAlias = tuple[int, str]

LAUNCH_OP = re.compile(r"triton_(?:poi|red|per|tem)_fused_")
"""The launch ops whose pointers follow the rule; those over lists (`for`) have many outputs."""

_TAKES_ROWS = re.compile(r"_(?:embedding|index|gather|index_select)(?=_)")


def triton_shares(call: Call) -> list[Share]:
    """Returns the shares of a launch op's kernels; the op launches one."""
    tensors = call.tensors
    if len(call.launches) != 1 or not tensors:
        return [UNKNOWN] * len(call.launches)
    output = tensors[-1]
    sources = tensors if call.in_place or len(tensors) == 1 else tensors[:-1]
    written = tensors[0] if call.in_place else output
    if len(tensors) == 1 and not call.in_place:
        sources = ()
    largest = max(t.numel for t in (output, tensors[0]) if t.dtype)
    takes_rows = _TAKES_ROWS.search(call.op + "_") is not None
    read = total(
        _capped(tensor, largest) if takes_rows else touched_bytes(tensor) for tensor in sources
    )
    return [Share(read, sized(written))]


def _capped(tensor: Tensor, results: int) -> int | None:
    """Returns the bytes of a table of which at most so many elements are taken."""
    taken = dense_bytes((results,), tensor.dtype)
    touched = touched_bytes(tensor)
    return None if taken is None or touched is None else min(taken, touched)


def works_in_place(calls: Sequence[tuple[str, tuple[Input, ...]]]) -> list[bool]:
    """Returns whether each launch op of a compiled region writes its first pointer.

    Args:
        calls: the (name, inputs) of the region's ops in order; False for all but launch ops.
    """
    fresh: dict[Buffer, int] = {}
    flags = []
    for name, inputs in calls:
        tensors = tuple(i.tensor for i in inputs if i.tensor is not None)
        if not LAUNCH_OP.match(name):
            flags.append(False)
            product = product_of(Call(name.removeprefix("aten::"), inputs, ()))
            if product is None:
                _use(fresh, tensors)
                continue
            _use(fresh, filter(None, (product.left, product.right, product.added)))
            _make(fresh, (product.results, product.left.dtype))
            continue
        kind = _kind(tensors[-1]) if tensors else (0, "")
        pointers = sum(1 for t in tensors if _kind(t) == kind)
        in_place = 0 < pointers <= fresh.get(kind, 0) and _kind(tensors[0]) == kind
        flags.append(in_place)
        _use(fresh, tensors if in_place else tensors[:-1])
        _make(fresh, kind)
    return flags


def _kind(tensor: Tensor) -> Buffer:
    return tensor.numel, tensor.dtype


def _use(fresh: dict[Buffer, int], tensors: Iterable[Tensor]) -> None:
    for tensor in tensors:
        kind = _kind(tensor)
        fresh[kind] = max(0, fresh.get(kind, 0) - 1)


def _make(fresh: dict[Buffer, int], kind: Buffer) -> None:
    fresh[kind] = fresh.get(kind, 0) + 1
