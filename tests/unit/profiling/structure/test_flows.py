"""Links by arrows and by proven ids; several devices in one file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.traces import trace

from ptx.profiling.report.documents import summary_document
from ptx.profiling.structure.structure import build_structure
from ptx.profiling.structure.tree import NodeKind
from ptx.profiling.trace.columns import Kind
from ptx.profiling.trace.reader import read_trace

if TYPE_CHECKING:
    from pathlib import Path

    from tests.traces import TraceBuilder

    from ptx.profiling.structure.structure import Structure


def _load(tmp_path: Path, builder: TraceBuilder) -> Structure:
    return build_structure(read_trace(builder.write(tmp_path / "t.json")))


def _arrow(builder: TraceBuilder, number: int, lane: tuple[int, int], at: str, ph: str) -> None:
    event: dict[str, Any] = {"ph": ph, "cat": "async_npu", "name": "torch_to_npu", "id": number}
    builder.add({**event, "pid": lane[0], "tid": lane[1], "ts": at})


def _ascend() -> TraceBuilder:
    """An op that queues its work, another that launches it, and a copy nobody launched."""
    builder = trace()
    for pid, name in ((801, "Ascend Hardware"), (800, "Ascend Hardware"), (9, "CANN")):
        args = {"name": name}
        builder.add({"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": args})
    builder.op("aten::add", "1704161511420306.491", 90.5)
    builder.op("aclnnAdd", "1704161511420310.001", 50)
    builder.host("enqueue", "Enqueue", "1704161511420312.000", 5, {"correlation_id": 148})
    builder.op("aclnnMul", "1704161511420400.000", 20)
    for name, pid, at in (
        ("Add", 800, "1704161511420350.123"),
        ("Mul", 801, "1704161511420410.000"),
        ("MEMCPY_ASYNC", 800, "1704161511420420.000"),
    ):
        builder.add({"ph": "X", "name": name, "pid": pid, "tid": 3, "ts": at, "dur": 4})
    big = 1704161511422904204
    _arrow(builder, big, (1, 1), "1704161511420310.001", "s")
    _arrow(builder, big, (800, 3), "1704161511420350.123", "f")
    _arrow(builder, big + 1, (1, 1), "1704161511420400.000", "s")
    _arrow(builder, big + 1, (801, 3), "1704161511420410.000", "f")
    return builder


def test_arrows_link_a_kernel_to_its_op_through_the_queue(tmp_path: Path) -> None:
    structure = _load(tmp_path, _ascend())
    table, activities = structure.trace.table, structure.activities
    kinds = [Kind(k) for k in table.kind[activities.event].tolist()]
    assert kinds == [Kind.KERNEL, Kind.KERNEL, Kind.MEMCPY]
    assert activities.launch.tolist() == [5, -1, -1]
    assert activities.op.tolist() == [4, 6, -1]
    assert structure.tree.kind[structure.tree.node_of[5]] == NodeKind.LAUNCH
    assert int(activities.queue_delay_ns[0]) == 33_123
    assert int(structure.sums.gpu_sum_ns[structure.tree.node_of[3]]) == 4000


def test_devices_of_ascend_are_counted_not_named_by_their_process(tmp_path: Path) -> None:
    structure = _load(tmp_path, _ascend())
    assert structure.devices.tolist() == [0, 1]
    assert structure.trace.table.stream[structure.activities.event].tolist() == [3, 3, 3]


def test_activities_without_device_or_correlation_are_of_one_device_and_linked_by_proven_id(
    tmp_path: Path,
) -> None:
    builder = trace()
    for i, name in ((1, "aten::addmm"), (2, "aten::mul")):
        event = {"ph": "X", "cat": "cpu_op", "name": name, "ts": i * 100, "dur": 50}
        builder.add({**event, "args": {"External id": i}})
    for i in (1, 2):
        event = {"ph": "X", "cat": "kernel", "name": "gemm", "ts": i * 100 + 60, "dur": 10}
        builder.add({**event, "args": {"External id": i}})
    structure = _load(tmp_path, builder)
    assert structure.activities.op.tolist() == [0, 1]
    assert structure.devices.tolist() == [0]


def test_several_devices_are_kept_apart_and_added(tmp_path: Path) -> None:
    builder = trace().op("aten::add", 0, 100)
    for device in (0, 3):
        builder.runtime("cudaLaunchKernel", 10 + device, 1, correlation=device + 1)
        builder.kernel("k", 50, 20, correlation=device + 1, device=device)
        builder.kernel("k", 60, 20, device=device, stream=9)
    structure = _load(tmp_path, builder)
    assert structure.devices.tolist() == [0, 3]
    document = summary_document(structure)
    assert [d["device"] for d in document["devices_time"]] == [0, 3]
    assert [d["gpu_busy_ns"] for d in document["devices_time"]] == [30_000, 30_000]
    assert document["time"]["gpu_busy_ns"] == 60_000
    assert document["time"]["gpu_sum_ns"] == 80_000
    step = document["steps"][0]
    assert step["clock_busy_ns"] + step["idle_ns"] == 2 * step["dur_ns"]
    root = structure.tree.node_of[0]
    assert int(structure.sums.gpu_busy_ns[root]) == 40_000


def test_marks_written_as_ops_are_steps(tmp_path: Path) -> None:
    builder = trace().op("ProfilerStep#4", 0, 100).op("ProfilerStep#5", 100, 50)
    structure = _load(tmp_path, builder)
    assert structure.steps.names == ("ProfilerStep#4", "ProfilerStep#5")


def test_busy_time_unites_activities_launched_at_different_depths(tmp_path: Path) -> None:
    builder = trace().op("outer", 0, 100).runtime("cudaLaunchKernel", 1, 2, correlation=1)
    builder.op("inner", 10, 50).runtime("cudaLaunchKernel", 12, 2, correlation=2)
    builder.kernel("a", 20, 30, correlation=1).kernel("b", 40, 30, correlation=2, stream=9)
    structure = _load(tmp_path, builder)
    assert int(structure.sums.gpu_busy_ns[structure.tree.node_of[0]]) == 50_000
    assert int(structure.sums.gpu_busy_ns[structure.tree.node_of[2]]) == 30_000
