"""The queue of launched work against a look at every single ns."""

from __future__ import annotations

from statistics import median_low
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.traces import TraceBuilder, trace

from ptx.profiling.analysis.accounting.queue import queue_depths, step_queues
from ptx.profiling.structure.structure import Structure, build_structure
from ptx.profiling.trace.reader import read_trace

if TYPE_CHECKING:
    from pathlib import Path

LAUNCHES = st.lists(
    st.tuples(
        st.integers(0, 80),  # start of the launch
        st.integers(0, 10),  # its length
        st.lists(  # its activities: device, start after the launch's start, length
            st.tuples(st.integers(0, 1), st.integers(-5, 40), st.integers(1, 12)),
            min_size=1,
            max_size=3,
        ),
    ),
    min_size=1,
    max_size=6,
)
STEPS = st.lists(st.tuples(st.integers(0, 20), st.integers(1, 40)), max_size=3)


def us(ns: int) -> float:
    return (ns + 100) / 1000


def built(builder: TraceBuilder, path: Path) -> Structure:
    return build_structure(read_trace(builder.write(path)))


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("queue") / "t.json"


@settings(max_examples=100)
@given(launches=LAUNCHES, steps=STEPS)
def test_the_queue_holds_what_was_launched_and_has_not_started(
    launches: list[tuple[int, int, list[tuple[int, int, int]]]],
    steps: list[tuple[int, int]],
    path: Path,
) -> None:
    builder = trace().thread(1, pid=77).op("aten::first", us(0), 0)
    at = 0
    for number, (gap, dur) in enumerate(steps):
        builder.step(number, us(at + gap), dur / 1000)
        at += gap + dur
    stream = 0
    for number, (start, dur, activities) in enumerate(launches):
        builder.runtime("cudaLaunchKernel", us(start), dur / 1000, correlation=number)
        for device, after, length in activities:
            stream += 1
            builder.kernel(
                "k",
                us(start + after),
                length / 1000,
                device=device,
                stream=stream,
                correlation=number,
            )
    structure = built(builder, path)
    table, acts, marks = structure.trace.table, structure.activities, structure.steps
    first, last = int(table.start_ns.min()), structure.trace.span_ns
    for queue in queue_depths(structure):
        rows = [k for k in range(len(acts)) if table.device[acts.event[k]] == queue.device]
        span = [
            (
                int(table.start_ns[acts.launch[k]] + table.dur_ns[acts.launch[k]]),
                int(table.start_ns[acts.event[k]]),
            )
            for k in rows
        ]
        runs = [
            (start, start + int(acts.counted_ns[k]))
            for k, (_, start) in zip(rows, span, strict=True)
        ]

        def depth(time: int, span: list[tuple[int, int]] = span) -> int:
            return sum(queued <= time < started for queued, started in span)

        def busy(time: int, runs: list[tuple[int, int]] = runs) -> bool:
            return any(start <= time < end for start, end in runs)

        times = np.arange(first - 3, last + 3)
        assert queue.at(times).tolist() == [depth(int(t)) for t in times]
        for k, row in enumerate(step_queues(structure)[queue.device]):
            inside = range(int(marks.start_ns[k]), int(marks.end_ns[k]))
            depths = [depth(time) for time in inside]
            assert row.dur_ns == len(depths)
            assert row.empty_ns == depths.count(0)
            assert row.starved_ns == sum(not depth(t) and not busy(t) for t in inside)
            assert row.highest_depth == max(depths, default=0)
            assert row.median_depth == (median_low(depths) if depths else 0)
            mine = [j for j in rows if acts.step[j] == k]
            waited = [int(acts.queue_delay_ns[j]) for j in mine]
            assert row.waited_ns == (median_low(waited) if waited else None)
            assert row.latency_ns == _latency(structure, mine, depth, busy)


def _latency(structure: Structure, mine: list[int], depth: object, busy: object) -> int | None:
    assert callable(depth)
    assert callable(busy)
    table, acts = structure.trace.table, structure.activities
    start_of: dict[int, int] = {}
    for j in mine:
        launch, start = int(acts.launch[j]), int(table.start_ns[acts.event[j]])
        start_of[launch] = min(start, start_of.get(launch, start))
    found = [
        start - int(table.start_ns[launch])
        for launch, start in start_of.items()
        if not depth(int(table.start_ns[launch])) and not busy(int(table.start_ns[launch]))
    ]
    return median_low(found) if found else None


def test_a_host_that_runs_ahead_keeps_the_queue_full(path: Path) -> None:
    builder = trace().step(0, 0, 100)
    for k in range(4):
        builder.runtime("cudaLaunchKernel", 2 * k, 1, correlation=k)
        builder.kernel("k", 10 + 20 * k, 20, correlation=k)
    (row,) = step_queues(built(builder, path))[0]
    assert (row.highest_depth, row.median_depth) == (4, 1)
    assert row.empty_ns == 31_000  # before the first launch returned, and behind the last start
    assert row.starved_ns == 11_000
    assert row.empty_share == pytest.approx(0.31)


def test_a_trace_without_a_device_has_no_queue(path: Path) -> None:
    structure = built(trace().op("aten::mm", 0, 10), path)
    assert queue_depths(structure) == ()
    assert step_queues(structure) == {}


def test_activities_of_unknown_launches_never_queued(path: Path) -> None:
    structure = built(trace().op("aten::mm", 0, 50).kernel("k", 10, 10), path)
    (row,) = step_queues(structure)[0]
    assert (row.highest_depth, row.latency_ns, row.waited_ns) == (0, None, None)
    assert row.empty_ns == row.dur_ns == 50_000
