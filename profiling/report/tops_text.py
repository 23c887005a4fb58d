"""Tables of groups as text: ops, shapes, modules, categories, foreign slices, threads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptx.profiling.report.table import Column, table
from ptx.profiling.report.units import format_count, format_ns, format_share

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ptx.profiling.analysis.threads import ThreadRow
    from ptx.profiling.analysis.tops import Grouping, TopRow

_SHAPE_COLUMNS = 60


def op_table(rows: Sequence[TopRow]) -> Iterator[str]:
    """Yields the lines of a table with one line an op name."""
    headings = (Column("op", left=True), *map(Column, _HOST), Column("GPU"), Column("kernels"))
    yield from table(headings, ((row.name, *_host(row), *_device(row)) for row in rows))


def group_table(rows: Sequence[TopRow], by: Grouping, whole_ns: int) -> Iterator[str]:
    """Yields the lines of a table of groups; `whole_ns` is 100 % of the GPU time."""
    on_host = any(row.cpu_total_ns is not None for row in rows)
    columns = (
        Column("calls"),
        *map(Column, _HOST[1:] if on_host else ()),
        Column("GPU"),
        Column("%"),
        Column("kernels"),
        Column(by, left=True),
    )
    yield from table(
        columns,
        (
            (
                format_count(row.calls),
                *(_host(row)[1:] if on_host else ()),
                _or_dash(row.gpu_sum_ns),
                format_share(row.gpu_sum_ns, whole_ns),
                str(row.kernels or "-"),
                row_label(row),
            )
            for row in rows
        ),
    )


def slice_table(rows: Sequence[TopRow]) -> Iterator[str]:
    """Yields the lines of a table with one line a name of annotations and foreign slices."""
    columns = (Column("slice", left=True), Column("calls"), Column("self"), Column("total"))
    yield from table(columns, ((row.name, *_host(row)) for row in rows))


def thread_table(rows: Sequence[ThreadRow]) -> Iterator[str]:
    """Yields the lines of a table with one line a thread."""
    columns = (Column("thread", left=True), Column("slices"), Column("busy"))
    yield from table(
        columns,
        ((_lane(row), format_count(row.slices), format_ns(row.busy_ns)) for row in rows),
    )


_HOST = ("calls", "self CPU", "CPU")


def _host(row: TopRow) -> tuple[str, ...]:
    times = (row.cpu_self_ns, row.cpu_total_ns)
    return (format_count(row.calls), *("-" if ns is None else format_ns(ns) for ns in times))


def _device(row: TopRow) -> tuple[str, ...]:
    return _or_dash(row.gpu_sum_ns), str(row.kernels or "-")


def row_label(row: TopRow) -> str:
    """Returns how a group is called: its category, its name, its shapes cut to fit."""
    letter = f"{row.letter} " if row.letter else ""
    if not row.detail:
        return letter + row.name
    cut = row.detail[: _SHAPE_COLUMNS - 1] + "…" if len(row.detail) > _SHAPE_COLUMNS else row.detail
    return f"{letter}{row.name}  {cut}"


def _lane(row: ThreadRow) -> str:
    process = f"{row.process_name} " if row.process_name else ""
    name = f"  {row.name}" if row.name else ""
    return f"{process}{row.pid}/{row.tid}{name}"


def _or_dash(ns: int) -> str:
    return format_ns(ns) if ns else "-"
