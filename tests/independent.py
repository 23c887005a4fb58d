"""What a trace file holds, counted by `json` and plain loops that share no code with ptx."""

from __future__ import annotations

import gc
import gzip
import json
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

ACTIVITIES = ("kernel", "gpu_memcpy", "gpu_memset")
RUNTIMES = ("cuda_runtime", "cuda_driver")


@dataclass
class Count:
    """Counts and sums of one file; times in absolute ns, ids are positions in the event list."""

    events: int
    kinds: Counter[str]
    start: dict[int, int]
    end: dict[int, int]
    activities: dict[int, dict[str, Any]]
    launch: dict[int, int]
    steps: list[tuple[str, int, int]]

    @property
    def gpu_sum_ns(self) -> int:
        return sum(self.end[a] - self.start[a] for a in self.activities)

    def busy_ns(self, begin: int | None = None, until: int | None = None) -> int:
        """Returns the united time of the activities of each device, within a stretch of time."""
        total = 0
        for intervals in self._by_device.values():
            reach = begin if begin is not None else -(2**63)
            for start, recorded_end in intervals:
                end = recorded_end if until is None else min(recorded_end, until)
                total += max(0, end - max(reach, start))
                reach = max(reach, end)
        return total

    @cached_property
    def _by_device(self) -> dict[int, list[tuple[int, int]]]:
        found: dict[int, list[tuple[int, int]]] = {}
        for i, activity in self.activities.items():
            device = activity["args"]["device"]
            found.setdefault(device, []).append((self.start[i], self.end[i]))
        return {device: sorted(intervals) for device, intervals in found.items()}

    def step_of(self, activity: int) -> int:
        """Returns the step in which an activity was launched, -1 for none."""
        launch = self.launch.get(activity)
        if launch is None:
            return -1
        at = self.start[launch]
        return next((k for k, (_, s, e) in enumerate(self.steps) if s <= at < e), -1)


def load(path: Path) -> list[Any]:
    """Returns the event list; numbers with decimals stay text."""
    data = path.read_bytes()
    text = gzip.decompress(data) if path.suffix == ".gz" else data
    gc.disable()  # it would walk the fresh objects over and over
    try:
        document = json.loads(text, parse_float=str)
    finally:
        gc.enable()
    events: list[Any] = document["traceEvents"] if isinstance(document, dict) else document
    return events


def count(events: list[Any]) -> Count:
    """Returns the counts of a sound trace of the profiler."""
    kinds: Counter[str] = Counter()
    start, end = {}, {}
    activities: dict[int, Any] = {}
    calls: dict[int, int] = {}
    for i, event in enumerate(events):
        category = event.get("cat", "")
        if event["ph"] != "X":
            if event["ph"] == "i" and category == "cpu_instant_event":
                kinds["memory"] += event["name"] == "[memory]"
            continue
        start[i] = ns(event["ts"])
        end[i] = start[i] + ns(event["dur"])
        if category == "python_function" and event["name"].startswith("nn.Module: "):
            category = "module"
        kinds["runtime" if category in RUNTIMES else category] += 1
        if category in ACTIVITIES:
            activities[i] = event
        elif category in RUNTIMES and event.get("args", {}).get("correlation"):
            calls[event["args"]["correlation"]] = i
    launch = {
        i: calls[a["args"]["correlation"]]
        for i, a in activities.items()
        if a["args"]["correlation"] in calls
    }
    return Count(len(events), kinds, start, end, activities, launch, _steps(events, start, end))


def owner_op(events: list[Any], counted: Count, launch: int) -> int:
    """Returns the op that starts last of those that hold a call whole on its thread, or -1."""
    call = events[launch]
    holding = [
        (counted.start[i], e.get("args", {}).get("Ev Idx", -1), i)
        for i, e in enumerate(events)
        if e.get("cat") == "cpu_op"
        and e["tid"] == call["tid"]
        and counted.start[i] <= counted.start[launch]
        and counted.end[i] >= counted.end[launch] - 2
    ]
    return max(holding)[2] if holding else -1


def _steps(
    events: list[Any], start: dict[int, int], end: dict[int, int]
) -> list[tuple[str, int, int]]:
    marks = [
        i
        for i in start
        if events[i]["name"].startswith("ProfilerStep#") and events[i]["cat"] == "user_annotation"
    ]
    marks.sort(key=start.__getitem__)
    found = []
    for k, i in enumerate(marks):
        following = start[marks[k + 1]] if k + 1 < len(marks) else end[i]
        found.append((events[i]["name"], start[i], min(end[i], following)))
    return found


def ns(us: int | str) -> int:
    """Returns exact ns of a number of us."""
    return us * 1000 if isinstance(us, int) else int((Decimal(us) * 1000).to_integral_value())
