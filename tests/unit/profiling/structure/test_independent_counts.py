"""Real traces: every figure equals a plain count of the same file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests import independent

from ptx.profiling.structure.structure import Structure, build_structure
from ptx.profiling.trace.columns import Kind
from ptx.profiling.trace.reader import read_trace

_TRACES = Path(__file__).parents[5] / "shared" / "traces"
_NO_TRACES = ("torch_trace", ".et.json", "invalid_json")
_LARGE = "60_steps"


def _names() -> list[str]:
    found = [*_TRACES.glob("h200/*.json.gz"), *_TRACES.glob("captured_cpu/*.json.gz")]
    names = sorted(str(path.relative_to(_TRACES)) for path in found)
    return [name for name in names if not any(part in name for part in _NO_TRACES)]


@dataclass
class _Case:
    structure: Structure
    events: list[Any]
    count: independent.Count
    large: bool


@pytest.fixture(scope="module", params=_names() or ["none"])
def case(request: pytest.FixtureRequest, shared: Path) -> _Case:
    path = shared / "traces" / request.param
    if not path.exists():
        pytest.skip("no real traces beside this checkout")
    events = independent.load(path)
    structure = build_structure(read_trace(path))
    return _Case(structure, events, independent.count(events), _LARGE in request.param)


def test_counts_of_every_kind(case: _Case) -> None:
    kinds = np.bincount(case.structure.trace.table.kind, minlength=len(Kind)).tolist()
    expected = case.count.kinds
    assert len(case.structure.trace.table) == case.structure.trace.events == case.count.events
    assert kinds[Kind.OP] == expected["cpu_op"]
    assert kinds[Kind.ANNOTATION] == expected["user_annotation"]
    assert kinds[Kind.MODULE] == expected["module"]
    assert kinds[Kind.FRAME] == expected["python_function"]
    assert kinds[Kind.RUNTIME] == expected["runtime"]
    assert kinds[Kind.KERNEL] == expected["kernel"]
    assert kinds[Kind.MEMCPY] == expected["gpu_memcpy"]
    assert kinds[Kind.MEMSET] == expected["gpu_memset"]
    assert kinds[Kind.MEMORY] == expected["memory"]


def test_every_time_to_the_ns(case: _Case) -> None:
    table, t0_ns = case.structure.trace.table, case.structure.trace.t0_ns
    rows = np.fromiter(case.count.start, np.int64)
    assert (table.start_ns[rows] + t0_ns).tolist() == list(case.count.start.values())
    ends = table.start_ns[rows] + table.dur_ns[rows] + t0_ns
    assert ends.tolist() == list(case.count.end.values())


def test_every_name_stands_at_its_event(case: _Case) -> None:
    table = case.structure.trace.table
    names = [table.names[code] for code in table.name.tolist()]
    assert names == [event.get("name") or "" for event in case.events]


def test_gpu_sum_and_busy_of_the_whole_trace(case: _Case) -> None:
    structure = case.structure
    roots = structure.tree.parent < 0
    assert int(structure.activities.counted_ns.sum()) == case.count.gpu_sum_ns
    assert int(structure.sums.gpu_sum_ns[roots].sum()) == case.count.gpu_sum_ns
    whole = (np.array([0]), np.array([structure.trace.span_ns]))
    assert int(structure.clock_busy_ns(*whole)[0]) == case.count.busy_ns()


def test_every_activity_has_one_place_under_its_launch_or_is_a_root(case: _Case) -> None:
    tree, activities = case.structure.tree, case.structure.activities
    assert activities.event.tolist() == list(case.count.activities)
    assert np.array_equal(np.sort(tree.event), np.unique(tree.event))
    launch = [case.count.launch.get(a, -1) for a in case.count.activities]
    assert activities.launch.tolist() == launch
    above = np.append(tree.event, -1)[tree.parent[tree.node_of[activities.event]]]
    assert above.tolist() == launch


def test_per_step_sums_by_launch_and_busy_time_by_the_clock(case: _Case) -> None:
    structure, count = case.structure, case.count
    steps, t0_ns = structure.steps, structure.trace.t0_ns
    if not count.steps:
        assert steps.source != "ProfilerStep"
        return
    assert list(steps.names) == [name for name, _, _ in count.steps]
    assert (steps.start_ns + t0_ns).tolist() == [start for _, start, _ in count.steps]
    assert (steps.end_ns + t0_ns).tolist() == [end for _, _, end in count.steps]
    assert structure.activities.step.tolist() == [count.step_of(a) for a in count.activities]
    busy = structure.clock_busy_ns(steps.start_ns, steps.end_ns)
    assert busy.tolist() == [count.busy_ns(start, end) for _, start, end in count.steps]


def test_owner_op_is_the_last_op_to_start_that_holds_the_launch(case: _Case) -> None:
    activities = case.structure.activities
    pairs = list(zip(activities.launch.tolist(), activities.op.tolist(), strict=True))
    samples = 3 if case.large else 150  # each is a search over all ops
    for launch, op in pairs[:: max(1, len(pairs) // samples)]:
        if launch >= 0:
            assert op == independent.owner_op(case.events, case.count, launch)
