"""The time-line on screen: lanes, keys, the way to the tree and back, and odd traces."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.hostile import UNSAFE, hostile_trace
from tests.traces import trace
from tests.tui_driver import Explorer, explorer, training, until

from ptx.tui.screens.timeline import TimelineScreen
from ptx.tui.widgets.timeline import TimelineLanes

if TYPE_CHECKING:
    from pathlib import Path

    from textual.geometry import Region

SIZES = [(80, 24), (120, 40)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return training().write(tmp_path / "train.json", "lines")


async def timeline_of(ptx: Explorer) -> TimelineScreen:
    """Goes to the time-line and returns it once it is drawn."""
    await ptx.press("2")
    await ptx.shows("one cell", "next")
    screen = ptx.pilot.app.screen
    assert isinstance(screen, TimelineScreen)
    return screen


def line_of(ptx: Explorer, label: str, below: int = 0) -> str:
    """Returns the line that begins with a label, or one below it."""
    lines = ptx.text.splitlines()
    found = next(k for k, line in enumerate(lines) if line[1:].startswith(label))
    return lines[found + below]


@pytest.mark.parametrize("size", SIZES)
async def test_host_and_device_stand_side_by_side(size: tuple[int, int], path: Path) -> None:
    async with explorer(path, size) as ptx:
        await timeline_of(ptx)
        await ptx.shows("modules", "ops", "launches", "thread 2", "queued", "the host is the limit")
        assert "step 2/2" in ptx.text
        assert line_of(ptx, "GPU", 1).strip(" ·") != ""


async def test_levels_of_modules_and_letter_rows_follow_the_height(samples: Path) -> None:
    async with explorer(samples / "geglu_eager.json.gz", (120, 40)) as ptx:
        await timeline_of(ptx)
        await ptx.shows("GPU 0 stream 7", "queued kernels", "Linear_1", "one cell")
        letters = set(line_of(ptx, "GPU 0 stream 7", 1).split()[0][:30])
        assert letters & set("GPm")


async def test_overlapping_streams_are_seen_at_once(shared: Path) -> None:
    async with explorer(shared / "traces/h200/multi_stream.json.gz", (80, 24)) as ptx:
        await timeline_of(ptx)
        first, second = line_of(ptx, "GPU s13"), line_of(ptx, "GPU s17")
        both = [k for k in range(17, 80) if first[k] == second[k] == "█"]
        assert len(both) > 15
        assert "G cutlass f32" in line_of(ptx, "GPU s13", 1)
        await ptx.shows("DeviceSynchronize", "highest 3; 0 in 22% of the time")


async def test_the_trees_row_is_underlined_and_under_the_cursor(path: Path) -> None:
    async with explorer(path) as ptx:
        await ptx.press("slash", *"addmm", "enter")
        screen = await timeline_of(ptx)
        await ptx.shows("addmm   at +1.20ms for 100us")
        looks = [
            run.look
            for line in screen.query_one("#lanes", TimelineLanes)._lines
            for run in line.runs
            if line.label.startswith("GPU") or line.label == ""
        ]
        assert any(look.is_linked for look in looks)
        assert any(look.is_dim for look in looks)


async def to_lane(ptx: Explorer, screen: TimelineScreen, title: str) -> None:
    """Moves the cursor down to the lane with a title, or one that ends so."""
    await ptx.press("g")
    for _ in range(len(screen.timeline.lines)):
        lane = screen.timeline.lane
        if lane is not None and lane.title.endswith(title):
            return
        await ptx.press("j")
    raise AssertionError(ptx.text)


async def test_enter_shows_the_slice_in_the_tree(path: Path) -> None:
    async with explorer(path) as ptx:
        screen = await timeline_of(ptx)
        await to_lane(ptx, screen, "thread 2")
        await ptx.press("0", "right_square_bracket")
        await ptx.shows("MmBackward0   at +4.00ms for 500us")
        await ptx.press("enter")
        await ptx.shows("step tree")
        assert "MmBackward0" in ptx.cursor
        await ptx.press("ctrl+o")
        assert "addmm" in ptx.cursor


async def test_enter_on_a_kernel_shows_the_row_that_launched_it(path: Path) -> None:
    async with explorer(path) as ptx:
        screen = await timeline_of(ptx)
        await to_lane(ptx, screen, "GPU 0 stream 7")
        await ptx.press(*(["right_square_bracket"] * 9))
        await ptx.shows("dgrad_kernel   at +6.00ms for 300us")
        await ptx.press("enter")
        await ptx.shows("step tree")
        assert "MmBackward0" in ptx.cursor


async def test_a_slice_of_another_step_is_shown_in_its_own_step(path: Path) -> None:
    async with explorer(path) as ptx:
        screen = await timeline_of(ptx)
        await to_lane(ptx, screen, "ops")
        await ptx.press(*(["left_square_bracket"] * 12))
        await ptx.shows("no earlier slice in this lane")
        await ptx.press("enter")
        await ptx.shows("step tree", "step 1/2")
        assert ptx.screen.step == 0


async def test_enter_without_a_slice_says_how_to_get_one(path: Path) -> None:
    async with explorer(path) as ptx:
        await timeline_of(ptx)
        await ptx.press("G", "enter")
        await ptx.shows("no slice under the cursor: ] goes to the next one")


async def test_zoom_pan_fit_and_back_to_the_step(path: Path) -> None:
    async with explorer(path) as ptx:
        screen = await timeline_of(ptx)
        home = screen.timeline.window
        await ptx.press("w", "w")
        assert screen.timeline.window.span_ns == home.span_ns // 4
        at = screen.timeline.window.start_ns
        await ptx.press("d")
        assert screen.timeline.window.start_ns == at + home.span_ns // 16
        await ptx.press("a", "s")
        assert screen.timeline.window.span_ns == home.span_ns // 2
        await ptx.press("0")
        assert screen.timeline.window == home
        await ptx.press("f")
        linked = screen.timeline.linked
        assert linked is not None
        assert linked.span is not None
        start, end = linked.span
        assert screen.timeline.window.holds(start)
        assert screen.timeline.window.holds(end)
        assert screen.timeline.window.span_ns < home.span_ns


async def test_two_marks_show_how_far_apart_they_are(path: Path) -> None:
    async with explorer(path) as ptx:
        screen = await timeline_of(ptx)
        await to_lane(ptx, screen, "GPU 0 stream 7")
        await ptx.press("0", "right_square_bracket", "m", "a")
        await ptx.shows("mark a set")
        await ptx.press("right_square_bracket", "m", "b")
        await ptx.shows("a to b ")
        before = screen.timeline.time_ns
        await ptx.press("apostrophe", "a")
        assert screen.timeline.time_ns < before
        await ptx.press("apostrophe", "z")
        await ptx.shows("no mark z")


async def test_the_row_follows_the_tree_and_the_window_stays(path: Path) -> None:
    async with explorer(path) as ptx:
        await ptx.press("slash", *"bmm", "enter")
        screen = await timeline_of(ptx)
        await ptx.shows("bmm   at +200us")
        await ptx.press("w", "q")
        await ptx.shows("step tree")
        await ptx.press("slash", *"MmBackward", "enter")
        await timeline_of(ptx)
        await ptx.shows("MmBackward0   at +4.00ms")
        assert screen.timeline.window.span_ns == screen.timeline.home.span_ns // 2
        assert screen.timeline.window.holds(screen.timeline.time_ns)


async def test_another_step_is_shown_whole_and_taken_along(path: Path) -> None:
    async with explorer(path) as ptx:
        screen = await timeline_of(ptx)
        await ptx.press("w", "less_than_sign")
        await ptx.shows("step 1/2")
        assert screen.timeline.window == screen.timeline.home
        assert screen.timeline.linked is None  # the tree's row is of another step
        await ptx.press("1")
        await ptx.shows("step tree", "step 1/2")
        await ptx.press("2")
        await until(ptx.pilot, lambda: screen.timeline.linked is not None)


async def test_what_the_cursor_is_on_can_be_copied(path: Path) -> None:
    async with explorer(path) as ptx:
        await ptx.press("slash", *"bmm", "enter")
        await timeline_of(ptx)
        await ptx.press("y")
        assert ptx.pilot.app.clipboard == "bmm   at +200us for 100us"


async def test_what_is_on_screen_can_be_written_to_a_file(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with explorer(path) as ptx:
        await timeline_of(ptx)
        lines = [line.rstrip() for line in ptx.text.splitlines()]
        await ptx.press("Y")
        await ptx.shows("written to ptx-train-1.txt")
    written = (tmp_path / "ptx-train-1.txt").read_text(encoding="utf-8").splitlines()
    assert written == lines[3 : 3 + len(written)]
    assert any("the host is the limit there" in line for line in written)


async def test_times_stay_on_screen_beside_a_long_name(tmp_path: Path) -> None:
    builder = trace().thread(1).op("aten::" + "long_name_" * 30, 10, 500)
    async with explorer(builder.write(tmp_path / "t.json", "lines"), (80, 24)) as ptx:
        await timeline_of(ptx)
        await ptx.shows("long_name_…   at 0 for 500us")


async def test_a_small_terminal_says_so_and_a_larger_one_shows_the_lanes(path: Path) -> None:
    async with explorer(path) as ptx:
        await timeline_of(ptx)
        await ptx.pilot.resize_terminal(50, 12)
        await ptx.shows("60x15 needed, this is 50x12")
        await ptx.pilot.resize_terminal(60, 15)
        await ptx.shows("one cell", "GPU s7", "queued")


@pytest.mark.parametrize("size", [(60, 15), *SIZES, (200, 50)])
async def test_ascii_where_asked(size: tuple[int, int], path: Path) -> None:
    async with explorer(path, size, ascii_only=True) as ptx:
        await timeline_of(ptx)
        await ptx.press("w", "j", "right_square_bracket")
        assert ptx.text.isascii(), [c for c in ptx.text if not c.isascii()]
        assert len(ptx.text.splitlines()) == size[1]
        assert any(line.startswith(">") for line in ptx.text.splitlines())


async def test_without_colour_the_letters_tell_the_work(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with explorer(path, (80, 24)) as ptx:
        await timeline_of(ptx)
        await ptx.press("w", "d", "j", "right_square_bracket", "0")
        await ptx.shows("GPU s7")
        assert set("Oo") & set(ptx.text[ptx.text.index("GPU s7") :])


@pytest.mark.parametrize("size", SIZES)
async def test_a_trace_without_a_gpu_has_its_host_lanes(
    size: tuple[int, int], tmp_path: Path
) -> None:
    builder = trace().thread(1).step(1, 0, 1000).op("aten::mm", 10, 500).op("aten::add", 600, 100)
    async with explorer(builder.write(tmp_path / "t.json", "lines"), size) as ptx:
        await timeline_of(ptx)
        await ptx.shows("this trace has no GPU events", "▏mm")
        assert "queued" not in ptx.text
        await ptx.press("right_square_bracket")
        await ptx.shows("add   at +600us for 100us")


@pytest.mark.parametrize("size", SIZES)
async def test_two_hundred_threads_share_a_few_lines(size: tuple[int, int], tmp_path: Path) -> None:
    builder = training()
    for tid in range(100, 300):
        builder.thread(tid).op("aten::work", 10_000 + tid, tid)
    async with explorer(builder.write(tmp_path / "t.json", "lines"), size) as ptx:
        screen = await timeline_of(ptx)
        await ptx.shows(" threads ", "thread 299", "GPU", "queued", "the host is the limit there")
        assert len(screen.timeline.lines) <= size[1]
        await to_lane(ptx, screen, "threads")
        await ptx.press("left_square_bracket", "enter")
        await ptx.shows("step tree")
        await ptx.shows("that has no row here")  # it launches nothing
        await ptx.press("u", "2", "enter")
        await until(ptx.pilot, lambda: "work" in ptx.cursor)


@pytest.mark.parametrize("ascii_only", [False, True])
async def test_hostile_names_cannot_drive_the_terminal(ascii_only: bool, tmp_path: Path) -> None:
    path = hostile_trace().write(tmp_path / "t.json")
    async with explorer(path, ascii_only=ascii_only) as ptx:
        screen = await timeline_of(ptx)
        for _ in range(len(screen.timeline.lines)):
            await ptx.press("right_square_bracket", "f", "y")
            assert not UNSAFE & set(ptx.text.replace("\n", ""))
            assert not UNSAFE & set(ptx.pilot.app.clipboard)
            await ptx.press("0", "j")
        assert len(ptx.text.splitlines()) == 40


async def test_counters_of_the_trace_come_as_soon_as_they_are_read(tmp_path: Path) -> None:
    builder = training()
    for k in range(4):
        args = {"value": k}
        event = {"ph": "C", "name": "batch size", "pid": 1, "tid": 1, "ts": 11_000 + 2_000 * k}
        builder.add({**event, "args": args})
    async with explorer(builder.write(tmp_path / "t.json", "lines")) as ptx:
        screen = await timeline_of(ptx)
        await ptx.shows("batch size")
        await to_lane(ptx, screen, "batch size")
        await ptx.shows("batch size: ")
        await ptx.shows_no("reading")


async def test_a_key_sends_the_cells_that_changed_and_few_others(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with explorer(path) as ptx:
        screen = await timeline_of(ptx)
        lanes = screen.query_one("#lanes", TimelineLanes)
        sent: list[Region] = []
        monkeypatch.setattr(lanes, "refresh", lambda *regions: sent.extend(regions))

        def cells() -> dict[tuple[int, int], tuple[str, object]]:
            """Returns what is seen of each cell of the lanes: of a blank no colour but its own."""
            found: dict[tuple[int, int], tuple[str, object]] = {}
            for y in range(len(screen.timeline.shown)):
                signs = [(sign, part.style) for part in lanes.render_line(y) for sign in part.text]
                for x, (sign, style) in enumerate(signs):
                    assert style is not None
                    seen = style if sign != " " else (style.bgcolor, style.underline)
                    found[x, y] = (sign, seen)
            return found

        before = cells()
        most = {"j": 250, "k": 250, "right_square_bracket": 250}
        for key in ("j", "right_square_bracket", "k", "w", "d", "j", "j", "a", "s", "f", "0"):
            sent.clear()
            await ptx.press(key)
            after = cells()
            covered = {(x, r.y) for r in sent for x in range(r.x, r.right)}
            assert {at for at in after if after[at] != before[at]} <= covered
            assert len(covered) <= most.get(key, len(after))
            before = after
