"""When the device had nothing to do because the host had not launched it: shared by findings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ptx.profiling.analysis.accounting.queue import queue_depths
from ptx.profiling.structure.intervals import contains
from ptx.profiling.trace.columns import Kind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ptx.profiling.analysis.findings.case import Case

SHARE = 0.45
"""Idle share of the step from which the host counts as the limit.

The host is 1.1 to 1.8 times as slow under the profiler (shapes and memory recorded). A device that
is idle for less than 1 - 1/1.8 of a profiled step would be busy throughout without the profiler.
"""
SHARE_WITH_STACKS = 0.57
"""The same where Python frames are recorded: they cost another third."""
_FEWEST_LAUNCHES = 10


@dataclass(frozen=True, slots=True, eq=False)
class Starved:
    """The pieces of the device in which it starved, and the pace of host and device.

    `per_launch_ns` is the length of the steps over their launches, `each_ns` the mean time of an
    activity, `call_ns` the mean time of a launch's call.
    """

    pieces: NDArray[np.bool_]
    launches_per_step: float
    per_launch_ns: float
    each_ns: float
    call_ns: float


def starved(case: Case) -> Starved | None:
    """Returns when nothing was queued while the host dispatched; None with few launches a step.

    Stalls are left out: they have other causes than the pace of the host.
    """
    structure = case.structure
    tree, activities, launches = structure.tree, structure.activities, case.launches
    per_step = len(launches) / len(case.steps)
    if per_step < _FEWEST_LAUNCHES or not len(case.activities):
        return None
    (queue,) = (q for q in queue_depths(structure) if q.device == case.device.device)
    pieces = case.pieces("idle_host", "idle_other")
    pieces &= queue.at(case.device.begin_ns) == 0
    pieces &= ~contains(*case.stalls, case.device.begin_ns)
    calls = structure.trace.table.dur_ns[tree.event[launches]]
    return Starved(
        pieces=pieces,
        launches_per_step=per_step,
        per_launch_ns=case.step_ns / per_step,
        each_ns=float(activities.counted_ns[case.activities].mean()),
        call_ns=float(np.median(calls)),
    )


def wanted_share(case: Case) -> float:
    """Returns the idle share of a step from which on the host is the limit."""
    has_stacks = len(case.structure.trace.table.of_kind(Kind.FRAME)) > 0
    return SHARE_WITH_STACKS if has_stacks else SHARE
