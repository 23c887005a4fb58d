"""Recorded traces of every vendor and age: each count equals a plain one of the same file."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests import independent

from ptx.profiling.report.documents import summary_document
from ptx.profiling.report.encode import encode
from ptx.profiling.structure.structure import Structure, build_structure
from ptx.profiling.trace.columns import ACTIVITY_KINDS, HOST_KINDS, Flag, Kind
from ptx.profiling.trace.reader import read_trace

_TRACES = Path(__file__).parents[4] / "shared" / "traces"
_BROKEN = "generic-simple-partial.json"  # no JSON, on purpose
_KINDS = {
    "cpu_op": Kind.OP,
    "Operator": Kind.OP,
    "user_annotation": Kind.ANNOTATION,
    "cuda_runtime": Kind.RUNTIME,
    "cuda_driver": Kind.RUNTIME,
    "Runtime": Kind.RUNTIME,
    "mlu_runtime": Kind.RUNTIME,
    "mtia_runtime": Kind.RUNTIME,
    "enqueue": Kind.RUNTIME,
    "dequeue": Kind.RUNTIME,
    "kernel": Kind.KERNEL,
    "Kernel": Kind.KERNEL,
    "gpu_memcpy": Kind.MEMCPY,
    "mlu_memcpy": Kind.MEMCPY,
    "Memcpy": Kind.MEMCPY,
    "gpu_memset": Kind.MEMSET,
    "Memset": Kind.MEMSET,
    "gpu_user_annotation": Kind.DEVICE_ANNOTATION,
    "cuda_sync": Kind.SYNC,
    "overhead": Kind.OVERHEAD,
    "cuda_profiler_range": Kind.OTHER,
    "Trace": Kind.OTHER,
}
_MTIA = {"dma_request": Kind.MEMCPY, "event_record": Kind.SYNC, "event_wait": Kind.SYNC}
_PHASES = {"M": Kind.METADATA, "C": Kind.COUNTER, "s": Kind.FLOW, "t": Kind.FLOW, "f": Kind.FLOW}


def _names() -> list[str]:
    return sorted(path.name for path in _TRACES.glob("*.json*") if path.name != _BROKEN)


@dataclass
class _Case:
    structure: Structure
    events: list[Any]
    kinds: list[Kind]


@pytest.fixture(scope="module", params=_names() or ["none"])
def case(request: pytest.FixtureRequest, shared: Path) -> _Case:
    path = shared / "traces" / request.param
    if not path.exists():
        pytest.skip("no recorded traces beside this checkout")
    events = independent.load(path)
    return _Case(build_structure(read_trace(path)), events, _kinds_of(events))


def _kinds_of(events: list[Any]) -> list[Kind]:
    names = {
        event["pid"]: event["args"].get("name")
        for event in events
        if event["ph"] == "M" and event["name"] == "process_name"
    }
    return [_kind_of(event, names.get(event.get("pid"))) for event in events]


def _kind_of(event: dict[str, Any], process: str | None) -> Kind:
    phase, category, name = event["ph"], event.get("cat", ""), event.get("name", "")
    if phase in "iI":
        return Kind.MEMORY if name == "[memory]" else Kind.INSTANT
    if phase not in "XB":
        return _PHASES.get(phase, Kind.OTHER)
    if category == "python_function":
        return Kind.MODULE if name.startswith("nn.Module: ") else Kind.FRAME
    if category == "mtia_ccp_events":
        return _MTIA.get(name, Kind.KERNEL)
    if process == "Ascend Hardware":
        return Kind.MEMCPY if name == "MEMCPY_ASYNC" else Kind.KERNEL
    if process == "Overlap Analysis":  # sums that msprof draws on lanes of the device
        return Kind.OTHER
    return _KINDS.get(category, Kind.SLICE)


def test_every_event_is_of_the_kind_that_a_plain_count_finds(case: _Case) -> None:
    table = case.structure.trace.table
    assert len(table) == case.structure.trace.events == len(case.events)
    assert Counter(table.kind.tolist()) == Counter(int(kind) for kind in case.kinds)
    assert table.kind.tolist() == [int(kind) for kind in case.kinds]


def test_every_sound_time_is_exact_to_the_ns(case: _Case) -> None:
    trace = case.structure.trace
    table = trace.table
    broken = {p.code: p.count for p in trace.problems}
    lacking = 0
    for i, event in enumerate(case.events):
        if event["ph"] != "X":
            continue
        assert int(table.start_ns[i]) + trace.t0_ns == independent.ns(event["ts"])
        if "dur" in event:
            # decimals beyond the ns, as Ascend writes them, round either way
            assert abs(int(table.dur_ns[i]) - independent.ns(event["dur"])) <= 1
        else:
            lacking += 1
    assert broken.get("no-duration", 0) == lacking


def test_begins_and_ends_are_paired_or_counted(case: _Case) -> None:
    phases = Counter(event["ph"] for event in case.events)
    lone = {p.code: p.count for p in case.structure.trace.problems}
    begins, ends = lone.get("unmatched-begin", 0), lone.get("unmatched-end", 0)
    assert phases["B"] - begins == phases["E"] - ends
    if "too-many-end" not in case.structure.trace.path.name:
        assert (begins, ends) == (0, 0)


def test_every_activity_and_host_slice_has_exactly_one_place_in_the_tree(case: _Case) -> None:
    structure = case.structure
    table, tree, activities = structure.trace.table, structure.tree, structure.activities
    wanted = [i for i, kind in enumerate(case.kinds) if kind in (*ACTIVITY_KINDS, *HOST_KINDS)]
    untimed = (table.flags & np.uint8(Flag.NO_TIMESTAMP)) != 0
    assert sorted(tree.event.tolist()) == [
        i for i in wanted if case.kinds[i] in ACTIVITY_KINDS or not untimed[i]
    ]
    assert (tree.node_of[tree.event] == np.arange(len(tree))).all()
    above = np.append(tree.event, -1)[tree.parent[tree.node_of[activities.event]]]
    direct = np.where(activities.launch >= 0, activities.launch, activities.op)
    assert above.tolist() == direct.tolist()


def test_links_by_correlation_equal_a_plain_look_up(case: _Case) -> None:
    calls: dict[int, set[int]] = {}
    for i, event in enumerate(case.events):
        if case.kinds[i] == Kind.RUNTIME and "correlation" in event.get("args", {}):
            calls.setdefault(event["args"]["correlation"], set()).add(i)
    activities = case.structure.activities
    for event, launch in zip(activities.event.tolist(), activities.launch.tolist(), strict=True):
        args = case.events[event].get("args", {})
        found = calls.get(args.get("correlation", -1), set())
        if found:
            assert launch in found
        elif launch >= 0:  # a stated arrow
            assert case.events[launch]["cat"] == "enqueue"


def test_sums_add_up_and_the_summary_can_be_written(case: _Case) -> None:
    structure = case.structure
    roots = structure.tree.parent < 0
    total = int(structure.activities.counted_ns.sum())
    assert int(structure.sums.gpu_sum_ns[roots].sum()) == total
    document = summary_document(structure)
    assert document["time"]["gpu_sum_ns"] == total
    assert document["time"]["gpu_busy_ns"] <= total
    assert all(device["index"] >= 0 for device in document["devices"])
    assert encode(document)


def test_no_frame_stands_on_a_lane_of_a_device(case: _Case) -> None:
    table = case.structure.trace.table
    frames = table.of_kind(Kind.FRAME, Kind.MODULE)
    activities = table.of_kind(*ACTIVITY_KINDS)
    assert not set(table.thread[frames].tolist()) & set(table.thread[activities].tolist())


def test_a_list_without_its_end_gives_all_events_before_it(shared: Path) -> None:
    path = shared / "traces" / _BROKEN
    if not path.exists():
        pytest.skip("no recorded traces beside this checkout")
    loaded = read_trace(path)
    assert loaded.events == 6
    assert "open-list" in {problem.code for problem in loaded.problems}
    assert loaded.table.of_kind(Kind.SLICE).tolist() == [0, 1, 2, 3]


def test_ascend_kernels_hang_under_the_call_that_queued_them(shared: Path) -> None:
    path = shared / "traces" / "ascend-torch-npu-trace-view.json.gz"
    if not path.exists():
        pytest.skip("no recorded traces beside this checkout")
    events = independent.load(path)
    activities = build_structure(read_trace(path)).activities
    # the device's own arrow, from the queue's other end: start lane -> Dequeue -> Enqueue
    queued = {
        e["args"]["correlation_id"]: i for i, e in enumerate(events) if e.get("cat") == "enqueue"
    }
    arrows = {e["id"]: e for e in events if e["ph"] == "s" and e.get("cat") == "HostToDevice"}
    sent = {
        (e["pid"], e["tid"], e["ts"]): arrows[e["id"]]
        for e in events
        if e["ph"] == "f" and e.get("cat") == "HostToDevice"
    }
    dequeued = [e for e in events if e.get("cat") == "dequeue"]
    linked = 0
    for event, launch in zip(activities.event.tolist(), activities.launch.tolist(), strict=True):
        start = sent.get(tuple(events[event][key] for key in ("pid", "tid", "ts")))
        if start is None:
            assert launch == -1
            continue
        at = independent.ns(start["ts"])
        (hop,) = (
            e["args"]["correlation_id"]
            for e in dequeued
            if e["tid"] == start["tid"]
            and independent.ns(e["ts"]) <= at <= independent.ns(e["ts"]) + independent.ns(e["dur"])
        )
        assert launch == queued[hop]
        linked += 1
    assert linked == 274
