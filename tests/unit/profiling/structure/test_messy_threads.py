"""Slices whose ends do not fit: rounding to whole us, frames that outlive their caller."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.traces import TraceBuilder, trace

from ptx.profiling.structure.nesting import WHOLE_US_TOLERANCE_NS, Calls, nest
from ptx.profiling.structure.structure import Structure, build_structure
from ptx.profiling.trace.reader import read_trace

if TYPE_CHECKING:
    from pathlib import Path


def _build(path: Path, builder: TraceBuilder) -> Structure:
    return build_structure(read_trace(builder.write(path)))


def _parents(structure: Structure) -> dict[str, str | None]:
    tree, name = structure.tree, structure.trace.table.name_of
    return {
        name(int(tree.event[k])): name(int(tree.event[above])) if above >= 0 else None
        for k, above in enumerate(tree.parent.tolist())
    }


def test_in_whole_us_a_child_may_outlive_its_parent_by_one(scratch: Path) -> None:
    builder = trace().op("aten::linear", 0, 10).op("aten::addmm", 5, 6)
    builder.runtime("cudaLaunchKernel", 8, 4, correlation=1).kernel("k", 20, 5, correlation=1)
    structure = _build(scratch, builder)
    assert _parents(structure) == {
        "aten::linear": None,
        "aten::addmm": "aten::linear",
        "cudaLaunchKernel": "aten::addmm",
        "k": "cudaLaunchKernel",
    }
    assert structure.crossing_slices == 0


def test_in_whole_us_two_are_too_many(scratch: Path) -> None:
    structure = _build(scratch, trace().op("a", 0, 10).op("b", 5, 7))
    assert _parents(structure) == {"a": None, "b": None}
    assert structure.crossing_slices == 1


def test_in_ns_one_us_is_too_much(scratch: Path) -> None:
    structure = _build(scratch, trace().op("a", 0, 10).op("b", 5, 6).op("c", 20.001, 1))
    assert _parents(structure)["b"] is None
    assert structure.crossing_slices == 1


def test_calls_in_a_row_stay_siblings_in_whole_us(scratch: Path) -> None:
    structure = _build(scratch, trace().op("a", 0, 10).op("b", 10, 1).op("c", 11, 0))
    assert _parents(structure) == {"a": None, "b": None, "c": "b"}


@settings(max_examples=100)
@given(st.lists(st.tuples(st.integers(0, 9000), st.integers(0, 9000)), max_size=12))
def test_rounding_down_to_whole_us_never_makes_slices_cross(
    cuts: list[tuple[int, int]],
) -> None:
    # nested for sure: each slice lies in a gap of the ones before it
    slices = [(0, 10_000)]
    for low, high in cuts:
        first, last = min(low, high), max(low, high)
        if all(last <= s or first >= e or (s <= first and last <= e) for s, e in slices):
            slices.append((first, last))
    start = np.array([s // 1000 * 1000 for s, _ in slices], np.int64)
    dur = np.array([(e - s) // 1000 * 1000 for s, e in slices], np.int64)
    none = np.full(len(slices), -1, np.int64)
    found = nest(np.zeros(len(slices), int), start, dur, none, None, WHOLE_US_TOLERANCE_NS)
    assert not found.crossing.any()


def _frame(
    builder: TraceBuilder, name: str, start: float, dur: float, number: int, caller: int | None
) -> None:
    builder.frame(name, start, dur, Python_id=number, Python_parent_id=caller)


def test_frame_that_outlives_its_caller_stays_below_it(scratch: Path) -> None:
    builder = trace()
    _frame(builder, "main", 0, 100.5, 1, None)
    _frame(builder, "caller", 10, 20, 2, 1)
    _frame(builder, "callee", 25, 30, 3, 2)
    _frame(builder, "inner", 40, 10, 4, 3)
    structure = _build(scratch, builder.op("aten::mm", 42, 5))
    assert _parents(structure) == {
        "main": None,
        "caller": "main",
        "callee": "caller",
        "inner": "callee",
        "aten::mm": "inner",
    }
    assert structure.crossing_slices == 0


def test_frame_that_crosses_what_did_not_call_it_does_not_go_below(scratch: Path) -> None:
    builder = trace()
    _frame(builder, "main", 0, 100.5, 1, None)
    _frame(builder, "other", 10, 20, 2, 1)
    _frame(builder, "callee", 25, 30, 3, 1)
    structure = _build(scratch, builder)
    assert _parents(structure) == {"main": None, "other": "main", "callee": "main"}
    assert structure.crossing_slices == 1


def test_frame_that_starts_behind_its_caller_is_none_of_it(scratch: Path) -> None:
    builder = trace()
    _frame(builder, "caller", 0, 10.5, 1, None)
    _frame(builder, "callee", 30, 5, 2, 1)
    assert _parents(_build(scratch, builder)) == {"caller": None, "callee": None}


def test_caller_on_another_thread_holds_nothing_here(scratch: Path) -> None:
    builder = trace()
    _frame(builder, "main", 0, 50.5, 1, None)
    _frame(builder.thread(2), "autograd", 20, 90, 2, 1)
    structure = _build(scratch, builder)
    assert _parents(structure) == {"main": None, "autograd": None}


def test_calls_too_short_for_the_clock_are_siblings_as_recorded(scratch: Path) -> None:
    builder = trace()
    _frame(builder, "caller", 0, 10, 1, None)
    for number, name in ((2, "append"), (3, "pop"), (4, "len")):
        _frame(builder, name, 5, 0, number, 1)
    assert set(_parents(_build(scratch, builder)).values()) == {None, "caller"}


def test_short_frame_keeps_the_short_call_it_made(scratch: Path) -> None:
    builder = trace()
    _frame(builder, "caller", 0, 10, 1, None)
    _frame(builder, "callee", 5, 0, 3, 2)
    _frame(builder, "outer", 5, 0, 2, 1)
    assert _parents(_build(scratch, builder))["callee"] == "outer"


def test_frames_that_start_together_follow_the_order_of_their_calls(scratch: Path) -> None:
    builder = trace()
    _frame(builder, "main", 0, 100, 1, None)
    _frame(builder, "long", 10, 20, 3, 1)
    _frame(builder, "short", 10, 0, 2, 1)
    assert _parents(_build(scratch, builder)) == {"main": None, "short": "main", "long": "main"}


_CALLS = st.lists(
    st.tuples(st.integers(0, 30), st.integers(0, 12), st.integers(-1, 15)), max_size=14
)


@settings(max_examples=200)
@given(_CALLS, st.sampled_from([0, 2, 1000]))
def test_any_record_of_callers_leaves_a_sound_forest(
    rows: list[tuple[int, int, int]], tolerance_ns: int
) -> None:
    n = len(rows)
    caller = np.array([c if c < n and c != k else -1 for k, (_, _, c) in enumerate(rows)], int)
    start, dur = (np.array([row[i] for row in rows], np.int64) for i in (0, 1))
    calls = Calls(np.arange(n), caller)
    found = nest(np.zeros(n, int), start, dur, np.full(n, -1), calls, tolerance_ns)
    open_at: list[int] = []
    for k, above in enumerate(found.parent.tolist()):
        assert above == -1 or above in open_at  # a subtree is one stretch of the order
        open_at = [] if above == -1 else open_at[: open_at.index(above) + 1]
        assert int(found.depth[k]) == len(open_at)
        open_at.append(k)


@pytest.mark.parametrize(
    ("name", "linked"),
    [
        ("nv-resnet50-autograd-2021.json.gz", 10_031),
        ("nv-v100dgx-resnet50-2021.json.gz", 9_096),
        ("nv-v100dgx-gpumetrics-input.json", 32),
        ("mlu370-input.json", 25),
    ],
)
def test_owner_is_the_op_that_the_file_itself_names(shared: Path, name: str, linked: int) -> None:
    structure = build_structure(read_trace(shared / "traces" / name))
    table, activities = structure.trace.table, structure.activities
    external = table.external_id[activities.event]
    stated = (activities.launch >= 0) & (external > 0)
    owner = activities.op[stated]
    assert int(stated.sum()) == linked
    assert (table.external_id[owner] == external[stated]).all()
    assert structure.crossing_slices == 0
