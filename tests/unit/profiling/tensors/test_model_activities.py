"""Bytes and FLOPs of whole traces: which kernels belong to a call, and which are modelled."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.tensor_calls import COPY, GEMM, PASS
from tests.traces import TraceBuilder, trace

from ptx.profiling.analysis.counters import join_counters, read_counters
from ptx.profiling.structure.structure import build_structure
from ptx.profiling.tensors.bytes import Modelled, model_activities
from ptx.profiling.trace.reader import read_trace

if TYPE_CHECKING:
    from pathlib import Path

    from ptx.profiling.structure.structure import Structure

BIG_BYTES = 60_000_000
NEAR = 0.05
UNCOUNTED_BYTES = 1_000_000
"""What a kernel reads besides its tensors: arguments, code."""


def loaded(path: Path) -> Structure:
    return build_structure(read_trace(path))


def model(builder: TraceBuilder, folder: Path) -> Modelled:
    return model_activities(loaded(builder.write(folder / "t.json")))


def op(
    builder: TraceBuilder, name: str, at: int, kernel: str, *shapes: list[int], grid: object = None
) -> None:
    """Adds an op on f32 tensors with one kernel."""
    builder.op(
        name,
        at,
        10,
        Input_Dims=list(shapes),
        Input_Strides=[[1] * len(s) for s in shapes],
        Input_type=["float"] * len(shapes),
        Concrete_Inputs=[""] * len(shapes),
    )
    builder.runtime("cudaLaunchKernel", at + 2, 2, correlation=at)
    builder.kernel(kernel, at + 1000, 5, correlation=at, grid=grid)


def test_equal_calls_get_equal_answers_and_others_their_own(tmp_path: Path) -> None:
    builder = trace()
    for at, size in ((10, 100), (30, 100), (50, 300), (70, 100)):
        op(builder, "aten::relu", at, PASS, [size])
    found = model(builder, tmp_path)
    assert found.read_bytes.tolist() == [400, 400, 1200, 400]
    assert found.total_bytes.tolist() == [800, 800, 2400, 800]
    assert found.flops.tolist() == [-1] * 4


def test_the_grid_tells_calls_apart(tmp_path: Path) -> None:
    gather = "void at::native::vectorized_gather_kernel<16, long>(char*, char*)"
    builder = trace()
    for at, rows in ((10, 3), (30, 5)):
        op(builder, "aten::index", at, gather, [8], grid=[rows, 1, 1])
    assert model(builder, tmp_path).write_bytes.tolist() == [12, 20]


def test_a_kernel_without_an_op_or_without_shapes_is_unknown(tmp_path: Path) -> None:
    builder = trace().op("aten::relu", 10, 10)
    builder.runtime("cudaLaunchKernel", 12, 2, correlation=1).kernel(PASS, 1000, 5, correlation=1)
    builder.runtime("cudaLaunchKernel", 40, 2, correlation=2).kernel(PASS, 1100, 5, correlation=2)
    found = model(builder, tmp_path)
    assert found.total_bytes.tolist() == [-1, -1]
    assert not found.is_known.any()


def test_an_op_that_copies_into_its_output_reads_it_in_full(tmp_path: Path) -> None:
    def addmm(copies: bool) -> int:
        builder = trace()
        op(builder, "aten::addmm", 10, GEMM, [32], [16, 64], [64, 32])
        if copies:
            builder.op("aten::copy_", 11, 1)
        return int(model(builder, tmp_path).read_bytes[0])

    # the strides of the helper are all 1, so a matrix touches a span of its sizes
    assert addmm(copies=True) - addmm(copies=False) == 16 * 32 * 4 - 32 * 4


def test_only_an_optimizers_step_squares(tmp_path: Path) -> None:
    def addcmul(annotation: str) -> int:
        builder = trace().annotation(annotation, 5, 100)
        op(builder, "aten::addcmul_", 10, PASS, [100], [100], [100])
        return int(model(builder, tmp_path).read_bytes[0])

    assert addcmul("Optimizer.step#AdamW.step") == 800
    assert addcmul("my optimizer") == 1200


def test_generated_code_works_in_place_whatever_frames_stand_between(tmp_path: Path) -> None:
    builder = trace().op("## Call CompiledFxGraph x ##", 5, 200).frame("call", 6, 190)
    for at in (10, 30):
        op(builder, "aten::mm", at, GEMM, [8, 4], [4, 8])
    builder.frame("run", 48, 20)
    name = "triton_poi_fused_mul_0"
    op(builder, name, 50, name, [64], [64])
    assert model(builder, tmp_path).read_bytes[2] == 2 * 64 * 4


def test_transfers_move_their_recorded_bytes_through_the_devices_memory(tmp_path: Path) -> None:
    builder = trace()
    names = ("HtoD (Pageable -> Device)", "DtoH (Device -> Pinned)", "DtoD (Device -> Device)")
    for at, name in enumerate(names):
        builder.kernel(f"Memcpy {name}", 100 + at * 10, 5, cat="gpu_memcpy", bytes=1000)
    builder.kernel("Memset (Device)", 200, 5, cat="gpu_memset", bytes=1000)
    builder.kernel("Memcpy DtoD (Device -> Device)", 300, 5, cat="gpu_memcpy")
    found = model(builder, tmp_path)
    assert found.read_bytes.tolist() == [0, 1000, 1000, 0, -1]
    assert found.write_bytes.tolist() == [1000, 0, 1000, 1000, -1]


def test_a_trace_without_activities_has_nothing_to_model(tmp_path: Path) -> None:
    assert len(model(trace().op("aten::relu", 1, 2), tmp_path).read_bytes) == 0


def test_hostile_records_are_unknown_not_fatal(tmp_path: Path) -> None:
    builder = trace()
    records: list[object] = [None, "x", {"a": 1}, [[-1]], [[2**70]], [["a"]], [[[1], [2]]], 3.5]
    for number, dims in enumerate(records):
        at = 10 + 20 * number
        builder.op("aten::sum", at, 10, Input_Dims=dims, Input_type=dims, Concrete_Inputs=dims)
        builder.runtime("cudaLaunchKernel", at + 2, 2, correlation=at)
        builder.kernel(COPY, at + 1000, 5, correlation=at, grid=dims)
    assert len(model(builder, tmp_path).read_bytes) == len(records)


def test_modelled_bytes_hold_against_hardware_counters(
    shared: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = shared / "traces" / "h200"
    structure = loaded(folder / "counters_dev.json.gz")
    rows = read_counters(folder / "counters_dev.ncu.csv")
    measured = join_counters(structure, rows)
    found = model_activities(structure)
    big = measured.read_bytes + measured.write_bytes >= BIG_BYTES
    known = big & found.is_known
    off = np.abs(found.read_bytes - measured.read_bytes)
    near = known & (off <= np.maximum(NEAR * measured.read_bytes, UNCOUNTED_BYTES))
    names = structure.trace.table.names
    with capsys.disabled():
        print(f"\n{big.sum()} big kernels, {known.sum()} modelled, {near.sum()} near; the others:")
        for i in np.flatnonzero(big & ~near).tolist():
            name = names[structure.trace.table.name[structure.activities.event[i]]]
            print(f"  read {measured.read_bytes[i]} modelled {found.read_bytes[i]} {name[:70]}")
    assert len(rows) == 73
    assert big.sum() > 60
    assert known.sum() >= 0.9 * big.sum()
    assert near.sum() >= 0.85 * known.sum()


def test_fused_kernels_read_what_counters_read(shared: Path) -> None:
    folder = shared / "traces" / "h200"
    structure = loaded(folder / "geglu_compile.json.gz")
    measured = join_counters(structure, read_counters(folder / "ncu_geglu_compile.csv"))
    found = model_activities(structure)
    table, events = structure.trace.table, structure.activities.event
    fused = [i for i, e in enumerate(events.tolist()) if table.name_of(e).startswith("triton")]
    assert fused
    for i in fused:
        assert abs(found.read_bytes[i] / measured.read_bytes[i] - 1) < 0.01


@pytest.mark.parametrize("name", ["geglu_eager", "conv_nchw", "conv_nhwc", "geglu_compile"])
def test_sample_traces_are_modelled_as_a_whole(samples: Path, name: str) -> None:
    structure = loaded(samples / f"{name}.json.gz")
    counted = structure.activities.counted_ns
    known = model_activities(structure).is_known
    assert counted[known].sum() > 0.95 * counted.sum()
