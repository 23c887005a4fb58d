"""The block "where the time went" of the summary."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.traces import trace

from ptx.profiling.analysis.accounting.buckets import BUCKETS
from ptx.profiling.report.account_text import BUCKET_WORDS
from ptx.profiling.report.documents import summary_document
from ptx.profiling.report.text import summary_text
from ptx.profiling.structure.structure import Structure, build_structure
from ptx.profiling.trace.reader import read_trace

if TYPE_CHECKING:
    from pathlib import Path

    from tests.traces import TraceBuilder

NCCL = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def built(builder: TraceBuilder, folder: Path) -> Structure:
    return build_structure(read_trace(builder.write(folder / "t.json")))


def block(structure: Structure) -> list[str]:
    """Returns the lines of the block, heading first."""
    lines = list(summary_text(structure))
    (first,) = (k for k, line in enumerate(lines) if "where the time went" in line)
    return lines[first : lines.index("", first)]


def test_every_bucket_has_its_words() -> None:
    assert tuple(BUCKET_WORDS) == BUCKETS


def test_only_buckets_with_time_are_shown_with_the_median_of_the_steps(tmp_path: Path) -> None:
    builder = trace()
    for step, waited in enumerate((10, 30, 20)):
        start = 100 * step
        builder.step(step, start, 100).runtime("cudaDeviceSynchronize", start, waited)
        builder.kernel("gemm", start + 40, 60)
    assert block(built(builder, tmp_path)) == [
        "  time    %  a step  where the time went (a step: the median)",
        " 180us  60%  60.0us  compute",
        "60.0us  20%  20.0us  idle, host waiting for the device",
        "60.0us  20%  20.0us  idle, host in ops, launches and Python",
    ]


def test_devices_are_added_up_and_hidden_communication_is_told(tmp_path: Path) -> None:
    builder = trace().op("aten::mm", 0, 50)
    builder.kernel("gemm", 0, 50).kernel("gemm", 0, 40, device=1)
    builder.kernel(NCCL, 30, 20, device=1, stream=9)
    assert block(built(builder, tmp_path)) == [
        "  time    %  where the time went, 2 devices added up",
        "90.0us  90%  compute",
        "10.0us  10%  communication, nothing computed meanwhile",
        "communication under compute: 10.0us",
    ]


def test_a_trace_without_a_device_has_no_buckets(tmp_path: Path) -> None:
    structure = built(trace().op("aten::mm", 0, 10), tmp_path)
    assert not any("where the time went" in line for line in summary_text(structure))
    document = summary_document(structure)
    assert document["time"]["buckets_ns"] is None
    assert document["time"]["communication_overlapped_ns"] is None
    assert document["steps"][0]["buckets_ns"] is None
    assert document["devices_time"] == []
