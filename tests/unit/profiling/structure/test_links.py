"""Which op an activity belongs to, where ids are shared, missing or misleading."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.traces import TraceBuilder, trace

from ptx.profiling.structure.structure import Structure, build_structure
from ptx.profiling.structure.tree import NodeKind
from ptx.profiling.trace.reader import read_trace

if TYPE_CHECKING:
    from pathlib import Path


def _build(path: Path, builder: TraceBuilder) -> Structure:
    return build_structure(read_trace(builder.write(path)))


def _op_names(structure: Structure) -> list[str | None]:
    table = structure.trace.table
    return [table.name_of(op) if op >= 0 else None for op in structure.activities.op.tolist()]


def test_graph_launch_owns_all_kernels_that_carry_its_correlation(scratch: Path) -> None:
    builder = trace().runtime("cudaGraphLaunch", 0, 5, correlation=9)
    for start in (10, 20, 30):
        builder.kernel("k", start, 5, correlation=9)
    structure = _build(scratch, builder)
    assert structure.activities.launch.tolist() == [0, 0, 0]
    assert structure.sums.kernels[structure.tree.node_of[0]] == 3


def test_activity_from_before_the_window_stays_as_a_root(scratch: Path) -> None:
    builder = trace().op("aten::mm", 5, 5).kernel("early", 0, 3, correlation=1)
    structure = _build(scratch, builder)
    node = structure.tree.node_of[1]
    assert structure.tree.parent[node] == -1
    assert structure.tree.kind[node] == NodeKind.ACTIVITY
    assert structure.activities.launch.tolist() == [-1]


def test_trace_of_device_events_alone_has_a_tree(scratch: Path) -> None:
    structure = _build(scratch, trace().kernel("b", 7, 3).kernel("a", 2, 3))
    assert structure.tree.event.tolist() == [1, 0]
    assert structure.sums.gpu_busy_ns.tolist() == [3000, 3000]


def test_trace_of_host_events_alone_has_a_tree(scratch: Path) -> None:
    structure = _build(scratch, trace().op("a", 0, 9).op("b", 1, 3))
    assert structure.tree.parent.tolist() == [-1, 0]
    assert structure.devices.tolist() == []
    assert structure.sums.self_ns.tolist() == [6000, 3000]


def test_empty_trace_has_an_empty_tree_and_one_step(scratch: Path) -> None:
    structure = _build(scratch, trace())
    assert len(structure.tree) == 0
    assert len(structure.steps) == 1
    assert structure.sums.self_ns.tolist() == []
    assert structure.step_of_nodes().tolist() == []


def test_enqueuing_call_wins_over_others_with_its_correlation(scratch: Path) -> None:
    builder = trace().runtime("cudaLaunchKernel", 0, 9, correlation=4)
    builder.runtime("cudaEventRecord", 3, 1, correlation=4).kernel("k", 20, 1, correlation=4)
    assert _build(scratch, builder).activities.launch.tolist() == [0]


def test_innermost_of_two_enqueuing_calls_wins(scratch: Path) -> None:
    builder = trace().runtime("cudaLaunchKernel", 0, 9, correlation=4)
    builder.runtime("cuLaunchKernel", 2, 3, correlation=4).kernel("k", 20, 1, correlation=4)
    assert _build(scratch, builder).activities.launch.tolist() == [1]


def test_external_id_that_equals_the_correlation_links_no_op(scratch: Path) -> None:
    builder = trace().op("aten::sum", 0, 10, External_id=41)
    for k, correlation in enumerate((7, 8, 41)):
        builder.op("aten::mm", 20 * k + 20, 9, External_id=k + 1)
        builder.runtime("cudaLaunchKernel", 20 * k + 21, 2, correlation=correlation)
        builder.kernel("gemm", 20 * k + 30, 2, correlation=correlation, External_id=correlation)
    builder.kernel("loose", 90, 2, correlation=99, External_id=41)
    structure = _build(scratch, builder)
    assert _op_names(structure) == ["aten::mm", "aten::mm", "aten::mm", None]


def test_proven_external_id_finds_the_op_of_an_unlinked_activity(scratch: Path) -> None:
    builder = trace()
    for k in range(3):
        builder.op("aten::mm", 20 * k, 9, External_id=k + 1)
        builder.runtime("cudaLaunchKernel", 20 * k + 1, 2, correlation=k + 70)
        builder.kernel("gemm", 20 * k + 10, 2, correlation=k + 70, External_id=k + 1)
    builder.kernel("loose", 90, 2, correlation=99, External_id=2)
    structure = _build(scratch, builder)
    assert structure.activities.launch.tolist()[-1] == -1
    assert structure.activities.op.tolist()[-1] == 3
    node = structure.tree.node_of[structure.activities.event[-1]]
    assert structure.tree.event[structure.tree.parent[node]] == 3


def test_frames_and_annotations_hold_but_never_own(scratch: Path) -> None:
    builder = trace().annotation("forward", 0, 50).frame("nn.Module: Linear_0", 1, 40)
    builder.runtime("cudaLaunchKernel", 5, 2, correlation=1).kernel("k", 20, 3, correlation=1)
    structure = _build(scratch, builder)
    assert _op_names(structure) == [None]
    assert structure.sums.gpu_sum_ns.tolist() == [3000] * 4


def test_launch_without_time_still_leaves_its_kernel_in_the_tree(scratch: Path) -> None:
    builder = trace().op("aten::mm", 0, 9)
    builder.add(
        {
            "ph": "X",
            "cat": "cuda_runtime",
            "name": "cudaLaunchKernel",
            "pid": 1,
            "tid": 1,
            "args": {"correlation": 5},
        }
    ).kernel("k", 20, 3, correlation=5)
    structure = _build(scratch, builder)
    assert structure.activities.launch.tolist() == [-1]
    assert structure.tree.node_of[1] == -1
    assert structure.tree.node_of[2] >= 0


def test_activity_index_is_found_by_event_id_only_for_activities(scratch: Path) -> None:
    structure = _build(scratch, trace().op("a", 0, 9).kernel("k", 2, 3).kernel("l", 6, 3))
    assert structure.activities.index_of(2) == 1
    for wrong in (0, 3, -1):
        try:
            structure.activities.index_of(wrong)
        except KeyError:
            continue
        raise AssertionError(wrong)


def test_number_that_comes_back_later_means_the_last_launch_before_the_activity(
    scratch: Path,
) -> None:
    builder = trace()
    for k in range(3):
        builder.runtime("cudaLaunchKernel", 100 * k, 5, correlation=7)
        builder.kernel("k", 100 * k + 20, 30, correlation=7)
    assert _build(scratch, builder).activities.launch.tolist() == [0, 2, 4]
