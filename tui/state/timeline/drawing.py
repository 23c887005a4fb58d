"""The lines of a time-line as text: labels, cells, times, and what the cursor is on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ptx.profiling.report.units import format_bytes, format_ns
from ptx.tui.state.timeline.cells import (
    Look,
    Run,
    curve_cells,
    height_cells,
    host_cells,
    letter_cells,
)
from ptx.tui.state.timeline.lanes import Lane
from ptx.tui.state.timeline.times import format_offset, ruler

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ptx.tui.state.glyphs import Glyphs
    from ptx.tui.state.timeline.lanes import CurveLane
    from ptx.tui.state.timeline.layout import Line
    from ptx.tui.state.timeline.timeline import Timeline

_LABEL, _NARROW_LABEL, _WIDE_FROM = 21, 16, 100


@dataclass(frozen=True, slots=True)
class DrawnLine:
    """A line ready to draw: its label, the cells of that, and its runs; the cursor's is current."""

    label: str
    label_cells: int
    runs: tuple[Run, ...]
    is_current: bool = False


def cells_in(width: int) -> int:
    """Returns how many cells of time a line of so many columns has."""
    return max(1, width - _label_cells(width) - 1)


def _label_cells(width: int) -> int:
    return _LABEL if width >= _WIDE_FROM else _NARROW_LABEL


def draw_lanes(timeline: Timeline, width: int, glyphs: Glyphs) -> list[DrawnLine]:
    """Returns the lines on screen for a width in columns; the cost follows the cells."""
    return [
        DrawnLine(
            _label(line, width),
            _label_cells(width),
            tuple(_runs(timeline, line, cells_in(width), glyphs)),
            line.lane is timeline.lane,
        )
        for line in timeline.shown
    ]


def _label(line: Line, width: int) -> str:
    if not line.titled:
        return ""
    return line.lane.title if width >= _WIDE_FROM else line.lane.short


def _runs(timeline: Timeline, line: Line, cells: int, glyphs: Glyphs) -> Iterable[Run]:
    edges, lane = timeline.window.edges(cells), line.lane
    if not isinstance(lane, Lane):
        if line.part == "text":
            return [Run(lane.text(timeline.window), cells, Look("dim"))]
        return curve_cells(lane, edges, glyphs)
    linked = timeline.linked.busy(lane) if timeline.linked is not None else None
    chosen = timeline.slice if lane is timeline.lane else -1

    def name(k: int) -> str:
        return timeline.lanes.name(lane, k)

    if line.part == "height":
        return height_cells(lane, edges, glyphs, linked, chosen).runs()
    draw = letter_cells if line.part == "letters" else host_cells
    return draw(lane, edges, glyphs, name, linked, chosen).runs()


def draw_ruler(timeline: Timeline, width: int, glyphs: Glyphs) -> DrawnLine:
    """Returns the line of times above the lanes, with the cursor and the marks."""
    window, cells = timeline.window, cells_in(width)
    signs = {window.cell_of(timeline.time_ns, cells): glyphs.opened}
    signs |= {window.cell_of(time, cells): letter for letter, time in timeline.marks.items()}
    signs.pop(-1, None)
    return DrawnLine(
        f"one cell {format_ns(window.span_ns // cells)}",
        _label_cells(width),
        tuple(ruler(window, timeline.home.start_ns, cells, signs)),
    )


def describe(timeline: Timeline, cells: int) -> tuple[str, str]:
    """Returns the name of what the cursor is on, and what is known of it: times, and the marks."""
    name, facts = _subject(timeline, max(1, timeline.window.span_ns // cells))
    if len(timeline.marks) > 1:
        (one, before), (other, after) = list(timeline.marks.items())[-2:]
        facts += f"   {one} to {other} {format_ns(after - before)}"
    return name, facts


def _subject(timeline: Timeline, cell_ns: int) -> tuple[str, str]:
    lane, k = timeline.lane, timeline.slice
    at = format_offset(timeline.time_ns - timeline.home.start_ns, cell_ns)
    if lane is None:
        return "no lanes", ": nothing here has a time"
    if not isinstance(lane, Lane):
        return lane.title, f": {_value(lane, timeline.time_ns)} at {at}"
    if k < 0:
        return lane.title, f": no slice at {at}; ] goes to the next one"
    start, end = int(lane.start_ns[k]), int(lane.end_ns[k])
    started = format_offset(start - timeline.home.start_ns, cell_ns)
    facts = f"   at {started} for {format_ns(end - start)}"
    delay = timeline.lanes.queue_delay_ns(lane, k)
    if delay is not None:
        facts += f", {format_ns(delay)} after its launch"
    return timeline.lanes.name(lane, k), facts


def _value(lane: CurveLane, time_ns: int) -> str:
    value = lane.curve.at(time_ns)
    if lane.note:
        return lane.note
    if lane.unit == "bytes":
        return format_bytes(round(value))
    return f"{value:,.6g}"
