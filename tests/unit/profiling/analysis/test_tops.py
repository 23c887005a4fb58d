"""Groups of ops, shapes, modules, categories and kernels against sums made one by one."""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.traces import TraceBuilder, trace

from ptx.profiling.analysis.tops import (
    NO_MODULE,
    Grouping,
    TopRow,
    slice_rows,
    sort_top_rows,
    top_rows,
)
from ptx.profiling.structure.structure import Structure, build_structure
from ptx.profiling.structure.tree import NodeKind
from ptx.profiling.trace.columns import Kind
from ptx.profiling.trace.reader import read_trace

if TYPE_CHECKING:
    from collections.abc import Iterable

SAMPLES = Path(__file__).resolve().parents[4] / "sample_traces"
NAMES = sorted(path.name for path in SAMPLES.glob("*.json.gz"))
GROUPINGS: tuple[Grouping, ...] = ("op", "shape", "module", "class", "category", "kernel")
SHARED_OUT: tuple[Grouping, ...] = ("module", "class", "category", "kernel")


@cache
def sample(name: str) -> Structure:
    return build_structure(read_trace(SAMPLES / name))


def built(builder: TraceBuilder, folder: Path) -> Structure:
    return build_structure(read_trace(builder.write(folder / "t.json")))


def above(structure: Structure, node: int) -> Iterable[int]:
    """Yields the ancestors of a node, nearest first."""
    node = int(structure.tree.parent[node])
    while node >= 0:
        yield node
        node = int(structure.tree.parent[node])


def name_of(structure: Structure, node: int) -> str:
    return structure.trace.table.name_of(int(structure.tree.event[node]))


def by_name(rows: list[TopRow]) -> dict[str, TopRow]:
    found = {row.name: row for row in rows}
    assert len(found) == len(rows)
    return found


def launched(builder: TraceBuilder, number: int, start: float, dur: float) -> TraceBuilder:
    builder.runtime("cudaLaunchKernel", start, 1, correlation=number)
    return builder.kernel("k", start + 2, dur, correlation=number)


@pytest.mark.parametrize("name", NAMES)
class TestSamples:
    def test_ops_hold_what_was_launched_anywhere_below_them(self, name: str) -> None:
        structure = sample(name)
        tree, activities = structure.tree, structure.activities
        wanted: dict[str, set[int]] = defaultdict(set)
        for k, event in enumerate(activities.event.tolist()):
            for node in above(structure, int(tree.node_of[event])):
                if tree.kind[node] == NodeKind.OP:
                    wanted[name_of(structure, node)].add(k)
        rows = by_name(top_rows(structure, "op"))
        assert {n: set(r.activities.tolist()) for n, r in rows.items() if r.gpu_sum_ns} == wanted
        for row in rows.values():
            events = activities.event[row.activities]
            assert row.gpu_sum_ns == activities.counted_ns[row.activities].sum()
            assert row.kernels == (structure.trace.table.kind[events] == Kind.KERNEL).sum()

    def test_calls_and_times_of_ops_are_those_of_their_instances(self, name: str) -> None:
        structure = sample(name)
        dur_ns = structure.trace.table.dur_ns[structure.tree.event]
        for row in top_rows(structure, "op"):
            nodes = row.nodes.tolist()
            assert {name_of(structure, node) for node in nodes} == {row.name}
            assert row.calls == len(nodes) == len(set(nodes))
            outer = [n for n in nodes if not set(above(structure, n)) & set(nodes)]
            assert row.cpu_total_ns == dur_ns[outer].sum()
            assert row.cpu_self_ns == structure.sums.self_ns[nodes].sum()

    def test_shapes_divide_the_ops(self, name: str) -> None:
        structure = sample(name)
        parts: dict[str, list[int]] = defaultdict(list)
        own_ns: dict[str, int] = defaultdict(int)
        for row in top_rows(structure, "shape"):
            parts[row.name] += row.nodes.tolist()
            own_ns[row.name] += row.cpu_self_ns or 0
        ops = by_name(top_rows(structure, "op"))
        assert {n: sorted(nodes) for n, nodes in parts.items()} == {
            n: row.nodes.tolist() for n, row in ops.items()
        }
        assert own_ns == {n: row.cpu_self_ns for n, row in ops.items()}

    @pytest.mark.parametrize("by", SHARED_OUT)
    def test_activities_are_shared_out_without_a_rest(self, name: str, by: Grouping) -> None:
        structure = sample(name)
        counted = structure.activities.counted_ns
        for step in (None, *range(len(structure.steps))):
            rows = top_rows(structure, by, step=step)
            mine = (
                np.ones(len(counted), bool) if step is None else structure.activities.step == step
            )
            held = np.concatenate([row.activities for row in rows])
            assert sorted(held.tolist()) == np.flatnonzero(mine).tolist()
            assert sum(row.gpu_sum_ns for row in rows) == counted[mine].sum()

    @pytest.mark.parametrize("by", GROUPINGS)
    def test_steps_divide_the_instances(self, name: str, by: Grouping) -> None:
        structure = sample(name)
        steps = [top_rows(structure, by, step=k) for k in range(len(structure.steps))]
        whole: dict[tuple[str, str], int] = defaultdict(int)
        for row in (row for rows in steps for row in rows):
            whole[row.name, row.detail] += row.calls
        for row in top_rows(structure, by):
            of_steps = structure.step_of_nodes()[row.nodes] >= 0
            assert whole[row.name, row.detail] == of_steps.sum()

    @pytest.mark.parametrize("by", GROUPINGS)
    def test_costliest_stand_first(self, name: str, by: Grouping) -> None:
        sums = [row.gpu_sum_ns for row in top_rows(sample(name), by)]
        assert sums == sorted(sums, reverse=True)


class TestOps:
    def test_op_inside_one_of_its_name_counts_its_time_once(self, tmp_path: Path) -> None:
        builder = trace().op("aten::to", 0, 50).op("aten::to", 10, 20).op("aten::copy_", 12, 5)
        [to, copy] = top_rows(built(launched(builder, 1, 13, 9), tmp_path), "op")
        assert (to.name, to.calls, to.cpu_total_ns, to.cpu_self_ns) == ("aten::to", 2, 50000, 45000)
        assert (to.gpu_sum_ns, to.kernels, copy.gpu_sum_ns) == (9000, 1, 9000)

    def test_depth_counts_the_ops_above(self, tmp_path: Path) -> None:
        builder = trace().annotation("step", 0, 100).op("a", 1, 90).op("b", 2, 50).op("c", 3, 9)
        structure = built(builder, tmp_path)
        names = [{r.name for r in top_rows(structure, "op", depth=n)} for n in (1, 2, 3, 4)]
        assert names == [{"a"}, {"a", "b"}, {"a", "b", "c"}, {"a", "b", "c"}]

    def test_text_keeps_names_that_hold_it_whatever_the_case(self) -> None:
        rows = top_rows(sample("geglu_eager.json.gz"), "op", text="ADDM")
        assert [row.name for row in rows] == ["aten::addmm"]

    @pytest.mark.parametrize("by", GROUPINGS)
    def test_trace_without_any_gives_no_row(self, tmp_path: Path, by: Grouping) -> None:
        assert top_rows(built(trace(), tmp_path), by) == []


class TestShapes:
    def test_strides_and_values_do_not_set_calls_apart(self, tmp_path: Path) -> None:
        builder = trace()
        for k, (strides, value) in enumerate([([2, 1], "1"), ([1, 4], "2"), ([2, 1], "3")]):
            builder.op(
                "aten::sum",
                10 * k,
                5,
                Input_Dims=[[4, 2], []],
                Input_Strides=[strides, []],
                Input_type=["float", "Scalar"],
                Concrete_Inputs=["", value],
            )
        builder.op("aten::sum", 50, 5, Input_Dims=[[9], []], Input_type=["float", "Scalar"])
        builder.op("aten::sum", 60, 5)
        rows = top_rows(built(builder, tmp_path), "shape")
        assert {(r.name, r.detail): r.calls for r in rows} == {
            ("aten::sum", "f32[4,2]"): 3,
            ("aten::sum", "f32[9]"): 1,
            ("aten::sum", ""): 1,
        }

    def test_dims_that_are_quoted_or_broken_are_read_as_far_as_possible(
        self, tmp_path: Path
    ) -> None:
        builder = trace().op("a", 0, 5, Input_Dims="[[1, 8], []]", Input_type=["float", "Scalar"])
        builder.op("b", 10, 5, Input_Dims="[[3", Input_type=7).op("c", 20, 5, Input_Dims=7)
        rows = top_rows(built(builder, tmp_path), "shape")
        assert {r.name: r.detail for r in rows} == {"a": "f32[1,8]", "b": "", "c": ""}

    def test_lists_of_tensors_show_their_number(self, tmp_path: Path) -> None:
        builder = trace()
        for k, dims in enumerate([[[2, 3], [2, 3]], [[2, 3], [4]], []]):
            builder.op("cat", 10 * k, 5, Input_Dims=[dims, []], Input_type=["TensorList", "Scalar"])
        shown = [
            r.detail for r in sort_top_rows(top_rows(built(builder, tmp_path), "shape"), "name")
        ]
        assert shown == ["0 x tensors", "2 x [2,3]", "2 x tensors"]


class TestModules:
    def test_activity_counts_for_the_nearest_module_only(self, tmp_path: Path) -> None:
        builder = trace().frame("nn.Module: Net_0", 0, 100).frame("nn.Module: Linear_0", 10, 40)
        builder.op("aten::mm", 12, 10).op("aten::relu", 60, 10).op("aten::loss", 120, 10)
        launched(launched(launched(builder, 1, 13, 5), 2, 61, 7), 3, 121, 9)
        structure = built(builder, tmp_path)
        rows = by_name(top_rows(structure, "module"))
        assert {name: row.gpu_sum_ns for name, row in rows.items()} == {
            "nn.Module: Linear_0": 5000,
            "nn.Module: Net_0": 7000,
            NO_MODULE: 9000,
        }
        net = rows["nn.Module: Net_0"]
        assert (net.calls, net.cpu_total_ns, net.cpu_self_ns) == (1, 100_000, 60_000)
        assert (rows[NO_MODULE].calls, rows[NO_MODULE].kernels) == (0, 1)
        assert by_name(top_rows(structure, "module", depth=1)).keys() == {
            "nn.Module: Net_0",
            NO_MODULE,
        }

    def test_class_sums_the_instances_of_a_module(self, tmp_path: Path) -> None:
        builder = trace()
        for k in range(3):
            builder.frame(f"nn.Module: Linear_{k}", 100 * k, 50).op("aten::mm", 100 * k + 5, 10)
            launched(builder, k + 1, 100 * k + 6, 5)
        [row] = top_rows(built(builder, tmp_path), "class")
        assert (row.name, row.calls, row.gpu_sum_ns) == ("nn.Module: Linear", 3, 15_000)
        assert (row.cpu_total_ns, row.cpu_self_ns) == (150_000, 150_000)

    def test_depth_rolls_up_to_the_module_that_is_left(self, tmp_path: Path) -> None:
        builder = trace()
        for level in range(4):
            builder.frame(f"nn.Module: M_{level}", level, 100 - 2 * level)
        launched(builder.op("aten::mm", 12, 10), 1, 13, 5)
        structure = built(builder, tmp_path)
        for depth in (1, 2, 3, 4, 9):
            rows = top_rows(structure, "module", depth=depth)
            [busy] = [row.name for row in rows if row.gpu_sum_ns]
            assert busy == f"nn.Module: M_{min(depth, 4) - 1}"
            assert len(rows) == min(depth, 4)
            assert sum(row.cpu_self_ns or 0 for row in rows) == 100_000

    def test_backward_counts_for_the_module_of_its_forward_op(self, tmp_path: Path) -> None:
        builder = trace().frame("nn.Module: Linear_0", 0, 50)
        builder.op("aten::linear", 2, 20, Sequence_number=7, Fwd_thread_id=0)
        launched(builder, 1, 3, 5).thread(2)
        builder.op("autograd::engine::evaluate_function: LinearBackward0", 100, 40)
        builder.op("LinearBackward0", 101, 38, Sequence_number=7, Fwd_thread_id=1)
        launched(builder.op("aten::mm", 102, 20), 2, 103, 11)
        launched(builder.op("aten::add_", 200, 20), 3, 203, 3)
        rows = by_name(top_rows(built(builder, tmp_path), "module"))
        assert {name: row.gpu_sum_ns for name, row in rows.items()} == {
            "nn.Module: Linear_0": 16_000,
            NO_MODULE: 3000,
        }

    def test_recursive_module_counts_its_time_once(self, tmp_path: Path) -> None:
        builder = trace().frame("nn.Module: Tree_0", 0, 100).frame("nn.Module: Tree_0", 10, 30)
        [row] = top_rows(built(builder, tmp_path), "module")
        assert (row.calls, row.cpu_total_ns, row.cpu_self_ns) == (2, 100_000, 100_000)


class TestActivities:
    def test_categories_have_a_letter_a_word_and_no_cpu_time(self) -> None:
        rows = top_rows(sample("geglu_eager.json.gz"), "category")
        assert [(row.letter, row.name, row.calls) for row in rows] == [
            ("G", "matmul", 9),
            ("P", "pointwise", 6),
            ("M", "memcpy", 6),
        ]
        assert {(row.cpu_self_ns, row.cpu_total_ns) for row in rows} == {(None, None)}

    @pytest.mark.parametrize("by", ["category", "kernel"])
    def test_instances_are_nodes_of_the_activities_in_order(self, by: Grouping) -> None:
        structure = sample("train_step_eager.json.gz")
        for row in top_rows(structure, by):
            nodes = structure.tree.node_of[structure.activities.event[row.activities]]
            assert row.nodes.tolist() == sorted(nodes.tolist())
            assert row.calls == len(row.nodes)


class TestOrder:
    def test_each_order_puts_the_most_first_and_names_from_a_to_z(self) -> None:
        rows = top_rows(sample("train_step_eager.json.gz"), "op")
        for by, values in (
            ("gpu", [r.gpu_sum_ns for r in sort_top_rows(rows, "gpu")]),
            ("cpu", [r.cpu_total_ns or 0 for r in sort_top_rows(rows, "cpu")]),
            ("self", [r.cpu_self_ns or 0 for r in sort_top_rows(rows, "self")]),
            ("calls", [r.calls for r in sort_top_rows(rows, "calls")]),
        ):
            assert values == sorted(values, reverse=True), by
        names = [r.name for r in sort_top_rows(rows, "name")]
        assert names == sorted(names)


def test_slices_of_other_producers_have_calls_own_and_total_time(tmp_path: Path) -> None:
    builder = trace()
    for name, start, dur in (("main", 0, 100), ("work", 10, 30), ("work", 50, 20), ("main", 55, 5)):
        builder.host("FEE", name, start, dur, {})
    rows = slice_rows(built(builder, tmp_path))
    assert [(r.name, r.calls, r.cpu_self_ns, r.cpu_total_ns) for r in rows] == [
        ("main", 2, 55_000, 100_000),
        ("work", 2, 45_000, 50_000),
    ]
    assert [r.name for r in slice_rows(built(builder, tmp_path), text="WOR")] == ["work"]
