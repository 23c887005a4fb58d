"""What gives way where a terminal is low: threads, text, outer modules, a line of each stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.traces import trace

from ptx.profiling.structure.structure import build_structure
from ptx.profiling.trace.reader import read_trace
from ptx.tui.state.timeline.lanes import TraceLanes
from ptx.tui.state.timeline.layout import StepLanes, lanes_of_step, lay_out
from ptx.tui.state.timeline.window import Window

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def lanes(tmp_path: Path) -> tuple[TraceLanes, StepLanes]:
    """Seven levels of modules, three of ops, six threads at work and two at rest, two streams."""
    builder = trace().thread(1).step(1, 0, 1000)
    for level in range(7):
        builder.frame(f"nn.Module: M{level}_0", 10 + level, 900 - 2 * level)
    for level in range(3):
        builder.op(f"aten::op{level}", 30 + level, 100 - 2 * level)
    for number, stream in enumerate((7, 8)):
        builder.runtime("cudaLaunchKernel", 40 + 10 * number, 5, correlation=number)
        builder.kernel("k", 60, 50, correlation=number, stream=stream)
    for tid in range(2, 8):
        builder.thread(tid).op(f"aten::busy{tid}", 0, 100 * tid)
    for tid in (8, 9):
        builder.thread(tid).op("aten::later", 1500, 100)
    found = TraceLanes(build_structure(read_trace(builder.write(tmp_path / "t.json"))))
    return found, lanes_of_step(found, 0, Window(0, 1_000_000), ())


def titles(
    lanes: tuple[TraceLanes, StepLanes], lines: int, *, levels: int = 5, letters: bool = False
) -> list[str]:
    found = lay_out(lanes[1], lanes[0], lines, levels, letters=letters)
    return [f"{line.lane.title} {line.part}" for line in found]


def test_all_of_it_where_there_is_room(lanes: tuple[TraceLanes, StepLanes]) -> None:
    assert titles(lanes, 40) == [
        *(["modules host"] * 5),
        *(["ops host"] * 3),
        "launches host",
        *(f"thread {tid} host" for tid in (7, 6, 5, 4, 3, 2)),
        "2 more threads host",
        *("GPU 0 stream 7 height", "GPU 0 stream 7 letters"),
        *("GPU 0 stream 8 height", "GPU 0 stream 8 letters"),
        *("queued kernels curve", "queued kernels text"),
    ]


def test_inner_levels_of_ops_only_fill_lines_that_are_left(
    lanes: tuple[TraceLanes, StepLanes],
) -> None:
    # 5 levels, 1 of ops, launches, 7 of threads, 4 of streams, 2 of the queue
    assert titles(lanes, 20).count("ops host") == 1
    assert titles(lanes, 21).count("ops host") == 2


def test_lines_give_way_one_kind_after_the_other(lanes: tuple[TraceLanes, StepLanes]) -> None:
    def counts(lines: int) -> tuple[bool, int, int, int]:
        found = titles(lanes, lines)
        return (
            "queued kernels text" in found,
            sum("thread" in title for title in found),
            found.count("modules host"),
            sum("letters" in title for title in found),
        )

    assert counts(20) == (True, 7, 5, 2)
    assert counts(19) == (True, 6, 5, 2)
    assert counts(16) == (True, 3, 5, 2)
    assert counts(15) == (False, 3, 5, 2)
    assert counts(11) == (False, 3, 1, 2)
    assert counts(9) == (False, 3, 1, 0)
    assert counts(7) == (False, 1, 1, 0)


@pytest.mark.parametrize("lines", range(7, 30))
def test_what_can_give_way_does_so_until_all_fits(
    lines: int, lanes: tuple[TraceLanes, StepLanes]
) -> None:
    assert len(titles(lanes, lines)) <= lines


def test_outer_levels_go_first(lanes: tuple[TraceLanes, StepLanes]) -> None:
    found = lay_out(lanes[1], lanes[0], 30, 3, letters=False)
    modules = [line.lane for line in found if line.lane.title == "modules"]
    assert modules == list(lanes[1].modules[-3:])
    assert [line.titled for line in found[:3]] == [True, False, False]


def test_without_colour_the_letters_stay_and_the_heights_go(
    lanes: tuple[TraceLanes, StepLanes],
) -> None:
    found = titles(lanes, 9, letters=True)
    assert "GPU 0 stream 7 letters" in found
    assert "GPU 0 stream 7 height" not in found


def test_threads_that_have_no_line_share_the_last(lanes: tuple[TraceLanes, StepLanes]) -> None:
    found = titles(lanes, 15)
    assert [title for title in found if "thread" in title] == [
        *("thread 7 host", "thread 6 host", "6 more threads host"),
    ]


def test_streams_without_work_in_the_step_come_last(tmp_path: Path) -> None:
    builder = trace().thread(1).step(1, 0, 100).op("aten::mm", 5, 50)
    builder.kernel("early", 500, 5, stream=3).kernel("k", 10, 5, stream=9)
    found = TraceLanes(build_structure(read_trace(builder.write(tmp_path / "t.json"))))
    step = lanes_of_step(found, 0, Window(0, 100_000), ())
    lines = lay_out(step, found, 40, 5, letters=False)
    shown = [line.lane.title for line in lines if line.part in ("height", "curve")]
    assert shown == ["GPU 0 stream 9", "queued kernels", "GPU 0 stream 3"]
