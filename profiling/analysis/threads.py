"""The threads of a trace, each with its slices and how long it was inside any of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ptx.profiling.structure.intervals import union_by_group
from ptx.profiling.structure.tree import NodeKind

if TYPE_CHECKING:
    from ptx.profiling.structure.structure import Structure


@dataclass(frozen=True, slots=True)
class ThreadRow:
    """A thread with slices of the host; `busy_ns` is the length of their union."""

    pid: int | str | None
    tid: int | str | None
    name: str | None
    process_name: str | None
    slices: int
    busy_ns: int


def thread_rows(structure: Structure, step: int | None = None) -> list[ThreadRow]:
    """Returns the threads with slices, longest busy first.

    Args:
        structure: the trace.
        step: only slices that start in this step (position in `structure.steps`).
    """
    table, tree = structure.trace.table, structure.tree
    keep = tree.kind != NodeKind.ACTIVITY
    if step is not None:
        keep &= structure.step_of_nodes() == step
    event = tree.event[keep]
    start = table.start_ns[event]
    size = len(table.threads)
    slices = np.bincount(table.thread[event], minlength=size)
    busy = union_by_group(
        table.thread[event].astype(np.int64), start, start + table.dur_ns[event], size
    )
    rows = [
        ThreadRow(
            lane.pid, lane.tid, lane.name, lane.process_name, int(slices[code]), int(busy[code])
        )
        for code, lane in enumerate(table.threads)
        if slices[code]
    ]
    return sorted(rows, key=lambda r: (-r.busy_ns, str(r.pid), str(r.tid)))
