"""What the panels below or beside the tree show of the row under the cursor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ptx.profiling.analysis.summary import step_rows
from ptx.profiling.report.units import format_bytes, format_count, format_ns, format_share
from ptx.profiling.sanitise import clean
from ptx.profiling.structure.tree import NodeKind
from ptx.profiling.trace.columns import Flag
from ptx.tui.state.explore import kernel_kinds
from ptx.tui.state.names import kernel_role, short_kernel
from ptx.tui.state.rows import Cell, Column, FlatRows, Row

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ptx.profiling.structure.structure import Structure
    from ptx.tui.state.explore import ExploreRows, KernelKind

_KERNEL_COLUMNS = (
    Column("n", 6),
    Column("GPU", 7),
    Column("each", 7),
    Column("% step", 6),
    Column("", 10, left=True),
)


class KernelPanel(FlatRows):
    """The kinds of activities below a row, by cost; `kinds` are in the order of the rows."""

    def __init__(self, rows: ExploreRows, node: int) -> None:
        structure = rows.structure
        self.kinds: list[KernelKind] = (
            kernel_kinds(structure, rows.activities_of(node)) if node >= 0 else []
        )
        whole = sum(k.total_ns for k in self.kinds)
        step_ns = _step_gpu_ns(rows)
        made = [
            Row(
                short_kernel(kind.name),
                (
                    Cell(format_count(kind.count)),
                    Cell(format_ns(kind.total_ns)),
                    Cell(format_ns(kind.total_ns // kind.count)),
                    Cell(format_share(kind.total_ns, step_ns)),
                    Cell(_bar(rows, kind.total_ns, whole), kernel_role(kind.name)),
                ),
                role=kernel_role(kind.name),
                middle=True,  # the tails of names differ where their heads do not
            )
            for kind in self.kinds
        ]
        super().__init__("kernels of this row, by GPU time", _KERNEL_COLUMNS, made)


def _bar(rows: ExploreRows, part: int, whole: int) -> str:
    return rows.glyphs.full * round(10 * part / whole) if whole else ""


def _step_gpu_ns(rows: ExploreRows) -> int:
    return int(rows.lens.totals.gpu_sum_ns[rows.index.children(-1)].sum())


class InfoPanel(FlatRows):
    """The facts of the innermost event of a row, and what the file records of it."""

    def __init__(self, rows: ExploreRows, node: int) -> None:
        facts = list(_facts(rows, node)) if node >= 0 else []
        made = [Row(clean(_short(key)), (Cell(clean(_short(value))),)) for key, value in facts]
        super().__init__("event", (Column("", 60, left=True),), made)

    def columns(self, width: int) -> list[Column]:
        """Returns one column that takes all but the keys' width."""
        return [Column("", max(10, width - 27), left=True, cut="middle")]


def _facts(rows: ExploreRows, node: int) -> Iterator[tuple[str, object]]:
    structure, lens = rows.structure, rows.lens
    inners = lens.inner_nodes(node)
    inner = int(inners[0]) if len(inners) else -1
    if inner < 0:
        yield "group", rows.label(node)
        yield "rows", format_count(len(rows.index.children(node)))
        return
    tree, table, sums = structure.tree, structure.trace.table, structure.sums
    event = int(tree.event[inner])
    origin = int(structure.steps.start_ns[rows.step]) if rows.step is not None else 0
    lane = table.threads[table.thread[event]]
    yield "name", table.name_of(event)
    yield "kind", NodeKind(tree.kind[inner]).name.lower()
    yield "event", str(event)
    yield "start in the step", format_ns(int(table.start_ns[event]) - origin)
    yield "CPU", format_ns(int(table.dur_ns[event]))
    yield "self CPU", format_ns(int(sums.self_ns[inner]))
    yield "GPU sum", format_ns(int(sums.gpu_sum_ns[inner]))
    yield "GPU busy", format_ns(int(sums.gpu_busy_ns[inner]))
    yield "kernels", format_count(int(sums.kernels[inner]))
    yield "thread", f"{lane.name or ''} pid {lane.pid} tid {lane.tid}".strip()
    flags = Flag(int(table.flags[event]))
    if flags:
        yield "flags", (flags.name or "").lower().replace("|", ", ")
    for k in rows.activities_of(node)[:3].tolist():
        yield from _activity_facts(structure, k)
    recorded = structure.trace.args.event(event)
    args = recorded.get("args") if recorded else None
    if isinstance(args, dict):
        yield from args.items()


def _activity_facts(structure: Structure, k: int) -> Iterator[tuple[str, str]]:
    table, activities = structure.trace.table, structure.activities
    event = int(activities.event[k])
    yield "", ""
    yield table.categories[table.category[event]], table.name_of(event)
    yield "  event", str(event)
    yield "  device, stream", f"{table.device[event]}, {table.stream[event]}"
    yield "  GPU", format_ns(int(activities.counted_ns[k]))
    if activities.launch[k] >= 0:
        yield "  queue delay", format_ns(int(activities.queue_delay_ns[k]))
    moved = int(table.bytes.at(np.array([event]))[0])
    if moved >= 0:
        yield "  moved", format_bytes(moved)


def _short(value: object) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= 400 else text[:400] + "..."


def raw_events(rows: ExploreRows, node: int) -> list[dict[str, Any]]:
    """Returns the row's event, and up to 20 launches and activities below it, as recorded."""
    structure = rows.structure
    inner = rows.lens.inner_nodes(node).tolist() if node >= 0 else []
    events = [int(event) for event in structure.tree.event[inner[:1]]]
    if not events:
        return []
    for k in rows.activities_of(node)[:20].tolist():
        launch = int(structure.activities.launch[k])
        events += [launch] if launch >= 0 else []
        events.append(int(structure.activities.event[k]))
    found = [structure.trace.args.event(event) for event in dict.fromkeys(events)]
    return [event for event in found if event is not None]


def step_choices(structure: Structure) -> FlatRows:
    """Returns the steps as a list to choose from."""
    columns = (
        Column("time", 8),
        Column("GPU busy", 8),
        Column("idle", 8),
        Column("kernels", 8),
    )
    made = [
        Row(
            clean(step.name),
            (
                Cell(format_ns(step.dur_ns)),
                Cell("-" if step.clock_busy_ns is None else format_ns(step.clock_busy_ns)),
                Cell("-" if step.idle_ns is None else format_ns(step.idle_ns)),
                Cell(format_count(step.kernels)),
            ),
        )
        for step in step_rows(structure)
    ]
    return FlatRows("step", columns, made)
