"""The explorer's tree by its keys: moving, folding, layers, steps, finding, jumps, marks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.traces import trace
from tests.tui_driver import explorer, training, until

if TYPE_CHECKING:
    from pathlib import Path


SIZES = [(80, 24), (120, 40), (200, 50)]


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
        await until(ptx.pilot, lambda: "old" in ptx.panel_text)
        await ptx.press("enter", "enter")
        assert ptx.cursor.startswith("no op")
        assert "no row here" not in ptx.text


async def test_marks_return_to_their_row(path: Path) -> None:
    async with explorer(path) as ptx:
        await ptx.press("m", "a", "g")
        assert ptx.cursor != "addmm"
        await ptx.press("apostrophe", "a")
        assert ptx.cursor == "addmm"
