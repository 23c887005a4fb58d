"""What counts as a copy, whose it is, and what is none: on small traces of one call each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.tensor_calls import COPY, PASS
from tests.traces import TraceBuilder, trace

from ptx.profiling.analysis.copies import (
    copies_by_step,
    copies_cost,
    find_copies,
    sort_copies,
)
from ptx.profiling.analysis.copy_kinds import CopyKind
from ptx.profiling.structure.structure import build_structure
from ptx.profiling.structure.tree import NodeKind
from ptx.profiling.trace.reader import read_trace

if TYPE_CHECKING:
    from pathlib import Path

    from ptx.profiling.analysis.copies import CopyRow
    from ptx.profiling.structure.structure import Structure

STRIDED_ADD = (
    "void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl_nocast<"
    "at::native::CUDAFunctor_add<float>>(at::TensorIteratorBase&)::{lambda(int)#1}>(int, T)"
)
CAST = (
    "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda("
    "at::TensorIteratorBase&)::{lambda(float)#1}, std::array<char*, 2ul>, 4, "
    "at::native::memory::LoadWithCast<1>, at::native::memory::StoreWithCast<1>>(int)"
)
DEVICE_COPY = "Memcpy DtoD (Device -> Device)"
NCHW_TO_NHWC = "void cudnn::ops::nchwToNhwcKernel<float, float, float, false, true>(T)"
ROWS, COLUMNS = [[64, 32], [64, 32]], [[32, 1], [1, 64]]


class Calls:
    """A trace of nested calls, one kernel in the innermost of each."""

    def __init__(self) -> None:
        self.builder = trace()
        self._at = 0

    def call(
        self,
        ops: str,
        kernel: str | None,
        shapes: list[list[int]] | None = None,
        strides: list[list[int]] | None = None,
        types: tuple[str, ...] = ("float", "float"),
        **outermost: object,
    ) -> Calls:
        """Adds ops, outermost first; the innermost records the tensors and has the kernel."""
        self._at += 1000
        names = ops.split(" > ")
        for depth, name in enumerate(names):
            args: dict[str, object] = dict(outermost) if depth == 0 else {}
            if depth == len(names) - 1 and shapes is not None:
                args["Input_Dims"], args["Input_Strides"] = shapes, strides
                args["Input_type"] = list(types)
                args["Concrete_Inputs"] = [""] * len(shapes)
            self.builder.op(name, self._at + depth, 100 - 2 * depth, **args)
        if kernel is not None:
            launch = self._at + len(names)
            self.builder.runtime("cudaLaunchKernel", launch, 1, correlation=self._at)
            cat = "gpu_memcpy" if kernel.startswith("Memcpy") else "kernel"
            self.builder.kernel(kernel, launch + 50, 5, correlation=self._at, cat=cat)
        return self

    def structure(self, folder: Path) -> Structure:
        return build_structure(read_trace(self.builder.write(folder / "t.json")))

    def row(self, folder: Path) -> CopyRow:
        rows = find_copies(self.structure(folder))
        assert len(rows) == 1
        return rows[0]


@pytest.mark.parametrize(
    ("strides", "types", "kernel", "kind"),
    [
        (COLUMNS, ("float", "float"), COPY, CopyKind.CONTIGUOUS),
        ([[32, 1], [32, 1]], ("float", "float"), DEVICE_COPY, CopyKind.COPY),
        ([[32, 1], [0, 1]], ("float", "float"), COPY, CopyKind.BROADCAST),
        ([[32, 1], [32, 1]], ("c10::Half", "float"), CAST, CopyKind.CAST),
        # written into every other column of a wider matrix, in the same order
        ([[64, 2], [32, 1]], ("float", "float"), COPY, CopyKind.COPY),
        # the type decides even where strides change as well
        (COLUMNS, ("c10::Half", "float"), CAST, CopyKind.CAST),
    ],
)
def test_recorded_tensors_tell_the_class(
    tmp_path: Path,
    strides: list[list[int]],
    types: tuple[str, ...],
    kernel: str,
    kind: CopyKind,
) -> None:
    row = Calls().call("aten::x > aten::copy_", kernel, ROWS, strides, types).row(tmp_path)
    assert (row.kind, row.cause, row.cost.count, row.cost.ns) == (kind, "aten::x", 1, 5000)


@pytest.mark.parametrize(
    ("kernel", "kind"),
    [(COPY, CopyKind.CONTIGUOUS), (CAST, CopyKind.CAST), (DEVICE_COPY, CopyKind.COPY)],
)
def test_without_shapes_the_name_tells_the_class(
    tmp_path: Path, kernel: str, kind: CopyKind
) -> None:
    row = Calls().call("aten::copy_", kernel).row(tmp_path)
    assert (row.kind, row.cost.read_bytes, row.cost.modelled_ns) == (kind, None, 0)


@pytest.mark.parametrize(
    ("op", "kernel"),
    [
        ("aten::to > aten::copy_", "Memcpy HtoD (Pageable -> Device)"),
        ("aten::cat", DEVICE_COPY),
        ("aten::add", PASS),
        ("aten::mm", "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT"),
    ],
)
def test_transfers_results_and_other_work_are_no_copies(
    tmp_path: Path, op: str, kernel: str
) -> None:
    structure = Calls().call(op, kernel, ROWS, [[32, 1], [32, 1]]).structure(tmp_path)
    assert find_copies(structure) == []
    assert copies_cost(structure).copied.count == 0


@pytest.mark.parametrize(
    ("ops", "cause", "via"),
    [
        ("aten::contiguous > aten::clone > aten::copy_", "aten::contiguous", ""),
        ("aten::to > aten::_to_copy > aten::copy_", "aten::to", ""),
        ("aten::linear > aten::to > aten::_to_copy > aten::copy_", "aten::linear", "aten::to"),
        ("aten::matmul > aten::reshape > aten::clone > aten::copy_", "aten::matmul",
         "aten::reshape"),
        ("Torch-Compiled Region: 0/0 > aten::clone > aten::copy_", "aten::clone", ""),
    ],
)  # fmt: skip
def test_the_cause_is_the_op_that_the_program_called(
    tmp_path: Path, ops: str, cause: str, via: str
) -> None:
    row = Calls().call(ops, COPY, ROWS, COLUMNS).row(tmp_path)
    assert (row.cause, row.via) == (cause, via)


def test_a_copy_for_a_gradient_belongs_to_the_op_of_the_forward_pass(tmp_path: Path) -> None:
    calls = Calls().call("aten::linear", None, Sequence_number=7, Fwd_thread_id=0)
    calls.builder.thread(2)
    calls.call(
        "LinearBackward0 > aten::contiguous > aten::clone > aten::copy_",
        COPY,
        ROWS,
        COLUMNS,
        Sequence_number=7,
        Fwd_thread_id=1,
    )
    row = calls.row(tmp_path)
    assert (row.cause, row.via) == ("aten::linear (backward)", "")


def test_forward_work_that_a_checkpoint_repeats_is_no_gradient(tmp_path: Path) -> None:
    builder = trace().op("aten::relu", 0, 5, Sequence_number=3, Fwd_thread_id=0)
    builder.thread(2).op("ReluBackward0", 100, 100, Sequence_number=3, Fwd_thread_id=1)
    builder.op("aten::conv2d", 110, 50, Sequence_number=9, Fwd_thread_id=0)
    builder.op("aten::cudnn_convolution", 112, 40)
    builder.runtime("cudaLaunchKernel", 115, 2, correlation=1)
    builder.kernel(NCHW_TO_NHWC, 130, 5, correlation=1)
    rows = find_copies(build_structure(read_trace(builder.write(tmp_path / "t.json"))))
    assert [(row.kind, row.cause) for row in rows] == [(CopyKind.LAYOUT, "aten::conv2d")]


def test_a_weight_made_channels_last_at_every_call_is_a_conversion_of_its_convolution(
    tmp_path: Path,
) -> None:
    weight = [16, 8, 3, 3]
    builder = trace().op(
        "aten::conv2d",
        0,
        100,
        Input_Dims=[[8, 8, 12, 12], weight],
        Input_Strides=[[1152, 1, 96, 8], [72, 9, 3, 1]],
        Input_type=["float", "float"],
        Concrete_Inputs=["", ""],
    )
    builder.op("aten::contiguous", 5, 40).op("aten::clone", 6, 38)
    builder.op(
        "aten::copy_",
        7,
        30,
        Input_Dims=[weight, weight],
        Input_Strides=[[72, 1, 24, 8], [72, 9, 3, 1]],
        Input_type=["float", "float"],
        Concrete_Inputs=["", ""],
    )
    builder.runtime("cudaLaunchKernel", 10, 2, correlation=1).kernel(COPY, 50, 5, correlation=1)
    (row,) = find_copies(build_structure(read_trace(builder.write(tmp_path / "t.json"))))
    assert (row.kind, row.tensor, row.via) == (CopyKind.LAYOUT, "weight", "aten::contiguous")
    assert row.avoid.startswith("convert the model once")


@pytest.mark.parametrize(
    ("op", "strides"), [("nchwToNhwc", [4096, 256, 16, 1]), ("nhwcToNchw", [4096, 1, 256, 16])]
)
def test_a_conversion_away_from_the_layout_of_the_input_is_of_an_operand(
    tmp_path: Path, op: str, strides: list[int]
) -> None:
    shapes, weights = [[2, 16, 16, 16], [8, 16, 3, 3]], [144, 9, 3, 1]
    both = {
        name: Calls()
        .call(
            "aten::conv2d > aten::cudnn_convolution",
            f"void cudnn::ops::{name}Kernel<float, float, float, false, true>(T)",
            shapes,
            [strides, weights],
        )
        .row(tmp_path)
        .tensor
        for name in ("nchwToNhwc", "nhwcToNchw")
    }
    assert both.pop(op) != "result"
    assert list(both.values()) == ["result"]


@pytest.mark.parametrize(
    ("shapes", "strides", "reason"),
    [
        (ROWS, [[32, 1], [1, 64]], "in0 and in1 lie in different orders of dimensions"),
        (ROWS, [[32, 1], [64, 2]], "in1 has strides (64,2)"),
    ],
)
def test_strides_that_cost_wide_loads_are_told_apart_from_copies(
    tmp_path: Path, shapes: list[list[int]], strides: list[list[int]], reason: str
) -> None:
    structure = Calls().call("aten::add", STRIDED_ADD, shapes, strides).structure(tmp_path)
    (row,) = find_copies(structure)
    assert (row.kind, row.change) == (CopyKind.STRIDED, reason)
    cost = copies_cost(structure)
    assert (cost.copied.count, cost.strided.count, cost.strided.ns) == (0, 1, 5000)


@pytest.mark.parametrize(
    ("shapes", "strides"),
    [
        ([[64, 32], [32]], [[32, 1], [1]]),
        ([[64, 32], [64, 32]], [[32, 1], [0, 1]]),
        ([[64, 1], [1, 32]], [[1, 1], [32, 1]]),
    ],
)
def test_a_broadcast_input_is_no_fault_of_strides(
    tmp_path: Path, shapes: list[list[int]], strides: list[list[int]]
) -> None:
    structure = Calls().call("aten::add", STRIDED_ADD, shapes, strides).structure(tmp_path)
    assert find_copies(structure) == []


def test_a_subtree_has_its_own_copies_each_once(tmp_path: Path) -> None:
    ops = "aten::contiguous > aten::clone > aten::copy_"
    structure = (
        Calls().call(ops, COPY, ROWS, COLUMNS).call(ops, COPY, ROWS, COLUMNS).structure(tmp_path)
    )
    nodes = np.flatnonzero(structure.tree.kind == NodeKind.OP)
    first, second = nodes[:3], nodes[3:]
    assert copies_cost(structure, nodes=first).copied.count == 1
    assert copies_cost(structure, nodes=nodes).copied.count == 2  # outer ones hold the inner
    assert [row.cost.count for row in find_copies(structure, nodes=second[2:])] == [1]
    assert find_copies(structure, nodes=np.array([], np.int64)) == []


def two_steps() -> TraceBuilder:
    calls = Calls()
    calls.builder.step(0, 900, 1000).step(1, 1900, 1000)
    calls.call("aten::contiguous > aten::copy_", COPY, ROWS, COLUMNS)
    calls.call("aten::to > aten::copy_", CAST, ROWS, COLUMNS, ("c10::Half", "float"))
    return calls.builder


def test_steps_have_their_own_copies(tmp_path: Path) -> None:
    structure = build_structure(read_trace(two_steps().write(tmp_path / "t.json")))
    assert [row.cause for row in find_copies(structure, step=0)] == ["aten::contiguous"]
    assert [row.cause for row in find_copies(structure, step=1)] == ["aten::to"]
    steps = [(row.name, row.copied.count) for row in copies_by_step(structure)]
    assert steps == [("ProfilerStep#0", 1), ("ProfilerStep#1", 1)]


def test_rows_are_found_by_class_or_cause_and_sort_by_name(tmp_path: Path) -> None:
    structure = build_structure(read_trace(two_steps().write(tmp_path / "t.json")))
    assert [row.cause for row in find_copies(structure, text="CAST")] == ["aten::to"]
    assert [row.cause for row in find_copies(structure, text="contig")] == ["aten::contiguous"]
    rows = sort_copies(find_copies(structure), "name")
    assert [row.cause for row in rows] == ["aten::contiguous", "aten::to"]


def test_rows_lead_to_the_copying_kernels(tmp_path: Path) -> None:
    structure = (
        Calls().call("aten::contiguous > aten::copy_", COPY, ROWS, COLUMNS).structure(tmp_path)
    )
    (row,) = find_copies(structure)
    events = structure.tree.event[row.nodes].tolist()
    assert [structure.trace.table.name_of(event) for event in events] == [COPY]
    assert structure.activities.event[row.activities].tolist() == events


def test_a_copying_kernel_of_torch_compile_is_one(tmp_path: Path) -> None:
    name = "triton_poi_fused_clone_transpose_3"
    row = Calls().call(f"Torch-Compiled Region: 0/0 > {name}", name).row(tmp_path)
    assert (row.kind, row.cause) == (CopyKind.CONTIGUOUS, name)
    other = Calls().call("triton_poi_fused_add_clone_3", "triton_poi_fused_add_clone_3")
    assert find_copies(other.structure(tmp_path)) == []


def test_a_kernel_without_an_op_is_counted_without_a_cause(tmp_path: Path) -> None:
    builder = trace().op("aten::add", 0, 5).kernel(COPY, 10, 5)
    (row,) = find_copies(build_structure(read_trace(builder.write(tmp_path / "t.json"))))
    assert (row.cause, row.cost.count) == ("(no op)", 1)


def test_a_trace_without_events_of_a_device_or_op_has_no_copies(tmp_path: Path) -> None:
    structure = build_structure(read_trace(trace().frame("f", 0, 5).write(tmp_path / "t.json")))
    assert find_copies(structure) == []
    assert copies_by_step(structure) == []
