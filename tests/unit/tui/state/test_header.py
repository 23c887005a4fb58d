"""The header: where the step's time went, in figures that add up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.traces import TraceBuilder, trace

from ptx.profiling.structure.structure import build_structure
from ptx.profiling.trace.reader import read_trace
from ptx.tui.state.header import Part, fitting, make_header

if TYPE_CHECKING:
    from pathlib import Path

    from ptx.tui.state.header import StepHeader


def header_of(builder: TraceBuilder, folder: Path, step: int | None = 0) -> StepHeader:
    path = builder.write(folder / "t.json", "lines")
    return make_header(build_structure(read_trace(path)), step)


def text(parts: tuple[Part, ...]) -> str:
    return "".join(part.text for part in parts)


def kernels(*runs: tuple[int, int, int, int]) -> TraceBuilder:
    """One step of 1 ms with kernels of (start, duration, stream, device)."""
    builder = trace().thread(1).step(1, 0, 1000)
    for k, (start, dur, stream, device) in enumerate(runs):
        builder.op("aten::mm", 10 + 10 * k, 8)
        builder.runtime("cudaLaunchKernel", 11 + 10 * k, 2, correlation=k + 1)
        builder.kernel("gemm", start, dur, correlation=k + 1, stream=stream, device=device)
    return builder


def test_busy_and_idle_add_up_to_the_duration(tmp_path: Path) -> None:
    header = header_of(kernels((100, 250, 7, 0)), tmp_path)
    assert text(header.equation) == "1.00ms = GPU busy 250us 25% + idle 750us 75%   1 kernels"
    assert sum(band.ns for band in header.bands) == 1_000_000


@pytest.mark.parametrize(("dur", "role"), [(590, "alert"), (610, "normal")])
def test_idle_alone_is_alerting_and_only_above_40_percent(
    tmp_path: Path, dur: int, role: str
) -> None:
    header = header_of(kernels((100, dur, 7, 0)), tmp_path)
    roles = {part.role for part in header.equation if "idle" in part.text}
    assert roles == {role}


def test_overlapping_streams_show_sum_beside_busy(tmp_path: Path) -> None:
    header = header_of(kernels((100, 400, 7, 0), (100, 400, 8, 0)), tmp_path)
    assert "busy 400us 40%" in text(header.equation)
    assert "sum 800us on 2 streams" in text(header.equation)


def test_several_devices_divide_by_devices_times_duration(tmp_path: Path) -> None:
    header = header_of(kernels((100, 500, 7, 0), (100, 500, 7, 1)), tmp_path)
    assert text(header.equation).startswith("2 x 1.00ms = GPU busy 1.00ms 50% + idle 1.00ms 50%")
    assert sum(band.ns for band in header.bands) == 2_000_000


def test_kernels_behind_the_step_are_said(tmp_path: Path) -> None:
    header = header_of(kernels((900, 600, 7, 0)), tmp_path)
    assert "busy 100us 10%" in text(header.equation)
    assert "its kernels ran until +500us" in text(header.equation)


def test_memory_operations_have_a_band_of_their_own(tmp_path: Path) -> None:
    builder = trace().thread(1).step(1, 0, 1000).op("aten::copy_", 10, 20)
    builder.runtime("cudaMemcpyAsync", 12, 5, correlation=1)
    builder.kernel("Memcpy HtoD", 100, 300, correlation=1, cat="gpu_memcpy")
    header = header_of(builder, tmp_path)
    assert {b.letter: b.ns for b in header.bands} == {"M": 300_000, "": 700_000}
    assert "0 kernels" in text(header.equation)


def test_place_names_file_and_step_and_whole_trace(tmp_path: Path) -> None:
    builder = kernels((100, 250, 7, 0))
    assert text(header_of(builder, tmp_path).place) == "t.json  step 1/1 ProfilerStep#1"
    assert text(header_of(builder, tmp_path, None).place) == "t.json  whole trace"


def test_empty_trace_asks_for_the_profilers_step(tmp_path: Path) -> None:
    assert "0 events" in text(header_of(trace(), tmp_path).equation)


def test_trace_of_nothing_but_overhead_is_not_called_empty(tmp_path: Path) -> None:
    builder = trace().host("overhead", "Activity Buffer Request", 0, 10, {})
    assert text(header_of(builder, tmp_path, None).equation).startswith("1 events, but no op")


@given(
    parts=st.lists(st.builds(Part, st.text("x", max_size=9), drop=st.integers(0, 3)), max_size=8),
    width=st.integers(0, 60),
)
def test_narrow_lines_lose_the_least_important_parts_first(parts: list[Part], width: int) -> None:
    kept = fitting(parts, width)
    lost = [p for p in parts if not any(p is k for k in kept)]
    assert [p for p in parts if any(p is k for k in kept)] == kept
    assert all(p.drop > 0 for p in lost)
    if lost:
        # what was left out last was needed: with it the line would not fit
        least = min(p.drop for p in lost)
        assert all(k.drop <= least for k in kept)
    fits = sum(len(p.text) for p in kept) <= width
    assert fits or all(p.drop == 0 for p in kept)
