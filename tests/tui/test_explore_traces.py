"""The explorer on traces of other kinds: empty, cut, without a GPU, asynchronous, hostile."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.traces import trace
from tests.tui_driver import explorer, training

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return training().write(tmp_path / "train.json", "lines")


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
        await ptx.shows("[Host]", "CPU time 900us")


async def test_row_without_gpu_work_says_so_in_the_kernel_panel(tmp_path: Path) -> None:
    builder = trace().thread(1).step(1, 0, 1000).op("aten::mm", 10, 15).op("aten::item", 100, 800)
    builder.runtime("cudaLaunchKernel", 12, 5, correlation=1)
    builder.kernel("gemm", 100, 500, correlation=1)
    async with explorer(builder.write(tmp_path / "item.json")) as ptx:
        await ptx.press("slash", *"item", "enter")
        await ptx.shows("[Host]", "GPU idle 300us")
        await ptx.press("K")
        await ptx.shows("[Kernels]", "no GPU work here")


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
