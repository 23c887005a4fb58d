"""The relations of a trace by plain loops over the events that a file is written from."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from tests import naive

_HOST = ("cpu_op", "user_annotation", "python_function", "cuda_runtime")
_DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")
_ENQUEUES = ("cudaLaunchKernel", "cudaMemcpyAsync", "cudaGraphLaunch", "cuLaunchKernel")


@dataclass
class NaiveStructure:
    """Parents, launches, counted durations and sums, all by event id."""

    hosts: list[int]
    activities: list[int]
    parent: dict[int, int]
    launch: dict[int, int]
    op: dict[int, int]
    counted: dict[int, int]
    crossing: int
    start: dict[int, int]
    dur: dict[int, int]
    events: list[Any]

    def subtree(self, event: int) -> list[int]:
        """Returns the event and all below it."""
        below = [e for e in self.parent if event in self.ancestors(e)]
        return [event, *below]

    def ancestors(self, event: int) -> list[int]:
        """Returns the events above, the nearest first."""
        found = []
        above = self.parent[event]
        while above >= 0:
            found.append(above)
            above = self.parent[above]
        return found

    def gpu_sum(self, event: int) -> int:
        """Returns the counted time of the activities in a subtree."""
        return sum(self.counted.get(e, 0) for e in self.subtree(event))

    def gpu_sum_raw(self, event: int) -> int:
        """Returns the recorded time of the activities in a subtree."""
        return sum(self.dur[e] for e in self.subtree(event) if e in self.counted)

    def gpu_busy(self, event: int) -> int:
        """Returns the united time of a subtree's activities, device by device."""
        by_device: dict[int, list[tuple[int, int]]] = {}
        for e in self.subtree(event):
            if e in self.counted:
                device = self.events[e]["args"]["device"]
                by_device.setdefault(device, []).append(
                    (self.start[e], self.start[e] + self.counted[e])
                )
        return sum(naive.union_ns(intervals) for intervals in by_device.values())

    def kernels(self, event: int) -> int:
        """Returns how many kernels a subtree has."""
        return sum(self.events[e]["cat"] == "kernel" for e in self.subtree(event))

    def self_ns(self, event: int) -> int:
        """Returns the event's time less that of what lies below, seen through frames."""
        start, end = self.start[event], self.start[event] + self.dur[event]
        inner = []
        for e in self.subtree(event)[1:]:
            between = self.ancestors(e)[: self.ancestors(e).index(event)]
            if self._is_solid(e) and not any(self._is_solid(b) for b in between):
                inner.append((max(start, self.start[e]), min(end, self.start[e] + self.dur[e])))
        return self.dur[event] - naive.union_ns(inner)

    def _is_solid(self, event: int) -> bool:
        return event not in self.counted and self.events[event]["cat"] != "python_function"


def structure_of(events: list[Any]) -> NaiveStructure:
    """Returns the relations of sound complete events without ids but correlations."""
    ns = {i: _ns(e["ts"]) for i, e in enumerate(events)}
    origin = min(ns.values(), default=0)
    start = {i: t - origin for i, t in ns.items()}
    dur = {i: _ns(e["dur"]) for i, e in enumerate(events)}
    hosts = [i for i, e in enumerate(events) if e["cat"] in _HOST]
    activities = [i for i, e in enumerate(events) if e["cat"] in _DEVICE]
    parent: dict[int, int] = {}
    lanes = [(events[i]["pid"], events[i]["tid"]) for i in hosts]
    lane_code = {lane: k for k, lane in enumerate(dict.fromkeys(lanes))}
    index = [events[i].get("args", {}).get("Ev Idx", -1) for i in hosts]
    nested = naive.nest(
        [lane_code[lane] for lane in lanes],
        [start[i] for i in hosts],
        [dur[i] for i in hosts],
        index,
    )
    for s in nested:
        above = s.parent
        parent[hosts[s.position]] = hosts[nested[above].position] if above >= 0 else -1
    launch = {a: _launch(events, start, a) for a in activities}
    parent.update(launch)
    counted = naive.counted_durations(
        [(events[a]["args"]["device"], events[a]["args"]["stream"]) for a in activities],
        [start[a] for a in activities],
        [dur[a] for a in activities],
    )
    out = NaiveStructure(
        hosts=hosts,
        activities=activities,
        parent=parent,
        launch=launch,
        op={},
        counted=dict(zip(activities, counted, strict=True)),
        crossing=sum(s.crossing for s in nested),
        start=start,
        dur=dur,
        events=events,
    )
    for a in activities:
        ops = [e for e in out.ancestors(a) if events[e]["cat"] == "cpu_op"]
        out.op[a] = ops[0] if ops else -1
    return out


def _launch(events: list[Any], start: dict[int, int], activity: int) -> int:
    wanted = events[activity]["args"].get("correlation")
    if wanted is None:
        return -1
    calls = [
        (e["name"] in _ENQUEUES, start[i], i)
        for i, e in enumerate(events)
        if e["cat"] == "cuda_runtime" and e.get("args", {}).get("correlation") == wanted
    ]
    # a number that comes back later: the last launch before the activity
    before = [call for call in calls if call[0] and call[1] <= start[activity]]
    return max(before or calls)[2] if calls else -1


def _ns(us: object) -> int:
    return int((Decimal(str(us)) * 1000).to_integral_value())
