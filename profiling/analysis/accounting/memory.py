"""Memory over time and what lived at its peak, from the profiler's `[memory]` events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ptx.profiling.analysis._once import once_per_trace
from ptx.profiling.analysis.idle import Timeline
from ptx.profiling.analysis.selection import climb
from ptx.profiling.structure.tree import NodeKind
from ptx.profiling.trace.columns import ABSENT, Kind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ptx.profiling.structure.structure import Structure

_MEMBERS = ("Device Type", "Device Id", "Addr", "Total Allocated", "Total Reserved")
_CPU = 0
_MOST_DIGITS = 18
"""Numbers of more digits may not fit into 64 bits; no device has such an address or size."""


@dataclass(frozen=True, slots=True, eq=False)
class MemoryCurve:
    """The memory of one device (or of the host) at every recorded change, in order of time.

    Attributes:
        device: its index; None for the host.
        event: the `[memory]` events.
        at_ns: their times, ascending.
        change_bytes: what each took (positive) or gave back (negative).
        allocated_bytes: what is allocated after each. Counted from 0 where not `is_absolute`.
        reserved_bytes: what the allocator holds after each; `ABSENT` where not recorded.
        address: of the block; `ABSENT` where not recorded.
        is_absolute: whether the file has the totals, so that memory from before the trace counts.
    """

    device: int | None
    event: NDArray[np.int32]
    at_ns: NDArray[np.int64]
    change_bytes: NDArray[np.int64]
    allocated_bytes: NDArray[np.int64]
    reserved_bytes: NDArray[np.int64]
    address: NDArray[np.int64]
    is_absolute: bool

    @property
    def peak(self) -> int:
        """Returns the position of the first highest `allocated_bytes`."""
        return int(np.argmax(self.allocated_bytes))


@dataclass(frozen=True, slots=True, eq=False)
class Living:
    """Blocks that live at a time and were allocated by ops of one name.

    `op` is None for blocks allocated outside of any op. `nodes` are the ops of the tree, -1 where
    there is none, one for each block in `events` (the `[memory]` events), largest block first.
    """

    op: str | None
    bytes: int
    events: NDArray[np.int32]
    nodes: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Peak:
    """What a curve's peak is made of; `groups` and `before_bytes` sum to `allocated_bytes`.

    `before_bytes` is what was allocated before the trace began (or never recorded); None where the
    trace does not hold the totals. `groups` are the rest by op, largest first.
    """

    at_ns: int
    allocated_bytes: int
    before_bytes: int | None
    groups: tuple[Living, ...]


@once_per_trace
def memory_curves(structure: Structure) -> tuple[MemoryCurve, ...]:
    """Returns a curve for each device with `[memory]` events and one for the host, largest first.

    Costs a pass over the file where memory was recorded; without it the answer is empty.
    """
    table = structure.trace.table
    rows = table.of_kind(Kind.MEMORY)
    if not len(rows):
        return ()
    rows = rows[np.lexsort((rows, table.ev_idx[rows], table.start_ns[rows]))]
    records = structure.trace.args.records(_MEMBERS, len(table))
    numbers = np.array([[_number(text) for text in texts] for texts in records.texts], np.int64)
    values = np.append(numbers.reshape(-1, len(_MEMBERS)), [[ABSENT] * len(_MEMBERS)], axis=0)
    columns = values[records.code[rows]].T
    kind, index = columns[0], columns[1]
    lane = np.where(kind == _CPU, ABSENT, index)
    curves = []
    for device in np.unique(lane).tolist():
        mine = lane == device
        curves.append(_curve(structure, device, rows[mine], columns[2:, mine]))
    return tuple(sorted(curves, key=lambda c: -int(c.allocated_bytes[c.peak])))


def living_at_peak(structure: Structure, curve: MemoryCurve) -> Peak | None:
    """Returns what lived at a curve's peak; None where the file has no addresses of blocks."""
    if (curve.address == ABSENT).any():
        return None
    peak, n = curve.peak, len(curve.event)
    order = np.lexsort((np.arange(n), curve.address))
    follower = np.full(n, n)
    same = curve.address[order[1:]] == curve.address[order[:-1]]
    follower[order[:-1][same]] = order[1:][same]
    here = np.arange(n)
    lives = np.flatnonzero((curve.change_bytes > 0) & (here <= peak) & (follower > peak))
    groups = _by_op(structure, curve, lives)
    allocated = int(curve.allocated_bytes[peak])
    known = int(curve.change_bytes[lives].sum())
    return Peak(
        int(curve.at_ns[peak]), allocated, allocated - known if curve.is_absolute else None, groups
    )


def _number(text: bytes) -> int:
    digits = text.removeprefix(b"-")
    return int(text) if digits.isdigit() and len(digits) <= _MOST_DIGITS else ABSENT


def _curve(
    structure: Structure, device: int, rows: NDArray[np.int32], columns: NDArray[np.int64]
) -> MemoryCurve:
    table = structure.trace.table
    address, allocated, reserved = columns
    change = table.bytes.at(rows)
    is_absolute = bool((allocated != ABSENT).all())
    return MemoryCurve(
        device=None if device == ABSENT else device,
        event=rows,
        at_ns=table.start_ns[rows],
        change_bytes=change,
        allocated_bytes=allocated if is_absolute else np.cumsum(change),
        reserved_bytes=reserved,
        address=address,
        is_absolute=is_absolute,
    )


def _by_op(structure: Structure, curve: MemoryCurve, lives: NDArray[np.intp]) -> tuple[Living, ...]:
    if not len(lives):
        return ()
    table, tree = structure.trace.table, structure.tree
    node = _allocators(structure, curve.event[lives])
    name = np.where(node >= 0, table.name[tree.event[node]], ABSENT)
    names, group = np.unique(name, return_inverse=True)
    size = curve.change_bytes[lives]
    order = np.lexsort((-size, group))
    parts = np.split(order, np.searchsorted(group[order], np.arange(1, len(names))))
    found = [
        Living(
            op=None if code == ABSENT else table.names[code],
            bytes=int(size[part].sum()),
            events=curve.event[lives[part]],
            nodes=node[part],
        )
        for code, part in zip(names.tolist(), parts, strict=True)
    ]
    return tuple(sorted(found, key=lambda g: (-g.bytes, g.op or "")))


def _allocators(structure: Structure, events: NDArray[np.int32]) -> NDArray[np.int64]:
    """Returns the innermost op around each `[memory]` event on its thread as a node, -1 for none.

    `empty` and its kin only hand memory out: the op that called them is the one.
    """
    table, tree = structure.trace.table, structure.tree
    node = np.full(len(events), ABSENT, np.int64)
    for lane in np.unique(table.thread[events]).tolist():
        mine = table.thread[events] == lane
        node[mine] = Timeline(structure, lane).at(table.start_ns[events[mine]])
    is_op = np.append(tree.kind == NodeKind.OP, True)
    owner = np.append(structure.owner_op, ABSENT)
    node = np.where(is_op[node], node, owner[node]).astype(np.int64)
    hands_out = table.names_matching("aten::empty")[table.name[tree.event]]
    caller = climb(node.astype(np.int32), structure.owner_op, hands_out)
    return np.where(caller >= 0, caller, node)
