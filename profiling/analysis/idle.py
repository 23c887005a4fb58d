"""Who the host was with while a device had nothing to do.

Every ns of a step in which a device is idle is charged to the innermost host event at that time on
the step's thread; while a thread of the autograd engine is inside an op, it goes first. The charge
says what the host did meanwhile, not that this caused the wait.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ptx.profiling.analysis._once import once_per_trace
from ptx.profiling.structure.sums import subtree_sums
from ptx.profiling.structure.tree import NodeKind
from ptx.profiling.trace.columns import ABSENT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ptx.profiling.structure.structure import Structure
    from ptx.profiling.structure.tree import Tree

CAUSES = ("op", "python", "launch", "sync", "alloc", "data", "other")
_OP, _PYTHON, _LAUNCH, _SYNC, _ALLOC, _DATA, _OTHER = range(len(CAUSES))
_BACKWARD = "autograd::engine::evaluate_function"
_SYNCS = re.compile(r"\w*?(Synchronize|StreamWait|EventQuery)|(cuda|hip|cu)Memcpy(?!.*Async)")
_ALLOCS = re.compile(r"(cuda|hip|cu|cnrt)\w*(Malloc|MemAlloc|Free|HostAlloc|HostRegister)")
_DATA_NAMES = re.compile(r".*DataLoader")


@dataclass(frozen=True, slots=True)
class IdleCharge:
    """Idle time by node of the op tree, added over the devices.

    `own_ns` is what a node was charged itself, `total_ns` that of its subtree, `cause` the code of
    `CAUSES` that a node's own charge counts for. `uncharged_ns` is idle time of the steps in which
    no event of their thread was running.
    """

    own_ns: NDArray[np.int64]
    total_ns: NDArray[np.int64]
    cause: NDArray[np.uint8]
    uncharged_ns: int

    def table_by_cause(self, tree: Tree) -> NDArray[np.int64]:
        """Returns the charge of every subtree, one row a cause, one column a node."""
        rows = [
            subtree_sums(tree, np.where(self.cause == k, self.own_ns, 0))
            for k in range(len(CAUSES))
        ]
        return np.stack(rows)

    def by_cause(self, first: int, last: int) -> dict[str, int]:
        """Returns the charge of the nodes [first, last) by cause, for a subtree's slice."""
        own, cause = self.own_ns[first:last], self.cause[first:last]
        total = np.zeros(len(CAUSES), np.int64)
        np.add.at(total, cause, own)
        return dict(zip(CAUSES, total.tolist(), strict=True))


@once_per_trace
def charge_idle(structure: Structure) -> IdleCharge | None:
    """Returns the idle time of all steps by node, None for a trace without device activity."""
    tree, steps = structure.tree, structure.steps
    if not len(structure.activities):
        return None
    own = np.zeros(len(tree), np.int64)
    uncharged = 0
    start, end = steps.start_ns, steps.end_ns
    lane = _step_lane(structure)
    threads = [*_autograd_lanes(structure, lane), lane]
    timelines = [_Timeline(structure, code, only_ops=code != lane) for code in threads]
    for device in structure.devices.tolist():
        begins, ends = _idle(structure, device, start, end)
        nodes, lengths = _cut(timelines, begins, ends)
        found = nodes >= 0
        np.add.at(own, nodes[found], lengths[found])
        uncharged += int(lengths[~found].sum())
    return IdleCharge(own, subtree_sums(tree, own), causes(structure), uncharged)


def causes(structure: Structure) -> NDArray[np.uint8]:
    """Returns the cause that each node's own charge counts for, as an index of `CAUSES`."""
    tree, table = structure.tree, structure.trace.table
    names = table.names
    name = table.name[tree.event]

    def named(pattern: re.Pattern[str]) -> NDArray[np.bool_]:
        flags = np.fromiter((pattern.match(n) is not None for n in names), bool, len(names))
        hit: NDArray[np.bool_] = flags[name]
        return hit

    cause = np.full(len(tree), _OTHER, np.uint8)
    cause[tree.kind == NodeKind.OP] = _OP
    python = (NodeKind.FRAME, NodeKind.MODULE, NodeKind.ANNOTATION)
    cause[np.isin(tree.kind, [int(k) for k in python])] = _PYTHON
    cause[tree.kind == NodeKind.LAUNCH] = _LAUNCH
    call = (tree.kind == NodeKind.RUNTIME) | (tree.kind == NodeKind.LAUNCH)
    cause[call & named(_SYNCS)] = _SYNC
    cause[call & named(_ALLOCS)] = _ALLOC
    loader = named(_DATA_NAMES) & ~call
    inside = np.zeros(len(tree) + 1, np.int32)
    np.add.at(inside, np.flatnonzero(loader), np.int32(1))
    np.add.at(inside, np.flatnonzero(loader) + tree.size[loader], np.int32(-1))
    cause[np.cumsum(inside[:-1]) > 0] = _DATA
    return cause


def _step_lane(structure: Structure) -> int:
    """Returns the thread that steps; without marks the one with most ops."""
    code = int(structure.steps.thread[0])
    if code >= 0:
        return code
    tree, table = structure.tree, structure.trace.table
    ops = table.thread[tree.event[tree.kind == NodeKind.OP]]
    return int(np.argmax(np.bincount(ops))) if len(ops) else ABSENT


def _autograd_lanes(structure: Structure, step_lane: int) -> list[int]:
    tree, table = structure.tree, structure.trace.table
    ops = tree.event[tree.kind == NodeKind.OP]
    backward = ops[table.names_matching(_BACKWARD)[table.name[ops]]]
    return [code for code in np.unique(table.thread[backward]).tolist() if code != step_lane]


def _idle(
    structure: Structure, device: int, start: NDArray[np.int64], end: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Returns the stretches of the steps in which a device is idle, as disjoint (begins, ends)."""
    busy_start, busy_end = structure.busy_by_clock(device)
    edges = _distinct(start, end, busy_start, busy_end)
    begins, ends = edges[:-1], edges[1:]
    in_step = structure.steps.at(begins) >= 0
    k = np.searchsorted(busy_start, begins, "right") - 1
    busy = (k >= 0) & (begins < busy_end[np.maximum(k, 0)]) if len(busy_start) else k >= 0
    keep = in_step & ~busy
    return begins[keep], ends[keep]


def _distinct(*times: NDArray[np.int64]) -> NDArray[np.int64]:
    """Returns all times once, ascending; np.unique hashes them first, which takes twice as long."""
    together = np.sort(np.concatenate(times))
    is_first = np.ones(len(together), bool)
    is_first[1:] = together[1:] > together[:-1]
    return together[is_first]


class _Timeline:
    """Which node of one thread is innermost at a time."""

    def __init__(self, structure: Structure, lane: int, *, only_ops: bool) -> None:
        tree, table = structure.tree, structure.trace.table
        host = (tree.kind != NodeKind.ACTIVITY) & (table.thread[tree.event] == lane)
        self.nodes = np.flatnonzero(host)
        self.start = table.start_ns[tree.event[self.nodes]]
        self.end = self.start + table.dur_ns[tree.event[self.nodes]]
        place = np.full(len(tree) + 1, ABSENT, np.int64)
        place[self.nodes] = np.arange(len(self.nodes))
        self.parent = place[tree.parent[self.nodes]]
        is_op = tree.kind[self.nodes] == NodeKind.OP
        # with `only_ops`, a place counts only inside an op
        self.counts = _inside(self.parent, is_op) if only_ops else np.ones(len(is_op), bool)

    def at(self, times: NDArray[np.int64]) -> NDArray[np.int64]:
        """Returns the innermost node at each time as a node of the tree, -1 for none.

        The last to start that has not ended: from the last that started at all up its parents,
        since what lies between a slice and its parent has ended before the slice has.
        """
        at = np.searchsorted(self.start, times, "right") - 1
        ends = np.append(self.end, np.iinfo(np.int64).max)
        up = np.append(self.parent, ABSENT)
        active = np.flatnonzero(ends[at] <= times)
        while len(active):
            at[active] = up[at[active]]
            active = active[ends[at[active]] <= times[active]]
        found = np.where(at >= 0, np.append(self.nodes, ABSENT)[at], ABSENT)
        counts = np.append(self.counts, False)
        return np.where(counts[at], found, ABSENT).astype(np.int64)


def _inside(parent: NDArray[np.int64], is_op: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Returns which nodes are an op or lie below one."""
    inside = np.append(is_op, False)
    up = np.append(parent, ABSENT)
    active = np.flatnonzero(~inside[:-1] & (up[:-1] >= 0))
    while len(active):
        above = up[active]
        inside[active] = inside[above]
        up[active] = np.where(is_op[above], ABSENT, up[above])
        active = active[~inside[active] & (up[active] >= 0)]
    return inside[:-1]


def _cut(
    timelines: list[_Timeline], begins: NDArray[np.int64], ends: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Returns (node, ns) of each piece of the idle stretches, cut where the host moved on."""
    edges = _distinct(begins, ends, *(edge for t in timelines for edge in (t.start, t.end)))
    left, right = edges[:-1], edges[1:]
    k = np.searchsorted(begins, left, "right") - 1
    idle = (k >= 0) & (left < ends[np.maximum(k, 0)]) if len(begins) else np.zeros(len(left), bool)
    left, right = left[idle], right[idle]
    node = np.full(len(left), ABSENT, np.int64)
    for timeline in timelines:
        open_places = node < 0
        node[open_places] = timeline.at(left[open_places])
    return node, right - left
