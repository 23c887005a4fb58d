"""The queue between host and device: what was launched and has not started, and how long it took.

An activity stands in the queue from the end of its launch to its own start. One that starts before
its launch returns never stood there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ptx.profiling.analysis._once import once_per_trace
from ptx.profiling.structure.intervals import contains, distinct
from ptx.profiling.trace.columns import Flag

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ptx.profiling.structure.structure import Structure


@dataclass(frozen=True, slots=True, eq=False)
class QueueDepth:
    """How many activities of a device were queued: `depth[k]` from `at_ns[k]` to the next time.

    Before the first time and from the last one on the queue is empty.
    """

    device: int
    at_ns: NDArray[np.int64]
    depth: NDArray[np.int32]

    def at(self, time_ns: NDArray[np.int64]) -> NDArray[np.int32]:
        """Returns the depth at each time."""
        depth = np.append(self.depth, np.int32(0))  # index -1: before the first time
        found: NDArray[np.int32] = depth[np.searchsorted(self.at_ns, time_ns, "right") - 1]
        return found


@dataclass(frozen=True, slots=True)
class StepQueue:
    """One device's queue while a step lasted, by the clock.

    Attributes:
        dur_ns: how long the step lasted.
        empty_ns: how long nothing was queued.
        starved_ns: how long nothing was queued and the device was idle: the host is the limit.
        median_depth: the depth that was not exceeded half of the time.
        highest_depth: the most that was queued at a time.
        latency_ns: the median time from a launch's start to that of its first activity, over the
            launches of the step that found the device idle and nothing queued; None without any.
        waited_ns: the median queue delay over all activities that the step launched; None without
            any. Negative where activities start before their launch returns.
    """

    dur_ns: int
    empty_ns: int
    starved_ns: int
    median_depth: int
    highest_depth: int
    latency_ns: int | None
    waited_ns: int | None

    @property
    def empty_share(self) -> float:
        """Returns the share of the step in which nothing was queued; 0 for a step without time."""
        return self.empty_ns / self.dur_ns if self.dur_ns else 0.0


@once_per_trace
def queue_depths(structure: Structure) -> tuple[QueueDepth, ...]:
    """Returns the queue of every device with activity, in the order of `structure.devices`."""
    rows = _launched(structure)
    return tuple(_depth(structure, rows, index) for index in structure.devices.tolist())


@once_per_trace
def step_queues(structure: Structure) -> dict[int, tuple[StepQueue, ...]]:
    """Returns the queue in every step, in order, by device."""
    return {queue.device: _of_steps(structure, queue) for queue in queue_depths(structure)}


def _launched(structure: Structure) -> NDArray[np.intp]:
    """Returns the positions of the activities whose launch and time are known."""
    table, activities = structure.trace.table, structure.activities
    timed = (table.flags[activities.event] & np.uint8(Flag.NO_TIMESTAMP)) == 0
    return np.flatnonzero((activities.launch >= 0) & timed)


def _depth(structure: Structure, rows: NDArray[np.intp], device: int) -> QueueDepth:
    table, activities = structure.trace.table, structure.activities
    mine = rows[table.device[activities.event[rows]] == device]
    mine = mine[activities.queue_delay_ns[mine] > 0]
    started = table.start_ns[activities.event[mine]]
    queued = started - activities.queue_delay_ns[mine]
    at = distinct(queued, started)
    change = np.zeros(len(at), np.int32)
    np.add.at(change, np.searchsorted(at, queued), np.int32(1))
    np.add.at(change, np.searchsorted(at, started), np.int32(-1))
    return QueueDepth(device, at, np.cumsum(change, dtype=np.int32))


def _of_steps(structure: Structure, queue: QueueDepth) -> tuple[StepQueue, ...]:
    steps, n = structure.steps, len(structure.steps)
    busy = structure.busy_by_clock(queue.device)
    edges = distinct(queue.at_ns, steps.start_ns, steps.end_ns, *busy)
    begins, lengths = edges[:-1], np.diff(edges)
    step = steps.at(begins)
    inside = step >= 0
    begins, lengths, step = begins[inside], lengths[inside], step[inside]
    depth = queue.at(begins)
    empty = depth == 0
    highest = np.zeros(n, np.int32)
    np.maximum.at(highest, step, depth)
    empty_ns, starved_ns = np.zeros(n, np.int64), np.zeros(n, np.int64)
    np.add.at(empty_ns, step[empty], lengths[empty])
    starved = empty & ~contains(*busy, begins)
    np.add.at(starved_ns, step[starved], lengths[starved])
    latency, waited = _delays(structure, queue, busy)
    return tuple(
        StepQueue(*row)
        for row in zip(
            (steps.end_ns - steps.start_ns).tolist(),
            empty_ns.tolist(),
            starved_ns.tolist(),
            _weighted_medians(step, depth, lengths, n),
            highest.tolist(),
            latency,
            waited,
            strict=True,
        )
    )


def _weighted_medians(
    group: NDArray[np.int32], values: NDArray[np.int32], weights: NDArray[np.int64], groups: int
) -> list[int]:
    """Returns the least value of each group that half of its weight does not exceed; 0 for none."""
    order = np.lexsort((values, group))
    group, values = group[order], values[order]
    total = np.concatenate(([0], np.cumsum(weights[order])))
    first = np.searchsorted(group, np.arange(groups + 1, dtype=np.int32))
    begin, end = total[first[:-1]], total[first[1:]]
    half = begin + (end - begin + 1) // 2
    at = np.searchsorted(total, half, "left") - 1
    found = np.append(values, np.int32(0))[np.clip(at, 0, len(values))]
    return np.where(end > begin, found, 0).tolist()  # type: ignore[no-any-return]


def _delays(
    structure: Structure, queue: QueueDepth, busy: tuple[NDArray[np.int64], NDArray[np.int64]]
) -> tuple[list[int | None], list[int | None]]:
    """Returns the median launch latency and queue delay of each step's activities."""
    table, activities = structure.trace.table, structure.activities
    rows = _launched(structure)
    rows = rows[table.device[activities.event[rows]] == queue.device]
    rows = rows[activities.step[rows] >= 0]
    start = table.start_ns[activities.event[rows]]
    called = table.start_ns[activities.launch[rows]]
    found_idle = (queue.at(called) == 0) & ~contains(*busy, called)
    found_idle &= _first_of_launch(activities.launch[rows], start)
    step, n = activities.step[rows], len(structure.steps)
    return (
        _medians(step[found_idle], (start - called)[found_idle], n),
        _medians(step, activities.queue_delay_ns[rows], n),
    )


def _first_of_launch(launch: NDArray[np.int32], start_ns: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Returns which activities start before all others of their launch (a graph has many)."""
    order = np.lexsort((start_ns, launch))
    first = np.ones(len(launch), bool)
    first[order[1:]] = launch[order[1:]] != launch[order[:-1]]
    return first


def _medians(group: NDArray[np.int32], values: NDArray[np.int64], groups: int) -> list[int | None]:
    """Returns the lower median of each group's values, None for an empty one."""
    order = np.lexsort((values, group))
    first = np.searchsorted(group[order], np.arange(groups + 1, dtype=np.int32))
    begin, end = first[:-1], first[1:]
    middle = np.append(values[order], 0)[begin + np.maximum(end - begin - 1, 0) // 2]
    return [
        value if some else None
        for value, some in zip(middle.tolist(), (end > begin).tolist(), strict=True)
    ]
