"""The idle charge against a look at every single ns."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.traces import TraceBuilder, trace

from ptx.profiling.analysis.idle import (
    CAUSES,
    IdleCharge,
    charge_cpu,
    charge_idle,
    charges_by_name,
)
from ptx.profiling.analysis.summary import step_rows
from ptx.profiling.structure.structure import Structure, build_structure
from ptx.profiling.structure.tree import NodeKind
from ptx.profiling.trace.reader import read_trace

if TYPE_CHECKING:
    from pathlib import Path

BACKWARD = "autograd::engine::evaluate_function: AddmmBackward0"
MAIN, AUTOGRAD = 1, 2
HOST = st.tuples(
    st.sampled_from(["op", "frame", "annotation", "runtime", "backward"]),
    st.sampled_from([MAIN, AUTOGRAD]),
    st.integers(0, 90),
    st.integers(0, 60),
)
ACTIVITY = st.tuples(st.integers(0, 1), st.integers(0, 110), st.integers(1, 30))
STEPS = st.lists(st.tuples(st.integers(0, 20), st.integers(1, 40)), min_size=0, max_size=3)


def us(ns: int) -> float:
    return ns / 1000 + 1


def built(builder: TraceBuilder, path: Path) -> Structure:
    return build_structure(read_trace(builder.write(path)))


def random_trace(
    hosts: list[tuple[str, int, int, int]],
    activities: list[tuple[int, int, int]],
    steps: list[tuple[int, int]],
) -> TraceBuilder:
    builder = trace().thread(MAIN)
    at = 0
    for number, (gap, dur) in enumerate(steps):
        builder.step(number, us(at + gap), dur / 1000)
        at += gap + dur
    for kind, thread, start, dur in hosts:
        builder.thread(thread)
        if kind == "backward":
            builder.op(BACKWARD, us(start), dur / 1000)
        elif kind == "runtime":
            builder.runtime("cudaLaunchKernel", us(start), dur / 1000)
        else:
            getattr(builder, kind)(f"aten::{kind}", us(start), dur / 1000)
    for number, (device, start, dur) in enumerate(activities):
        builder.kernel("k", us(start), dur / 1000, device=device, stream=number)
    return builder


def innermost(structure: Structure, lane: int, time: int) -> int:
    """Returns the last to start of those that run: the latest node in pre-order."""
    tree, table = structure.tree, structure.trace.table
    best = -1
    for node in range(len(tree)):
        event = int(tree.event[node])
        start = int(table.start_ns[event])
        runs = start <= time < start + int(table.dur_ns[event])
        if tree.kind[node] != NodeKind.ACTIVITY and table.thread[event] == lane and runs:
            best = node
    return best


def inside_an_op(structure: Structure, node: int) -> bool:
    while node >= 0:
        if structure.tree.kind[node] == NodeKind.OP:
            return True
        node = int(structure.tree.parent[node])
    return False


def naive_charge(structure: Structure) -> tuple[dict[int, int], int]:
    tree, table, steps = structure.tree, structure.trace.table, structure.steps
    host_ops = [
        (int(table.thread[e]), table.name_of(int(e)))
        for e, kind in zip(tree.event, tree.kind, strict=True)
        if kind == NodeKind.OP
    ]
    lane = int(steps.thread[0])
    if lane < 0:
        counts: dict[int, int] = defaultdict(int)
        slices = [
            (int(table.thread[e]), "")
            for e, kind in zip(tree.event, tree.kind, strict=True)
            if kind != NodeKind.ACTIVITY
        ]
        for code, _ in host_ops or slices:
            counts[code] += 1
        lane = min(counts, key=lambda code: (-counts[code], code)) if counts else -1
    backward = sorted({c for c, name in host_ops if name == BACKWARD and c != lane})
    own: dict[int, int] = defaultdict(int)
    nobody = 0
    for device in structure.devices.tolist():
        begins, ends = structure.busy_by_clock(device)
        for start, end in zip(steps.start_ns.tolist(), steps.end_ns.tolist(), strict=True):
            for time in range(start, end):
                if any(b <= time < e for b, e in zip(begins, ends, strict=True)):
                    continue
                node = -1
                for code in backward:
                    found = innermost(structure, code, time)
                    if node < 0 and inside_an_op(structure, found):
                        node = found
                if node < 0:
                    node = innermost(structure, lane, time)
                if node < 0:
                    nobody += 1
                else:
                    own[node] += 1
    return dict(own), nobody


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("idle") / "t.json"


@settings(max_examples=120)
@given(
    hosts=st.lists(HOST, max_size=10),
    activities=st.lists(ACTIVITY, min_size=1, max_size=6),
    steps=STEPS,
)
def test_every_idle_ns_goes_to_the_innermost_event(
    hosts: list[tuple[str, int, int, int]],
    activities: list[tuple[int, int, int]],
    steps: list[tuple[int, int]],
    path: Path,
) -> None:
    structure = built(random_trace(hosts, activities, steps), path)
    charge = charge_idle(structure)
    assert charge is not None
    own, nobody = naive_charge(structure)
    found = {k: int(charge.own_ns[k]) for k in np.flatnonzero(charge.own_ns).tolist()}
    assert (found, charge.uncharged_ns) == (own, nobody)
    idle = sum(row.idle_ns or 0 for row in step_rows(structure))
    assert int(charge.own_ns.sum()) + charge.uncharged_ns == idle


def charged(builder: TraceBuilder, path: Path) -> dict[str, int]:
    structure = built(builder, path)
    charge = charge_idle(structure)
    assert isinstance(charge, IdleCharge)
    return {k: v for k, v in charge.by_cause(0, len(structure.tree)).items() if v}


def test_causes_are_told_apart(path: Path) -> None:
    builder = trace().thread(MAIN).step(0, 0, 100)
    builder.frame("train.py(3): step", 0, 100)
    builder.op("aten::mm", 10, 10).runtime("cudaLaunchKernel", 12, 3, correlation=1)
    builder.runtime("cudaDeviceSynchronize", 30, 10).runtime("cudaMalloc", 45, 5)
    builder.runtime("cudaFuncGetAttributes", 52, 2)
    builder.annotation("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 60, 20)
    builder.op("aten::stack", 65, 5)
    builder.kernel("k", 90, 10, correlation=1)
    assert charged(builder, path) == {
        "op": 7_000,
        "python": 43_000,
        "launch": 3_000,
        "sync": 10_000,
        "alloc": 5_000,
        "data": 20_000,
        "other": 2_000,
    }


def test_a_trace_without_a_device_has_no_charge(path: Path) -> None:
    assert charge_idle(built(trace().op("aten::mm", 0, 10), path)) is None


@pytest.mark.parametrize(
    "name", ["geglu_eager", "geglu_compile", "train_step_eager", "conv_nchw", "async_loop"]
)
def test_the_charge_explains_the_idle_time_of_real_steps(name: str, samples: Path) -> None:
    structure = build_structure(read_trace(samples / f"{name}.json.gz"))
    charge = charge_idle(structure)
    assert charge is not None
    rows = step_rows(structure)
    assert charge.uncharged_ns == 0
    assert int(charge.own_ns.sum()) == sum(row.idle_ns or 0 for row in rows)
    marks = structure.tree.node_of[structure.steps.event]
    on_the_main_thread = [int(charge.total_ns[mark]) for mark in marks]
    for charged_ns, row in zip(on_the_main_thread, rows, strict=True):
        assert charged_ns <= (row.idle_ns or 0)
    assert set(charge.by_cause(0, len(structure.tree))) == set(CAUSES)


@settings(max_examples=60)
@given(hosts=st.lists(HOST, max_size=10), activities=st.lists(ACTIVITY, min_size=1, max_size=4))
def test_charges_by_name_are_a_plain_count(
    hosts: list[tuple[str, int, int, int]], activities: list[tuple[int, int, int]], path: Path
) -> None:
    structure = built(random_trace(hosts, activities, []), path)
    charge = charge_idle(structure)
    assert charge is not None
    tree, table = structure.tree, structure.trace.table
    nodes = np.arange(0, len(tree), 2)
    own: dict[tuple[str, str], list[int]] = defaultdict(list)
    for node in nodes.tolist():
        key = CAUSES[charge.cause[node]], table.name_of(int(tree.event[node]))
        own[key].append(int(charge.own_ns[node]))
    found = charges_by_name(structure, charge, nodes)
    assert {(w.cause, w.name): (w.calls, w.own_ns) for w in found} == {
        key: (len(times), sum(times)) for key, times in own.items() if sum(times)
    }
    assert [w.own_ns for w in found] == sorted((w.own_ns for w in found), reverse=True)
    for work in found:
        times = charge.own_ns[work.nodes].tolist()
        assert times == sorted(times, reverse=True)
        assert sum(times) == work.own_ns
        assert min(times) > 0


def test_cpu_time_is_charged_to_what_no_child_covers(path: Path) -> None:
    builder = trace().thread(1).frame("a.py(1): f", 0, 100)
    builder.op("aten::mm", 10, 60).op("aten::t", 20, 15)
    structure = built(builder, path)
    charge = charge_cpu(structure)
    assert charge.own_ns.tolist() == [40_000, 45_000, 15_000]
    assert charge.total_ns.tolist() == [100_000, 60_000, 15_000]
