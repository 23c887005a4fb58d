"""Questions that the first screen answers, or one or two keys more: on recorded traces."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from tests.tui_driver import Explorer, explorer

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def h200(shared: Path) -> Path:
    return shared / "traces" / "h200"


def line_with(ptx: Explorer, text: str) -> str:
    """Returns the first line of the tree that holds a text."""
    return next(line for line in ptx.text.splitlines()[4:] if text in line)


def share(line: str) -> int:
    """Returns the percentage that stands in a line."""
    return int(re.findall(r"(\d+)%", line)[-1])


class TestWhyIsThisStepSoLong:
    async def test_no_key_says_idle_and_where(self, h200: Path) -> None:
        async with explorer(h200 / "llama_sdpa_eager.json.gz", (80, 24)) as ptx:
            assert "11.3ms = GPU busy 1.72ms 15% + idle 9.54ms 85%" in ptx.text
            assert share(line_with(ptx, "6x LlamaDecoderLayer")) == 83
            assert share(line_with(ptx, "6x LlamaAttention")) == 44

    async def test_one_key_says_what_the_host_did(self, h200: Path) -> None:
        async with explorer(h200 / "llama_sdpa_eager.json.gz", (80, 24)) as ptx:
            assert "LlamaAttention" in ptx.cursor
            await ptx.press("H")
            await ptx.shows("op 2.33ms", "Python 1.33ms")
            told = next(line for line in ptx.text.splitlines() if "GPU idle 4.35ms" in line)
            assert re.search(
                r"op 2\.33ms 5[34]%  Python 1\.33ms 3[01]%  launch 68\dus 1[56]%", told
            )


class TestWhichGemmAndWhy:
    async def test_no_key_at_120_columns(self, h200: Path) -> None:
        async with explorer(h200 / "geglu_eager.json.gz", (120, 40)) as ptx:
            assert ptx.cursor == "addmm"
            await ptx.shows(
                "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_bias_TNT",
                "256x128 output tile",
                "tn = tn agree",
                "in2 is a view with strides (1,768)",
            )

    async def test_the_panel_says_how_fast_it_ran_by_the_model(self, h200: Path) -> None:
        async with explorer(h200 / "geglu_eager.json.gz", (120, 40)) as ptx:
            flops = 2 * 8192 * 3072 * 768
            moved = 2 * (3072 + 8192 * 768 + 768 * 3072 + 8192 * 3072)
            await ptx.shows(f"modelled {moved / 1e6:.1f}MB, {flops / 1e9:.1f} GFLOP", "bound by")

    async def test_one_key_at_80_columns(self, h200: Path) -> None:
        async with explorer(h200 / "geglu_eager.json.gz", (80, 24)) as ptx:
            await ptx.press("D")
            await ptx.shows("nvjet_sm90_tst_256x128", "tn = tn agree")


class TestWhatCopiesHappen:
    async def test_no_key_shows_the_conversions_of_the_first_row(self, h200: Path) -> None:
        async with explorer(h200 / "resnet18_nchw_eager.json.gz", (120, 40)) as ptx:
            assert "20x conv2d" in ptx.cursor
            await ptx.shows("C nchwToNhwcKernel", "36   266us", "C nhwcToNchwKernel", "19   149us")

    async def test_three_keys_leave_only_rows_with_copies(self, h200: Path) -> None:
        async with explorer(h200 / "resnet18_nchw_eager.json.gz", (120, 40)) as ptx:
            await ptx.press("ampersand", "C", "enter")
            await ptx.shows("only rows with 'C'")
            assert any("conv2d" in label for label in ptx.labels)
            assert not any("max_pool" in label or "linear" in label for label in ptx.labels)


class TestDoesTheGpuWaitForTheHost:
    async def test_no_key_shows_the_host_work_that_it_waits_for(self, h200: Path) -> None:
        async with explorer(h200 / "launch_bound_and_syncs.json.gz", (80, 24)) as ptx:
            assert "idle 36.6ms 90%" in ptx.text
            rows = [line for line in ptx.text.splitlines() if "randn" in line]
            assert [share(row) for row in rows[:2]] == [41, 35]

    async def test_one_key_shows_the_queue(self, h200: Path) -> None:
        async with explorer(h200 / "launch_bound_and_syncs.json.gz", (80, 24)) as ptx:
            await ptx.press("2")
            await ptx.shows("queued", "the host is the limit")


class TestWhatCostsMost:
    async def test_the_cursor_is_there_at_the_start_and_s_shows_the_line(self, h200: Path) -> None:
        async with explorer(h200 / "geglu_eager.json.gz", (80, 24)) as ptx:
            await ptx.press("S")
            await ptx.shows("[Source]", "h200_traces.py:47")

    async def test_two_keys_in_a_deep_tree(self, h200: Path) -> None:
        async with explorer(h200 / "llama_sdpa_eager.json.gz", (80, 24)) as ptx:
            await ptx.press("c", "S")
            await ptx.shows("[Source]", ".py:")

    async def test_three_keys_from_the_costliest_kernels(self, h200: Path) -> None:
        async with explorer(h200 / "llama_sdpa_eager.json.gz", (80, 24)) as ptx:
            await ptx.press("3")
            await ptx.shows("[by kernel]")
            await ptx.press("enter", "S")
            await ptx.shows("only places of", "[Source]", ".py:")
