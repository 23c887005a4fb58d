"""The geometry of an output as a later op in the same scope takes it in."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ptx.profiling.structure.tree import NodeKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ptx.profiling.structure.structure import Structure
    from ptx.profiling.tensors.effect import Effect
    from ptx.profiling.tensors.inputs import Tensor
    from ptx.profiling.tensors.ops import InputSource

_OPS_AHEAD = 16
_BLOCK_BYTES = 512  # the caching allocators of GPUs hand out multiples of this
_SAME_ELEMENTS = frozenset(
    ("view", "reshape", "t", "transpose", "permute", "flatten", "contiguous", "clone", "detach")
)


def as_used_later(structure: Structure, source: InputSource, node: int, effect: Effect) -> Effect:
    """Returns the effect with the geometry of the first later input that fits, else unchanged.

    What fits is a tensor of the number of elements and the type that a view or copy keeps, or of
    the bytes that were allocated. It is a likely answer, and marked as such.
    """
    name = structure.trace.table.name_of(int(structure.tree.event[node]))
    before = effect.before
    for tensor in _taken_later(structure, source, node):
        if effect.kind in ("view", "copy"):
            keeps = name.removeprefix("aten::") in _SAME_ELEMENTS
            fits = keeps and before is not None and _same_elements(before, tensor)
        else:
            fits = effect.certainty == "by allocation" and _fills(tensor, effect.written_bytes)
        if fits:
            size = tensor.nbytes if effect.kind in ("copy", "new") else effect.written_bytes
            return replace(effect, after=tensor, written_bytes=size, certainty="as used later")
    return effect


def _same_elements(before: Tensor, tensor: Tensor) -> bool:
    return tensor.numel == before.numel and tensor.dtype == before.dtype


def _fills(tensor: Tensor, allocated_bytes: int | None) -> bool:
    size = tensor.nbytes
    if not size or allocated_bytes is None:
        return False
    return size == allocated_bytes or -(-size // _BLOCK_BYTES) * _BLOCK_BYTES == allocated_bytes


def _taken_later(structure: Structure, source: InputSource, node: int) -> Iterator[Tensor]:
    """Yields the tensors that the next ops of the same scope take, a few ops ahead."""
    tree, table = structure.tree, structure.trace.table
    parent = int(tree.parent[node])
    end = len(tree) if parent < 0 else parent + int(tree.size[parent])
    thread = table.thread[tree.event[node]]
    ahead = _OPS_AHEAD
    at = node + int(tree.size[node])
    while at < end and ahead and table.thread[tree.event[at]] == thread:
        if tree.kind[at] == NodeKind.OP:
            ahead -= 1
            for item in source.at(at):
                if item.tensor is not None:
                    yield item.tensor
        at += int(tree.size[at])
