"""The explorer's panes: panels, layout, sizes, messages, what leaves the screen, the key table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.tui_driver import explorer, screen_text, training, until

from ptx.tui.app import PtxApp
from ptx.tui.keymap import EXPLORE_KEYS

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return training().write(tmp_path / "train.json", "lines")


async def test_panel_follows_the_cursor_when_the_keys_rest(path: Path) -> None:
    async with explorer(path) as ptx:
        await ptx.press("slash", *"bmm", "enter")
        await until(ptx.pilot, lambda: "attention_kernel" in ptx.panel_text)
        assert "gemm_kernel" not in ptx.panel_text


async def test_kernel_in_the_panel_leads_to_its_op(path: Path) -> None:
    async with explorer(path) as ptx:
        await ptx.press("g")
        await until(ptx.pilot, lambda: "dgrad_kernel" in ptx.panel_text)
        await ptx.press("enter", "j", "enter")
        assert ptx.cursor == "bmm"
        assert ptx.screen.op_tree.has_focus
        await ptx.press("ctrl+o")
        assert ptx.cursor.startswith("ProfilerStep")


async def test_n_steps_through_the_places_of_a_kernel(path: Path) -> None:
    async with explorer(path) as ptx:
        await ptx.press("g")
        await until(ptx.pilot, lambda: "dgrad_kernel" in ptx.panel_text)
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
        assert "[Decode]" in heading
        tree_part = heading[: ptx.screen.op_tree.size.width]
        columns = [c.heading for c in ptx.screen.op_tree.columns if c.heading]
        assert all(c in tree_part for c in columns)
        assert ("kernel " in tree_part) == ("kernel" in columns)
        await ptx.press("vertical_line")
        assert "[Decode]" not in ptx.text.splitlines()[3]


async def test_resizing_keeps_the_cursor_and_fits_the_headings(path: Path) -> None:
    async with explorer(path, (120, 40)) as ptx:
        await ptx.pilot.resize_terminal(80, 24)
        await ptx.pilot.pause()
        assert ptx.cursor == "addmm"
        heading = ptx.text.splitlines()[3]
        assert heading.rstrip().endswith("share")
        await ptx.shows("addmm")


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


async def test_no_widget_takes_a_key_of_the_table_for_itself(path: Path) -> None:
    async with explorer(path) as ptx:
        ours = {key for entry in EXPLORE_KEYS for key in entry.keys}
        for widget in (ptx.screen.op_tree, *ptx.screen.panels.lists):
            assert not ours & set(widget._bindings.key_to_bindings), widget
