"""Which lanes stand on which lines, and what gives way where a terminal is low."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ptx.tui.state.timeline.lanes import CurveLane, Lane, TraceLanes
    from ptx.tui.state.timeline.window import Window

LEVELS, FEW_LEVELS, FEW_LINES = 5, 3, 36  # of modules, by the height of the terminal
_OP_LEVELS = 4
_THREADS_KEPT = 3


@dataclass(frozen=True, eq=False)
class Line:
    """One line: a lane, or a part of it."""

    lane: Lane | CurveLane
    part: Literal["host", "height", "letters", "curve", "text"]
    titled: bool = True


@dataclass(frozen=True, eq=False)
class StepLanes:
    """The lanes of a step: those with anything in its time first.

    `resting_threads` and `resting_streams` do nothing in the step.
    """

    modules: Sequence[Lane]
    ops: Sequence[Lane]
    launches: Sequence[Lane]
    threads: Sequence[Lane]
    streams: Sequence[Lane]
    curves: Sequence[CurveLane]
    resting_threads: Sequence[Lane]
    resting_streams: Sequence[Lane]


def lanes_of_step(
    lanes: TraceLanes, step: int | None, window: Window, counters: Sequence[CurveLane]
) -> StepLanes:
    """Returns the lanes of a step (None: the whole trace) with its time as the window."""

    def active(found: Sequence[Lane]) -> list[Lane]:
        return [lane for lane in found if lane.is_active(window)]

    main = lanes.main_thread(step)
    others = [lane for code, lane in lanes.threads.items() if code != main]
    others.sort(key=lambda lane: -lane.busy_ns(window))
    streams = active(lanes.streams)
    threads = active(others)
    return StepLanes(
        active(lanes.modules(main)),
        active(lanes.ops(main)),
        active(lanes.launches(main)),
        threads,
        streams,
        [*lanes.queues, *counters],
        [lane for lane in others if lane not in threads],
        [lane for lane in lanes.streams if lane not in streams],
    )


@dataclass(frozen=True, slots=True)
class _Plan:
    """How many levels and threads are shown, and which parts of the other lanes."""

    modules: int
    ops: int
    threads: int
    letters: bool = True
    heights: bool = True
    text: bool = True


def lay_out(
    lanes: StepLanes, lanes_of_trace: TraceLanes, lines: int, levels: int, *, letters: bool
) -> list[Line]:
    """Returns the lines from top to bottom; more than fit only where nothing can give way.

    Threads beyond the busiest give way first (one lane stands for all of them), then the queue's
    text, the outer levels of modules, and one of the two lines of each stream.

    Args:
        lanes: the lanes of the step.
        lanes_of_trace: makes the lane of several threads.
        lines: how many lines there are.
        levels: how many levels of modules at most.
        letters: keep a stream's letters, not its heights; for terminals without colour.
    """
    threads = len(lanes.threads) + bool(lanes.resting_threads)
    plan = _Plan(min(levels, len(lanes.modules)), min(1, len(lanes.ops)), threads)
    while _count(lanes, plan) > lines:
        smaller = _smaller(plan, lanes, letters=letters)
        if smaller == plan:
            break
        plan = smaller
    spare = lines - _count(lanes, plan)
    plan = replace(plan, ops=min(len(lanes.ops), _OP_LEVELS, plan.ops + max(0, spare)))
    return list(_lines(lanes, lanes_of_trace, plan))


def _smaller(plan: _Plan, lanes: StepLanes, *, letters: bool) -> _Plan:
    if plan.threads > _THREADS_KEPT:
        return replace(plan, threads=plan.threads - 1)
    if plan.text:
        return replace(plan, text=False)
    if plan.modules > 1:
        return replace(plan, modules=plan.modules - 1)
    if plan.letters and plan.heights and lanes.streams:
        return replace(plan, letters=letters, heights=not letters)
    return replace(plan, threads=min(plan.threads, 1))


def _count(lanes: StepLanes, plan: _Plan) -> int:
    parts = plan.letters + plan.heights
    texts = sum(lane.unit == "kernels" for lane in lanes.curves) if plan.text else 0
    others = len(lanes.launches) + len(lanes.curves) + texts
    return plan.modules + plan.ops + plan.threads + others + parts * len(lanes.streams)


def _lines(lanes: StepLanes, lanes_of_trace: TraceLanes, plan: _Plan) -> Iterator[Line]:
    modules = lanes.modules[len(lanes.modules) - plan.modules :]
    threads = _threads(lanes, lanes_of_trace, plan.threads)
    for group in (modules, lanes.ops[: plan.ops], lanes.launches, threads):
        for k, lane in enumerate(group):
            yield Line(lane, "host", titled=k == 0 or group is threads)
    for lane in lanes.streams:
        yield from _of_stream(lane, plan)
    for curve in lanes.curves:
        yield Line(curve, "curve")
        if plan.text and curve.unit == "kernels":
            yield Line(curve, "text", titled=False)
    for lane in lanes.resting_streams:
        yield from _of_stream(lane, plan)


def _of_stream(lane: Lane, plan: _Plan) -> Iterator[Line]:
    if plan.heights:
        yield Line(lane, "height")
    if plan.letters:
        yield Line(lane, "letters", titled=not plan.heights)


def _threads(lanes: StepLanes, lanes_of_trace: TraceLanes, count: int) -> list[Lane]:
    """Returns so many lanes of threads; the last stands for all that are left, if several are."""
    every = [*lanes.threads, *lanes.resting_threads]
    if len(every) <= count or not count:
        return every[:count]
    return [*every[: count - 1], lanes_of_trace.merged(every[count - 1 :])]
