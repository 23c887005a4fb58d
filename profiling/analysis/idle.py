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
from ptx.profiling.structure.intervals import contains, distinct
from ptx.profiling.structure.sums import subtree_sums
from ptx.profiling.structure.tree import NodeKind
from ptx.profiling.trace.columns import ABSENT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ptx.profiling.structure.structure import Structure
    from ptx.profiling.structure.tree import Tree
    from ptx.profiling.trace.columns import EventTable

CAUSES = ("op", "python", "launch", "sync", "alloc", "data", "other")
_OP, _PYTHON, _LAUNCH, _SYNC, _ALLOC, _DATA, _OTHER = range(len(CAUSES))
_BACKWARD = "autograd::engine::evaluate_function"
_SYNCS = re.compile(
    r"\w*?([Ss]ynchronize|StreamWait|EventQuery|QueueSync|SyncDevice)"
    r"|(cuda|hip|cu)Memcpy(?!.*Async)"
)
_ALLOCS = re.compile(r"(cuda|hip|cu|cnrt|aclrt)\w*(Malloc|MemAlloc|Free|HostAlloc|HostRegister)")
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
    for device in structure.devices.tolist():
        begins, ends = _idle(structure, device, start, end)
        left, right, nodes = host_pieces(structure, begins, ends)
        found = nodes >= 0
        np.add.at(own, nodes[found], (right - left)[found])
        uncharged += int((right - left)[~found].sum())
    return IdleCharge(own, subtree_sums(tree, own), causes(structure), uncharged)


@once_per_trace
def charge_cpu(structure: Structure) -> IdleCharge:
    """Returns the CPU time of the host as a charge: each node's own is what no child covers.

    It stands for the idle time of a trace without a device. Frames and modules count like ops, so
    that the charge of a subtree is the time of its root.
    """
    tree, table = structure.tree, structure.trace.table
    host = np.flatnonzero(tree.kind != NodeKind.ACTIVITY)
    own = np.zeros(len(tree), np.int64)
    own[host] = table.dur_ns[tree.event[host]]
    inside = host[tree.parent[host] >= 0]
    np.subtract.at(own, tree.parent[inside], table.dur_ns[tree.event[inside]])
    own = np.maximum(own, 0)  # a slice may outlast its parent by the file's rounding
    return IdleCharge(own, subtree_sums(tree, own), causes(structure), 0)


@dataclass(frozen=True, slots=True)
class HostWork:
    """What the nodes of one name were charged for one cause of `CAUSES`.

    `calls` counts all of them that were asked about, also those that were charged nothing;
    `nodes` are those that were charged, the costliest first.
    """

    cause: str
    name: str
    calls: int
    own_ns: int
    nodes: NDArray[np.int64]


def charges_by_name(
    structure: Structure, charge: IdleCharge, nodes: NDArray[np.integer]
) -> list[HostWork]:
    """Returns the own charges of some nodes of the op tree by cause and name, costliest first."""
    tree, table = structure.tree, structure.trace.table
    names = len(table.names)
    key = charge.cause[nodes].astype(np.int64) * names + table.name[tree.event[nodes]]
    keys, group, calls = np.unique(key, return_inverse=True, return_counts=True)
    own = charge.own_ns[nodes]
    total = np.zeros(len(keys), np.int64)
    np.add.at(total, group, own)
    charged = np.flatnonzero(own)
    order = charged[np.lexsort((-own[charged], group[charged]))]
    first = np.searchsorted(group[order], np.arange(len(keys) + 1))
    return [
        HostWork(
            cause=CAUSES[keys[k] // names],
            name=table.names[keys[k] % names],
            calls=int(calls[k]),
            own_ns=int(total[k]),
            nodes=np.asarray(nodes[order[first[k] : first[k + 1]]], np.int64),
        )
        for k in np.argsort(-total, kind="stable").tolist()
        if total[k]
    ]


def causes(structure: Structure) -> NDArray[np.uint8]:
    """Returns the cause that each node's own charge counts for, as an index of `CAUSES`."""
    tree, table = structure.tree, structure.trace.table
    name = table.name[tree.event]
    cause = np.full(len(tree), _OTHER, np.uint8)
    cause[tree.kind == NodeKind.OP] = _OP
    python = (NodeKind.FRAME, NodeKind.MODULE, NodeKind.ANNOTATION)
    cause[np.isin(tree.kind, [int(k) for k in python])] = _PYTHON
    cause[tree.kind == NodeKind.LAUNCH] = _LAUNCH
    call = (tree.kind == NodeKind.RUNTIME) | (tree.kind == NodeKind.LAUNCH)
    cause[call & names_like(table, _SYNCS)[name]] = _SYNC
    cause[call & names_like(table, _ALLOCS)[name]] = _ALLOC
    loader = names_like(table, _DATA_NAMES)[name] & ~call
    cause[at_or_below(tree, loader)] = _DATA
    return cause


def names_like(table: EventTable, pattern: re.Pattern[str]) -> NDArray[np.bool_]:
    """Returns one flag per entry of `table.names`: whether it matches from its start."""
    names = table.names
    return np.fromiter((pattern.match(name) is not None for name in names), bool, len(names))


def at_or_below(tree: Tree, roots: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Returns which nodes are one of `roots` (one flag a node) or lie below one."""
    inside = np.zeros(len(tree) + 1, np.int32)
    np.add.at(inside, np.flatnonzero(roots), np.int32(1))
    np.add.at(inside, np.flatnonzero(roots) + tree.size[roots], np.int32(-1))
    below: NDArray[np.bool_] = np.cumsum(inside[:-1]) > 0
    return below


def host_pieces(
    structure: Structure, begins: NDArray[np.int64], ends: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Returns disjoint ascending stretches of time, cut where the host moved on.

    Args:
        structure: the trace.
        begins: where each stretch begins, in ns.
        ends: where it ends.

    Returns:
        (begins, ends, nodes) of the pieces: the innermost node of the op tree on the step's
        thread, or on a thread of the autograd engine while it is inside an op; -1 for none.
    """
    return _cut(_timelines(structure), begins, ends)


@once_per_trace
def _timelines(structure: Structure) -> tuple[Timeline, ...]:
    lane = _step_lane(structure)
    threads = [*_autograd_lanes(structure, lane), lane]
    return tuple(Timeline(structure, code, only_ops=code != lane) for code in threads)


def _step_lane(structure: Structure) -> int:
    """Returns the thread that steps; without marks the one with most ops, else most slices."""
    code = int(structure.steps.thread[0])
    if code >= 0:
        return code
    tree, table = structure.tree, structure.trace.table
    for nodes in (tree.kind == NodeKind.OP, tree.kind != NodeKind.ACTIVITY):
        threads = table.thread[tree.event[nodes]]
        if len(threads):
            return int(np.argmax(np.bincount(threads)))
    return ABSENT


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
    edges = distinct(start, end, busy_start, busy_end)
    begins, ends = edges[:-1], edges[1:]
    in_step = structure.steps.at(begins) >= 0
    keep = in_step & ~contains(busy_start, busy_end, begins)
    return begins[keep], ends[keep]


class Timeline:
    """Which node of one thread is innermost at a time; with `only_ops` only while inside an op."""

    def __init__(self, structure: Structure, lane: int, *, only_ops: bool = False) -> None:
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
    timelines: tuple[Timeline, ...], begins: NDArray[np.int64], ends: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Returns (begins, ends, nodes) of the pieces of the stretches, as `host_pieces` does."""
    edges = distinct(begins, ends, *(edge for t in timelines for edge in (t.start, t.end)))
    left, right = edges[:-1], edges[1:]
    wanted = contains(begins, ends, left)
    left, right = left[wanted], right[wanted]
    node = np.full(len(left), ABSENT, np.int64)
    for timeline in timelines:
        open_places = node < 0
        node[open_places] = timeline.at(left[open_places])
    return left, right, node
