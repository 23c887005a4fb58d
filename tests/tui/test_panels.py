"""The panels below or beside the tree: which is shown where, their keys, and what they say."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.hostile import UNSAFE, hostile_trace
from tests.traces import trace
from tests.tui_driver import Explorer, explorer, training, until

from ptx.tui.screens import _panes

if TYPE_CHECKING:
    from pathlib import Path

SIZES = [(80, 24), (120, 40), (170, 45)]
KEYS = {"K": "kernels", "H": "host", "T": "tensors", "D": "decode", "S": "source", "I": "info"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return training().write(tmp_path / "train.json", "lines")


@pytest.fixture
def geglu(samples: Path) -> Path:
    return samples / "geglu_eager.json.gz"


async def find(ptx: Explorer, text: str) -> None:
    await ptx.press("slash", *text, "enter")


# --- which panel is shown ---------------------------------------------------------------------


async def test_an_op_with_a_kernel_shows_its_tensors_beside_the_kernel_name(geglu: Path) -> None:
    async with explorer(geglu, (120, 40)) as ptx:
        assert ptx.cursor == "addmm"
        await ptx.shows("[Tensors]", "transposed (1,768)", "why tn", "tn = tn agree", "coopA")


async def test_a_narrow_screen_shows_one_panel_and_its_key_the_other(geglu: Path) -> None:
    async with explorer(geglu, (80, 24)) as ptx:
        await ptx.shows("[Tensors]", "mat2", "4.72MB")
        assert "agree" not in ptx.text
        await ptx.press("D")
        await ptx.shows("[Decode]", "tn = tn agree", "sums in f32")
        assert "mat2" not in ptx.text


async def test_a_wide_screen_stacks_both_panels_at_the_right(geglu: Path) -> None:
    async with explorer(geglu, (170, 45)) as ptx:
        await ptx.shows("step tree", "[Tensors]", "tn = tn agree")
        lines = ptx.text.splitlines()
        edge = ptx.screen.op_tree.size.width
        assert "[Tensors]" in lines[3][edge:]
        second = next(line for line in lines if "tn = tn agree" in line)
        assert second[edge:].split() == ["Decode", "tn", "=", "tn", "agree", "n", "GPU"]


async def test_an_inner_row_shows_its_kernels_beside_the_host(geglu: Path) -> None:
    async with explorer(geglu, (120, 40)) as ptx:
        await ptx.press("g")
        await ptx.shows("[Kernels]", "G nvjet bf16 192x128x64 tn +bias", "GPU idle 101us, host in")


async def test_a_row_without_a_kernel_shows_the_host(geglu: Path) -> None:
    async with explorer(geglu, (120, 40)) as ptx:
        await ptx.press("k")
        assert ptx.cursor.startswith("t ")
        await ptx.shows("[Host]", "GPU idle 6.51us, host in: op 6.51us 100%", "as_strided")


async def test_a_chosen_panel_stays_where_it_has_something_to_say(geglu: Path) -> None:
    async with explorer(geglu, (80, 24)) as ptx:
        await ptx.press("D", "k")
        await ptx.shows("[Host]")
        await ptx.press("j")
        await ptx.shows("[Decode]")
        await ptx.press("j", "j")
        await ptx.shows("[Decode]", "GeluCUDAKernelImpl")


async def test_a_panel_asked_for_says_why_it_is_empty(geglu: Path) -> None:
    async with explorer(geglu, (120, 40)) as ptx:
        await ptx.press("k", "D")
        await ptx.shows("[Decode]", "no GPU work here")
        await ptx.press("g", "T")
        await ptx.shows("[Tensors]", "no tensors here")


async def test_resizing_leaves_the_panel_in_front(geglu: Path) -> None:
    async with explorer(geglu, (120, 40)) as ptx:
        await ptx.press("D")
        await ptx.pilot.resize_terminal(80, 24)
        await ptx.shows("[Decode]", "sums in f32")
        assert "mat2" not in ptx.text
        await ptx.pilot.resize_terminal(120, 40)
        await ptx.shows("[Decode]", "mat2")


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", ["geglu_eager", "geglu_compile", "train_step_eager", "conv_nchw"])
async def test_every_panel_of_a_real_trace_fills_every_size(
    samples: Path, name: str, size: tuple[int, int]
) -> None:
    async with explorer(samples / f"{name}.json.gz", size) as ptx:
        for key, panel in KEYS.items():
            await ptx.press(key)
            assert ptx.panel == panel
            assert ptx.panel_text, key
            assert len(ptx.text.splitlines()) == size[1]


# --- keys -------------------------------------------------------------------------------------


async def test_h_and_l_go_through_the_panels_inside_one(geglu: Path) -> None:
    async with explorer(geglu, (120, 40)) as ptx:
        await ptx.press("enter")
        seen = []
        for _ in range(len(KEYS)):
            await ptx.press("l")
            seen.append(ptx.panel)
            assert ptx.screen.panels.focused is not None
        assert seen == ["decode", "source", "info", "kernels", "host", "tensors"]
        await ptx.press("h")
        assert ptx.panel == "host"


async def test_tab_goes_round_tree_and_panels(geglu: Path) -> None:
    async with explorer(geglu, (120, 40)) as ptx:
        first, second = ptx.screen.panels.lists
        await ptx.press("tab")
        assert first.has_focus
        await ptx.press("tab")
        assert second.has_focus
        assert ptx.panel == "decode"
        await ptx.press("tab")
        assert ptx.screen.op_tree.has_focus
        await ptx.press("shift+tab")
        assert second.has_focus
        await ptx.press("q")
        assert ptx.screen.op_tree.has_focus


async def test_z_gives_the_focused_panel_the_screen_until_q(geglu: Path) -> None:
    async with explorer(geglu, (120, 40)) as ptx:
        await ptx.press("tab", "tab", "z")
        await ptx.shows_no("step tree")
        assert "mat2" not in ptx.text
        await ptx.shows("[Decode]", "where A is torch's second operand")
        await ptx.press("q")
        await ptx.shows("step tree", "mat2")
        assert ptx.panel == "decode"
        assert ptx.screen.panels.focused is not None


async def test_tab_ends_a_zoom(geglu: Path) -> None:
    async with explorer(geglu, (120, 40)) as ptx:
        await ptx.press("z")
        await ptx.shows_no("[Tensors]")
        await ptx.press("tab")
        await ptx.shows("[Tensors]", "step tree")
        assert ptx.screen.panels.focused is not None


async def test_layout_key_stacks_the_panels_and_shortens_their_names(geglu: Path) -> None:
    async with explorer(geglu, (120, 40)) as ptx:
        await ptx.press("vertical_line")
        await ptx.shows(" K   H  [Tensors]", "tn = tn agree")
        await ptx.press("vertical_line")
        await ptx.shows("  Kernels   Host  [Tensors]")


async def test_only_the_focused_panel_marks_its_line(
    geglu: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with explorer(geglu, (120, 40)) as ptx:
        await ptx.shows("in0 self")
        assert not any(line.startswith("> in") for line in ptx.text.splitlines())
        await ptx.press("enter", "j")
        assert any(line.startswith("> in1") for line in ptx.text.splitlines())


async def test_the_panel_waits_for_the_keys_but_a_panel_key_does_not(
    geglu: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_panes, "_PANEL_DELAY_S", 3600)
    async with explorer(geglu, (80, 24)) as ptx:
        await ptx.shows("mat2")
        await ptx.press("j", "j")
        assert ptx.cursor == "gelu"
        assert "mat2" in ptx.panel_text
        await ptx.press("enter")
        assert "mat2" not in ptx.panel_text
        assert "64,128,3072" in ptx.panel_text


# --- what they lead to ------------------------------------------------------------------------


async def test_a_line_of_the_host_leads_to_its_costliest_place(geglu: Path) -> None:
    async with explorer(geglu, (120, 40)) as ptx:
        await ptx.press("g", "H", "enter", "j")
        await ptx.shows("launch call cuLaunchKernelEx")
        await ptx.press("enter")
        assert ptx.screen.op_tree.has_focus
        assert ptx.cursor == "addmm"
        await ptx.press("n")
        await ptx.shows("2 of 2")
        assert ptx.cursor.startswith("Linear_2")
        await ptx.press("ctrl+o", "ctrl+o")
        assert ptx.cursor.startswith("ProfilerStep")


async def test_forward_and_backward_lead_to_each_other(samples: Path) -> None:
    async with explorer(samples / "train_step_eager.json.gz", (120, 40)) as ptx:
        await find(ptx, "threshold_backward")
        await ptx.press("I", "enter")
        lines = ptx.screen.panels.focused
        assert lines is not None
        row = next(k for k in range(lines.row_count) if lines.text_of(k).startswith("forward op"))
        lines.goto(row)
        await ptx.press("enter")
        assert ptx.cursor == "ReLU_0 › … › clamp_min"  # noqa: RUF001
        await ptx.shows("[Info]", "backward op")


async def test_a_frame_shows_its_file_and_copies_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.py").write_text("\n".join(f"line_{k} = [red]" for k in range(1, 40)))
    async with explorer(training().write(tmp_path / "train.json", "lines"), (80, 24)) as ptx:
        await ptx.press("S", "enter", "y")
        assert ptx.pilot.app.clipboard == "model.py:7"
        await ptx.press("enter")
        await ptx.shows(">  7  line_7 = [red]", "  1  line_1", " 15  line_15")
        assert "line_16" not in ptx.text
        await ptx.press("q")
        await ptx.shows("[Source]")


async def test_a_file_that_is_elsewhere_is_said(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    monkeypatch.chdir(folder)
    async with explorer(path, (80, 24)) as ptx:
        await ptx.press("S", "enter", "enter")
        await ptx.shows("model.py:7 is not on this machine")


async def test_what_was_not_recorded_is_said_with_the_flag_that_would(tmp_path: Path) -> None:
    builder = trace().thread(1).step(1, 0, 1000).op("aten::mm", 10, 15)
    builder.runtime("cudaLaunchKernel", 12, 5, correlation=1)
    builder.kernel("gemm", 100, 500, correlation=1)
    async with explorer(builder.write(tmp_path / "bare.json"), (80, 24)) as ptx:
        await ptx.shows("[Decode]")
        await ptx.press("T")
        await ptx.shows("recorded without shapes: record_shapes=True")
        await ptx.press("S")
        await ptx.shows("recorded without stacks: with_stack=True")


async def test_a_written_panel_holds_its_lines(
    geglu: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with explorer(geglu, (80, 24)) as ptx:
        await ptx.press("enter", "Y")
        await ptx.shows("written to")
    written = next(tmp_path.glob("*.txt")).read_text()
    assert "in2 mat2  bf16 [768,3072]  transposed (1,768)  4.72MB" in written


# --- drawing ----------------------------------------------------------------------------------


@pytest.mark.parametrize("size", SIZES)
async def test_hostile_names_are_only_text_in_every_panel(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    async with explorer(hostile_trace().write(tmp_path / "t.json"), size) as ptx:
        for row in range(len(ptx.labels)):
            for key in KEYS:
                await ptx.press(key)
                assert len(ptx.text.splitlines()) == size[1]
                assert not UNSAFE & set(ptx.text.replace("\n", "")), (row, key)
                await ptx.press("enter", "y", "q")
                assert not UNSAFE & set(ptx.pilot.app.clipboard), (row, key)
            await ptx.press("j")


async def test_ascii_panels_are_ascii(geglu: Path) -> None:
    for size in SIZES:
        async with explorer(geglu, size, ascii_only=True) as ptx:
            for row_key in ("k", "j", "g"):
                await ptx.press(row_key)
                for key in KEYS:
                    await ptx.press(key)
                    assert ptx.text.isascii(), [c for c in ptx.text if not c.isascii()]


async def test_the_host_panel_answers_why_the_device_waits(shared: Path) -> None:
    path = shared / "traces/h200/llama_sdpa_eager.json.gz"
    async with explorer(path, (80, 24)) as ptx:
        assert ptx.cursor == "6x LlamaAttention"
        await ptx.press("H")
        await ptx.shows("GPU idle 4.35ms, host in: op 2.33ms", "Python 1.33ms", "launch 683us")
        await ptx.shows("6 instances, GPU + idle of each", "cudaLaunchKernel", "72")


async def test_palette_jumps_between_forward_and_backward(samples: Path) -> None:
    async with explorer(samples / "train_step_eager.json.gz") as ptx:
        await ptx.press("slash", *"LogSoftmaxBackward0", "enter")
        await until(ptx.pilot, lambda: "LogSoftmaxBackward0" in ptx.cursor)
        ptx.screen.jump_to_partner()
        await until(ptx.pilot, lambda: ptx.cursor == "cross_entropy_loss")
        ptx.screen.jump_to_partner()
        await until(ptx.pilot, lambda: "LogSoftmaxBackward0" in ptx.cursor)
