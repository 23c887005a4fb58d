"""Copies of real traces against counts made by plain json from kernel names and recorded inputs."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from ptx.profiling.analysis.copies import (
    CopyRow,
    copies_by_module,
    copies_by_step,
    copies_cost,
    copy_totals,
    find_copies,
)
from ptx.profiling.analysis.copy_kinds import CopyKind
from ptx.profiling.structure.structure import Structure, build_structure
from ptx.profiling.trace.reader import read_trace

SAMPLES = Path(__file__).resolve().parents[4] / "sample_traces"
CONVERSIONS = ("nchwToNhwcKernel", "nhwcToNchwKernel", "nhwcAddPaddingKernel")


@cache
def structure_of(path: Path) -> Structure:
    return build_structure(read_trace(path))


@cache
def events_of(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path) as file:
        events: list[dict[str, Any]] = json.load(file)["traceEvents"]
    return events


def plain_count(path: Path, *words: str) -> tuple[int, int]:
    """Returns (number, ns) of the kernels whose name holds one of some words."""
    found = [
        event
        for event in events_of(path)
        if event.get("cat") == "kernel" and any(word in event["name"] for word in words)
    ]
    return len(found), sum(round(event["dur"] * 1000) for event in found)


def cost_of(structure: Structure, kind: CopyKind) -> tuple[int, int]:
    rows = [row for row in find_copies(structure) if row.kind is kind]
    return sum(row.cost.count for row in rows), sum(row.cost.ns for row in rows)


def by_cause(structure: Structure) -> dict[tuple[CopyKind, str, str], CopyRow]:
    return {(row.kind, row.cause, row.tensor): row for row in find_copies(structure)}


def test_the_102_extra_kernels_of_an_nchw_resnet_are_conversions_of_layout(shared: Path) -> None:
    folder = shared / "traces" / "h200"
    paths = [folder / f"resnet18_{layout}_eager.json.gz" for layout in ("nchw", "nhwc")]
    nchw, nhwc = map(structure_of, paths)
    assert len(nchw.activities) - len(nhwc.activities) == 102
    plain = [plain_count(path, *CONVERSIONS) for path in paths]
    assert [cost_of(structure, CopyKind.LAYOUT) for structure in (nchw, nhwc)] == plain
    assert plain[0][0] - plain[1][0] == 102
    casts = [cost_of(structure, CopyKind.CAST)[0] for structure in (nchw, nhwc)]
    assert casts == [40, 40]  # running statistics: in either layout


def test_conversions_of_an_nchw_resnet_are_told_apart_by_tensor(shared: Path) -> None:
    path = shared / "traces" / "h200" / "resnet18_nchw_eager.json.gz"
    rows = by_cause(structure_of(path))
    operands = [rows[CopyKind.LAYOUT, "aten::conv2d", word] for word in ("input", "weight")]
    result = rows[CopyKind.LAYOUT, "aten::conv2d", "result"]
    there, back = (plain_count(path, word) for word in CONVERSIONS[:2])
    assert (sum(r.cost.count for r in operands), sum(r.cost.ns for r in operands)) == there
    assert (result.cost.count, result.cost.ns) == back
    # a filter of 1 x 1 lies alike in both layouts: two downsampling layers in each of two steps
    assert [row.cost.count for row in operands] == [38, 34]
    assert all("channels_last" in row.avoid for row in (*operands, result))
    assert operands[1].avoid.startswith("convert the model once")


def test_bytes_of_conversions_are_those_of_the_recorded_tensors(shared: Path) -> None:
    path = shared / "traces" / "h200" / "resnet18_nchw_eager.json.gz"
    weights = [
        event["args"]["Input Dims"][1]
        for event in events_of(path)
        if event.get("name") == "aten::cudnn_convolution"
    ]
    # what is neither 1 x 1 nor of a layer that an NCHW kernel computes
    converted = Counter(tuple(shape) for shape in weights if shape[2:] != [1, 1])
    row = by_cause(structure_of(path))[CopyKind.LAYOUT, "aten::conv2d", "weight"]
    assert row.cost.count == sum(converted.values())
    sizes = sum(2 * a * b * c * d * number for (a, b, c, d), number in converted.items())
    assert (row.cost.read_bytes, row.cost.write_bytes) == (sizes, sizes)


def test_views_copy_nothing_and_copies_are_classed_by_what_changes(shared: Path) -> None:
    structure = structure_of(shared / "traces" / "h200" / "views_and_copies_eager.json.gz")
    rows = {(row.kind, row.cause, row.change): row for row in find_copies(structure)}
    whole, part, half = 64 * 256 * 128 * 4, 64 * 128 * 64 * 4, 64 * 128 * 256 * 2
    transposed = "[32768,1,256] -> [32768,128,1]"
    assert {key: (row.cost.count, row.cost.moved_bytes) for key, row in rows.items()} == {
        (CopyKind.CONTIGUOUS, "aten::contiguous", transposed): (3, 3 * 2 * whole),
        (CopyKind.CONTIGUOUS, "aten::reshape", transposed): (3, 3 * 2 * whole),
        (CopyKind.CONTIGUOUS, "aten::clone", "[32768,256,1] -> [8192,64,1]"): (3, 3 * 2 * part),
        (CopyKind.CAST, "aten::to", "f32 -> bf16"): (3, 3 * 3 * half),
        (CopyKind.CAST, "aten::to", "f32 -> f16"): (3, 3 * 3 * half),
        (CopyKind.CAST, "aten::to", "f16 -> f32"): (3, 3 * 3 * half),
        (CopyKind.STRIDED, "aten::add", "in0 has strides (32768,512,1)"): (3, 3 * whole),
    }


def test_padding_of_channels_and_a_kernel_of_the_other_layout_are_told_apart(shared: Path) -> None:
    path = shared / "traces" / "h200" / "resnet18_nhwc_eager.json.gz"
    rows = [row for row in find_copies(structure_of(path)) if row.kind is CopyKind.LAYOUT]
    found = {row.change: (row.cost.count, row.cost.ns) for row in rows}
    words = {"channels padded": CONVERSIONS[2], "NHWC -> NCHW": CONVERSIONS[1],
             "NCHW -> NHWC": CONVERSIONS[0]}  # fmt: skip
    assert found == {change: plain_count(path, word) for change, word in words.items()}
    advice = {row.change: row.avoid for row in rows}
    assert "multiple of 8" in advice["channels padded"]
    assert "chose an NCHW kernel" in advice["NHWC -> NCHW"]
    assert advice["NCHW -> NHWC"] == advice["NHWC -> NCHW"]


@pytest.mark.parametrize("name", ["geglu_eager.json.gz", "linear_eager.json.gz"])
def test_products_and_pointwise_work_hold_no_copy(name: str) -> None:
    assert find_copies(structure_of(SAMPLES / name)) == []


def test_a_convolution_converts_in_nchw_and_not_in_channels_last() -> None:
    nchw, nhwc = (SAMPLES / f"conv_{layout}.json.gz" for layout in ("nchw", "nhwc"))
    assert cost_of(structure_of(nchw), CopyKind.LAYOUT) == plain_count(nchw, *CONVERSIONS)
    assert plain_count(nchw, *CONVERSIONS)[0] == 27
    assert cost_of(structure_of(nhwc), CopyKind.LAYOUT) == (0, 0)


@pytest.mark.parametrize("name", ["conv_nchw.json.gz", "train_step_eager.json.gz"])
def test_every_roll_up_counts_each_copy_once(name: str) -> None:
    structure = structure_of(SAMPLES / name)
    rows = find_copies(structure)
    activities = [k for row in rows for k in row.activities.tolist()]
    assert len(set(activities)) == len(activities)
    whole = copies_cost(structure)
    ns = whole.copied.ns + whole.strided.ns
    assert ns == sum(row.cost.ns for row in rows)
    assert ns == int(structure.activities.counted_ns[activities].sum())
    for totals in (copy_totals(structure), copies_by_module(structure), copies_by_step(structure)):
        assert sum(row.copied.ns + row.strided.ns for row in totals) == ns
        assert sum(row.copied.count for row in totals) == whole.copied.count


def test_a_layer_of_a_model_has_the_copies_of_its_kernels() -> None:
    structure = structure_of(SAMPLES / "conv_nchw.json.gz")
    modules = {row.name: row.copied.count for row in copies_by_module(structure)}
    # in three steps: input, weight and result of a convolution, a running variance of a norm
    assert modules == {
        **{f"nn.Module: Conv2d_{k}": 9 for k in range(3)},
        **{f"nn.Module: BatchNorm2d_{k}": 3 for k in range(3)},
    }


def test_copies_of_a_cpu_trace_are_its_copying_ops(shared: Path) -> None:
    path = shared / "traces" / "captured_cpu" / "views_and_copies.json.gz"
    rows = by_cause(structure_of(path))
    copying = [event for event in events_of(path) if event.get("name") == "aten::copy_"]
    large = [event for event in copying if event["args"]["Input Dims"][0]]
    assert sum(row.cost.count for row in rows.values()) == len(large)
    assert sum(row.cost.ns for row in rows.values()) == sum(round(e["dur"] * 1000) for e in large)
    weight = rows[CopyKind.LAYOUT, "aten::conv2d", "weight"]
    assert (weight.via, weight.cost.write_bytes) == ("aten::contiguous", 16 * 8 * 9 * 4)
    assert (CopyKind.BROADCAST, "aten::linear", "") in rows
    assert (CopyKind.CONTIGUOUS, "aten::flatten", "") in rows
