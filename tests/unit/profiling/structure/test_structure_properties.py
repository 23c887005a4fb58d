"""Links, tree and sums of generated traces against plain loops over the same events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import naive
from tests.naive_structure import NaiveStructure, structure_of
from tests.traces import render

from ptx.profiling.structure.structure import Structure, build_structure
from ptx.profiling.structure.tree import NodeKind
from ptx.profiling.trace.reader import read_trace

if TYPE_CHECKING:
    from pathlib import Path

_START = st.integers(0, 60)
_DUR = st.one_of(st.integers(0, 5), st.integers(0, 70))
_CORRELATION = st.one_of(st.none(), st.integers(1, 5), st.sampled_from([2**40, 2**40 + 1]))


def _host(
    category: str, name: str, lane: int, start: int, dur: int, correlation: int | None, index: int
) -> dict[str, Any]:
    args: dict[str, Any] = {}
    if category == "cuda_runtime" and correlation is not None:
        args["correlation"] = correlation
    if category in ("cpu_op", "user_annotation") and index >= 0:
        args["Ev Idx"] = index
    return {
        "ph": "X",
        "cat": category,
        "name": name,
        "pid": 5,
        "tid": lane,
        "ts": start / 1000 + 3,
        "dur": dur / 1000,
        "args": args,
    }


def _activity(
    category: str, device: int, stream: int, start: int, dur: int, correlation: int | None
) -> dict[str, Any]:
    args = {"device": device, "stream": stream}
    if correlation is not None:
        args["correlation"] = correlation
    return {
        "ph": "X",
        "cat": category,
        "name": "k",
        "pid": device,
        "tid": stream,
        "ts": start / 1000 + 3.02,
        "dur": dur / 1000,
        "args": args,
    }


_NAMED = st.sampled_from(
    [
        ("cpu_op", "aten::mm"),
        ("user_annotation", "forward"),
        ("python_function", "train.py(3): f"),
        ("python_function", "nn.Module: Linear_0"),
        ("cuda_runtime", "cudaLaunchKernel"),
        ("cuda_runtime", "cudaEventRecord"),
        ("cuda_runtime", "cudaMemcpyAsync"),
    ]
)
_HOST = st.builds(
    lambda named, *rest: _host(*named, *rest),
    _NAMED,
    st.integers(1, 2),
    _START,
    _DUR,
    _CORRELATION,
    st.integers(-1, 4),
)
# a device event at ts 0 with dur 0 has no time; all here start later
_ACTIVITY = st.builds(
    _activity,
    st.sampled_from(["kernel", "kernel", "gpu_memcpy", "gpu_memset"]),
    st.integers(-1, 1),
    st.integers(7, 8),
    _START,
    _DUR,
    _CORRELATION,
)
_EVENTS = st.tuples(st.lists(_HOST, max_size=18), st.lists(_ACTIVITY, max_size=10)).flatmap(
    lambda pair: st.permutations(pair[0] + pair[1])
)


def _both(path: Path, events: list[Any]) -> tuple[Structure, NaiveStructure]:
    path.write_bytes(render(events, "kineto"))
    return build_structure(read_trace(path)), structure_of(events)


def _parents_by_event(structure: Structure) -> dict[int, int]:
    tree = structure.tree
    event = np.append(tree.event, -1)
    return dict(zip(tree.event.tolist(), event[tree.parent].tolist(), strict=True))


@settings(max_examples=150)
@given(_EVENTS)
def test_tree_holds_every_slice_and_activity_in_exactly_one_place(
    scratch: Path, events: list[Any]
) -> None:
    structure, expected = _both(scratch, events)
    tree = structure.tree
    assert sorted(tree.event.tolist()) == sorted(expected.hosts + expected.activities)
    assert tree.node_of[tree.event].tolist() == list(range(len(tree)))
    assert _parents_by_event(structure) == expected.parent
    assert structure.crossing_slices == expected.crossing


@settings(max_examples=100)
@given(_EVENTS)
def test_subtrees_are_stretches_of_the_pre_order(scratch: Path, events: list[Any]) -> None:
    structure, _ = _both(scratch, events)
    tree = structure.tree
    parent = tree.parent.tolist()
    assert tree.depth.tolist() == naive.depths(parent)
    assert tree.size.tolist() == naive.sizes(parent)
    for node, size in enumerate(tree.size.tolist()):
        assert parent[node] < node
        below = [k for k in range(len(parent)) if node in naive.ancestors(parent, k)]
        assert below == list(range(node + 1, node + size))


@settings(max_examples=100)
@given(_EVENTS)
def test_activities_link_to_their_launch_and_its_op(scratch: Path, events: list[Any]) -> None:
    structure, expected = _both(scratch, events)
    activities = structure.activities
    assert activities.event.tolist() == expected.activities
    assert dict(zip(expected.activities, activities.launch.tolist(), strict=True)) == (
        expected.launch
    )
    assert dict(zip(expected.activities, activities.op.tolist(), strict=True)) == expected.op
    for i, (event, launch) in enumerate(expected.launch.items()):
        delay = (
            expected.start[event] - expected.start[launch] - expected.dur[launch]
            if (launch >= 0)
            else 0
        )
        assert int(activities.queue_delay_ns[i]) == delay


@settings(max_examples=100)
@given(_EVENTS)
def test_bad_durations_count_up_to_the_next_of_their_stream(
    scratch: Path, events: list[Any]
) -> None:
    structure, expected = _both(scratch, events)
    activities = structure.activities
    counted = [expected.counted[a] for a in expected.activities]
    assert activities.counted_ns.tolist() == counted
    shorter = [expected.counted[a] < expected.dur[a] for a in expected.activities]
    overruns = activities.overruns.tolist()
    assert all(flag for flag, less in zip(overruns, shorter, strict=True) if less)


@settings(max_examples=200)
@given(_EVENTS)
def test_sums_of_every_node(scratch: Path, events: list[Any]) -> None:
    structure, expected = _both(scratch, events)
    sums = structure.sums
    for node, event in enumerate(structure.tree.event.tolist()):
        assert int(sums.kernels[node]) == expected.kernels(event)
        assert int(sums.gpu_sum_ns[node]) == expected.gpu_sum(event)
        assert int(sums.gpu_sum_raw_ns[node]) == expected.gpu_sum_raw(event)
        assert int(sums.gpu_busy_ns[node]) == expected.gpu_busy(event)
        assert int(sums.self_ns[node]) == expected.self_ns(event)
        below = expected.subtree(event)
        assert int(sums.activities[node]) == sum(e in expected.counted for e in below)
        assert int(sums.ops[node]) == sum(events[e]["cat"] == "cpu_op" for e in below)


@settings(max_examples=100)
@given(_EVENTS)
def test_nearest_ancestor_of_any_kind(scratch: Path, events: list[Any]) -> None:
    structure, _ = _both(scratch, events)
    tree = structure.tree
    kinds, parent = tree.kind.tolist(), tree.parent.tolist()
    for wanted in ((NodeKind.OP,), (NodeKind.MODULE, NodeKind.FRAME), (NodeKind.LAUNCH,)):
        expected = [
            next((a for a in naive.ancestors(parent, node) if kinds[a] in wanted), -1)
            for node in range(len(parent))
        ]
        assert tree.nearest(wanted).tolist() == expected


@settings(max_examples=100)
@given(_EVENTS)
def test_launches_are_calls_that_launched_or_enqueue_by_name(
    scratch: Path, events: list[Any]
) -> None:
    structure, expected = _both(scratch, events)
    for event, element in enumerate(events):
        is_call = element["cat"] == "cuda_runtime"
        named = element["name"] in ("cudaLaunchKernel", "cudaMemcpyAsync")
        launched = event in expected.launch.values()
        assert bool(structure.is_launch[event]) == (is_call and (named or launched))


@settings(max_examples=100)
@given(_EVENTS, st.lists(st.tuples(st.integers(-10, 150), st.integers(0, 60)), max_size=6))
def test_busy_time_by_the_clock_within_any_stretch(
    scratch: Path, events: list[Any], stretches: list[tuple[int, int]]
) -> None:
    structure, expected = _both(scratch, events)
    start = np.array([s for s, _ in stretches], np.int64)
    end = start + np.array([d for _, d in stretches], np.int64)
    total = [0] * len(stretches)
    for device in (-1, 0, 1):
        intervals = [
            (expected.start[a], expected.start[a] + expected.counted[a])
            for a in expected.activities
            if events[a]["args"]["device"] == device
        ]
        for k, (s, d) in enumerate(stretches):
            before = naive.covered_before(intervals, s)
            total[k] += naive.covered_before(intervals, s + d) - before
    assert structure.clock_busy_ns(start, end).tolist() == total


@settings(max_examples=60)
@given(_EVENTS)
def test_order_of_events_in_the_file_changes_no_total(scratch: Path, events: list[Any]) -> None:
    structure, _ = _both(scratch, events)
    turned, _ = _both(scratch, events[::-1])
    totals = [s.sums.gpu_sum_raw_ns[s.tree.parent < 0].sum() for s in (structure, turned)]
    assert totals[0] == totals[1]
