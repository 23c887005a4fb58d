"""Backward ops find their forward op: by flows, by number, and where numbers repeat."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import naive_autograd
from tests.naive_structure import structure_of
from tests.traces import TraceBuilder, render, trace

from ptx.profiling.report.documents import node_documents
from ptx.profiling.structure.autograd import last_before
from ptx.profiling.structure.structure import Structure, build_structure
from ptx.profiling.trace.columns import Kind
from ptx.profiling.trace.reader import read_trace

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray


def _build(path: Path, builder: TraceBuilder) -> Structure:
    return build_structure(read_trace(builder.write(path)))


def _forward(structure: Structure) -> dict[int, int]:
    events, forward = structure.tree.event.tolist(), structure.forward.tolist()
    return {event: f for event, f in zip(events, forward, strict=True) if f >= 0}


def _named(structure: Structure) -> dict[str, str]:
    name = structure.trace.table.name_of
    return {name(b): name(f) for b, f in _forward(structure).items()}


def _linear_forward() -> TraceBuilder:
    """`aten::linear` as profiled: number 5 is on the op around, too, and 4 ops carry 5 in vain."""
    builder = trace().op("aten::empty", 0, 2, Sequence_number=5, Fwd_thread_id=0)
    builder.op("aten::linear", 10, 30, Sequence_number=5, Fwd_thread_id=0)
    builder.op("aten::t", 12, 5, Sequence_number=5, Fwd_thread_id=0)
    builder.op("aten::transpose", 13, 2)
    return builder.op("aten::addmm", 20, 15, Sequence_number=6, Fwd_thread_id=0)


def _backward(builder: TraceBuilder, node: str, start: int, number: int, thread: int = 1) -> None:
    engine = f"autograd::engine::evaluate_function: {node}"
    builder.op(engine, start, 20, Sequence_number=number, Fwd_thread_id=thread)
    builder.op(node, start + 2, 16, Sequence_number=number, Fwd_thread_id=thread)
    builder.op("aten::mm", start + 4, 10)


def _flow(builder: TraceBuilder, number: int, start: float, end: float, end_tid: int) -> None:
    for phase, tid, ts in (("s", 1, start), ("f", end_tid, end)):
        builder.add(
            {"ph": phase, "id": number, "pid": 1, "tid": tid, "ts": ts, "cat": "fwdbwd",
             "name": "fwdbwd", "bp": "e"}
        )  # fmt: skip


_LINKED = {
    "autograd::engine::evaluate_function: TBackward0": "aten::linear",
    "TBackward0": "aten::linear",
    "autograd::engine::evaluate_function: AddmmBackward0": "aten::addmm",
    "AddmmBackward0": "aten::addmm",
}


def test_flow_leads_to_the_outermost_op_of_its_number(scratch: Path) -> None:
    builder = _linear_forward().thread(2)
    _backward(builder, "AddmmBackward0", 100, 6)
    _backward(builder, "TBackward0", 130, 5)
    _flow(builder, 1, 20, 102, 2)
    _flow(builder, 2, 12, 132, 2)
    assert _named(_build(scratch, builder)) == _LINKED


def test_number_and_forward_thread_do_where_there_are_no_flows(scratch: Path) -> None:
    builder = _linear_forward().thread(2)
    _backward(builder, "AddmmBackward0", 100, 6)
    _backward(builder, "TBackward0", 130, 5)
    assert _named(_build(scratch, builder)) == _LINKED


def test_flow_wins_over_the_number(scratch: Path) -> None:
    builder = trace().op("aten::mul", 0, 5, Sequence_number=3).op("aten::add", 10, 5)
    builder.op("aten::exp", 20, 5, Sequence_number=3).thread(2)
    builder.op("MulBackward0", 50, 5, Sequence_number=3, Fwd_thread_id=1)
    _flow(builder, 7, 0, 50, 2)
    assert _named(_build(scratch, builder)) == {"MulBackward0": "aten::mul"}


def test_backward_on_the_thread_of_the_forward_is_no_forward_itself(scratch: Path) -> None:
    builder = trace().op("aten::mul", 0, 5, Sequence_number=3, Fwd_thread_id=0)
    builder.op("MulBackward0", 50, 5, Sequence_number=3, Fwd_thread_id=1)
    assert _named(_build(scratch, builder)) == {"MulBackward0": "aten::mul"}


def test_recomputed_forward_counts_in_its_latest_run_before_the_backward(scratch: Path) -> None:
    builder = trace().op("first", 0, 5, Sequence_number=3).op("again", 40, 5, Sequence_number=3)
    builder.op("too late", 90, 5, Sequence_number=3).thread(2)
    builder.op("MulBackward0", 60, 5, Sequence_number=3, Fwd_thread_id=1)
    assert _named(_build(scratch, builder)) == {"MulBackward0": "again"}


def test_second_backward_over_a_kept_graph_has_the_same_forward(scratch: Path) -> None:
    builder = trace().op("aten::mul", 0, 5, Sequence_number=3).thread(2)
    for start in (20, 40):
        builder.op("MulBackward0", start, 5, Sequence_number=3, Fwd_thread_id=1)
    assert _forward(_build(scratch, builder)) == {1: 0, 2: 0}


def test_forward_op_inside_a_backward_op_is_none_of_it(scratch: Path) -> None:
    builder = trace().op("aten::mul", 0, 5, Sequence_number=3).thread(2)
    builder.op("MulBackward0", 20, 50, Sequence_number=3, Fwd_thread_id=1)
    builder.op("aten::mul", 30, 5, Sequence_number=3, Fwd_thread_id=0)
    assert _forward(_build(scratch, builder)) == {1: 0}


def test_threads_that_count_alike_are_told_apart_by_the_numbers_asked(scratch: Path) -> None:
    builder = trace()
    for tid, numbers in ((1, (1, 2)), (2, (2, 3, 4))):
        builder.thread(tid)
        for number in numbers:
            builder.op(f"{tid}:{number}", 10 * number, 5, Sequence_number=number)
    builder.thread(3)
    for number in (2, 3, 4):
        builder.op(f"B{number}", 90 - number, 1, Sequence_number=number, Fwd_thread_id=2)
    assert _named(_build(scratch, builder)) == {"B2": "2:2", "B3": "2:3", "B4": "2:4"}


def test_forward_that_two_threads_could_be_is_not_guessed(scratch: Path) -> None:
    builder = trace().thread(1).op("a", 0, 5, Sequence_number=1)
    builder.thread(2).op("b", 0, 5, Sequence_number=1)
    builder.thread(3).op("B", 50, 5, Sequence_number=1, Fwd_thread_id=1)
    assert _forward(_build(scratch, builder)) == {}


def test_backward_whose_forward_lies_before_the_window_has_none(scratch: Path) -> None:
    builder = trace().op("aten::mul", 0, 5, Sequence_number=9)
    builder.thread(2).op("B", 50, 5, Sequence_number=1, Fwd_thread_id=1)
    assert _forward(_build(scratch, builder)) == {}


def test_flow_with_one_end_or_beside_every_op_joins_nothing(scratch: Path) -> None:
    builder = trace().op("aten::mul", 0, 5, Sequence_number=9)
    builder.thread(2).op("B", 50, 5, Sequence_number=1, Fwd_thread_id=1)
    _flow(builder, 1, 30, 50, 2)
    _flow(builder, 2, 0, 80, 2)
    builder.events.pop(-2)
    assert _forward(_build(scratch, builder)) == {}


def test_tree_document_names_the_forward_event(scratch: Path) -> None:
    builder = trace().op("aten::mul", 0, 5, Sequence_number=3).thread(2)
    builder.op("MulBackward0", 20, 9, Sequence_number=3, Fwd_thread_id=1).op("aten::mm", 22, 3)
    structure = _build(scratch, builder)
    nodes = node_documents(structure, np.arange(len(structure.tree)))
    assert {n["event"]: n["forward"] for n in nodes} == {0: None, 1: 0, 2: None}


_OP = st.tuples(
    st.integers(1, 2),  # thread
    st.integers(0, 40),  # start
    st.integers(1, 30),  # duration
    st.one_of(st.none(), st.integers(1, 3)),  # sequence number
    st.sampled_from([0, 0, 0, 1, 2]),  # forward thread
)
_FLOW = st.tuples(st.sampled_from("sf"), st.integers(1, 2), st.integers(1, 2), st.integers(0, 40))


def _events(ops: list[tuple[int, int, int, int | None, int]], flows: list[Any]) -> list[Any]:
    events: list[Any] = []
    for k, (tid, start, dur, number, thread) in enumerate(ops):
        args = {} if number is None else {"Sequence number": number, "Fwd thread id": thread}
        # starts differ by thirds of a us, so that no two ops tie
        ts = start + k / 64
        events.append(
            {"ph": "X", "cat": "cpu_op", "name": f"op {k}", "pid": 1, "tid": tid,
             "ts": round(ts, 3), "dur": dur, "args": args}
        )  # fmt: skip
    for k, (phase, number, tid, at) in enumerate(flows):
        events.append(
            {"ph": phase, "cat": "fwdbwd", "name": "fwdbwd", "pid": 1, "tid": tid, "id": number,
             "ts": round(at + 0.5 + k / 64, 3)}
        )  # fmt: skip
    return events


@settings(max_examples=300)
@given(st.lists(_OP, max_size=14), st.lists(_FLOW, max_size=6))
def test_links_equal_those_of_plain_loops(scratch: Path, ops: list[Any], flows: list[Any]) -> None:
    events = _events(ops, flows)
    scratch.write_bytes(render(events, "lines"))
    slices = structure_of([e for e in events if e["ph"] == "X"])
    expected = naive_autograd.forward_of(events, slices)
    assert _forward(build_structure(read_trace(scratch))) == expected


@settings(max_examples=200)
@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 9)), max_size=12),
    st.lists(st.tuples(st.integers(0, 3), st.integers(-1, 10)), max_size=12),
)
def test_last_item_of_a_group_before_a_time(
    items: list[tuple[int, int]], asked: list[tuple[int, int]]
) -> None:
    def columns(
        rows: list[tuple[int, int]],
    ) -> tuple[tuple[NDArray[np.int64]], NDArray[np.int64]]:
        array = np.array(rows, np.int64).reshape(-1, 2)
        return (array[:, 0],), array[:, 1]

    expected = [
        max((t, i) for i, (g, t) in enumerate(items) if g == group and t <= at)[1]
        if any(g == group and t <= at for g, t in items)
        else -1
        for group, at in asked
    ]
    assert last_before(*columns(items), *columns(asked)).tolist() == expected


@pytest.mark.parametrize(
    "name",
    [
        "nv-dlrm-rank0of8.json.gz",  # whole us, no flows
        "nv-v100dgx-gpumetrics-input.json",  # 2021
        "amd-mi250-rocm62.json.gz",
        "ascend-torch-npu-trace-view.json.gz",
        "nv-h100nvl-train-stack.json.gz",
        "h200/mlp_train_compile.json.gz",
    ],
)
def test_every_backward_op_of_a_real_trace_has_its_forward(shared: Path, name: str) -> None:
    structure = build_structure(read_trace(shared / "traces" / name))
    table, event = structure.trace.table, structure.tree.event
    backward = (table.kind[event] == Kind.OP) & (table.forward_thread.at(event) > 0)
    assert backward.any()
    assert ((structure.forward >= 0) == backward).all()
    same = table.sequence.at(structure.forward[backward]) == table.sequence.at(event[backward])
    assert same.all()
    assert (table.start_ns[structure.forward[backward]] <= table.start_ns[event[backward]]).all()
    pairs = _named(structure)
    for node, op in (("AddmmBackward0", "aten::addmm"), ("TBackward0", "aten::linear")):
        assert pairs.get(node, op) == op
