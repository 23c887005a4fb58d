"""Devices that run behind, ahead and over each other: steps by two clocks, overlap, skew."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.traces import TraceBuilder, trace

from ptx.profiling.analysis.summary import StepRow, step_rows
from ptx.profiling.structure.structure import Structure, build_structure
from ptx.profiling.trace.reader import read_trace

if TYPE_CHECKING:
    from pathlib import Path


def _build(path: Path, builder: TraceBuilder) -> Structure:
    return build_structure(read_trace(builder.write(path)))


def _two_steps(*runs: tuple[int, int, int]) -> TraceBuilder:
    """Steps at 0 and 100; kernels of (launch, start, duration), on one stream."""
    builder = trace().step(1, 0, 100).step(2, 100, 100)
    for k, (launch, start, dur) in enumerate(runs):
        builder.runtime("cudaLaunchKernel", launch, 2, correlation=k)
        builder.kernel("k", start, dur, correlation=k)
    return builder


def _rows(path: Path, *runs: tuple[int, int, int]) -> tuple[StepRow, ...]:
    return step_rows(_build(path, _two_steps(*runs)))


def test_late_kernel_counts_for_its_step_by_launch_and_for_the_next_by_the_clock(
    scratch: Path,
) -> None:
    first, second = _rows(scratch, (10, 120, 50), (110, 180, 10))
    assert (first.kernels, first.gpu_sum_ns, first.clock_busy_ns) == (1, 50_000, 0)
    assert (second.kernels, second.gpu_sum_ns, second.clock_busy_ns) == (1, 10_000, 60_000)
    assert (first.gpu_start_ns, first.gpu_end_ns) == (120_000, 170_000)


def test_kernel_over_the_border_is_shared_by_the_clock(scratch: Path) -> None:
    first, second = _rows(scratch, (10, 80, 50))
    assert (first.clock_busy_ns, second.clock_busy_ns) == (20_000, 30_000)
    assert (second.gpu_start_ns, second.gpu_end_ns) == (None, None)


def test_busy_and_idle_fill_the_step_and_never_more(scratch: Path) -> None:
    for row in _rows(scratch, (1, 5, 90), (2, 95, 60), (3, 155, 80)):
        assert row.clock_busy_ns is not None
        assert row.idle_ns is not None
        assert row.clock_busy_ns + row.idle_ns == row.dur_ns
        assert 0 <= row.clock_busy_ns <= row.dur_ns


def test_partial_overlap_on_a_stream_keeps_both_durations(scratch: Path) -> None:
    structure = _build(scratch, _two_steps((1, 10, 20), (5, 25, 20)))
    assert structure.activities.counted_ns.tolist() == [20_000, 20_000]
    assert not structure.activities.overruns.any()
    starts, ends = structure.busy_by_clock(0)
    assert (ends - starts).tolist() == [35_000]


def test_whole_next_kernel_inside_makes_a_duration_bad(scratch: Path) -> None:
    structure = _build(scratch, _two_steps((1, 10, 60), (5, 25, 20)))
    assert structure.activities.overruns.tolist() == [True, False]
    assert structure.activities.counted_ns.tolist() == [15_000, 20_000]
    assert structure.trace.table.dur_ns[structure.activities.event].tolist() == [60_000, 20_000]


def test_kernel_before_its_launch_keeps_its_negative_delay(scratch: Path) -> None:
    structure = _build(scratch, _two_steps((50, 40, 5)))
    assert structure.activities.queue_delay_ns.tolist() == [-12_000]
    assert structure.activities.step.tolist() == [0]


def test_overlap_of_kernels_at_different_depths_counts_once_in_what_holds_both(
    scratch: Path,
) -> None:
    builder = trace().annotation("outer", 0, 50).op("aten::mm", 1, 9)
    builder.runtime("cudaLaunchKernel", 2, 1, correlation=1)
    builder.runtime("cudaLaunchKernel", 20, 1, correlation=2)
    builder.kernel("deep", 30, 10, correlation=1, stream=7)
    builder.kernel("shallow", 35, 10, correlation=2, stream=8)
    structure = _build(scratch, builder)
    assert int(structure.sums.gpu_busy_ns[structure.tree.node_of[0]]) == 15_000
    assert int(structure.sums.gpu_sum_ns[structure.tree.node_of[0]]) == 20_000
