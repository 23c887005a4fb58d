"""The explorer by its keys, on small traces made for the question."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest
from tests.traces import TraceBuilder, trace

from ptx.tui.app import PtxApp
from ptx.tui.keymap import EXPLORE_KEYS
from ptx.tui.screens.explore import ExploreScreen

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from textual.pilot import Pilot

SIZES = [(80, 24), (120, 40), (200, 50)]


def screen_text(pilot: Pilot[None]) -> str:
    """Returns what stands on the screen."""
    app = pilot.app
    return "\n".join(strip.text for strip in app.screen._compositor.render_strips(app.size))


async def until(pilot: Pilot[None], is_so: Callable[[], bool]) -> None:
    """Lets the program work until a condition holds; fails after many rounds."""
    for _ in range(500):
        if is_so():
            return
        await pilot.pause(0.01)
    raise AssertionError(screen_text(pilot))


class Explorer:
    """The program under test with its explorer on screen."""

    def __init__(self, pilot: Pilot[None]) -> None:
        self.pilot = pilot

    @property
    def screen(self) -> ExploreScreen:
        screen = self.pilot.app.screen_stack[-1]
        return next(
            s for s in (screen, *self.pilot.app.screen_stack) if isinstance(s, ExploreScreen)
        )

    @property
    def is_ready(self) -> bool:
        """Returns whether the tree is composed and filled."""
        return bool(self.screen.query("#tree")) and self.screen.op_tree.source is not None

    @property
    def text(self) -> str:
        return screen_text(self.pilot)

    @property
    def cursor(self) -> str:
        """Returns the label of the tree's row under the cursor."""
        return self.screen.rows.label(self.screen.op_tree.cursor)

    @property
    def labels(self) -> list[str]:
        rows = self.screen.rows
        return [rows.label(row) for row in rows.index.rows.tolist()]

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def shows(self, *texts: str) -> None:
        await until(self.pilot, lambda: all(text in self.text for text in texts))

    async def shows_no(self, text: str) -> None:
        await until(self.pilot, lambda: text not in self.text)


@asynccontextmanager
async def explorer(
    path: Path, size: tuple[int, int] = (120, 40), *, ascii_only: bool = False
) -> AsyncIterator[Explorer]:
    app = PtxApp(path, ascii_only=ascii_only)
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: isinstance(app.screen, ExploreScreen))
        found = Explorer(pilot)
        await until(pilot, lambda: found.is_ready)
        yield found


def training() -> TraceBuilder:
    """Two steps: two modules with kernels, an idle op, backward on its own thread."""
    builder = trace()
    correlation = 0
    for number in range(2):
        at = 10_000 * number
        builder.thread(1).step(number, at, 9_000)
        for k, (module, op, kernel, dur) in enumerate(
            (
                ("Attention_0", "aten::bmm", "attention_kernel", 700),
                ("MLP_0", "aten::addmm", "gemm_kernel", 900),
            )
        ):
            start = at + 100 + 1_000 * k
            builder.frame(f"nn.Module: {module}", start, 800)
            builder.frame("model.py(7): forward", start + 10, 780)
            builder.op("aten::t", start + 20, 5)
            builder.op(op, start + 100, 100)
            correlation += 1
            builder.runtime("cudaLaunchKernel", start + 110, 5, correlation=correlation)
            builder.kernel(kernel, start + 300, dur, correlation=correlation)
            builder.op("aten::gelu", start + 400, 100)
            correlation += 1
            builder.runtime("cudaLaunchKernel", start + 410, 5, correlation=correlation)
            builder.kernel("gelu_kernel", at + 5_000 + 100 * k, 40, correlation=correlation)
        builder.thread(2)
        builder.op("autograd::engine::evaluate_function: MmBackward0", at + 4_000, 500)
        correlation += 1
        builder.runtime("cudaLaunchKernel", at + 4_100, 5, correlation=correlation)
        builder.kernel("dgrad_kernel", at + 6_000, 300, correlation=correlation)
    return builder


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return training().write(tmp_path / "train.json", "lines")


@pytest.mark.parametrize("size", SIZES)
async def test_first_screen_names_file_step_and_equation(path: Path, size: tuple[int, int]) -> None:
    async with explorer(path, size) as ptx:
        await ptx.shows("train.json", "step 2/2", "9.00ms = GPU busy 1.98ms 22% + idle 7.02ms 78%")
        assert "5 kernels" in ptx.text


async def test_cursor_starts_on_the_costliest_closed_row(path: Path) -> None:
    async with explorer(path) as ptx:
        assert ptx.cursor == "addmm"
        await ptx.shows("G onednn gemm")


async def test_kernel_column_stands_from_100_columns_on(path: Path) -> None:
    async with explorer(path, (99, 30)) as ptx:
        await ptx.shows("step tree", "addmm")
        assert "kernel" not in ptx.text.splitlines()[3]
    async with explorer(path, (100, 30)) as ptx:
        await ptx.shows("step tree", "addmm")
        assert "kernel" in ptx.text.splitlines()[3]


async def test_arrows_and_letters_move_alike(path: Path) -> None:
    async with explorer(path) as ptx:
        await ptx.press("g")
        first = ptx.cursor
        await ptx.press("j")
        by_letter = ptx.cursor
        await ptx.press("k", "down")
        assert ptx.cursor == by_letter != first
        await ptx.press("G")
        last = ptx.cursor
        await ptx.press("home", "end")
        assert ptx.cursor == last


async def test_left_closes_then_goes_to_the_parent_and_right_opens(path: Path) -> None:
    async with explorer(path) as ptx:
        await ptx.press("left")
        assert ptx.cursor.startswith("MLP_0")
        await ptx.press("left")
        assert "addmm" not in ptx.labels
        await ptx.press("right", "right")
        assert ptx.cursor == "addmm"


async def test_space_folds_and_unfolds_in_place(path: Path) -> None:
    async with explorer(path) as ptx:
        await ptx.press("g")
        before = ptx.labels
        await ptx.press("space")
        assert len(ptx.labels) == 1
        await ptx.press("space")
        assert ptx.labels == before


async def test_layers_show_frames_calls_views_and_back(path: Path) -> None:
    async with explorer(path) as ptx:
        await ptx.press("X")
        for key, word in (("p", "model.py:7"), ("r", "cudaLaunchKernel"), ("u", "t")):
            await ptx.press(key, "X")
            assert any(word in label for label in ptx.labels), (key, ptx.labels)
            await ptx.press(key)


async def test_steps_by_key_and_none_before_the_first(path: Path) -> None:
    async with explorer(path) as ptx:
        await ptx.press("less_than_sign")
        await ptx.shows("step 1/2")
        await ptx.press("less_than_sign")
        await ptx.shows("step 1/2", "no earlier step")
        await ptx.press("greater_than_sign")
        await ptx.shows("step 2/2")


async def test_find_n_and_N_go_round(path: Path) -> None:
    async with explorer(path) as ptx:
        await ptx.press("g", "slash", *"gelu", "enter")
        assert ptx.cursor == "gelu"
        row = ptx.screen.op_tree.cursor
        await ptx.press("n")
        assert ptx.cursor == "gelu"
        assert ptx.screen.op_tree.cursor != row
        await ptx.press("n")
        assert ptx.screen.op_tree.cursor == row
        await ptx.press("N", "N")
        assert ptx.screen.op_tree.cursor == row


async def test_find_also_finds_kernels_and_says_when_there_is_nothing(path: Path) -> None:
    async with explorer(path) as ptx:
        await ptx.press("g", "slash", *"attention_k", "enter")
        assert ptx.cursor == "bmm"
        await ptx.press("slash", *"nonesuch", "enter")
        await ptx.shows("nothing", "nonesuch")


async def test_signs_of_prompts_are_text_within_a_prompt(path: Path) -> None:
    async with explorer(path) as ptx:
        await ptx.press("slash", "slash", "ampersand", "colon", "q", "g", "enter")
        await ptx.shows("nothing here is called '/&:qg'")


async def test_what_is_typed_at_once_behind_the_key_goes_to_the_prompt(path: Path) -> None:
    async with explorer(path) as ptx:
        for key in ("slash", *"gelu", "enter"):
            ptx.pilot.app.simulate_key(key)  # without waiting for the program in between
        await until(ptx.pilot, lambda: ptx.cursor == "gelu")
        await ptx.shows("of 2")


async def test_escape_leaves_the_search_and_not_the_program(path: Path) -> None:
    async with explorer(path) as ptx:
        await ptx.press("slash", *"ge", "escape")
        assert ptx.pilot.app.is_running
        await ptx.press("j")
        assert ptx.screen.op_tree.has_focus


async def test_filter_leaves_hits_and_their_parents_until_q(path: Path) -> None:
    async with explorer(path) as ptx:
        before = ptx.labels
        await ptx.press("ampersand", *"bmm", "enter")
        assert "bmm" in ptx.labels
        assert "addmm" not in ptx.labels
        assert not any("MLP" in label for label in ptx.labels)
        await ptx.press("q")
        assert ptx.labels == before


async def test_go_to_time_step_event_and_correlation(path: Path) -> None:
    async with explorer(path) as ptx:
        for words, where in (("150us", "Attention_0"), ("corr 8", "addmm")):
            await ptx.press("colon", *[k if k != " " else "space" for k in words], "enter")
            assert where in ptx.cursor, (words, ptx.cursor)
        await ptx.press("colon", *"step", "space", "1", "enter")
        await ptx.shows("step 1/2")
        await ptx.press("colon", *"nowhere", "enter")
        await ptx.shows("cannot go to")


async def test_ctrl_o_returns_to_before_the_jump(path: Path) -> None:
    async with explorer(path) as ptx:
        await ptx.press("colon", *"corr", "space", "1", "enter")
        await ptx.shows("step 1/2")
        await ptx.press("ctrl+o")
        await ptx.shows("step 2/2")
        assert ptx.cursor == "addmm"


async def test_jumps_and_layers_keep_a_row_that_groups_a_thread(path: Path) -> None:
    async with explorer(path) as ptx:
        await ptx.press("slash", *"backward0", "enter", "left")
        assert ptx.cursor.startswith("backward (thread")
        await ptx.press("c")
        assert not ptx.cursor.startswith("backward (thread")
        await ptx.press("ctrl+o")
        assert ptx.cursor.startswith("backward (thread")
        for key in ("p", "o", "u"):
            await ptx.press(key)
            assert ptx.cursor.startswith("backward (thread"), key


async def test_kernel_without_a_launch_leads_to_its_group(tmp_path: Path) -> None:
    builder = trace().thread(1).op("aten::mm", 0, 900).kernel("old", 100, 50, correlation=9)
    async with explorer(builder.write(tmp_path / "old.json")) as ptx:
        await ptx.press("G")
        assert ptx.cursor.startswith("no op")
        await until(ptx.pilot, lambda: "old" in ptx.screen.panel_list.as_text())
        await ptx.press("enter", "enter")
        assert ptx.cursor.startswith("no op")
        assert "no row here" not in ptx.text


async def test_marks_return_to_their_row(path: Path) -> None:
    async with explorer(path) as ptx:
        await ptx.press("m", "a", "g")
        assert ptx.cursor != "addmm"
        await ptx.press("apostrophe", "a")
        assert ptx.cursor == "addmm"


async def test_panel_follows_the_cursor_when_the_keys_rest(path: Path) -> None:
    async with explorer(path) as ptx:
        await ptx.press("slash", *"bmm", "enter")
        kinds = ptx.screen.panel_list
        await until(ptx.pilot, lambda: "attention_kernel" in kinds.as_text())
        assert "gemm_kernel" not in kinds.as_text()


async def test_kernel_in_the_panel_leads_to_its_op(path: Path) -> None:
    async with explorer(path) as ptx:
        await ptx.press("g")
        kinds = ptx.screen.panel_list
        await until(ptx.pilot, lambda: "dgrad_kernel" in kinds.as_text())
        await ptx.press("enter", "j", "enter")
        assert ptx.cursor == "bmm"
        assert ptx.screen.op_tree.has_focus
        await ptx.press("ctrl+o")
        assert ptx.cursor.startswith("ProfilerStep")


async def test_n_steps_through_the_places_of_a_kernel(path: Path) -> None:
    async with explorer(path) as ptx:
        await ptx.press("g")
        await until(ptx.pilot, lambda: "dgrad_kernel" in ptx.screen.panel_list.as_text())
        await ptx.press("enter", "G", "enter")
        first = ptx.screen.op_tree.cursor
        assert ptx.cursor == "gelu"
        await ptx.press("n")
        assert ptx.cursor == "gelu"
        assert ptx.screen.op_tree.cursor != first


async def test_brackets_walk_the_kernels_in_time(path: Path) -> None:
    async with explorer(path) as ptx:
        await ptx.press("slash", *"bmm", "enter")
        seen = []
        for _ in range(4):
            await ptx.press("right_square_bracket")
            seen.append(ptx.cursor)
        assert seen[0] == "addmm"
        assert seen[1:3] == ["gelu", "gelu"]
        assert "Backward" in seen[3]
        await ptx.press("comma")
        assert ptx.cursor == "gelu"


async def test_info_shows_what_is_recorded(path: Path) -> None:
    async with explorer(path) as ptx:
        await ptx.press("I")
        await ptx.shows("aten::addmm", "queue delay", "gemm_kernel")
        await ptx.press("K")
        await ptx.shows("[Kernels]")


async def test_order_by_cost_puts_the_dearest_first_and_back(path: Path) -> None:
    async with explorer(path) as ptx:
        await ptx.press("E")
        in_time = ptx.labels
        await ptx.press("o")
        assert ptx.labels[1].startswith("MLP_0")
        await ptx.press("o", "E")
        assert ptx.labels == in_time


async def test_zoom_fills_the_screen_and_q_takes_it_back(path: Path) -> None:
    async with explorer(path, (80, 24)) as ptx:
        await ptx.press("z")
        await ptx.shows_no("Kernels")
        await ptx.press("q")
        await ptx.shows("Kernels")


async def test_layout_key_puts_the_panel_beside_and_headings_follow(path: Path) -> None:
    async with explorer(path, (120, 40)) as ptx:
        await ptx.press("vertical_line")
        heading = ptx.text.splitlines()[3]
        assert "Kernels" in heading
        tree_part = heading[: ptx.screen.op_tree.size.width]
        columns = [c.heading for c in ptx.screen.op_tree.columns if c.heading]
        assert all(c in tree_part for c in columns)
        assert ("kernel " in tree_part) == ("kernel" in columns)
        await ptx.press("vertical_line")
        assert "Kernels" not in ptx.text.splitlines()[3]


async def test_resizing_keeps_the_cursor_and_fits_the_headings(path: Path) -> None:
    async with explorer(path, (120, 40)) as ptx:
        await ptx.pilot.resize_terminal(80, 24)
        await ptx.pilot.pause()
        assert ptx.cursor == "addmm"
        heading = ptx.text.splitlines()[3]
        assert heading.rstrip().endswith("share")
        assert "addmm" in ptx.text


async def test_too_small_says_so_and_grows_back(path: Path) -> None:
    async with explorer(path, (80, 24)) as ptx:
        await ptx.pilot.resize_terminal(59, 24)
        await ptx.shows("60x15 needed, this is 59x24")
        assert "GPU busy" not in ptx.text
        await ptx.pilot.resize_terminal(60, 15)
        await ptx.shows("GPU busy", "addmm")


async def test_starting_too_small_still_opens_when_it_grows(path: Path) -> None:
    app = PtxApp(path)
    async with app.run_test(size=(40, 10)) as pilot:
        await until(pilot, lambda: "60x15 needed" in screen_text(pilot))
        await pilot.resize_terminal(80, 24)
        await until(pilot, lambda: "addmm" in screen_text(pilot))


async def test_footer_shows_its_keys_again_after_a_message(path: Path) -> None:
    async with explorer(path) as ptx:
        await ptx.press("o")
        await ptx.press("j", "k")
        await ptx.shows("? help")


async def test_help_lists_every_key_and_q_closes_it(path: Path) -> None:
    async with explorer(path, (120, 40)) as ptx:
        await ptx.press("question_mark")
        await ptx.shows("next row")
        await ptx.press("q")
        assert ptx.pilot.app.screen is ptx.screen


async def test_q_at_the_top_ends_the_program_without_error(path: Path) -> None:
    async with explorer(path) as ptx:
        await ptx.press("q")
        await until(ptx.pilot, lambda: not ptx.pilot.app.is_running)
        assert not ptx.pilot.app.return_code


async def test_copied_row_is_its_text(path: Path) -> None:
    async with explorer(path) as ptx:
        await ptx.press("y")
        assert "addmm" in ptx.pilot.app.clipboard
        await ptx.shows("set-clipboard")


async def test_written_file_holds_the_rows_and_never_replaces_one(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    monkeypatch.chdir(folder)
    async with explorer(path) as ptx:
        await ptx.press("Y", "Y")
        await ptx.pilot.pause()
    written = sorted(folder.iterdir())
    assert len(written) == 2
    assert "addmm" in written[0].read_text()


async def test_command_that_prints_the_view_names_file_and_step(path: Path) -> None:
    async with explorer(path) as ptx:
        ptx.screen.copy_command()
        assert ptx.pilot.app.clipboard.startswith("ptx tree ")
        assert "--step 2" in ptx.pilot.app.clipboard


async def test_ascii_screen_is_ascii(path: Path) -> None:
    async with explorer(path, (120, 40), ascii_only=True) as ptx:
        for key in ("vertical_line", "I", "question_mark"):
            await ptx.press(key)
            assert ptx.text.isascii(), [c for c in ptx.text if not c.isascii()]
        await ptx.press("q")
        ptx.screen.choose_step()
        await ptx.pilot.pause()
        assert ptx.text.isascii(), [c for c in ptx.text if not c.isascii()]


# --- traces of other kinds ------------------------------------------------------------------------


async def test_empty_trace_says_what_may_be_wrong(tmp_path: Path) -> None:
    async with explorer(trace().write(tmp_path / "empty.json")) as ptx:
        await ptx.shows("0 events", "prof.step()")
        for key in "jkGgcxeEXo/\x1b":
            await ptx.press("escape" if key == "\x1b" else key if key != "/" else "slash")
        assert ptx.pilot.app.is_running


async def test_cpu_only_trace_says_so_and_counts_cpu_time(tmp_path: Path) -> None:
    builder = trace().thread(1).step(1, 0, 1000).op("aten::sort", 10, 900).op("aten::add", 950, 20)
    async with explorer(builder.write(tmp_path / "cpu.json")) as ptx:
        await ptx.shows("1.00ms of CPU time", "ProfilerActivity.CUDA", "self")
        assert "sort" in ptx.cursor
        await ptx.shows("[Info]", "aten::sort")


async def test_row_without_gpu_work_says_so_in_the_kernel_panel(tmp_path: Path) -> None:
    builder = trace().thread(1).step(1, 0, 1000).op("aten::mm", 10, 15).op("aten::item", 100, 800)
    builder.runtime("cudaLaunchKernel", 12, 5, correlation=1)
    builder.kernel("gemm", 100, 500, correlation=1)
    async with explorer(builder.write(tmp_path / "item.json")) as ptx:
        await ptx.press("slash", *"item", "enter")
        await ptx.shows("no GPU work here")


async def test_truncated_trace_opens_and_says_so(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-400])
    async with explorer(path) as ptx:
        await ptx.shows("file ends early")


async def test_narrow_header_drops_what_matters_least(tmp_path: Path) -> None:
    builder = trace().header(deviceProperties=[{"id": 0, "name": "NVIDIA H200 with a long name"}])
    builder.thread(1).step(1, 0, 1000)
    for k in range(3):
        builder.op("aten::mm", 10 + 20 * k, 15)
        builder.runtime("cudaLaunchKernel", 12 + 20 * k, 5, correlation=k + 1)
        builder.kernel("gemm", 100, 700, correlation=k + 1, stream=7 + k)
    path = builder.write(tmp_path / "a_file_with_quite_a_long_name.json")
    async with explorer(path, (80, 24)) as ptx:
        first, second = ptx.text.splitlines()[:2]
        assert "step 1/1" in first
        assert "long name" not in first
        assert second.rstrip().endswith("sum 2.10ms on 3 streams")
    async with explorer(path, (120, 40)) as ptx:
        await ptx.shows("long name", "ProfilerStep#1", "3 kernels")


async def test_several_streams_show_the_sum_beside_busy(tmp_path: Path) -> None:
    builder = trace().thread(1).step(1, 0, 1000)
    for k in range(2):
        builder.op("aten::mm", 10 + 20 * k, 15)
        builder.runtime("cudaLaunchKernel", 12 + 20 * k, 5, correlation=k + 1)
        builder.kernel("gemm", 100, 500, correlation=k + 1, stream=7 + k)
    async with explorer(builder.write(tmp_path / "streams.json")) as ptx:
        await ptx.shows("GPU busy 500us 50%", "sum 1.00ms on 2 streams")


async def test_kernels_that_outlast_the_step_are_said(tmp_path: Path) -> None:
    builder = trace().thread(1).step(1, 0, 1000).op("aten::mm", 10, 15)
    builder.runtime("cudaLaunchKernel", 12, 5, correlation=1)
    builder.kernel("gemm", 900, 600, correlation=1)
    async with explorer(builder.write(tmp_path / "async.json")) as ptx:
        await ptx.shows("GPU busy 100us 10%", "its kernels ran until", "500us")


HOSTILE = {
    "markup": "[red]x[/red][@click=app.quit]y[/]",
    "open bracket": "[",
    "escape sequence": "\x1b[2J\x1b]52;c;ZXZpbA==\x07gone",
    "line break": "one\ntwo\rthree",
    "bidirectional": "a\u202egnp.exe\u2066",
    "C1 control": "a\x9b31mb",
    "very long": "n" * 5000,
    "wide": "漢字" * 60,
}


UNSAFE = "\x1b\x9b\x07\r\u202e\u2066"


@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE.keys())
async def test_hostile_names_are_only_text_everywhere(tmp_path: Path, name: str) -> None:
    """In ops, kernels, categories, argument names and values, threads, devices and steps."""
    builder = trace().header(deviceProperties=[{"id": 0, "name": name}])
    builder.thread(1).step(1, 0, 1000)
    builder.host("cpu_op", name, 10, 800, {name: name, "more": {name: [name]}})
    builder.runtime("cudaLaunchKernel", 12, 5, correlation=1)
    builder.kernel(name, 100, 500, correlation=1)
    builder.add({"ph": "M", "name": "thread_name", "pid": 1, "tid": 2, "args": {"name": name}})
    builder.thread(2).op("aten::mm", 100, 500)
    builder.runtime("cudaLaunchKernel", 120, 5, correlation=2)
    builder.kernel("gemm", 700, 100, correlation=2)
    async with explorer(builder.write(tmp_path / "hostile.json"), (100, 30)) as ptx:
        for row in range(len(ptx.labels)):
            for key in ("I", "y", "K", "j"):
                await ptx.press(key)
                assert len(ptx.text.splitlines()) == 30
                assert not any(c in ptx.text for c in UNSAFE), (row, key)
            assert not any(c in ptx.pilot.app.clipboard for c in UNSAFE)
        await ptx.press("vertical_line", "slash", *"nope[red]", "enter")
        await ptx.shows("nope[red]")
        assert not any(c in ptx.text for c in UNSAFE)


async def test_every_action_of_the_key_table_exists(path: Path) -> None:
    async with explorer(path) as ptx:
        for key in EXPLORE_KEYS:
            name = "action_" + key.action.partition("(")[0].rpartition(".")[2]
            assert hasattr(ptx.screen, name) or hasattr(ptx.pilot.app, name), key


def test_no_key_is_bound_twice() -> None:
    keys = [key for entry in EXPLORE_KEYS for key in entry.keys]
    assert len(keys) == len(set(keys))


async def test_no_widget_takes_a_key_of_the_table_for_itself(path: Path) -> None:
    async with explorer(path) as ptx:
        ours = {key for entry in EXPLORE_KEYS for key in entry.keys}
        for widget in (ptx.screen.op_tree, ptx.screen.panel_list):
            assert not ours & set(widget._bindings.key_to_bindings), widget
