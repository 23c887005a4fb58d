"""Which unit may have made what a unit reads, told from sizes and order alone.

Traces do not record which tensor an op reads. A tensor's sizes and type leave few candidates among
the units shortly before; where there are several they share the weight, since tensors of equal
geometry (the keys and values of grouped attention) cannot be told apart.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from ptx.profiling.structure.tree import NodeKind
from ptx.profiling.tensors.op_names import ALWAYS_VIEWS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ptx.profiling.analysis.comparison.calls import Call
    from ptx.profiling.analysis.comparison.program import Program, Unit
    from ptx.profiling.tensors.inputs import Tensor

Source: TypeAlias = "tuple[tuple[int, float], ...]"
"""Candidates for the maker of one input as (unit, weight); the weights add up to 1."""

_Kind: TypeAlias = "tuple[int, str]"

_KEPT = 4
_WINDOW = 14
_STILL_READ = 3
_READ_AGAIN = 2
_BUFFERS = 6
_NEWEST = 0.6
_DOUBTFUL = 0.2
_WRITES_ONLY = ("copy_", "fill_", "zero_")


@dataclass(frozen=True, slots=True)
class Flow:
    """The flow of one side, by unit: `sources` of each input, and the units that may read it."""

    sources: tuple[tuple[Source, ...], ...]
    readers: tuple[tuple[int, ...], ...]
    is_fresh: tuple[bool, ...]
    rooted: tuple[bool, ...]


def eager_flow(program: Program) -> Flow:
    """Returns the flow between the units of a side whose views the trace shows."""
    walk = _Walk([unit.branch for unit in program.units])
    for unit, view in _in_order(program):
        if unit >= 0:
            walk.pass_unit(unit, program.units[unit].call)
        elif view is not None:
            walk.pass_view(*view)
    return walk.flow()


def _in_order(
    program: Program,
) -> list[tuple[int, tuple[Tensor, Tensor] | None]]:
    """Returns the units and view ops of the representative step by the end of their op.

    Each is (unit, None) or (-1, (before, after) of the view).
    """
    structure = program.structure
    tree, table = structure.tree, structure.trace.table
    step = program.steps.positions[program.steps.representative]
    steps = structure.steps
    views = np.fromiter((n.removeprefix("aten::") in ALWAYS_VIEWS for n in table.names), bool)
    event = tree.event
    start = table.start_ns[event]
    found = np.flatnonzero(
        (tree.kind == NodeKind.OP)
        & views[table.name[event]]
        & (start >= steps.start_ns[step])
        & (start < steps.end_ns[step])
    )
    known: dict[tuple[int, int], tuple[Tensor, Tensor] | None] = {}
    items: list[tuple[int, int, int, tuple[Tensor, Tensor] | None]] = []
    ends = (start + table.dur_ns[event])[found].tolist()
    records = program.inputs.records[event[found]].tolist()
    names = table.name[event[found]].tolist()
    for node, end, name, record in zip(found.tolist(), ends, names, records, strict=True):
        if record < 0:
            continue
        key = (name, record)
        if key not in known:
            known[key] = _view(program, node)
        if known[key] is not None:
            items.append((end, node, -1, known[key]))
    for position, unit in enumerate(program.units):
        at = unit.node
        if at < 0:
            launch = structure.activities.launch[program.rows[unit.places[0]]]
            at = int(tree.node_of[launch]) if launch >= 0 else -1
        end = int(start[at] + table.dur_ns[event[at]]) if at >= 0 else 0
        items.append((end, at, position, None))
    items.sort(key=lambda item: item[:3])
    return [(unit, view) for _, _, unit, view in items]


def _view(program: Program, node: int) -> tuple[Tensor, Tensor] | None:
    effect = program.effects.of(node)
    if effect is None or effect.before is None or effect.after is None or effect.failed:
        return None
    return effect.before, effect.after


class _Walk:
    """Goes through the units in order and keeps, by sizes, who made such tensors last."""

    def __init__(self, branches: Sequence[int]) -> None:
        units = len(branches)
        self._branches = branches
        self._makers: dict[tuple[int, ...], list[tuple[int, str]]] = defaultdict(list)
        self._read_at = [-1] * units
        self._sources: list[tuple[Source, ...]] = [()] * units
        self._readers: list[set[int]] = [set() for _ in range(units)]
        self._rooted = [False] * units

    def pass_view(self, before: Tensor, after: Tensor) -> None:
        """Lets what made the viewed tensor count as maker of the view."""
        if before.shape == after.shape:
            return
        passed = [m for m in self._makers.get(before.shape, ()) if _agree(m[1], before.dtype)]
        if passed:
            kept = sorted({*self._makers[after.shape], *passed})
            self._makers[after.shape] = kept[-_KEPT:]

    def pass_unit(self, unit: int, call: Call) -> None:
        """Notes what a unit reads and makes."""
        read = call.tensors[1:] if call.leaf in _WRITES_ONLY else call.tensors
        wanted = Counter(tensor.shape for tensor in read)
        found = (self._source(unit, tensor, wanted[tensor.shape]) for tensor in read)
        sources = [source for source in found if source]
        for source in sources:
            self._read_at[source[-1][0]] = unit
            for maker, _ in source:
                self._readers[maker].add(unit)
        self._sources[unit] = tuple(sources)
        self._rooted[unit] = call.is_factory or (
            bool(sources) and all(self._rooted[m] for source in sources for m, _ in source)
        )
        if call.output is not None:
            entry = (unit, call.output.dtype)
            kept = [m for m in self._makers[call.output.shape] if m != entry]
            self._makers[call.output.shape] = [*kept, entry][-_KEPT:]

    def _source(self, unit: int, tensor: Tensor, wanted: int) -> Source:
        """Returns who may have made a tensor: what nobody read yet, then what was just read.

        `wanted` is how many inputs of these sizes the unit has.
        """
        makers = [
            maker
            for maker, dtype in self._makers.get(tensor.shape, ())
            if maker != unit
            and _agree(dtype, tensor.dtype)
            and not 0 <= self._branches[maker] == self._branches[unit]
        ]
        near = [m for m in makers if unit - m <= _WINDOW]
        unread = [m for m in near if self._read_at[m] < 0]
        again = [m for m in near if 0 <= unit - self._read_at[m] <= _STILL_READ]
        missing = wanted - len(unread)
        if missing > 0:
            unread = sorted({*unread, *again[-missing:]})
        return weighted(unread or makers)

    def flow(self) -> Flow:
        """Returns what was noted."""
        readers = tuple(tuple(sorted(r)) for r in self._readers)
        return Flow(tuple(self._sources), readers, (False,) * len(readers), tuple(self._rooted))


def heaviest(sources: Sequence[Source]) -> dict[int, float]:
    """Returns each candidate maker with the greatest weight that it has for any input."""
    found: dict[int, float] = {}
    for source in sources:
        for maker, weight in source:
            found[maker] = max(weight, found.get(maker, 0.0))
    return found


def weighted(makers: Sequence[int]) -> Source:
    """Returns candidates (oldest first) with weights: most to the newest, the rest in parts."""
    if len(makers) < 2:
        return tuple((maker, 1.0) for maker in makers)
    share = (1 - _NEWEST) / (len(makers) - 1)
    return (*((maker, share) for maker in makers[:-1]), (makers[-1], _NEWEST))


class _Buffers:
    """The buffers of compiled code by elements and type, and which of them were read when."""

    def __init__(self) -> None:
        self._makers: dict[_Kind, list[tuple[int, Tensor]]] = defaultdict(list)
        self._unread: dict[_Kind, int] = defaultdict(int)
        self._read_at: dict[int, int] = {}

    def unread(self, kind: _Kind) -> int:
        """Returns how many buffers of a kind were made and not read."""
        return self._unread[kind]

    def make(self, unit: int, tensor: Tensor) -> None:
        """Notes that a unit made a buffer."""
        kind = _kind(tensor)
        self._makers[kind] = [*self._makers[kind], (unit, tensor)][-_BUFFERS:]
        self._unread[kind] += 1

    def read(self, unit: int, tensors: Sequence[Tensor]) -> tuple[Source, ...]:
        """Returns who may have made what a unit reads, the likeliest candidate last.

        As many buffers as the unit reads of a kind: those that nobody read go first, among them
        those of the same sizes, then the newest. Each of them is as likely as the others, so all
        have the weight 1. What was read just before may be read again.
        """
        by_kind: dict[_Kind, list[Tensor]] = defaultdict(list)
        for tensor in tensors:
            by_kind[_kind(tensor)].append(tensor)
        return tuple(
            source
            for kind, alike in by_kind.items()
            for source in self._read_alike(unit, kind, alike)
        )

    def _read_alike(self, unit: int, kind: _Kind, alike: Sequence[Tensor]) -> list[Source]:
        """Returns the sources of some tensors of one kind, equal ones as often as there are."""
        wanted = len(alike)
        self._unread[kind] = max(0, self._unread[kind] - wanted)
        every = self._makers[kind]
        if not every:
            return []
        read_at = self._read_at
        near = [item for item in every if unit - item[0] <= _WINDOW]
        shape = alike[0].shape
        order = sorted(
            (m in read_at, tensor.shape != shape, -m) for m, tensor in near or every[-1:]
        )
        chosen = [-m for _, _, m in order[:wanted]]
        again = [
            m
            for m, _ in near
            if m not in chosen and m in read_at and unit - read_at[m] <= _READ_AGAIN
        ]
        source = (*((m, _DOUBTFUL) for m in again), *((m, 1.0) for m in reversed(chosen)))
        read_at.update(dict.fromkeys(chosen, unit))
        return [source] * wanted


def compiled_flow(units: Sequence[Unit]) -> Flow:
    """Returns the flow of a side that torch.compile generated, where sizes change without a view.

    A generated kernel's last pointer is its output; it works in place where it has no more
    pointers of that kind than there are unread buffers.
    """
    buffers = _Buffers()
    sources: list[tuple[Source, ...]] = []
    readers: list[set[int]] = [set() for _ in units]
    fresh: list[bool] = []
    for position, unit in enumerate(units):
        read, made = _pointers(unit.call, buffers)
        fresh.append(unit.call.fusion is not None and len(unit.call.tensors) == 1 and not read)
        mine = buffers.read(position, read)
        for source in mine:
            for maker, _ in source:
                readers[maker].add(position)
        sources.append(mine)
        for tensor in made:
            buffers.make(position, tensor)
    return Flow(
        tuple(sources),
        tuple(tuple(sorted(r)) for r in readers),
        tuple(fresh),
        (False,) * len(fresh),
    )


def _pointers(call: Call, buffers: _Buffers) -> tuple[list[Tensor], list[Tensor]]:
    """Returns the tensors that a unit reads, and those that it makes."""
    tensors = list(call.tensors)
    if call.fusion is None:
        if call.output is None:
            return tensors, tensors[-1:]
        made = _kind(call.output)
        given = len(tensors) > 1 and _kind(tensors[-1]) == made  # the output, handed in
        return (tensors[:-1] if given else tensors), [call.output]
    if not tensors:
        return [], []
    output = _kind(tensors[-1])
    alike = sum(_kind(tensor) == output for tensor in tensors)
    if alike <= buffers.unread(output):
        return tensors, tensors[-1:]
    return tensors[:-1], tensors[-1:]


def _kind(tensor: Tensor) -> _Kind:
    return tensor.numel, tensor.dtype


def _agree(first: str, second: str) -> bool:
    return first == second or not first or not second
