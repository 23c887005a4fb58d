"""The lens: which nodes of a step have rows, and that no time or kernel is lost on the way."""

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
from ptx.tui.state.lens import Layers, Lens, build_lens

if TYPE_CHECKING:
    from pathlib import Path

    from ptx.profiling.structure.structure import Structure

NOTHING_HIDDEN = Layers(frames=True, calls=True, views=True, empty=True)


def built(builder: TraceBuilder, folder: Path) -> Structure:
    return build_structure(read_trace(builder.write(folder / "t.json", "lines")))


def names(structure: Structure, lens: Lens) -> list[tuple[int, str]]:
    """Returns (depth, first > last name of the chain) of every row."""

    def name(node: int) -> str:
        return structure.trace.table.name_of(int(structure.tree.event[node]))

    found = []
    for row in range(len(lens.index)):
        outer, inner = int(lens.outer[row]), int(lens.inner[row])
        text = lens.titles[row] if outer < 0 else name(outer)
        if outer != inner:
            text += f" > {name(inner)}"
        found.append((int(lens.index.depth[row]), text))
    return found


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
    rows = [text for _, text in names(training, build_lens(training, 0, Layers()))]
    assert not any("net.py" in r or "cudaLaunch" in r or r == "aten::t" for r in rows)
    assert "aten::item" in rows  # no kernel, but a quarter of the step


def test_an_only_child_shares_the_row_of_its_parent(training: Structure) -> None:
    rows = names(training, build_lens(training, 0, Layers()))
    assert (2, "aten::linear > aten::addmm") in rows


def test_other_threads_hang_below_the_step_as_backward(training: Structure) -> None:
    lens = build_lens(training, 0, Layers())
    backward = next(row for row, title in lens.titles.items() if title.startswith("backward"))
    assert lens.index.parent[backward] == 0
    assert lens.gpu_sum_ns[backward] == 100_000
    assert lens.kernels[backward] == 1


def test_the_step_counts_what_all_its_threads_launched(training: Structure) -> None:
    lens = build_lens(training, 0, Layers())
    assert lens.kernels[0] == 3
    assert lens.gpu_sum_ns[0] == 420_000


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
    rows = [text for _, text in names(training, build_lens(training, 0, layers))]
    assert any(shown in row for row in rows)


def test_row_says_how_many_children_the_layers_hide(training: Structure) -> None:
    lens = build_lens(training, 0, Layers())
    rows = names(training, lens)
    assert lens.hidden[rows.index((2, "aten::linear > aten::addmm"))] == 1  # the launch


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
    lens = build_lens(structure, 0, Layers())
    rows = [text for _, text in names(structure, lens)]
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
    rows = [text for _, text in names(structure, build_lens(structure, 0, Layers()))]
    assert "cuLaunchKernel" in rows


def test_activities_of_an_unknown_launch_stand_in_one_row(tmp_path: Path) -> None:
    builder = trace().thread(1).op("aten::mm", 0, 500).kernel("old", 10, 40, correlation=99)
    structure = built(builder, tmp_path)
    lens = build_lens(structure, None, Layers())
    row = next(row for row, title in lens.titles.items() if title.startswith("no op"))
    assert lens.gpu_sum_ns[row] == 40_000
    assert lens.loose.tolist() == [0]


def test_group_of_a_thread_is_busy_no_longer_than_its_kernels_run(tmp_path: Path) -> None:
    builder = trace().thread(1).step(1, 0, 1000).op("aten::mm", 10, 20).thread(2)
    for k, stream in enumerate((7, 8)):
        builder.op("aten::mm", 100 + 50 * k, 40)
        builder.runtime("cudaLaunchKernel", 110 + 50 * k, 5, correlation=k + 1)
        builder.kernel("gemm", 300, 100, correlation=k + 1, stream=stream)
    structure = built(builder, tmp_path)
    lens = build_lens(structure, 0, Layers())
    group = next(iter(lens.titles))
    assert lens.gpu_sum_ns[group] == 200_000
    assert lens.gpu_busy_ns[group] == 100_000


def test_trace_without_events_has_no_rows(tmp_path: Path) -> None:
    structure = built(trace(), tmp_path)
    assert len(build_lens(structure, 0, Layers()).index) == 0
    assert len(build_lens(structure, None, Layers()).index) == 0


def test_without_steps_the_threads_are_roots_by_gpu_time(tmp_path: Path) -> None:
    builder = trace()
    for tid, dur in ((1, 10), (2, 90)):
        builder.thread(tid).op("aten::mm", 0, 50)
        builder.runtime("cudaLaunchKernel", 10, 5, correlation=tid)
        builder.kernel("gemm", 100 * tid, dur, correlation=tid)
    structure = built(builder, tmp_path)
    lens = build_lens(structure, 0, Layers())
    roots = lens.index.children(-1)
    assert [lens.gpu_sum_ns[r] for r in roots] == [90_000, 10_000]


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
    return tmp_path_factory.mktemp("lens")


def choices(structure: Structure) -> list[int | None]:
    return [None, *range(len(structure.steps))]


@settings(max_examples=150)
@given(builder=traces(), layers=LAYERS)
def test_rows_are_a_preorder_of_the_tree(
    builder: TraceBuilder, layers: Layers, folder: Path
) -> None:
    structure = built(builder, folder)
    for step in choices(structure):
        lens = build_lens(structure, step, layers)
        index = lens.index
        assert (index.parent < np.arange(len(index))).all()
        for row in range(len(index)):
            above = int(index.parent[row])
            outer, inner = int(lens.outer[row]), int(lens.inner[row])
            assert (outer < 0) == (row in lens.titles)
            if outer >= 0:
                assert outer <= inner < outer + structure.tree.size[outer]
            if outer >= 0 and above >= 0 and lens.outer[above] >= 0 and above not in (0,):
                top = int(lens.inner[above])
                assert top < outer < top + structure.tree.size[top]


@settings(max_examples=150)
@given(builder=traces(), layers=LAYERS)
def test_roots_account_for_every_activity_of_the_step(
    builder: TraceBuilder, layers: Layers, folder: Path
) -> None:
    structure = built(builder, folder)
    activities = structure.activities
    for step in choices(structure):
        lens = build_lens(structure, step, layers)
        total = int(lens.gpu_sum_ns[lens.index.children(-1)].sum())
        if step is None or structure.steps.source == "trace":
            assert total == activities.counted_ns.sum()
        else:
            mine = activities.step == step
            loose = int(activities.counted_ns[lens.loose].sum())
            assert total == activities.counted_ns[mine].sum() + loose


@settings(max_examples=150)
@given(builder=traces())
def test_with_nothing_hidden_every_host_node_of_the_step_is_in_one_row(
    builder: TraceBuilder, folder: Path
) -> None:
    structure = built(builder, folder)
    tree = structure.tree
    hosts = np.flatnonzero(tree.kind != NodeKind.ACTIVITY)
    lens = build_lens(structure, None, NOTHING_HIDDEN)
    shown: list[int] = []
    for row in range(len(lens.index)):
        node, outer = int(lens.inner[row]), int(lens.outer[row])
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
        lens = build_lens(structure, step, layers)
        mine = activities.launch >= 0
        if step is not None:
            mine &= activities.step == step
        for event in activities.event[mine].tolist():
            assert lens.row_of_node(structure, int(tree.node_of[event])) >= 0


@settings(max_examples=100)
@given(builder=traces(), layers=LAYERS)
def test_no_row_counts_less_than_its_children(
    builder: TraceBuilder, layers: Layers, folder: Path
) -> None:
    structure = built(builder, folder)
    for step in choices(structure):
        lens = build_lens(structure, step, layers)
        for row in range(len(lens.index)):
            event = structure.tree.event[lens.outer[row]] if lens.outer[row] >= 0 else -1
            if event in structure.steps.event:
                continue  # counts by launch, while an op that starts in it may launch later
            children = lens.index.children(row)
            assert lens.gpu_sum_ns[row] >= lens.gpu_sum_ns[children].sum()
            assert lens.gpu_busy_ns[row] <= lens.gpu_sum_ns[row]
