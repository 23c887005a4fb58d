"""Laws of every comparison: a trace against itself, the swap, the sums, random edits."""

from __future__ import annotations

import gzip
import json
import re
from itertools import combinations
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.profiling.analysis.comparison.sides import (
    Kernel,
    compared,
    generated,
    gpu_sums,
    load,
    mm,
    pointwise,
    program,
    rows,
    sums,
)

from ptx.profiling.analysis.comparison.compare import compare

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.profiling.analysis.comparison.sides import Row

    from ptx.profiling.analysis.comparison.model import Comparison

_MIRRORED = {"removed": "added", "added": "removed"}
_OPS = ("gelu", "cos", "sin", "tanh", "exp", "neg")
_SMALL = settings(
    max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def _mirrored(found: Comparison) -> list[tuple[Any, ...]]:
    return sorted(
        (
            tuple(p.event for p in g.b),
            tuple(p.event for p in g.a),
            _MIRRORED.get(g.kind, g.kind),
            -g.delta_ns,
            None if g.delta_bytes is None else -g.delta_bytes,
            g.confidence,
            g.how,
        )
        for g in found.groups
    )


def _plain(found: Comparison) -> list[tuple[Any, ...]]:
    return sorted(
        (
            tuple(p.event for p in g.a),
            tuple(p.event for p in g.b),
            g.kind,
            g.delta_ns,
            g.delta_bytes,
            g.confidence,
            g.how,
        )
        for g in found.groups
    )


@pytest.mark.parametrize(
    "name",
    [
        "geglu_eager", "geglu_compile", "geglu_compile_reduce-overhead", "llama_sdpa_eager",
        "llama_sdpa_compile", "llama_small_train_compile", "mlp_train_compile", "multi_stream",
        "gemm_zoo", "views_and_copies_eager", "ddp_world1_nccl", "recompile_in_window",
    ],
)  # fmt: skip
def test_a_trace_against_itself_is_only_same(shared: Path, name: str) -> None:
    structure = load(shared / "traces" / "h200" / f"{name}.json.gz")
    found = compare(structure, structure)
    assert {group.kind for group in found.groups} == {"same"}
    assert {group.delta_ns for group in found.groups} == {0}
    assert sums(found) == gpu_sums(found)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("geglu_eager", "geglu_compile"),
        ("geglu_eager", "geglu_compile_reduce-overhead"),
        ("geglu_compile", "geglu_compile_max-autotune-no-cudagraphs"),
        ("mlp_train_eager", "mlp_train_compile"),
        ("graph_break_item_eager", "graph_break_item_compile"),
        ("llama_sdpa_eager", "llama_sdpa_compile"),
        ("resnet18_nchw_eager", "resnet18_nhwc_eager"),
        ("llama_small_train_eager", "llama_small_train_compile"),
    ],
)
def test_swapping_the_sides_mirrors_every_group(shared: Path, a: str, b: str) -> None:
    one, other = (load(shared / "traces" / "h200" / f"{name}.json.gz") for name in (a, b))
    assert _mirrored(compare(one, other)) == _plain(compare(other, one))


@pytest.mark.parametrize(
    ("a", "b"),
    [("resnet18_nchw_eager", "resnet18_nhwc_eager"), ("llama_sdpa_eager", "llama_sdpa_compile")],
)
def test_swapping_the_sides_turns_every_detail_round(shared: Path, a: str, b: str) -> None:
    one, other = (load(shared / "traces" / "h200" / f"{name}.json.gz") for name in (a, b))
    there = _changes(compare(one, other))
    assert there
    assert {(name, new, old) for name, old, new in there} == _changes(compare(other, one))


def _changes(found: Comparison) -> set[tuple[str, str, str]]:
    """Returns (operand, before, after) of the operands whose sizes or strides differ."""
    pattern = re.compile(r"(.*?) (\([\d,]+\)) -> (\([\d,]+\))\Z")
    details = [d for g in found.groups for d in g.details if not d.startswith("prepares")]
    return {(m[1], m[2], m[3]) for d in details if (m := pattern.match(d)) is not None}


def test_the_sums_of_every_pair_are_exact(shared: Path, samples: Path) -> None:
    folder = shared / "traces" / "h200"
    names = (
        "geglu_eager", "linear_small_compile", "mlp_train_compile", "multi_stream",
        "launch_bound_and_syncs", "sdpa_flash_attention", "dynamic_shapes_recompile",
    )  # fmt: skip
    traces = [load(folder / f"{name}.json.gz") for name in names]
    traces += [load(path) for path in sorted(samples.glob("*.json.gz"))]
    for one, other in combinations(traces, 2):
        found = compare(one, other)
        assert sums(found) == gpu_sums(found)
        events = [place.event for group in found.groups for place in group.a]
        assert len(events) == len(set(events))


def test_shorter_kernels_scale_every_delta_and_change_no_group(
    samples: Path, tmp_path: Path
) -> None:
    a, b = samples / "geglu_eager.json.gz", samples / "geglu_compile.json.gz"
    halved = [_halved(path, tmp_path / path.name) for path in (a, b)]
    before, after = compared(a, b), compared(*halved)
    assert rows(before) == rows(after)
    for one, other in zip(before.groups, after.groups, strict=True):
        assert abs(one.delta_ns - 2 * other.delta_ns) <= 2 * len((*one.a, *one.b))


def _halved(path: Path, out: Path) -> Path:
    document = json.loads(gzip.decompress(path.read_bytes()))
    for event in document["traceEvents"]:
        if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset"):
            event["dur"] = round(event["dur"] / 2, 3)
    out.write_bytes(gzip.compress(json.dumps(document).encode()))
    return out


def test_without_shapes_no_match_is_surer(samples: Path, tmp_path: Path) -> None:
    a, b = samples / "geglu_eager.json.gz", samples / "geglu_compile.json.gz"
    bare = [_without_shapes(path, tmp_path / path.name) for path in (a, b)]
    before, after = compared(a, b), compared(*bare)
    assert rows(before) == rows(after)
    for one, other in zip(before.groups, after.groups, strict=True):
        assert other.confidence <= one.confidence
    assert any("matched by names" in note for note in after.notes)


def _without_shapes(path: Path, out: Path) -> Path:
    document = json.loads(gzip.decompress(path.read_bytes()))
    for event in document["traceEvents"]:
        for key in ("Input Dims", "Input Strides", "Input type", "Concrete Inputs"):
            event.get("args", {}).pop(key, None)
    out.write_bytes(gzip.compress(json.dumps(document).encode()))
    return out


_LAYERS = st.lists(
    st.tuples(st.integers(1, 4), st.lists(st.sampled_from(_OPS), max_size=3, unique=True)),
    min_size=1,
    max_size=5,
)


def _eager(layers: list[tuple[int, list[str]]]) -> list[Kernel]:
    return [
        kernel
        for size, ops in layers
        for kernel in (mm(n=128 * size), *(pointwise(op, (512, 128 * size)) for op in ops))
    ]


@_SMALL
@given(layers=_LAYERS)
def test_fusing_what_follows_each_product_is_recovered(
    layers: list[tuple[int, list[str]]], tmp_path: Path
) -> None:
    fused = [
        kernel
        for k, (size, ops) in enumerate(layers)
        for kernel in (
            mm(n=128 * size),
            *([generated("_".join(sorted(ops)), (512, 128 * size), n=k)] if ops else []),
        )
    ]
    found = compared(
        program(tmp_path / "a.json", _eager(layers)), program(tmp_path / "b.json", fused)
    )
    want: list[Row] = []
    a = b = 0
    for _, ops in layers:
        want.append(((a,), (b,), "same"))
        a, b = a + 1, b + 1
        if ops:
            kind = "replaced" if len(ops) == 1 else "fused"
            want.append((tuple(range(a, a + len(ops))), (b,), kind))
            a, b = a + len(ops), b + 1
    assert rows(found) == want
    assert sums(found) == gpu_sums(found)


@_SMALL
@given(layers=_LAYERS, data=st.data())
def test_a_dropped_kernel_is_the_only_removed_one(
    layers: list[tuple[int, list[str]]], data: st.DataObject, tmp_path: Path
) -> None:
    kernels = _eager(layers)
    gone = data.draw(st.integers(0, len(kernels) - 1))
    rest = kernels[:gone] + kernels[gone + 1 :]
    kept = sum(kernel.op == "aten::mm" for kernel in rest)
    if not kept or 3 * kept < sum(kernel.op == "aten::mm" for kernel in kernels):
        return  # too little is left to be called one program
    found = compared(program(tmp_path / "a.json", kernels), program(tmp_path / "b.json", rest))
    kinds = [group.kind for group in found.groups]
    assert kinds.count("removed") == 1
    assert set(kinds) <= {"removed", "same"}
    (removed,) = [group for group in found.groups if group.kind == "removed"]
    assert removed.a[0].name == kernels[gone].name


def test_a_renamed_kernel_of_the_same_op_is_replaced(tmp_path: Path) -> None:
    a = [mm(), pointwise("gelu"), mm(k=128)]
    b = [Kernel("aten::mm", "another_gemm", 40, (512, 256), (256, 128)), *a[1:]]
    found = compared(program(tmp_path / "a.json", a), program(tmp_path / "b.json", b))
    assert [row[2] for row in rows(found)] == ["replaced", "same", "same"]
    assert found.groups[0].delta_ns == -10_000


def test_the_lighter_of_two_swapped_kernels_moved(tmp_path: Path) -> None:
    a = [mm(us=90), mm(n=256, us=10), mm(n=384, us=90)]
    b = [a[1], a[0], a[2]]
    found = compared(program(tmp_path / "a.json", a), program(tmp_path / "b.json", b))
    assert rows(found, "moved") == [((1,), (0,), "moved")]


def test_the_number_of_a_generated_kernel_does_not_matter(tmp_path: Path) -> None:
    a = [mm(), generated("gelu_mul", n=3)]
    b = [mm(), generated("gelu_mul", n=17)]
    found = compared(program(tmp_path / "a.json", a), program(tmp_path / "b.json", b))
    assert [group.kind for group in found.groups] == ["same", "same"]


def test_confidence_lies_between_a_half_and_one(shared: Path) -> None:
    folder = shared / "traces" / "h200"
    found = compared(folder / "llama_sdpa_eager.json.gz", folder / "llama_sdpa_compile.json.gz")
    assert all(0.5 <= group.confidence < 1 for group in found.groups)


def test_steps_with_another_sequence_are_left_out_and_named(shared: Path) -> None:
    path = shared / "traces" / "h200" / "dynamic_shapes_recompile.json.gz"
    found = compared(path, path)
    assert found.a.steps == ("ProfilerStep#5",)
    assert [name for name, _ in found.a.left_out] == [f"ProfilerStep#{k}" for k in (2, 3, 4)]
    assert any("4 different kernel sequences" in note for note in found.notes)
