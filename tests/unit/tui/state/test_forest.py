"""The forest of a step: which nodes have rows, and that nothing is lost on the way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.traces import TraceBuilder, trace

from ptx.profiling.structure.structure import build_structure
from ptx.profiling.structure.tree import NodeKind
from ptx.profiling.trace.reader import read_trace
from ptx.tui.state.forest import Forest, Layers, build_forest
from ptx.tui.state.lens import totals_of
from ptx.tui.state.tree_index import TreeIndex

if TYPE_CHECKING:
    from pathlib import Path

    from ptx.profiling.structure.structure import Structure

NOTHING_HIDDEN = Layers(frames=True, calls=True, views=True, empty=True)


def built(builder: TraceBuilder, folder: Path) -> Structure:
    return build_structure(read_trace(builder.write(folder / "t.json", "lines")))


def names(structure: Structure, forest: Forest) -> list[tuple[int, str]]:
    """Returns (depth, first > last name of the chain) of every row."""

    def name(title: int, node: int) -> str:
        if title >= 0:
            return forest.titles[title]
        return structure.trace.table.name_of(int(structure.tree.event[node]))

    found = []
    for row, depth in enumerate(TreeIndex(forest.parent).depth.tolist()):
        text = name(forest.title[row], forest.outer[row])
        if forest.length[row] > 1:
            text += f" > {name(forest.last_title[row], forest.inner[row])}"
        found.append((depth, text))
    return found


def titled(forest: Forest, start: str) -> int:
    """Returns the row of the first group whose name starts so."""
    return next(
        row
        for row, code in enumerate(forest.title.tolist())
        if code >= 0 and forest.titles[code].startswith(start)
    )


@pytest.fixture
def training(tmp_path: Path) -> Structure:
    """One step: a module with an op, a view and an idle op; backward on a thread of its own."""
    builder = (
        trace()
        .thread(1)
        .step(1, 0, 1000)
        .frame("nn.Module: Net_0", 10, 400)
        .frame("net.py(3): forward", 15, 390)
        .op("aten::linear", 20, 200)
        .op("aten::t", 25, 5)
        .op("aten::addmm", 40, 150)
        .runtime("cudaLaunchKernel", 60, 5, correlation=1)
        .op("aten::relu", 300, 50)
        .runtime("cudaLaunchKernel", 310, 5, correlation=2)
        .op("aten::item", 700, 250)
        .thread(2)
        .op("autograd::engine::evaluate_function: MmBackward0", 500, 100)
        .op("aten::mm", 510, 80)
        .runtime("cudaLaunchKernel", 520, 5, correlation=3)
        .kernel("gemm", 100, 300, correlation=1)
        .kernel("relu", 400, 20, correlation=2)
        .kernel("gemm_dgrad", 600, 100, correlation=3)
    )
    return built(builder, tmp_path)


def test_frames_calls_views_and_what_costs_nothing_have_no_row(training: Structure) -> None:
    rows = [text for _, text in names(training, build_forest(training, 0, Layers()))]
    assert not any("net.py" in r or "cudaLaunch" in r or r == "aten::t" for r in rows)
    assert "aten::item" in rows  # no kernel, but a quarter of the step


def test_an_only_child_shares_the_row_of_its_parent(training: Structure) -> None:
    rows = names(training, build_forest(training, 0, Layers()))
    assert (2, "aten::linear > aten::addmm") in rows


def test_other_threads_hang_below_the_step_as_backward(training: Structure) -> None:
    forest = build_forest(training, 0, Layers())
    backward = titled(forest, "backward")
    totals = totals_of(training, 0, forest)
    assert forest.parent[backward] == 0
    assert totals.gpu_sum_ns[backward] == 100_000
    assert totals.kernels[backward] == 1


def test_the_step_counts_what_all_its_threads_launched(training: Structure) -> None:
    totals = totals_of(training, 0, build_forest(training, 0, Layers()))
    assert totals.kernels[0] == 3
    assert totals.gpu_sum_ns[0] == 420_000


@pytest.mark.parametrize(
    ("layers", "shown"),
    [
        (Layers(frames=True), "net.py(3): forward"),
        (Layers(calls=True), "cudaLaunchKernel"),
        (Layers(views=True), "aten::t"),
        (Layers(empty=True), "aten::t"),
    ],
)
def test_each_layer_shows_its_rows(training: Structure, layers: Layers, shown: str) -> None:
    rows = [text for _, text in names(training, build_forest(training, 0, layers))]
    assert any(shown in row for row in rows)


def test_row_says_how_many_children_the_layers_hide_launches_apart(tmp_path: Path) -> None:
    builder = trace().thread(1).step(1, 0, 1000).op("aten::addmm", 10, 500)
    builder.op("aten::expand", 20, 2).op("aten::as_strided", 30, 2)
    builder.runtime("cudaLaunchKernel", 60, 5, correlation=1)
    builder.kernel("gemm", 100, 100, correlation=1)
    forest = build_forest(built(builder, tmp_path), 0, Layers())
    assert forest.hidden.tolist() == [0, 2]


def test_launch_that_owns_several_kernels_always_has_a_row(tmp_path: Path) -> None:
    builder = (
        trace()
        .thread(1)
        .step(1, 0, 1000)
        .op("replay", 10, 100)
        .runtime("cudaGraphLaunch", 20, 50, correlation=1)
        .kernel("a", 100, 10, correlation=1)
        .kernel("b", 120, 10, correlation=1)
    )
    structure = built(builder, tmp_path)
    forest = build_forest(structure, 0, Layers())
    rows = [text for _, text in names(structure, forest)]
    assert "cudaGraphLaunch" in rows


def test_launch_without_an_op_has_a_row(tmp_path: Path) -> None:
    builder = (
        trace()
        .thread(1)
        .step(1, 0, 1000)
        .frame("nn.Module: Gate_0", 10, 500)
        .op("aten::mm", 20, 50)
        .runtime("cudaLaunchKernel", 30, 5, correlation=1)
        .runtime("cuLaunchKernel", 100, 5, correlation=2)
        .kernel("gemm", 100, 300, correlation=1)
        .kernel("my_triton_kernel", 400, 20, correlation=2)
    )
    structure = built(builder, tmp_path)
    rows = [text for _, text in names(structure, build_forest(structure, 0, Layers()))]
    assert "cuLaunchKernel" in rows


def test_activities_of_an_unknown_launch_stand_in_one_row(tmp_path: Path) -> None:
    builder = trace().thread(1).op("aten::mm", 0, 500).kernel("old", 10, 40, correlation=99)
    structure = built(builder, tmp_path)
    forest = build_forest(structure, None, Layers())
    row = titled(forest, "no op")
    assert totals_of(structure, None, forest).gpu_sum_ns[row] == 40_000
    assert forest.loose.tolist() == [0]


def test_trace_without_events_has_no_rows(tmp_path: Path) -> None:
    structure = built(trace(), tmp_path)
    assert len(build_forest(structure, 0, Layers())) == 0
    assert len(build_forest(structure, None, Layers())) == 0


def test_without_steps_the_threads_are_roots_by_gpu_time(tmp_path: Path) -> None:
    builder = trace()
    for tid, dur in ((1, 10), (2, 90)):
        builder.thread(tid).op("aten::mm", 0, 50)
        builder.runtime("cudaLaunchKernel", 10, 5, correlation=tid)
        builder.kernel("gemm", 100 * tid, dur, correlation=tid)
    structure = built(builder, tmp_path)
    forest = build_forest(structure, 0, Layers())
    totals = totals_of(structure, 0, forest)
    assert totals.gpu_sum_ns[forest.parent < 0].tolist() == [90_000, 10_000]


# --- properties -----------------------------------------------------------------------------------

Plan = list[tuple[Any, ...]]


@st.composite
def traces(draw: st.DrawFn) -> TraceBuilder:
    """Random traces: steps or none, several threads, nested ops, launches in and out of ops."""
    builder = trace()
    steps = draw(st.integers(0, 2))
    builder.thread(1)
    for k in range(steps):
        builder.step(k, 1000 * k, 900)
    correlation = 0
    for tid in range(1, draw(st.integers(1, 3)) + 1):
        builder.thread(tid)
        for _ in range(draw(st.integers(0, 5))):
            start = draw(st.integers(0, 2100))
            dur = draw(st.integers(4, 300))
            for level in range(draw(st.integers(0, 3))):
                if dur - 8 * level < 4:
                    break
                kind = draw(st.sampled_from(["op", "view", "frame", "module", "annotation"]))
                at, length = start + 4 * level, dur - 8 * level
                if kind in ("op", "view"):
                    builder.op("aten::t" if kind == "view" else "aten::mm", at, length)
                elif kind == "annotation":
                    builder.annotation("part", at, length)
                else:
                    name = "nn.Module: A_0" if kind == "module" else "a.py(1): f"
                    builder.frame(name, at, length)
            if draw(st.booleans()):
                correlation += 1
                middle = start + dur // 2
                builder.runtime("cudaLaunchKernel", middle, 1, correlation=correlation)
                for _ in range(draw(st.integers(0, 2))):
                    builder.kernel(
                        draw(st.sampled_from(["gemm", "add"])),
                        middle + draw(st.integers(0, 500)),
                        draw(st.integers(1, 50)),
                        correlation=draw(st.sampled_from([correlation, correlation + 1000])),
                        stream=draw(st.integers(7, 8)),
                    )
    return builder


LAYERS = st.builds(
    Layers, frames=st.booleans(), calls=st.booleans(), views=st.booleans(), empty=st.booleans()
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("forest")


def choices(structure: Structure) -> list[int | None]:
    return [None, *range(len(structure.steps))]


@settings(max_examples=150)
@given(builder=traces(), layers=LAYERS)
def test_rows_are_a_preorder_of_the_tree(
    builder: TraceBuilder, layers: Layers, folder: Path
) -> None:
    structure = built(builder, folder)
    for step in choices(structure):
        forest = build_forest(structure, step, layers)
        assert (forest.parent < np.arange(len(forest))).all()
        for row in range(len(forest)):
            above = int(forest.parent[row])
            outer, inner = int(forest.outer[row]), int(forest.inner[row])
            assert outer >= 0 or forest.title[row] >= 0
            if outer >= 0:
                assert outer <= inner < outer + structure.tree.size[outer]
            if outer >= 0 and above >= 0 and forest.outer[above] >= 0 and above not in (0,):
                top = int(forest.inner[above])
                assert top < outer < top + structure.tree.size[top]


@settings(max_examples=150)
@given(builder=traces(), layers=LAYERS)
def test_roots_account_for_every_activity_of_the_step(
    builder: TraceBuilder, layers: Layers, folder: Path
) -> None:
    structure = built(builder, folder)
    activities = structure.activities
    for step in choices(structure):
        forest = build_forest(structure, step, layers)
        totals = totals_of(structure, step, forest)
        total = int(totals.gpu_sum_ns[forest.parent < 0].sum())
        if step is None or structure.steps.source == "trace":
            assert total == activities.counted_ns.sum()
        else:
            mine = activities.step == step
            loose = int(activities.counted_ns[forest.loose].sum())
            assert total == activities.counted_ns[mine].sum() + loose


@settings(max_examples=150)
@given(builder=traces())
def test_with_nothing_hidden_every_host_node_of_the_step_is_in_one_row(
    builder: TraceBuilder, folder: Path
) -> None:
    structure = built(builder, folder)
    tree = structure.tree
    hosts = np.flatnonzero(tree.kind != NodeKind.ACTIVITY)
    forest = build_forest(structure, None, NOTHING_HIDDEN)
    shown: list[int] = []
    for row in range(len(forest)):
        node, outer = int(forest.inner[row]), int(forest.outer[row])
        while node >= 0 and node >= outer >= 0:
            shown.append(node)
            node = int(tree.parent[node])
    assert sorted(shown) == hosts.tolist()


@settings(max_examples=150)
@given(builder=traces(), layers=LAYERS)
def test_every_launching_node_of_the_step_leads_to_a_row(
    builder: TraceBuilder, layers: Layers, folder: Path
) -> None:
    structure = built(builder, folder)
    activities, tree = structure.activities, structure.tree
    for step in choices(structure):
        forest = build_forest(structure, step, layers)
        mine = activities.launch >= 0
        if step is not None:
            mine &= activities.step == step
        for event in activities.event[mine].tolist():
            assert forest.row_above(structure, int(tree.node_of[event])) >= 0


@settings(max_examples=100)
@given(builder=traces(), layers=LAYERS)
def test_no_row_counts_less_than_its_children(
    builder: TraceBuilder, layers: Layers, folder: Path
) -> None:
    structure = built(builder, folder)
    for step in choices(structure):
        forest = build_forest(structure, step, layers)
        totals = totals_of(structure, step, forest)
        for row in range(len(forest)):
            event = structure.tree.event[forest.outer[row]] if forest.outer[row] >= 0 else -1
            if event in structure.steps.event:
                continue  # counts by launch, while an op that starts in it may launch later
            children = np.flatnonzero(forest.parent == row)
            assert totals.gpu_sum_ns[row] >= totals.gpu_sum_ns[children].sum()
            assert totals.gpu_busy_ns[row] <= totals.gpu_sum_ns[row]
