"""The lens: folded rows add up, keep what they stand for, and are few on real traces."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.traces import TraceBuilder, trace

from ptx.profiling.structure.structure import build_structure
from ptx.profiling.trace.reader import read_trace
from ptx.tui.state.explore import ExploreRows, Only
from ptx.tui.state.forest import Layers
from ptx.tui.state.glyphs import UNICODE
from ptx.tui.state.lens import Lens, build_lens, totals_of

if TYPE_CHECKING:
    from pathlib import Path

    from ptx.profiling.structure.structure import Structure


def built(builder: TraceBuilder, folder: Path) -> Structure:
    return build_structure(read_trace(builder.write(folder / "t.json", "lines")))


def layers_of_a_model(layers: int, *, streams: int = 1) -> TraceBuilder:
    """One step of equal layers of two kernels, then a head; kernels of 100 us, 50 us apart."""
    builder = trace().thread(1).step(1, 0, 1000 * (layers + 1))
    for k in range(layers + 1):
        at = 1000.0 * k + 10
        builder.frame(f"nn.Module: {'Layer' if k < layers else 'Head'}_{k}", at, 900)
        for j, name in enumerate(("aten::mm", "aten::gelu")):
            builder.op(name, at + 10 + 300 * j, 200)
            builder.runtime("cudaLaunchKernel", at + 20 + 300 * j, 5, correlation=2 * k + j + 1)
            start = at + 100 + 300 * j if streams == 1 else at + 100
            builder.kernel(name, start, 100, correlation=2 * k + j + 1, stream=7 + j % streams)
    return builder


def rows_of(builder: TraceBuilder, folder: Path) -> ExploreRows:
    rows = ExploreRows(built(builder, folder), 0, Layers(), UNICODE)
    rows.index.set_open_below(-1, True)
    return rows


def labels(rows: ExploreRows) -> list[str]:
    return [rows.label(row) for row in range(len(rows.lens))]


def test_equal_layers_share_a_row_that_sums_them(tmp_path: Path) -> None:
    rows = rows_of(layers_of_a_model(6), tmp_path)
    row = labels(rows).index("6x Layer")
    totals = rows.lens.totals
    assert totals.gpu_sum_ns[row] == 6 * 200_000
    assert totals.kernels[row] == 12
    assert len(rows.activities_of(row)) == 12
    assert labels(rows)[row + 1 : row + 3] == ["6x mm", "6x gelu"]


def test_a_row_of_several_is_busy_no_longer_than_its_kernels_run(tmp_path: Path) -> None:
    rows = rows_of(layers_of_a_model(4, streams=2), tmp_path)
    row = labels(rows).index("4x Layer")
    assert rows.lens.totals.gpu_sum_ns[row] == 4 * 200_000
    assert rows.lens.totals.gpu_busy_ns[row] == 4 * 100_000


def test_instances_of_a_row_keep_their_own_names_and_numbers(tmp_path: Path) -> None:
    rows = rows_of(layers_of_a_model(3), tmp_path)
    row = labels(rows).index("3x Layer")
    rows.list_instances(row, True)
    assert rows.is_listed(labels(rows).index("3x Layer"))
    listed = [label for label in labels(rows) if label.startswith("Layer")]
    assert listed == ["Layer_0", "Layer_1", "Layer_2"]
    one = labels(rows).index("Layer_1")
    assert rows.lens.totals.gpu_sum_ns[one] == 200_000
    rows.list_instances(labels(rows).index("3x Layer"), False)
    assert "Layer_1" not in labels(rows)


def test_spread_of_listed_instances_is_least_median_and_most(tmp_path: Path) -> None:
    builder = trace().thread(1).step(1, 0, 10_000)
    for k, dur in enumerate((100, 400, 200)):
        builder.op("aten::mm", 1000 * k, 1000)
        builder.runtime("cudaLaunchKernel", 1000 * k + 5, 5, correlation=k + 1)
        builder.kernel("gemm", 1000 * k + 20, dur, correlation=k + 1)
    rows = rows_of(builder, tmp_path)
    rows.list_instances(labels(rows).index("3x mm"), True)
    # each instance lasts 1 ms, and what its kernel leaves of that is idle
    assert rows.spread(labels(rows).index("3x mm")) == "1.00ms to 1.00ms, median 1.00ms"


def test_what_was_open_stays_open_when_instances_are_listed(tmp_path: Path) -> None:
    rows = rows_of(layers_of_a_model(3), tmp_path)
    rows.index.set_open_below(-1, False)
    rows.index.set_open(0, True)
    head = labels(rows).index("Head_3")
    rows.index.set_open(head, True)
    rows.list_instances(labels(rows).index("3x Layer"), True)
    opened = {rows.label(int(row)) for row in np.flatnonzero(rows.index.open)}
    assert opened == {"ProfilerStep#1", "3x Layer", "Head_3"}


def test_a_place_is_found_again_under_other_layers_and_folds(tmp_path: Path) -> None:
    rows = rows_of(layers_of_a_model(3), tmp_path)
    place = rows.place_of(labels(rows).index("3x Layer"))
    other = ExploreRows(rows.structure, 0, Layers(calls=True), UNICODE)
    other.list_instances(None, True)
    assert other.label(other.row_at(place)) == "3x Layer"


def test_order_of_time_puts_merged_rows_where_their_first_stands(tmp_path: Path) -> None:
    builder = trace().thread(1).step(1, 0, 40_000)
    names = [name for k in range(13) for name in (f"k{k}", "copy")]
    for k, name in enumerate(names):
        builder.op(f"aten::{name}", 1000 * k, 900)
        builder.runtime("cudaLaunchKernel", 1000 * k + 5, 5, correlation=k + 1)
        builder.kernel(name, 1000 * k + 50, 10 * k + 400, correlation=k + 1)
    rows = rows_of(builder, tmp_path)
    assert labels(rows)[1] == "13x copy"
    rows.arrange("time", Only())
    assert labels(rows)[1:3] == ["k0", "13x copy"]


# --- backward -------------------------------------------------------------------------------------


@pytest.fixture
def training(tmp_path: Path) -> Structure:
    """Two layers forward with sequence numbers, and backward on a thread of its own."""
    builder = trace().thread(1).step(1, 0, 10_000).frame("nn.Module: Net_0", 10, 4000)
    for k in range(2):
        at = 100.0 + 1000 * k
        builder.frame(f"nn.Module: Layer_{k}", at, 900)
        builder.op("aten::mm", at + 10, 500, **{"Sequence number": k, "Fwd thread id": 0})
        builder.runtime("cudaLaunchKernel", at + 20, 5, correlation=k + 1)
        builder.kernel("gemm", at + 100, 300, correlation=k + 1)
    builder.thread(2)
    for place, k in enumerate((1, 0)):
        at = 5000.0 + 1000 * place
        args = {"Sequence number": k, "Fwd thread id": 1}
        builder.op("autograd::engine::evaluate_function: MmBackward0", at, 600, **args)
        builder.op("MmBackward0", at + 5, 500, **args)
        builder.runtime("cudaLaunchKernel", at + 20, 5, correlation=k + 11)
        builder.kernel("dgrad", at + 100, 300, correlation=k + 11)
    return built(builder, tmp_path)


def test_backward_ops_stand_below_the_modules_of_their_forward_ops(training: Structure) -> None:
    rows = ExploreRows(training, 0, Layers(), UNICODE)
    rows.list_instances(None, True)
    rows.index.set_open_below(-1, True)
    found = labels(rows)
    backward = found.index("backward (thread 2)")
    below = found[backward + 1 :]
    assert below[0] == "Net_0"
    assert [label.split(" ")[0] for label in below[1:] if "Layer" in label] == [
        "2x",
        "Layer_1",
        "Layer_0",
    ]
    assert rows.lens.totals.gpu_sum_ns[backward + 1] == 600_000
    assert len(rows.activities_of(backward + 1)) == 2


# --- properties -----------------------------------------------------------------------------------


@st.composite
def models(draw: st.DrawFn) -> TraceBuilder:
    """A step of ops on two threads, alike and not, with kernels on two streams."""
    builder = trace().thread(1)
    if draw(st.booleans()):
        builder.step(1, 0, 20_000)
    correlation = 0
    for tid in (1, 2):
        builder.thread(tid)
        for k in range(draw(st.integers(0, 15))):
            at = 1000.0 * k + 10
            builder.frame(f"nn.Module: {draw(st.sampled_from('AB'))}_{k}", at, 900)
            for j in range(draw(st.integers(0, 3))):
                builder.op(f"aten::{draw(st.sampled_from('xyz'))}", at + 10 + 200 * j, 180)
                if draw(st.booleans()):
                    correlation += 1
                    builder.runtime(
                        "cudaLaunchKernel", at + 20 + 200 * j, 5, correlation=correlation
                    )
                    builder.kernel(
                        "k",
                        at + 30 + 200 * j + draw(st.integers(0, 300)),
                        draw(st.integers(1, 900)),
                        correlation=correlation,
                        stream=draw(st.sampled_from([7, 8])),
                    )
    return builder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lens")


def naive_busy_ns(structure: Structure, positions: list[int]) -> int:
    """Returns the union of some activities of one device, by a walk."""
    start = structure.trace.table.start_ns[structure.activities.event]
    spans = sorted(
        (int(start[k]), int(start[k] + structure.activities.counted_ns[k])) for k in positions
    )
    total, reach = 0, -1
    for begin, end in spans:
        total += max(0, end - max(begin, reach))
        reach = max(reach, end)
    return total


@settings(max_examples=100)
@given(builder=models(), listed=st.booleans(), order=st.sampled_from(["start", "cost", "time"]))
def test_rows_sum_exactly_what_they_stand_for(
    builder: TraceBuilder, listed: bool, order: str, folder: Path
) -> None:
    structure = built(builder, folder)
    rows = ExploreRows(structure, 0, Layers(), UNICODE)
    if listed:
        rows.list_instances(None, True)
    rows.arrange(order, Only())
    lens = rows.lens
    whole = totals_of(structure, 0, lens.forest)
    roots = lens.index.parent < 0
    for name in ("gpu_sum_ns", "kernels", "idle_ns"):
        part, base = getattr(lens.totals, name), getattr(whole, name)
        assert part[roots].sum() == base[lens.forest.parent < 0].sum()
        for row in range(len(lens)):
            if lens.count(row):
                assert part[row] == base[lens.members_of(row)].sum()
            else:
                assert part[row] == part[lens.index.children(row)].sum()
    for row in range(len(lens)):
        if rows.is_step_row(row):
            continue
        mine = rows.activities_of(row).tolist()
        assert lens.totals.gpu_busy_ns[row] == naive_busy_ns(structure, mine)
        assert lens.totals.gpu_sum_ns[row] == structure.activities.counted_ns[mine].sum()


@settings(max_examples=60)
@given(builder=models(), listed=st.booleans())
def test_every_activity_leads_to_a_row_that_holds_it(
    builder: TraceBuilder, listed: bool, folder: Path
) -> None:
    structure = built(builder, folder)
    rows = ExploreRows(structure, 0, Layers(), UNICODE)
    if listed:
        rows.list_instances(None, True)
    node_of = structure.tree.node_of
    for k, event in enumerate(structure.activities.event.tolist()):
        row = rows.lens.row_of_node(structure, int(node_of[event]))
        if row < 0:
            assert structure.activities.step[k] != 0
        else:
            assert k in rows.activities_of(row) or rows.is_step_row(row)


@settings(max_examples=60)
@given(builder=models())
def test_siblings_stand_by_time_but_where_many_are_merged(
    builder: TraceBuilder, folder: Path
) -> None:
    structure = built(builder, folder)
    lens = build_lens(structure, 0, Layers())
    again = build_lens(structure, 0, Layers())
    assert np.array_equal(lens.first, again.first)
    for row in range(-1, len(lens)):
        children = lens.index.children(row)
        kept = children[~lens.merged[children]]
        first = [lens.members_of(k)[0] if lens.count(k) else lens.first[k] for k in kept.tolist()]
        assert first == sorted(first)
        cost = lens.totals.cost_ns[children[lens.merged[children]]]
        assert (np.diff(cost) <= 0).all() or not structure.activities.event.size


# --- real traces ----------------------------------------------------------------------------------

# (trace, most rows of the lens with everything open, most siblings)
SIZES = [
    ("h200/geglu_eager.json.gz", 9, 5),
    ("h200/llama_sdpa_eager.json.gz", 66, 10),
    ("h200/llama_train_eager_stacks.json.gz", 328, 9),
    ("h200/resnet18_nchw_eager.json.gz", 12, 7),
    ("amd-mi300-flux-capture-193k.json.gz", 381, 36),
    ("nv-v100-rank1of2-memory.json.gz", 50, 11),
]


@pytest.mark.parametrize(("name", "rows", "siblings"), SIZES)
def test_a_real_step_has_few_rows(name: str, rows: int, siblings: int, shared: Path) -> None:
    structure = build_structure(read_trace(shared / "traces" / name))
    step = None if structure.steps.source == "trace" else len(structure.steps) - 1
    lens: Lens = build_lens(structure, step, Layers(), lines=40)
    counts = np.bincount(lens.index.parent + 1)
    assert len(lens) <= rows
    assert counts.max() <= siblings
