"""Steps: profiler marks, optimizer steps, the whole trace."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.traces import TraceBuilder, trace

from ptx.profiling.structure.structure import Structure, build_structure
from ptx.profiling.trace.reader import read_trace

if TYPE_CHECKING:
    from pathlib import Path


def _build(path: Path, builder: TraceBuilder) -> Structure:
    return build_structure(read_trace(builder.write(path)))


@settings(max_examples=100)
@given(
    st.lists(st.tuples(st.integers(0, 20), st.integers(1, 30)), min_size=1, max_size=6),
    st.lists(st.integers(-5, 160), max_size=12),
)
def test_marks_divide_time_and_never_overlap(
    scratch: Path, gaps: list[tuple[int, int]], moments: list[int]
) -> None:
    builder = trace()
    marks = []
    start = 0
    for number, (gap, dur) in enumerate(gaps):
        start += gap + 1
        builder.step(number, start, dur)
        marks.append((start, start + dur))
    steps = _build(scratch, builder).steps
    origin = marks[0][0]
    cut = [
        (s - origin, min(e, marks[k + 1][0] if k + 1 < len(marks) else e) - origin)
        for k, (s, e) in enumerate(marks)
    ]
    assert steps.names == tuple(f"ProfilerStep#{n}" for n in range(len(marks)))
    assert steps.start_ns.tolist() == [s * 1000 for s, _ in cut]
    assert steps.end_ns.tolist() == [e * 1000 for _, e in cut]
    expected = [next((k for k, (s, e) in enumerate(cut) if s <= at < e), -1) for at in moments]
    assert steps.at(np.array(moments, np.int64) * 1000).tolist() == expected


def test_marks_of_the_thread_that_has_most_of_them_count(scratch: Path) -> None:
    builder = trace().thread(1).step(1, 0, 10).step(2, 10, 10).thread(2).step(1, 0, 12)
    steps = _build(scratch, builder).steps
    assert steps.event.tolist() == [0, 1]
    assert steps.source == "ProfilerStep"


def test_optimizer_steps_bound_the_steps_where_no_mark_does(scratch: Path) -> None:
    builder = trace()
    for start in (10, 110, 230):
        builder.annotation("Optimizer.step#SGD.step", start, 5)
    steps = _build(scratch, builder).steps
    assert steps.source == "Optimizer.step"
    assert steps.start_ns.tolist() == [5_000, 105_000]
    assert steps.end_ns.tolist() == [105_000, 225_000]
    assert steps.event.tolist() == [1, 2]


def test_optimizer_inside_another_bounds_no_step_of_its_own(scratch: Path) -> None:
    builder = trace()
    for start in (10, 110, 230):
        builder.annotation("Optimizer.step#Sharded.step", start, 20)
        builder.annotation("Optimizer.step#SGD.step", start + 2, 10)
    steps = _build(scratch, builder).steps
    assert steps.event.tolist() == [2, 4]
    assert steps.start_ns.tolist() == [20_000, 120_000]
    assert steps.end_ns.tolist() == [120_000, 240_000]


def test_one_optimizer_step_bounds_nothing(scratch: Path) -> None:
    builder = trace().op("aten::mm", 0, 50).annotation("Optimizer.step#SGD.step", 60, 5)
    steps = _build(scratch, builder).steps
    assert steps.source == "trace"
    assert (steps.start_ns.tolist(), steps.end_ns.tolist()) == ([0], [65_000])


def test_every_activity_falls_into_the_whole_trace_where_that_is_the_step(scratch: Path) -> None:
    builder = trace().op("aten::mm", 0, 5).kernel("last", 7, 3).kernel("loose", 7, 0)
    assert _build(scratch, builder).activities.step.tolist() == [0, 0]


def test_activity_belongs_to_the_step_of_its_launch_and_not_of_its_own_time(scratch: Path) -> None:
    builder = trace().step(1, 0, 10).step(2, 10, 10)
    builder.runtime("cudaLaunchKernel", 5, 1, correlation=3).kernel("k", 12, 2, correlation=3)
    builder.kernel("loose", 15, 1)
    structure = _build(scratch, builder)
    assert structure.activities.step.tolist() == [0, -1]
    node = structure.tree.node_of[3]
    assert int(structure.step_of_nodes()[node]) == 0


def test_gpu_copy_of_a_mark_is_no_step(scratch: Path) -> None:
    builder = trace().step(1, 0, 10)
    builder.kernel("ProfilerStep#1", 4, 9, cat="gpu_user_annotation")
    assert _build(scratch, builder).steps.event.tolist() == [0]
