"""Activities for which the file gives no time: kept in the tree, in no figure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.traces import trace

from ptx.profiling.structure.structure import Structure, build_structure
from ptx.profiling.trace.reader import read_trace

if TYPE_CHECKING:
    from pathlib import Path


def _with_lost_kernel(path: Path) -> Structure:
    builder = trace().op("aten::mm", 101, 9)
    builder.runtime("cudaLaunchKernel", 102, 2, correlation=1)
    builder.runtime("cudaLaunchKernel", 105, 2, correlation=2)
    builder.kernel("first", 100, 10, correlation=1).kernel("lost", 0, 0, correlation=2)
    builder.add(
        {"ph": "X", "cat": "kernel", "name": "no_ts", "pid": 0, "tid": 7, "dur": 4,
         "args": {"device": 0, "stream": 7}}
    )  # fmt: skip
    return build_structure(read_trace(builder.write(path)))


def test_kernel_at_the_start_of_the_trace_keeps_its_duration(scratch: Path) -> None:
    activities = _with_lost_kernel(scratch).activities
    assert activities.counted_ns.tolist() == [10_000, 0, 0]
    assert activities.overruns.tolist() == [False, False, False]


def test_lost_kernel_has_no_queue_delay_but_its_launch(scratch: Path) -> None:
    activities = _with_lost_kernel(scratch).activities
    assert activities.launch.tolist() == [1, 2, -1]
    assert activities.queue_delay_ns.tolist() == [-4_000, 0, 0]


def test_sums_and_busy_time_leave_them_out(scratch: Path) -> None:
    structure = _with_lost_kernel(scratch)
    node = structure.tree.node_of[0]
    assert int(structure.sums.kernels[node]) == 2
    assert int(structure.sums.gpu_sum_ns[node]) == 10_000
    roots = structure.tree.parent < 0
    assert int(structure.sums.gpu_busy_ns[roots].sum()) == 10_000
    starts, ends = structure.busy_by_clock(0)
    assert (starts.tolist(), ends.tolist()) == ([0], [10_000])
