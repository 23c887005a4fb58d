"""The explorer's rows: columns, labels, cells, finding, and how the tree opens itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.traces import TraceBuilder, trace

from ptx.profiling.structure.structure import build_structure
from ptx.profiling.trace.reader import read_trace
from ptx.tui.state.explore import ExploreRows, Only, kernel_kinds
from ptx.tui.state.forest import Layers
from ptx.tui.state.glyphs import ASCII, UNICODE
from ptx.tui.state.names import short_kernel

if TYPE_CHECKING:
    from pathlib import Path

    from ptx.tui.state.glyphs import Glyphs


def training() -> TraceBuilder:
    """One step of three blocks of two kernels each, the second block the dearest.

    A block lasts three times its GEMM, half of that the device is idle.
    """
    builder = trace().thread(1).step(1, 0, 2200)
    correlation = 0
    start = 10.0
    for block, dur in (("Stem", 100), ("Body", 400), ("Head", 200)):
        builder.frame(f"nn.Module: {block}_0", start, 3 * dur)
        for k, name in enumerate(("gemm", "gelu")):
            at = start + dur * (0.1 + 1.1 * k)
            builder.op(f"aten::{name}", at, dur * 0.5)
            correlation += 1
            builder.runtime("cudaLaunchKernel", at + 1, 5, correlation=correlation)
            begin = start + dur * (0.5 + 1.25 * k)
            builder.kernel(f"{name}_kernel", begin, dur >> k, correlation=correlation)
        start += 3 * dur + 10
    return builder


def rows_of(
    builder: TraceBuilder,
    folder: Path,
    *,
    step: int | None = 0,
    layers: Layers | None = None,
    glyphs: Glyphs = UNICODE,
) -> ExploreRows:
    structure = build_structure(read_trace(builder.write(folder / "t.json", "lines")))
    return ExploreRows(structure, step, layers or Layers(), glyphs)


@pytest.fixture
def rows(tmp_path: Path) -> ExploreRows:
    return rows_of(training(), tmp_path)


def find(rows: ExploreRows, label: str) -> int:
    return next(n for n in range(len(rows.index)) if rows.label(n) == label)


def cells(rows: ExploreRows, node: int, width: int = 120) -> dict[str, str]:
    columns = rows.columns(width)
    row = rows.row(node, columns)
    return {c.heading: cell.text for c, cell in zip(columns, row.cells, strict=True)}


def test_row_has_kernel_gpu_time_count_and_share(rows: ExploreRows) -> None:
    shown = cells(rows, rows.hits("gemm")[1])
    assert shown["kernel"] == short_kernel("gemm_kernel")
    assert shown["GPU"] == "400us"
    assert shown["n"] == "1"
    assert shown["idle"] == "160us"  # from the op's start to the kernel's
    assert shown["share"] == "25%"  # 560 us of the step's 2.2 ms


def test_kernel_stands_in_leaf_rows_only(rows: ExploreRows) -> None:
    assert cells(rows, find(rows, "Body_0"))["kernel"] == ""
    assert cells(rows, find(rows, "Body_0"))["GPU"] == "600us"


def test_share_of_the_parent(rows: ExploreRows) -> None:
    rows.share = "parent"
    assert (
        cells(rows, rows.hits("gelu_kernel")[1])["share"] == "23%"
    )  # 200 us and 80 us idle of the block's 1.2 ms


@pytest.mark.parametrize("width", range(60, 220, 7))
def test_columns_leave_the_label_room_and_keep_gpu_and_share(rows: ExploreRows, width: int) -> None:
    columns = rows.columns(width)
    assert {"GPU", "idle", "share"} <= {c.heading for c in columns}
    assert ("kernel" in {c.heading for c in columns}) == (width >= 100)
    assert width - sum(c.width + 1 for c in columns) >= 20


def test_cells_fit_their_columns(rows: ExploreRows) -> None:
    for width in (60, 80, 100, 120, 200):
        columns = rows.columns(width)
        for node in range(len(rows.index)):
            for column, cell in zip(columns, rows.row(node, columns).cells, strict=True):
                assert column.left or len(cell.text) <= column.width, (column, cell)


def test_cpu_only_trace_weighs_by_cpu_time(tmp_path: Path) -> None:
    builder = trace().thread(1).step(1, 0, 1000).op("aten::sort", 10, 700).op("aten::add", 800, 90)
    rows = rows_of(builder, tmp_path)
    assert [c.heading for c in rows.columns(80)][:2] == ["CPU", "self"]
    rows.open_heaviest(20)
    assert rows.label(rows.costliest()) == "sort"


def test_tree_opens_the_heaviest_rows_until_the_room_is_used(rows: ExploreRows) -> None:
    rows.open_heaviest(6)
    shown = [rows.label(n) for n in rows.index.rows.tolist()]
    assert len(shown) == 6
    assert shown[1:] == ["Stem_0", "Body_0", "gemm", "gelu", "Head_0"]


def test_row_with_most_of_the_cost_opens_even_if_it_overflows(rows: ExploreRows) -> None:
    rows.open_heaviest(2)
    assert len(rows.index.rows) == 4  # the step is 100 %


def test_cursor_goes_to_the_dearest_row_that_is_not_open(rows: ExploreRows) -> None:
    rows.open_heaviest(6)
    assert rows.costliest() == find(rows, "Head_0")  # Body_0 costs more and is open


def test_costliest_path_ends_at_a_leaf(rows: ExploreRows) -> None:
    assert rows.costliest_leaf(0) == rows.hits("gemm")[1]
    leaf = int(rows.hits("gelu")[2])
    assert rows.costliest_leaf(leaf) == leaf


def test_order_by_cost_keeps_rows_below_their_parents(rows: ExploreRows) -> None:
    rows.index.set_open_below(-1, True)
    rows.arrange("cost", Only())
    rows.index.set_open_below(-1, True)
    shown = [rows.label(n) for n in rows.index.rows.tolist()]
    assert shown == [
        "ProfilerStep#1",
        *("Body_0", "gemm", "gelu"),
        *("Head_0", "gemm", "gelu"),
        *("Stem_0", "gemm", "gelu"),
    ]


def test_filter_leaves_hits_and_what_is_above_them(rows: ExploreRows) -> None:
    rows.arrange("start", Only("GELU"))
    shown = [rows.label(n) for n in rows.index.rows.tolist()]
    assert shown.count("gelu") == 3
    assert "gemm" not in shown
    rows.arrange("start", Only())
    assert len(rows.index) == 10


def test_find_knows_names_of_ops_and_kernels_without_case(rows: ExploreRows) -> None:
    assert len(rows.hits("Gemm")) == 3
    assert rows.hits("gemm_KERNEL").tolist() == rows.hits("aten::gemm").tolist()
    assert len(rows.hits("nonesuch")) == 0


def test_step_counts_by_launch_but_its_gpu_time_follows_the_clock(tmp_path: Path) -> None:
    builder = trace().thread(1).step(1, 0, 1000).op("aten::mm", 10, 20)
    builder.runtime("cudaLaunchKernel", 12, 5, correlation=1)
    builder.kernel("gemm", 900, 600, correlation=1)
    rows = rows_of(builder, tmp_path)
    assert cells(rows, 0)["GPU"] == "100us"
    assert cells(rows, 1)["GPU"] == "600us"


def test_activities_of_a_group_are_those_of_its_members(tmp_path: Path) -> None:
    builder = training().thread(2)
    for k in range(3):
        builder.op("aten::mm", 1500 + 200 * k, 100)
        builder.runtime("cudaLaunchKernel", 1510 + 200 * k, 5, correlation=100 + k)
        builder.kernel("dgrad", 2300 + 100 * k, 50, correlation=100 + k)
    rows = rows_of(builder, tmp_path)
    group = next(iter(rows.lens.titles))
    (kind,) = kernel_kinds(rows.structure, rows.activities_of(group))
    assert (kind.name, kind.count, kind.total_ns) == ("dgrad", 3, 150_000)


def test_kernel_kinds_are_by_cost_and_their_places_by_time(rows: ExploreRows) -> None:
    kinds = kernel_kinds(rows.structure, rows.activities_of(0))
    assert [(k.name, k.count, k.total_ns) for k in kinds] == [
        ("gemm_kernel", 3, 700_000),
        ("gelu_kernel", 3, 350_000),
    ]
    start = rows.structure.trace.table.start_ns[rows.structure.activities.event]
    assert all((np.diff(start[k.activities]) > 0).all() for k in kinds)


def test_neighbours_walk_all_kernels_in_time_and_end(rows: ExploreRows) -> None:
    order = rows.kernels_in_time()
    node, walked = int(rows.hits("gemm")[0]), 1
    tree, activities = rows.structure.tree, rows.structure.activities
    while (k := rows.neighbour(order, node, 1)) is not None:
        node = rows.lens.row_of_node(rows.structure, int(tree.node_of[activities.event[k]]))
        walked += 1
    assert walked == 6
    assert rows.neighbour(order, int(rows.hits("gemm")[0]), -1) is None


def test_hidden_children_are_counted_behind_the_label(tmp_path: Path) -> None:
    builder = trace().thread(1).step(1, 0, 1000).op("aten::linear", 10, 500)
    builder.op("aten::t", 20, 2).op("aten::addmm", 30, 400)
    builder.op("aten::expand", 40, 2).op("aten::as_strided", 50, 2)
    builder.runtime("cudaLaunchKernel", 60, 5, correlation=1)
    builder.kernel("gemm", 100, 100, correlation=1)
    rows = rows_of(builder, tmp_path)
    assert rows.row(1, rows.columns(80)).tail == "+2"


def test_labels_of_chains_show_both_ends(tmp_path: Path) -> None:
    builder = trace().thread(1).step(1, 0, 1000)
    for level, name in enumerate(("conv2d", "convolution", "_convolution", "cudnn_convolution")):
        builder.op(f"aten::{name}", 10 + level, 500 - 2 * level)
    builder.runtime("cudaLaunchKernel", 60, 5, correlation=1)
    builder.kernel("fprop", 100, 100, correlation=1)
    between = f" {UNICODE.join} {UNICODE.ellipsis} {UNICODE.join} "
    assert rows_of(builder, tmp_path).label(1) == f"conv2d{between}cudnn_convolution"
    assert rows_of(builder, tmp_path, glyphs=ASCII).label(1).isascii()


def test_matrix_products_end_in_their_size(tmp_path: Path) -> None:
    shapes = {"Input Dims": [[64, 32], [32, 16]], "Input type": ["float", "float"]}
    builder = trace().thread(1).step(1, 0, 1000).op("aten::mm", 10, 500, **shapes)
    builder.runtime("cudaLaunchKernel", 60, 5, correlation=1)
    builder.kernel("gemm", 100, 100, correlation=1)
    rows = rows_of(builder, tmp_path)
    assert rows.row(1, rows.columns(80)).tail == "64x16x32"


def test_products_of_several_sizes_in_one_row_say_how_many(tmp_path: Path) -> None:
    builder = trace().thread(1).step(1, 0, 3000)
    for k, size in enumerate((64, 64, 128)):
        shapes = {"Input Dims": [[size, 32], [32, 16]], "Input type": ["float", "float"]}
        builder.op("aten::mm", 10 + 1000 * k, 500, **shapes)
        builder.runtime("cudaLaunchKernel", 60 + 1000 * k, 5, correlation=k + 1)
        builder.kernel("gemm", 100 + 1000 * k, 100, correlation=k + 1)
    rows = rows_of(builder, tmp_path)
    assert rows.label(1) == "3x mm"
    assert rows.row(1, rows.columns(80)).tail == "2 shapes"


def test_long_chain_gives_way_to_its_last_name_but_keeps_a_module(tmp_path: Path) -> None:
    builder = trace().thread(1).step(1, 0, 3000)
    builder.frame("nn.Module: Linear_0", 5, 700).op("aten::linear", 10, 600)
    builder.op("aten::addmm", 20, 500)
    builder.runtime("cudaLaunchKernel", 60, 5, correlation=1)
    builder.kernel("gemm", 100, 100, correlation=1)
    builder.op("aten::conv2d", 1000, 500).op("aten::cudnn_convolution", 1010, 400)
    builder.runtime("cudaLaunchKernel", 1060, 5, correlation=2)
    builder.kernel("fprop", 1100, 100, correlation=2)
    rows = rows_of(builder, tmp_path)
    found = [rows.row(row, rows.columns(80)).brief for row in (1, 2)]
    assert found == [f"Linear_0 {UNICODE.join} addmm", "cudnn_convolution"]


def test_letter_of_a_category_finds_the_rows_of_its_kernels(tmp_path: Path) -> None:
    builder = trace().thread(1).step(1, 0, 3000)
    for k, name in enumerate(("Memcpy HtoD (Pageable -> Device)", "void gelu_kernel()")):
        builder.op(f"aten::c{k}", 10 + 1000 * k, 500)
        builder.runtime("cudaMemcpyAsync", 60 + 1000 * k, 5, correlation=k + 1)
        builder.kernel(name, 100 + 1000 * k, 100, correlation=k + 1)
    rows = rows_of(builder, tmp_path)
    assert [rows.label(row) for row in rows.hits("M")] == ["c0"]
    assert len(rows.hits("c")) == 2
