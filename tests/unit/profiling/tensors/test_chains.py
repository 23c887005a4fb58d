"""The views that led to an input are found in the same scope, and only those."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.traces import TraceBuilder, trace

from ptx.profiling.structure.structure import Structure, build_structure
from ptx.profiling.tensors.chains import views_before
from ptx.profiling.trace.reader import read_trace

if TYPE_CHECKING:
    from pathlib import Path


def op(
    builder: TraceBuilder,
    name: str,
    at: int,
    dur: int,
    *tensors: tuple[list[int], list[int]],
    values: dict[int, str] | None = None,
) -> TraceBuilder:
    """Adds an op with bf16 inputs of (shape, strides), then scalars of these values."""
    extra = values or {}
    return builder.op(
        f"aten::{name}",
        at,
        dur,
        Input_Dims=[*(t[0] for t in tensors), *([] for _ in extra)],
        Input_Strides=[*(t[1] for t in tensors), *([] for _ in extra)],
        Input_type=[*("c10::BFloat16" for _ in tensors), *("Scalar" for _ in extra)],
        Concrete_Inputs=[*("" for _ in tensors), *extra.values()],
    )


WEIGHT = ([16, 32], [32, 1])
WEIGHT_T = ([32, 16], [1, 32])
X = ([8, 32], [32, 1])


def built(builder: TraceBuilder, folder: Path) -> Structure:
    return build_structure(read_trace(builder.write(folder / "t.json", "lines")))


def node_of(structure: Structure, name: str) -> int:
    table, tree = structure.trace.table, structure.tree
    return next(
        node for node in range(len(tree)) if table.name_of(int(tree.event[node])) == f"aten::{name}"
    )


def chain(structure: Structure, name: str, position: int) -> list[str]:
    table, tree = structure.trace.table, structure.tree
    steps = views_before(structure, node_of(structure, name), position)
    return [table.name_of(int(tree.event[step.node])) for step in steps]


@pytest.fixture
def linear(tmp_path: Path) -> Structure:
    builder = op(trace().thread(1), "linear", 0, 100, X, WEIGHT)
    op(builder, "t", 5, 5, WEIGHT)
    op(builder, "mm", 20, 50, X, WEIGHT_T)
    return built(builder, tmp_path)


def test_transposed_weight_is_the_view_before(linear: Structure) -> None:
    assert chain(linear, "mm", 1) == ["aten::t"]
    [step] = views_before(linear, node_of(linear, "mm"), 1)
    assert step.effect.before is not None
    assert (step.effect.before.shape, step.effect.before.strides) == ((16, 32), (32, 1))


def test_input_that_no_view_made_has_no_chain(linear: Structure) -> None:
    assert chain(linear, "mm", 0) == []
    assert views_before(linear, node_of(linear, "mm"), 9) == []


def test_views_of_views_follow_from_the_first_to_the_last(tmp_path: Path) -> None:
    builder = op(trace().thread(1), "t", 0, 5, WEIGHT)
    op(builder, "unsqueeze", 10, 5, WEIGHT_T, values={1: "0"})
    op(builder, "bmm", 20, 50, ([1, 8, 32], [256, 32, 1]), ([1, 32, 16], [32, 1, 32]))
    assert chain(built(builder, tmp_path), "bmm", 1) == ["aten::t", "aten::unsqueeze"]


def test_a_copy_in_between_ends_the_chain(tmp_path: Path) -> None:
    builder = op(trace().thread(1), "t", 0, 5, WEIGHT)
    op(builder, "clone", 10, 20, WEIGHT_T)
    op(builder, "copy_", 12, 5, ([32, 16], [16, 1]), WEIGHT_T)
    op(builder, "mm", 40, 50, X, ([32, 16], [16, 1]))
    assert chain(built(builder, tmp_path), "mm", 1) == []


def test_a_view_in_another_scope_is_not_taken(tmp_path: Path) -> None:
    builder = op(trace().thread(1), "linear", 0, 30, X, WEIGHT)
    op(builder, "t", 5, 5, WEIGHT)
    op(builder, "mm", 40, 50, X, WEIGHT_T)
    assert chain(built(builder, tmp_path), "mm", 1) == []
