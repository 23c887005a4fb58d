"""The cursor of the time-line: lanes, slices, zoom about it, marks, and the tree's row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.traces import trace

from ptx.profiling.structure.structure import build_structure
from ptx.profiling.trace.reader import read_trace
from ptx.tui.state.glyphs import ASCII, UNICODE
from ptx.tui.state.timeline.drawing import cells_in, describe, draw_lanes, draw_ruler
from ptx.tui.state.timeline.lanes import Lane
from ptx.tui.state.timeline.timeline import Timeline
from ptx.tui.state.timeline.window import LEAST_SPAN_NS, Window

if TYPE_CHECKING:
    from pathlib import Path

    from ptx.profiling.structure.structure import Structure

US = 1_000


def structure_of(folder: Path) -> Structure:
    """Two steps of 1000 us, each with two ops and their kernels on two streams."""
    builder = trace()
    for step in range(2):
        at = 1000 * step
        builder.thread(1).step(step, at, 1000)
        for k, (op, kernel) in enumerate((("aten::mm", "sgemm"), ("aten::relu", "relu"))):
            start = at + 100 + 300 * k
            builder.op(op, start, 100)
            builder.runtime("cudaLaunchKernel", start + 50, 10, correlation=10 * step + k)
            builder.kernel(kernel, start + 160, 120, correlation=10 * step + k, stream=7 + k)
    return build_structure(read_trace(builder.write(folder / "t.json", "lines")))


@pytest.fixture
def timeline(tmp_path: Path) -> Timeline:
    found = Timeline(structure_of(tmp_path), letters=False)
    found.resize(20, 40)
    found.show_step(1)
    return found


def node_of(timeline: Timeline, name: str, step: int) -> int:
    tree, table = timeline.structure.tree, timeline.structure.trace.table
    names = [table.name_of(event) for event in tree.event.tolist()]
    found = [n for n, found in enumerate(names) if found == name]
    return sorted(found, key=lambda n: table.start_ns[tree.event[n]])[step]


def link(timeline: Timeline, *nodes: int) -> None:
    timeline.link(np.array(nodes, np.int64))


def under_cursor(timeline: Timeline) -> tuple[str, str]:
    lane = timeline.lane
    assert lane is not None
    name = timeline.lanes.name(lane, timeline.slice) if isinstance(lane, Lane) else ""
    return lane.title, name if timeline.slice >= 0 else ""


def said(timeline: Timeline) -> str:
    return "".join(describe(timeline, 100))


def test_it_starts_with_the_whole_step(timeline: Timeline) -> None:
    assert timeline.window == timeline.home == Window(1000 * US, 2000 * US)
    assert [line.lane.title for line in timeline.shown if line.titled] == [
        *("ops", "launches", "GPU 0 stream 7", "GPU 0 stream 8", "queued kernels"),
    ]


def test_the_whole_trace_is_shown_where_no_step_is_chosen(timeline: Timeline) -> None:
    timeline.show_step(None)
    assert timeline.window == Window(0, timeline.structure.trace.span_ns)


def test_the_cursor_goes_to_the_trees_row(timeline: Timeline) -> None:
    link(timeline, node_of(timeline, "aten::relu", 1))
    assert under_cursor(timeline) == ("ops", "relu")
    assert timeline.time_ns == 1400 * US
    link(timeline, node_of(timeline, "sgemm", 1))
    assert under_cursor(timeline) == ("GPU 0 stream 7", "O sgemm")


def test_lanes_and_slices(timeline: Timeline) -> None:
    assert timeline.beside(1)
    assert under_cursor(timeline) == ("ops", "mm")
    assert timeline.time_ns == 1100 * US
    timeline.move(1)
    assert under_cursor(timeline) == ("launches", "")  # none at that time
    assert timeline.beside(1)
    assert under_cursor(timeline) == ("launches", "LaunchKernel")
    timeline.move(99)
    assert under_cursor(timeline) == ("queued kernels", "")
    assert not timeline.beside(1)
    timeline.move(-99)
    assert under_cursor(timeline)[0] == "ops"


def test_the_next_slice_is_brought_on_screen_and_the_last_has_none(timeline: Timeline) -> None:
    timeline.beside(-1)  # of the step before
    assert under_cursor(timeline) == ("ops", "relu")
    assert timeline.time_ns == 400 * US
    assert timeline.window.holds(400 * US)
    assert timeline.beside(-1)
    assert not timeline.beside(-1)
    assert timeline.time_ns == 100 * US


def test_a_lane_is_scrolled_to_with_all_its_lines(timeline: Timeline) -> None:
    timeline.resize(3, 15)
    seen = []
    for _ in range(6):
        seen.append([line.lane.title for line in timeline.shown])
        assert timeline.lane in [line.lane for line in timeline.shown]
        timeline.move(1)
    assert all(len(titles) == 3 for titles in seen)
    assert seen[0][0] == "ops"
    assert seen[-1][-1] == "queued kernels"
    timeline.page(-9)
    assert timeline.top == 0


def test_zoom_is_about_the_cursor_and_ends(timeline: Timeline) -> None:
    timeline.beside(1)
    timeline.zoom(0.5)
    assert timeline.window == Window(1050 * US, 1550 * US)
    for _ in range(30):
        timeline.zoom(0.5)
    assert timeline.window.span_ns == LEAST_SPAN_NS
    assert timeline.window.holds(timeline.time_ns)
    for _ in range(30):
        timeline.zoom(2.0)
    assert timeline.window == timeline.limit
    timeline.show_home()
    assert timeline.window == timeline.home


def test_zoom_is_about_the_middle_where_the_cursor_is_off_screen(timeline: Timeline) -> None:
    timeline.beside(1)  # at 1100
    timeline.zoom(0.5)
    timeline.pan(0.5)
    timeline.zoom(0.5)
    assert timeline.window.middle_ns == 1550 * US


def test_fit_shows_the_row_with_its_kernels_then_the_slice(timeline: Timeline) -> None:
    link(timeline, node_of(timeline, "aten::mm", 1))
    assert timeline.fit()
    assert timeline.window == Window(1086 * US, 1394 * US)  # 1100 to 1380
    assert timeline.fit()
    assert timeline.window == Window(1095 * US, 1205 * US)
    assert timeline.fit()
    assert timeline.window == Window(1086 * US, 1394 * US)


def test_there_is_nothing_to_fit_to_without_a_row_and_a_slice(timeline: Timeline) -> None:
    assert not timeline.fit()
    assert timeline.window == timeline.home


def test_marks_are_gone_to_and_the_latest_two_tell_their_distance(timeline: Timeline) -> None:
    timeline.beside(1)
    timeline.mark("a")
    assert " to " not in said(timeline)
    timeline.beside(1)
    timeline.mark("b")
    assert said(timeline) == "relu   at +400us for 100us   a to b 300us"
    timeline.zoom(0.1)
    assert timeline.go_to_mark("a")
    assert (timeline.time_ns, under_cursor(timeline)[1]) == (1100 * US, "mm")
    assert timeline.window.holds(1100 * US)
    assert not timeline.go_to_mark("z")
    timeline.mark("a")
    assert said(timeline).endswith("b to a -300us")


def test_ruler_shows_cursor_and_marks(timeline: Timeline) -> None:
    timeline.beside(1)
    timeline.mark("x")
    timeline.beside(1)
    cells = cells_in(122)
    line = "".join(run.text for run in draw_ruler(timeline, 122, ASCII).runs)
    assert (line.index("x"), line.index("v")) == (cells // 10, cells * 4 // 10)


def test_another_step_forgets_the_row_and_keeps_the_lane(timeline: Timeline) -> None:
    link(timeline, node_of(timeline, "sgemm", 1))
    timeline.show_step(0)
    assert timeline.linked is None
    assert under_cursor(timeline) == ("GPU 0 stream 7", "")
    assert timeline.window == Window(0, 1000 * US)


def test_what_the_cursor_is_on_is_said(timeline: Timeline) -> None:
    assert said(timeline) == "ops: no slice at 0; ] goes to the next one"
    link(timeline, node_of(timeline, "sgemm", 1))
    assert said(timeline) == "O sgemm   at +260us for 120us, 100us after its launch"
    timeline.move(9)
    assert said(timeline) == "queued kernels: 0 at +260us"


@pytest.mark.parametrize("width", [60, 80, 100, 120, 200])
def test_every_line_is_as_wide_as_the_screen(width: int, timeline: Timeline) -> None:
    for line in (*draw_lanes(timeline, width, UNICODE), draw_ruler(timeline, width, UNICODE)):
        assert line.label_cells + 1 + sum(run.cells for run in line.runs) == width


def test_a_trace_without_any_slice_has_no_lanes(tmp_path: Path) -> None:
    path = (
        trace()
        .add({"ph": "i", "name": "x", "ts": 5, "pid": 1, "tid": 1})
        .write(tmp_path / "t.json")
    )
    timeline = Timeline(build_structure(read_trace(path)), letters=False)
    timeline.resize(20, 40)
    timeline.show_step(None)
    timeline.move(1)
    timeline.page(1)
    assert not timeline.beside(1)
    assert timeline.node == -1
    assert said(timeline) == "no lanes: nothing here has a time"
    assert draw_lanes(timeline, 80, UNICODE) == []
