"""The search for copies: every activity, or host op, that is one, as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ptx.profiling.analysis._once import once_per_trace
from ptx.profiling.analysis.causes import cause_names, outermost_ops
from ptx.profiling.analysis.copy_kinds import CallFacts, CopyFact, copy_fact, recorded_copy
from ptx.profiling.analysis.roofline import modelled
from ptx.profiling.analysis.selection import climb
from ptx.profiling.analysis.tops import modules_of_activities
from ptx.profiling.kernels.decode import decode
from ptx.profiling.structure.tree import NodeKind
from ptx.profiling.tensors.inputs import op_inputs
from ptx.profiling.tensors.operands import touched_bytes
from ptx.profiling.tensors.ops import base_name
from ptx.profiling.trace.columns import ABSENT

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from numpy.typing import NDArray

    from ptx.profiling.kernels.model import KernelName
    from ptx.profiling.structure.structure import Structure
    from ptx.profiling.tensors.inputs import OpInputs, Tensor

_CONVOLUTION = "conv"
_ASKED_BY_ANOTHER = frozenset(("aten::copy_", "aten::clone", "aten::_to_copy"))
_COPY_FAMILIES = frozenset(
    ("aten_copy", "memcpy", "cudnn_aux", "miopen", "inductor", "aten_elementwise")
)


@dataclass(frozen=True, eq=False)
class Copies:
    """The copies of a trace as arrays of equal length.

    `node` is the activity (on a trace without a device the copying op), `activity` its position in
    `structure.activities` (-1 there), `fact` an index into `facts`, `via` the name code of the op
    that asked for the copy where that is not its cause (-1 where it is). Bytes are -1 where
    unknown, modules and steps where there is none.
    """

    structure: Structure
    facts: tuple[CopyFact, ...]
    node: NDArray[np.int32]
    activity: NDArray[np.int64]
    fact: NDArray[np.int64]
    via: NDArray[np.int64]
    ns: NDArray[np.int64]
    read_bytes: NDArray[np.int64]
    write_bytes: NDArray[np.int64]
    module: NDArray[np.int32]
    step: NDArray[np.int32]

    @cached_property
    def kind(self) -> NDArray[np.int64]:
        """The class of each, as `CopyKind`."""
        kinds: NDArray[np.int64] = np.array([fact.kind for fact in self.facts], np.int64)
        return kinds[self.fact]

    @cached_property
    def causes(self) -> list[str]:
        """The name of the op that caused each."""
        return cause_names(self.structure, self.node)

    @cached_property
    def key(self) -> NDArray[np.int64]:
        """A number each, equal for copies of one class, tensor and cause."""
        trait = _codes([fact.trait for fact in self.facts])[self.fact]
        return _paired(trait, _codes(self.causes), self.via)

    def select(
        self, step: int | None = None, nodes: NDArray[np.integer] | None = None
    ) -> NDArray[np.intp]:
        """Returns the positions of those of a step and in the subtrees of some nodes."""
        keep = np.ones(len(self.node), bool)
        if step is not None:
            keep &= self.step == step
        if nodes is not None:
            size = self.structure.tree.size
            above = np.zeros(len(size) + 1, np.int64)
            np.add.at(above, nodes, 1)
            np.add.at(above, nodes + size[nodes], -1)
            keep &= np.cumsum(above)[self.node] > 0
        return np.flatnonzero(keep)


@once_per_trace
def copies_of(structure: Structure) -> Copies:
    """Returns all copies of a trace; one pass over the file, then one answer a distinct call."""
    return _device_copies(structure) if len(structure.activities) else _host_copies(structure)


def _device_copies(structure: Structure) -> Copies:
    table, tree, activities = structure.trace.table, structure.tree, structure.activities
    rows = np.flatnonzero(_of_names(structure, activities.event, _may_copy))
    event, op = activities.event[rows], activities.op[rows]
    inputs, bytes_of = op_inputs(structure), modelled(structure)
    owner = np.where(op >= 0, tree.node_of[op], ABSENT).astype(np.int32)
    convolution = _convolutions(structure)[owner]
    key = _paired(
        table.name[event],
        np.where(op >= 0, table.name[op], ABSENT),
        np.where(op >= 0, inputs.records[op], ABSENT),
        np.where(convolution >= 0, inputs.records[tree.event[convolution]], ABSENT),
        bytes_of.read_bytes[rows],
        convolution >= 0,
    )
    _, sample, member = np.unique(key, return_index=True, return_inverse=True)
    found = [
        copy_fact(
            decode(table.name_of(int(event[k])), cut=False),
            CallFacts(
                op=base_name(table.name_of(int(op[k]))) if op[k] >= 0 else "",
                inputs=inputs.at(int(owner[k])) if op[k] >= 0 else (),
                read_bytes=int(bytes_of.read_bytes[rows[k]]),
                convolution=inputs.at(int(convolution[k])) if convolution[k] >= 0 else None,
            ),
        )
        for k in sample.tolist()
    ]
    facts, fact = _numbered(found, member.ravel())
    is_copy = fact >= 0
    rows, owner = rows[is_copy], owner[is_copy]
    return Copies(
        structure,
        facts,
        node=tree.node_of[activities.event[rows]],
        activity=rows,
        fact=fact[is_copy],
        via=_via(structure, owner),
        ns=activities.counted_ns[rows],
        read_bytes=bytes_of.read_bytes[rows],
        write_bytes=bytes_of.write_bytes[rows],
        module=modules_of_activities(structure)[rows],
        step=activities.step[rows],
    )


def _host_copies(structure: Structure) -> Copies:
    """Returns the `aten::copy_` ops that record what they copy, more than one element of it."""
    table, tree = structure.trace.table, structure.tree
    inputs = op_inputs(structure)
    is_copy = _named(table.names, lambda name: base_name(name) == "copy_")
    nodes = np.flatnonzero((tree.kind == NodeKind.OP) & is_copy[table.name[tree.event]])
    convolution = _convolutions(structure)[nodes]
    of_convolution = np.where(convolution >= 0, inputs.records[tree.event[convolution]], ABSENT)
    key = _paired(inputs.records[tree.event[nodes]], of_convolution, convolution >= 0)
    _, sample, member = np.unique(key, return_index=True, return_inverse=True)
    found, sizes = [], np.full((len(sample), 2), -1, np.int64)
    for at, k in enumerate(sample.tolist()):
        pair = _copied_pair(inputs, int(nodes[k]))
        around = inputs.at(int(convolution[k])) if convolution[k] >= 0 else None
        found.append(None if pair is None else recorded_copy(*pair, around))
        if pair is not None:
            sizes[at] = [-1 if n is None else n for n in map(touched_bytes, reversed(pair))]
    facts, fact = _numbered(found, member.ravel())
    keep = fact >= 0
    copying = nodes[keep].astype(np.int32)
    sizes = sizes[member.ravel()[keep]]
    return Copies(
        structure,
        facts,
        node=copying,
        activity=np.full(len(copying), ABSENT, np.int64),
        fact=fact[keep],
        via=_via(structure, copying),
        ns=table.dur_ns[tree.event[copying]],
        read_bytes=sizes[:, 0],
        write_bytes=sizes[:, 1],
        module=structure.module[copying],
        step=structure.step_of_nodes()[copying],
    )


def _copied_pair(inputs: OpInputs, node: int) -> tuple[Tensor, Tensor] | None:
    """Returns (target, source) of a recorded copy of more than one element."""
    recorded = [item.tensor for item in inputs.at(node)[:2]]
    if len(recorded) < 2 or recorded[0] is None or recorded[1] is None:
        return None
    return (recorded[0], recorded[1]) if recorded[0].numel > 1 else None


def _may_copy(kernel: KernelName) -> bool:
    return kernel.family in _COPY_FAMILIES or kernel.family.startswith("ascend")


def _convolutions(structure: Structure) -> NDArray[np.int32]:
    """Returns the outermost convolution op at or above each node, -1 for none; one more for -1."""
    table, tree = structure.trace.table, structure.tree
    is_one = _named(table.names, lambda name: _CONVOLUTION in base_name(name))
    top = outermost_ops(structure)
    hit = (top >= 0) & is_one[table.name[tree.event[top]]]
    return np.append(np.where(hit, top, ABSENT), ABSENT).astype(np.int32)


def _via(structure: Structure, owner: NDArray[np.int32]) -> NDArray[np.int64]:
    """Returns the name of the op that asked each owner op for a copy, -1 where that is its cause.

    `aten::to` calls `aten::_to_copy`, which calls `aten::copy_`: the first of them asked.
    """
    table, tree = structure.trace.table, structure.tree
    inner = _named(table.names, _ASKED_BY_ANOTHER.__contains__)[table.name[tree.event]]
    asked = climb(owner, structure.owner_op, inner)
    top = np.append(outermost_ops(structure), np.int32(ABSENT))
    # nobody asked: the outermost op copies, or a layer of autograd does
    is_own = (top[asked] < 0) | (asked == top[asked]) | ~np.append(inner, False)[owner]
    return np.where(is_own, ABSENT, table.name[tree.event[asked]]).astype(np.int64)


def _numbered(
    found: Sequence[CopyFact | None], member: NDArray[np.intp]
) -> tuple[tuple[CopyFact, ...], NDArray[np.int64]]:
    """Returns the distinct facts, and for each member its fact's number, -1 for no copy."""
    number: dict[CopyFact, int] = {}
    codes = [-1 if f is None else number.setdefault(f, len(number)) for f in found]
    return tuple(number), np.array(codes, np.int64)[member]


def _of_names(
    structure: Structure, events: NDArray[np.int32], flag: Callable[[KernelName], bool]
) -> NDArray[np.bool_]:
    """Returns a flag of each event's name; every name is decoded once."""
    table = structure.trace.table
    used, slot = np.unique(table.name[events], return_inverse=True)
    flags = np.array([flag(decode(table.names[n], cut=False)) for n in used.tolist()], bool)
    return flags[slot.ravel()]


def _named(names: Sequence[str], flag: Callable[[str], bool]) -> NDArray[np.bool_]:
    return np.fromiter(map(flag, names), bool, len(names))


def _codes(words: Sequence[Hashable]) -> NDArray[np.int64]:
    """Returns a number for each word, equal for equal ones."""
    number: dict[Hashable, int] = {}
    codes = (number.setdefault(word, len(number)) for word in words)
    return np.fromiter(codes, np.int64, len(words))


def _paired(*columns: NDArray[Any]) -> NDArray[np.int64]:
    """Returns a number for each row of the columns, equal for equal rows."""
    rows = np.stack([column.astype(np.int64) for column in columns], axis=1)
    return np.unique(rows, axis=0, return_inverse=True)[1].ravel().astype(np.int64)
