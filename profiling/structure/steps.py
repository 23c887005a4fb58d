"""The steps of a trace: profiler marks, else optimizer steps, else the whole trace."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ptx.profiling.trace.columns import ABSENT, Kind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ptx.profiling.trace.columns import EventTable

_MARK = "ProfilerStep#"
_OPTIMIZER = "Optimizer.step#"


@dataclass(frozen=True, slots=True)
class Steps:
    """Disjoint stretches of time in ascending order; `source` says what they were taken from.

    `event` is the mark's id (the closing `Optimizer.step`'s for steps between those, -1 for the
    whole trace), `thread` the code of the thread that steps, -1 for the whole trace. `end_ns` is
    the mark's own end, or the next step's start if that comes first.
    """

    source: str
    names: tuple[str, ...]
    event: NDArray[np.int32]
    thread: NDArray[np.int32]
    start_ns: NDArray[np.int64]
    end_ns: NDArray[np.int64]

    def __len__(self) -> int:
        """Returns the number of steps."""
        return len(self.names)

    def at(self, time_ns: NDArray[np.int64]) -> NDArray[np.int32]:
        """Returns the step that each time falls in, -1 for none."""
        k: NDArray[np.intp] = np.searchsorted(self.start_ns, time_ns, "right") - 1
        inside = (k >= 0) & (time_ns < self.end_ns[np.maximum(k, 0)])
        k[~inside] = ABSENT
        return k.astype(np.int32)


def find_steps(table: EventTable, span_ns: int) -> Steps:
    """Returns the steps of a trace, at least one.

    Steps are `ProfilerStep#N` marks; without them, the time from the end of one `Optimizer.step`
    to the end of the next on its thread; without two of those, the whole trace.
    """
    # some vendors write the marks as ops
    annotations = table.of_kind(Kind.ANNOTATION, Kind.OP)
    marks = annotations[table.names_matching(_MARK)[table.name[annotations]]]
    if len(marks):
        return _from_marks(table, _one_thread(table, marks))
    optimizer = annotations[table.names_matching(_OPTIMIZER)[table.name[annotations]]]
    optimizer = _outermost(table, _one_thread(table, optimizer))
    if len(optimizer) >= 2:
        return _between_optimizer_steps(table, optimizer)
    return Steps(
        "trace",
        ("trace",),
        np.array([ABSENT], np.int32),
        np.array([ABSENT], np.int32),
        np.zeros(1, np.int64),
        np.array([span_ns], np.int64),
    )


def _one_thread(table: EventTable, events: NDArray[np.int32]) -> NDArray[np.int32]:
    """Returns the events of the thread that has most of them, by start."""
    if len(events) == 0:
        return events
    thread = table.thread[events]
    codes, counts = np.unique(thread, return_counts=True)
    mine: NDArray[np.int32] = events[thread == codes[np.argmax(counts)]]
    return mine[np.argsort(table.start_ns[mine], kind="stable")]


def _outermost(table: EventTable, events: NDArray[np.int32]) -> NDArray[np.int32]:
    """Returns the events (by start) that begin in no other: an optimizer may wrap another."""
    if len(events) == 0:
        return events
    start = table.start_ns[events]
    reach = np.maximum.accumulate(start + table.dur_ns[events])
    outer: NDArray[np.int32] = events[np.concatenate(([True], start[1:] >= reach[:-1]))]
    return outer


def _from_marks(table: EventTable, marks: NDArray[np.int32]) -> Steps:
    start = table.start_ns[marks]
    end = start + table.dur_ns[marks]
    end[:-1] = np.minimum(end[:-1], start[1:])
    return Steps(
        "ProfilerStep",
        tuple(table.name_of(int(m)) for m in marks),
        marks,
        table.thread[marks],
        start,
        end,
    )


def _between_optimizer_steps(table: EventTable, optimizer: NDArray[np.int32]) -> Steps:
    ends = table.start_ns[optimizer] + table.dur_ns[optimizer]
    closing = optimizer[1:]
    return Steps(
        "Optimizer.step",
        tuple(f"step {k + 1}" for k in range(len(closing))),
        closing,
        table.thread[closing],
        ends[:-1],
        ends[1:],
    )
