"""The public way in: load a trace, ask for its tables and its summary."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ptx.profiling.report.documents import summary_document
from ptx.profiling.structure.structure import Structure, build_structure
from ptx.profiling.structure.tree import NodeKind
from ptx.profiling.trace.reader import read_trace

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    import pandas
    import polars
    from numpy.typing import NDArray

    from ptx.profiling.trace.columns import EventTable
    from ptx.profiling.trace.reader import LoadProgress


@dataclass(frozen=True)
class Table:
    """Named columns of equal length; times int64 ns from the trace's start, names as text."""

    columns: Mapping[str, NDArray[Any]]

    def __len__(self) -> int:
        """Returns the number of rows."""
        return len(next(iter(self.columns.values())))

    def __getitem__(self, name: str) -> NDArray[Any]:
        """Returns a column; raises KeyError for an unknown one."""
        return self.columns[name]

    def to_pandas(self) -> pandas.DataFrame:
        """Returns a pandas DataFrame; raises ImportError without pandas."""
        import pandas as pd

        return pd.DataFrame(dict(self.columns))

    def to_polars(self) -> polars.DataFrame:
        """Returns a polars DataFrame; raises ImportError without polars."""
        import polars as pl

        return pl.DataFrame(dict(self.columns))


class Trace:
    """A loaded trace. `structure` holds all columns and relations; the tables are views of it."""

    def __init__(self, structure: Structure) -> None:
        self.structure = structure

    @cached_property
    def ops(self) -> Table:
        """One row an op; its GPU columns are sums over its subtree.

        Columns: event, name, thread, start_ns, dur_ns, self_ns, gpu_sum_ns, gpu_busy_ns, kernels.
        """
        tree, events, sums = self.structure.tree, self._events, self.structure.sums
        nodes = np.flatnonzero(tree.kind == NodeKind.OP)
        event = tree.event[nodes]
        return Table(
            {
                "event": event,
                "name": self._names(event),
                "thread": events.thread[event],
                "start_ns": events.start_ns[event],
                "dur_ns": events.dur_ns[event],
                "self_ns": sums.self_ns[nodes],
                "gpu_sum_ns": sums.gpu_sum_ns[nodes],
                "gpu_busy_ns": sums.gpu_busy_ns[nodes],
                "kernels": sums.kernels[nodes],
            }
        )

    @cached_property
    def kernels(self) -> Table:
        """One row a kernel, memcpy or memset, ascending by event id.

        Columns: event, name, device, stream, start_ns, dur_ns (as counted), launch_event,
        op_event, queue_delay_ns, step; -1 in the ids and the step where there is none.
        """
        events, activities = self._events, self.structure.activities
        event = activities.event
        return Table(
            {
                "event": event,
                "name": self._names(event),
                "device": events.device[event],
                "stream": events.stream[event],
                "start_ns": events.start_ns[event],
                "dur_ns": activities.counted_ns,
                "launch_event": activities.launch,
                "op_event": activities.op,
                "queue_delay_ns": activities.queue_delay_ns,
                "step": activities.step,
            }
        )

    @cached_property
    def steps(self) -> Table:
        """One row a step: name, event (-1 for none), start_ns, end_ns."""
        steps = self.structure.steps
        return Table(
            {
                "name": np.array(steps.names, dtype=object),
                "event": steps.event,
                "start_ns": steps.start_ns,
                "end_ns": steps.end_ns,
            }
        )

    def summary(self) -> dict[str, Any]:
        """Returns the document of `ptx summary --json`."""
        return summary_document(self.structure)

    @property
    def _events(self) -> EventTable:
        return self.structure.trace.table

    def _names(self, event: NDArray[np.int32]) -> NDArray[Any]:
        return np.array(self._events.names, dtype=object)[self._events.name[event]]


def load(path: str | Path, on_progress: Callable[[LoadProgress], None] | None = None) -> Trace:
    """Returns a trace file with its op tree, launch links, activities and steps.

    Args:
        path: a trace of PyTorch's profiler, plain or gzip.
        on_progress: called about once per MB of text.

    Raises:
        TraceFormatError: the file cannot be read or is no trace.
    """
    return Trace(build_structure(read_trace(path, on_progress)))
