"""The lanes of a trace: what a thread or a stream did, as slices by time."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from ptx.profiling.analysis.accounting.queue import queue_depths
from ptx.profiling.analysis.categories import CATEGORY_LETTERS, categories_of
from ptx.profiling.analysis.selection import kept_depth
from ptx.profiling.report.units import format_share
from ptx.profiling.sanitise import clean
from ptx.profiling.structure.tree import NodeKind
from ptx.profiling.trace.columns import ABSENT, Flag
from ptx.tui.state.names import short_kernel, short_op
from ptx.tui.state.timeline.busy import Busy, Curve

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ptx.profiling.structure.structure import Structure
    from ptx.tui.state.timeline.window import Window

Group = Literal["modules", "frames", "ops", "launches", "thread", "threads", "stream"]
_CALL_PREFIX = re.compile(r"(?:cuda|hip)(?=[A-Z])")
_NAMED_THREAD = re.compile(r"thread (\S+) \((.+)\)\Z")  # what tells it apart goes first
_NO_NODES = np.zeros(0, np.int32)


@dataclass(frozen=True, eq=False)
class Lane:
    """Slices of one kind in order of their start; where `busy` is shorter, they overlap.

    `node` is each slice's node of the op tree. `thread` is the code of a host lane's thread, -1
    for several or for a device; `stream` is the (device, stream) of a device's lane. A device's
    lane has the union of each category of work apart, by its letter.
    """

    group: Group
    title: str
    short: str
    node: NDArray[np.int32]
    start_ns: NDArray[np.int64]
    end_ns: NDArray[np.int64]
    thread: int = ABSENT
    stream: tuple[int, int] | None = None
    categories: tuple[tuple[str, Busy], ...] = ()

    @cached_property
    def busy(self) -> Busy:
        """The union of the slices."""
        return Busy(self.start_ns, self.end_ns)

    def busy_ns(self, window: Window) -> int:
        """Returns how much of a window is busy."""
        return int(self.busy.within(np.array([window.start_ns, window.end_ns], np.int64))[0])

    def is_active(self, window: Window) -> bool:
        """Returns whether a slice lies in a window, be it one without length."""
        first = np.searchsorted(self.start_ns, np.int64(window.start_ns))
        begins = first < len(self.start_ns) and self.start_ns[first] < window.end_ns
        return bool(begins) or self.busy_ns(window) > 0

    def slice_at(self, time_ns: int) -> int:
        """Returns the last slice that began before a time and holds it, -1 for none."""
        k = int(np.searchsorted(self.start_ns, np.int64(time_ns), "right")) - 1
        return k if k >= 0 and time_ns < max(self.end_ns[k], self.start_ns[k] + 1) else ABSENT

    def slice_near(self, start_ns: int, end_ns: int) -> int:
        """Returns the slice that holds a stretch's start, else the first in it; -1 for none."""
        held = self.slice_at(start_ns)
        first = self.slice_beside(start_ns, 1)
        inside = first >= 0 and int(self.start_ns[first]) < end_ns
        return held if held >= 0 else first if inside else ABSENT

    def slice_beside(self, time_ns: int, by: int) -> int:
        """Returns the first slice from a time on, or the last that starts before it; -1: none."""
        if by > 0:
            k = int(np.searchsorted(self.start_ns, np.int64(time_ns), "left"))
            return k if k < len(self.start_ns) else ABSENT
        return int(np.searchsorted(self.start_ns, np.int64(time_ns), "left")) - 1


@dataclass(frozen=True, eq=False)
class CurveLane:
    """A value over time; a queue's counts kernels, and `waiting` is when it held any at all.

    `note` stands in place of the curve where nothing is known.
    """

    title: str
    short: str
    curve: Curve
    unit: Literal["kernels", "bytes", ""] = ""
    waiting: Busy | None = None
    note: str = ""

    def text(self, window: Window) -> str:
        """Returns what a queue's window tells in words."""
        if self.waiting is None or self.note:
            return ""
        edges = np.array([window.start_ns, window.end_ns], np.int64)
        _, highest = self.curve.extremes(*edges.tolist())
        empty = window.span_ns - int(self.waiting.within(edges)[0])
        text = f"highest {highest:.0f}"
        if empty:
            share = format_share(empty, window.span_ns)
            text += f"; 0 in {share} of the time: the host is the limit there"
        return text


class TraceLanes:
    """All lanes of a trace; array passes over it, made when they are asked for."""

    def __init__(self, structure: Structure) -> None:
        self._structure = structure
        tree, table = structure.tree, structure.trace.table
        self._start_ns = table.start_ns[tree.event]
        self._end_ns = self._start_ns + table.dur_ns[tree.event]
        self._known: dict[tuple[int, Group], tuple[Lane, ...]] = {}

    def name(self, lane: Lane, k: int) -> str:
        """Returns the short name of a slice, safe to show."""
        tree, table = self._structure.tree, self._structure.trace.table
        name = table.name_of(int(tree.event[lane.node[k]]))
        if lane.stream is not None:
            return short_kernel(name)
        return _CALL_PREFIX.sub("", short_op(name)) if lane.group == "launches" else short_op(name)

    def queue_delay_ns(self, lane: Lane, k: int) -> int | None:
        """Returns how long after the end of its launch an activity started, None if unknown."""
        activities = self._structure.activities
        if lane.stream is None:
            return None
        at = activities.index_of(int(self._structure.tree.event[lane.node[k]]))
        return int(activities.queue_delay_ns[at]) if activities.launch[at] >= 0 else None

    def main_thread(self, step: int | None) -> int:
        """Returns the code of the thread that steps, else of the one that launched most; or -1."""
        steps, tree = self._structure.steps, self._structure.tree
        thread = int(steps.thread[step]) if step is not None else ABSENT
        if thread >= 0 or not len(self._hosts):
            return thread
        # the whole trace: the thread of the steps, else the one with most work
        if len(steps) and steps.thread[0] >= 0:
            return int(steps.thread[0])
        codes = self._thread_of(self._hosts)
        launches = (tree.kind[self._hosts] == NodeKind.LAUNCH).astype(np.int64)
        weight = launches * len(tree) + 1  # by launches, then by slices
        return int(np.argmax(np.bincount(codes, weights=weight.astype(float))))

    def modules(self, thread: int) -> tuple[Lane, ...]:
        """Returns modules and annotations of a thread, outermost first, one lane a level.

        Python frames stand in for them on a thread that has neither those nor ops.
        """
        found = self._levels(thread, self._holders, "modules")
        if found or self.ops(thread):
            return found
        return self._levels(thread, self._kinds(NodeKind.FRAME), "frames")

    def ops(self, thread: int) -> tuple[Lane, ...]:
        """Returns the ops of a thread, outermost first, one lane a level."""
        return self._levels(thread, self._ops, "ops")

    def launches(self, thread: int) -> tuple[Lane, ...]:
        """Returns the runtime calls of a thread as one lane, or none."""
        calls = self._kinds(NodeKind.LAUNCH, NodeKind.RUNTIME)
        return self._levels(thread, calls, "launches")[:1]

    @cached_property
    def threads(self) -> dict[int, Lane]:
        """The outermost slices of each thread by its code, Python frames left out."""
        kept = self._holders | self._ops | self._kinds(NodeKind.LAUNCH, NodeKind.RUNTIME)
        outer = np.flatnonzero(kept & (self._depth_among(kept) == 0))
        codes = self._thread_of(outer)  # in runs: the tree goes thread by thread
        bounds = np.flatnonzero(np.diff(codes)) + 1
        return {
            int(self._thread_of(nodes[:1])[0]): self._host_lane(nodes, "thread")
            for nodes in np.split(outer, bounds)
            if len(nodes)
        }

    def merged(self, lanes: Sequence[Lane]) -> Lane:
        """Returns several threads as one lane."""
        node = np.concatenate([lane.node for lane in lanes] or [_NO_NODES])
        node = node[np.argsort(self._start_ns[node], kind="stable")]
        title, short = f"{len(lanes)} more threads", f"+{len(lanes)} threads"
        return Lane("threads", title, short, node, self._start_ns[node], self._end_ns[node])

    @cached_property
    def streams(self) -> tuple[Lane, ...]:
        """The activities of each stream of each device, in the order of their numbers."""
        structure = self._structure
        table, activities = structure.trace.table, structure.activities
        event = activities.event
        timed = np.flatnonzero((table.flags[event] & np.uint8(Flag.NO_TIMESTAMP)) == 0)
        device, stream = table.device[event[timed]], table.stream[event[timed]]
        order = np.lexsort((table.start_ns[event[timed]], stream, device))
        device, stream, rows = device[order], stream[order], timed[order]
        bounds = np.flatnonzero((np.diff(device) != 0) | (np.diff(stream) != 0)) + 1
        return tuple(self._stream(part) for part in np.split(rows, bounds) if len(part))

    def _stream(self, rows: NDArray[np.intp]) -> Lane:
        structure = self._structure
        table, activities = structure.trace.table, structure.activities
        event = activities.event[rows]
        device, stream = int(table.device[event[0]]), int(table.stream[event[0]])
        start = table.start_ns[event]
        end = start + activities.counted_ns[rows]
        category = self._categories[rows]
        several = len(structure.devices) > 1
        on = f" stream {stream}" if stream >= 0 else ""
        return Lane(
            "stream",
            f"GPU {max(0, device)}{on}",
            f"GPU{device if several else ''}{on.replace(' stream ', ' s')}",
            structure.tree.node_of[event],
            start,
            end,
            stream=(device, stream),
            categories=tuple(
                (CATEGORY_LETTERS[code], Busy(start[category == code], end[category == code]))
                for code in np.unique(category).tolist()
            ),
        )

    @cached_property
    def queues(self) -> tuple[CurveLane, ...]:
        """How many activities of each device were launched and had not started yet."""
        structure = self._structure
        table, activities = structure.trace.table, structure.activities
        linked = np.unique(table.device[activities.event[activities.launch >= 0]])
        lanes = []
        for queue in queue_depths(structure):
            which = f" GPU {queue.device}" if len(structure.devices) > 1 else ""
            some = queue.depth > 0
            lanes.append(
                CurveLane(
                    f"queued kernels{which}",
                    f"queued{which}",
                    Curve(queue.at_ns, queue.depth.astype(np.int64)),
                    "kernels",
                    Busy(queue.at_ns[:-1][some[:-1]], queue.at_ns[1:][some[:-1]]),
                    "" if queue.device in linked else "not known: no launch calls are recorded",
                )
            )
        return tuple(lanes)

    # --- slices of the host -------------------------------------------------------------------

    @cached_property
    def _categories(self) -> NDArray[np.uint8]:
        return categories_of(self._structure)

    @cached_property
    def _hosts(self) -> NDArray[np.intp]:
        return np.flatnonzero(self._structure.tree.kind != NodeKind.ACTIVITY)

    @cached_property
    def _holders(self) -> NDArray[np.bool_]:
        """Which nodes are modules or annotations."""
        return self._kinds(NodeKind.MODULE, NodeKind.ANNOTATION) & ~self._marks

    @cached_property
    def _ops(self) -> NDArray[np.bool_]:
        return self._kinds(NodeKind.OP) & ~self._marks

    @cached_property
    def _marks(self) -> NDArray[np.bool_]:
        """Which nodes mark a step, which the window does already."""
        tree, steps = self._structure.tree, self._structure.steps
        found = np.zeros(len(tree), bool)
        if steps.source == "ProfilerStep":
            found[tree.node_of[steps.event]] = True
        return found

    def _kinds(self, *kinds: NodeKind) -> NDArray[np.bool_]:
        return np.isin(self._structure.tree.kind, [int(kind) for kind in kinds])

    def _thread_of(self, nodes: NDArray[np.intp]) -> NDArray[np.int32]:
        table, tree = self._structure.trace.table, self._structure.tree
        return table.thread[tree.event[nodes]]

    def _depth_among(self, kept: NDArray[np.bool_]) -> NDArray[np.int32]:
        tree = self._structure.tree
        return kept_depth(tree.parent, tree.depth, kept)

    def _levels(self, thread: int, kept: NDArray[np.bool_], group: Group) -> tuple[Lane, ...]:
        if (thread, group) not in self._known:
            nodes = np.flatnonzero(kept)
            nodes = nodes[self._thread_of(nodes) == thread]
            level = self._depth_among(kept)[nodes]
            self._known[thread, group] = tuple(
                self._host_lane(nodes[level == k], group) for k in np.unique(level).tolist()
            )
        return self._known[thread, group]

    def _host_lane(self, nodes: NDArray[np.intp], group: Group) -> Lane:
        start = self._start_ns[nodes]
        order = np.argsort(start, kind="stable")
        node = nodes[order].astype(np.int32)
        thread = int(self._thread_of(nodes[:1])[0])
        title = self._thread_title(thread) if group == "thread" else group
        return Lane(group, title, title, node, start[order], self._end_ns[node], thread)

    def _thread_title(self, thread: int) -> str:
        lane = self._structure.trace.table.threads[thread]
        title = _NAMED_THREAD.sub(r"\2 \1", (lane.name or f"thread {lane.tid}").strip())
        return clean(f"{lane.pid} {title}" if self._pids > 1 else title)

    @cached_property
    def _pids(self) -> int:
        codes = np.unique(self._thread_of(self._hosts)).tolist()
        return len({str(self._structure.trace.table.threads[k].pid) for k in codes})
