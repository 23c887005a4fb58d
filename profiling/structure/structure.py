"""A trace with its relations: the one object that analysis, reports and screens start from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ptx.profiling.structure.activities import Activities, counted_durations
from ptx.profiling.structure.autograd import forward_of
from ptx.profiling.structure.flows import link_by_flow
from ptx.profiling.structure.intervals import covered, merge
from ptx.profiling.structure.launches import enqueues, launch_of, op_by_external_id
from ptx.profiling.structure.nesting import TOLERANCE_NS, WHOLE_US_TOLERANCE_NS, Calls, nest
from ptx.profiling.structure.steps import find_steps
from ptx.profiling.structure.sums import sum_nodes
from ptx.profiling.structure.tree import NodeKind, join_activities
from ptx.profiling.trace.columns import (
    ABSENT,
    ACTIVITY_KINDS,
    HOST_KINDS,
    Flag,
    Kind,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ptx.profiling.structure.steps import Steps
    from ptx.profiling.structure.sums import NodeSums
    from ptx.profiling.structure.tree import Tree
    from ptx.profiling.trace.columns import EventTable
    from ptx.profiling.trace.reader import TraceFile


@dataclass(frozen=True, eq=False)
class Structure:
    """A trace file with its op tree, launch links, activities and steps.

    `is_launch` (one flag an event) marks the runtime calls that an activity's correlation names
    or that enqueue work by their name. `crossing_slices` counts host slices that cross another of
    their thread.
    """

    trace: TraceFile
    tree: Tree
    activities: Activities
    steps: Steps
    is_launch: NDArray[np.bool_]
    crossing_slices: int

    @cached_property
    def sums(self) -> NodeSums:
        """Totals of every node of the tree."""
        return sum_nodes(self.trace.table, self.tree, self.activities)

    @cached_property
    def owner_op(self) -> NDArray[np.int32]:
        """The nearest op above each node, as a node; -1 for none."""
        return self.tree.nearest((NodeKind.OP,))

    @cached_property
    def module(self) -> NDArray[np.int32]:
        """The nearest module above each node, as a node; -1 for none."""
        return self.tree.nearest((NodeKind.MODULE,))

    @cached_property
    def forward(self) -> NDArray[np.int32]:
        """The forward op of each node that is a backward op, as an event id; -1 for none."""
        return forward_of(self.trace.table, self.tree)

    @cached_property
    def devices(self) -> NDArray[np.int32]:
        """The devices with activity, ascending."""
        return np.unique(self.trace.table.device[self.activities.event])

    def step_of_nodes(self) -> NDArray[np.int32]:
        """Returns the step of each node: an activity's is that of its launch; -1 for none."""
        step = self.steps.at(self.trace.table.start_ns[self.tree.event])
        step[self.tree.node_of[self.activities.event]] = self.activities.step
        return step

    def busy_by_clock(self, device: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Returns when a device was busy, as disjoint ascending (starts, ends) in ns."""
        events = self.activities.event
        mine = (self.trace.table.device[events] == device) & ~self._untimed
        start = self.trace.table.start_ns[events[mine]]
        return merge(start, start + self.activities.counted_ns[mine])

    def clock_busy_ns(
        self, start_ns: NDArray[np.int64], end_ns: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Returns the busy time within each stretch of time, added over the devices."""
        total = np.zeros(len(start_ns), np.int64)
        for device in self.devices.tolist():
            starts, ends = self.busy_by_clock(device)
            total += covered(starts, ends, end_ns) - covered(starts, ends, start_ns)
        return total

    @property
    def _untimed(self) -> NDArray[np.bool_]:
        flags = self.trace.table.flags[self.activities.event]
        untimed: NDArray[np.bool_] = (flags & np.uint8(Flag.NO_TIMESTAMP)) != 0
        return untimed


def build_structure(trace: TraceFile) -> Structure:
    """Returns the relations of a trace; array passes only, about 1 us an event."""
    table = trace.table
    hosts = table.of_kind(*HOST_KINDS)
    hosts = hosts[(table.flags[hosts] & np.uint8(Flag.NO_TIMESTAMP)) == 0]
    lane = _lanes_by_first_event(table.thread[hosts], table.start_ns[hosts])
    nesting = nest(
        lane,
        table.start_ns[hosts],
        table.dur_ns[hosts],
        _op_indices(trace, hosts),
        _calls(table, hosts),
        _tolerance_ns(table, hosts),
    )

    events = table.of_kind(*ACTIVITY_KINDS)
    launch = launch_of(table, events)
    launch[launch >= 0] = np.where(np.isin(launch[launch >= 0], hosts), launch[launch >= 0], ABSENT)
    by_flow, op_by_flow = link_by_flow(table, events, launch)
    launch = np.where(launch >= 0, launch, by_flow)
    is_launch = np.zeros(len(table), bool)
    is_launch[launch[launch >= 0]] = True
    calls = table.of_kind(Kind.RUNTIME)
    is_launch[calls] |= enqueues(table.names)[table.name[calls]]

    tree = join_activities(table, hosts, nesting, events, launch)
    op = _ops_above(tree, launch)
    direct = op_by_external_id(table, events, launch, op)
    direct = np.where(direct >= 0, direct, np.where(launch >= 0, ABSENT, op_by_flow))
    if (direct >= 0).any():
        tree = join_activities(table, hosts, nesting, events, np.where(launch >= 0, launch, direct))
        op = np.where(launch >= 0, op, direct).astype(np.int32)
    tree.kind[is_launch[tree.event]] = NodeKind.LAUNCH

    steps = find_steps(table, trace.span_ns)
    counted, overruns = counted_durations(table, events)
    caused_at = table.start_ns[np.where(launch >= 0, launch, op)]
    linked = (launch >= 0) | (op >= 0)
    step = np.where(linked, steps.at(caused_at), ABSENT).astype(np.int32)
    if steps.source == "trace":
        step[:] = 0
    delay = table.start_ns[events] - table.start_ns[launch] - table.dur_ns[launch]
    timed = (table.flags[events] & np.uint8(Flag.NO_TIMESTAMP)) == 0
    activities = Activities(
        events, counted, overruns, launch, op, step, np.where((launch >= 0) & timed, delay, 0)
    )
    return Structure(trace, tree, activities, steps, is_launch, int(nesting.crossing.sum()))


def _lanes_by_first_event(
    thread: NDArray[np.int32], start_ns: NDArray[np.int64]
) -> NDArray[np.int32]:
    """Returns thread codes renumbered so that the thread that starts first comes first."""
    if len(thread) == 0:
        return thread
    first = np.full(int(thread.max()) + 1, np.iinfo(np.int64).max)
    np.minimum.at(first, thread, start_ns)
    rank = np.empty(len(first), np.int32)
    rank[np.argsort(first, kind="stable")] = np.arange(len(first), dtype=np.int32)
    return rank[thread]


def _tolerance_ns(table: EventTable, hosts: NDArray[np.int32]) -> int:
    """Returns by how much a child may outlive its parent: the file's own step of time tells."""
    whole = not (table.start_ns[hosts] % 1000).any() and not (table.dur_ns[hosts] % 1000).any()
    return WHOLE_US_TOLERANCE_NS if whole else TOLERANCE_NS


def _calls(table: EventTable, hosts: NDArray[np.int32]) -> Calls | None:
    """Returns what frames tell of their callers, None where a trace has no frames.

    Only a caller on the frame's own thread counts: the first frame of autograd's thread names the
    frame of the main thread that called backward.
    """
    if len(table.python_id.rows) == 0:
        return None
    number = table.python_id.at(hosts)
    wanted = table.python_parent_id.at(hosts)
    frames = np.flatnonzero(number != ABSENT)
    frames = frames[np.argsort(number[frames], kind="stable")]
    asking = np.flatnonzero(wanted != ABSENT)
    first = np.searchsorted(number[frames], wanted[asking], "left")
    behind = np.searchsorted(number[frames], wanted[asking], "right")
    unique = behind - first == 1
    asking, found = asking[unique], frames[first[unique]]
    near = (table.thread[hosts[asking]] == table.thread[hosts[found]]) & (asking != found)
    caller = np.full(len(hosts), ABSENT, np.int64)
    caller[asking[near]] = found[near]
    return Calls(number, caller)


def _op_indices(trace: TraceFile, hosts: NDArray[np.int32]) -> NDArray[np.int32]:
    """Returns the profiler's own order (Ev Idx) of ops and annotations, -1 for all else.

    Frames have a number too, but from a count of their own, which does not follow time.
    """
    kind = trace.table.kind[hosts]
    ordered = (kind == Kind.OP) | (kind == Kind.ANNOTATION)
    return np.where(ordered, trace.table.ev_idx[hosts], ABSENT).astype(np.int32)


def _ops_above(tree: Tree, launch: NDArray[np.int32]) -> NDArray[np.int32]:
    """Returns the op that owns each activity's launch as an event id, -1 for none."""
    nearest = tree.nearest((NodeKind.OP,))
    node = np.where(launch >= 0, tree.node_of[launch], ABSENT)
    op = np.where(node >= 0, nearest[node], ABSENT)
    return np.where(op >= 0, tree.event[op], ABSENT).astype(np.int32)
