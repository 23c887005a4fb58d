"""Columns of a trace as plain rows, and the rows that a list of events should give."""

from __future__ import annotations

from contextlib import contextmanager
from decimal import ROUND_HALF_EVEN, Decimal
from typing import TYPE_CHECKING, Any
from unittest import mock

from tests import traces

from ptx.profiling.trace import source
from ptx.profiling.trace.columns import Kind
from ptx.profiling.trace.reader import TraceFile, read_trace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Row = tuple[Any, ...]


def rows(trace: TraceFile) -> list[Row]:
    """Returns what every column says of each event; times absolute, lanes as in the file."""
    table = trace.table
    found = []
    for i in range(len(table)):
        thread = table.threads[int(table.thread[i])]
        found.append(
            (
                table.name_of(i),
                Kind(int(table.kind[i])).name,
                int(table.start_ns[i]) + trace.t0_ns if not table.flags[i] & 1 else None,
                int(table.dur_ns[i]),
                (thread.pid, thread.tid),
                int(table.external_id[i]),
                int(table.correlation[i]),
                int(table.ev_idx[i]),
            )
        )
    return found


def expected_row(event: dict[str, Any], kind: str) -> Row:
    """Returns the row of a sound event whose kind is known."""
    args = event.get("args", {})
    return (
        event["name"],
        kind,
        exact_ns(event["ts"]),
        exact_ns(event.get("dur", 0)),
        (event["pid"], event["tid"]),
        args.get("External id", -1),
        args.get("correlation", -1),
        args.get("Ev Idx", -1),
    )


def exact_ns(us: object) -> int:
    """Returns the ns of a number of us, by its shortest decimal text."""
    return int((Decimal(str(us)) * 1000).to_integral_value(rounding=ROUND_HALF_EVEN))


def codes(trace: TraceFile) -> dict[str, int]:
    """Returns the count of each problem of a trace."""
    return {problem.code: problem.count for problem in trace.problems}


@contextmanager
def block_bytes(size: int) -> Iterator[None]:
    """Makes files be read in blocks of another size."""
    with mock.patch.object(source, "BLOCK_BYTES", size):
        yield


def read_bytes(path: Path, text: bytes, block: int | None = None) -> TraceFile:
    """Returns the trace that a text is read as."""
    path.write_bytes(text)
    if block is None:
        return read_trace(path)
    with block_bytes(block):
        return read_trace(path)


def an_op(name: str, start: float = 1, **args: object) -> dict[str, Any]:
    """Returns the event of an op that takes half a us."""
    built: dict[str, Any] = traces.trace().op(name, start, 0.5, **args).events[0]
    return built


def names_of(loaded: TraceFile) -> list[str]:
    """Returns the names of all rows."""
    return [loaded.table.name_of(i) for i in range(len(loaded.table))]
