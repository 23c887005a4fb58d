"""The figures of the first screen against plain json and a few loops over recorded traces."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from ptx.profiling.report.units import format_ns, format_share
from ptx.profiling.structure.structure import build_structure
from ptx.profiling.structure.tree import NodeKind
from ptx.profiling.trace.reader import read_trace
from ptx.tui.state.explore import ExploreRows
from ptx.tui.state.forest import Layers
from ptx.tui.state.glyphs import UNICODE
from ptx.tui.state.header import make_header
from ptx.tui.state.panels import Subject

ROOT = Path(__file__).resolve().parents[4]
SAMPLES = sorted((ROOT / "sample_traces").glob("*.json.gz"))
SHARED = [
    ROOT.parent / "shared" / "traces" / "h200" / f"{name}.json.gz"
    for name in (
        "llama_sdpa_eager",
        "llama_train_eager_stacks",
        "multi_stream",
        "resnet18_nchw_eager",
    )
]
ACTIVITIES = ("kernel", "gpu_memcpy", "gpu_memset")
CALLS = ("cuda_runtime", "cuda_driver")

Span = tuple[int, int]


class Plain:
    """What a trace's last step holds, counted without ptx; times in ns."""

    def __init__(self, path: Path) -> None:
        with gzip.open(path) as file:
            self.events: list[dict[str, Any]] = json.load(file)["traceEvents"]
        marks = [e for e in self.events if e.get("cat") == "user_annotation"]
        marks = [e for e in marks if e["name"].startswith("ProfilerStep#")]
        self.step = span(max(marks, key=lambda e: e["ts"]))
        self.activities = [e for e in self.events if e.get("cat") in ACTIVITIES]
        launches = [e for e in self.events if e.get("cat") in CALLS]
        self.launch = {e["args"]["correlation"]: e for e in launches}

    def launch_of(self, activity: dict[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = self.launch[activity["args"]["correlation"]]
        return found

    def of_step(self) -> list[dict[str, Any]]:
        """Returns the activities that the step launched."""
        start, end = self.step
        return [a for a in self.activities if start <= span(self.launch_of(a))[0] < end]

    def busy_ns(self) -> int:
        """Returns how long anything ran during the step."""
        start, end = self.step
        reach, total = start, 0
        for begin, finish in sorted(span(a) for a in self.activities):
            begin, finish = max(begin, reach), min(finish, end)
            total += max(0, finish - begin)
            reach = max(reach, finish)
        return total

    def below(self, op: dict[str, Any]) -> list[dict[str, Any]]:
        """Returns the activities whose launch lies within an event of its thread."""
        start, end = span(op)
        lane = (op["pid"], op["tid"])
        found = []
        for activity in self.activities:
            launch = self.launch_of(activity)
            begin, finish = span(launch)
            if (launch["pid"], launch["tid"]) == lane and start <= begin and finish <= end + 2:
                found.append(activity)
        return found


def ns(us: float) -> int:
    return round(us * 1000)


def span(event: dict[str, Any]) -> Span:
    return ns(event["ts"]), ns(event["ts"]) + ns(event["dur"])


@pytest.fixture(scope="module", params=[*SAMPLES, *SHARED], ids=lambda p: p.name[:-8])
def both(request: pytest.FixtureRequest) -> tuple[Plain, ExploreRows]:
    path: Path = request.param
    if not path.exists():
        pytest.skip("the folder of shared traces is not beside this checkout")
    structure = build_structure(read_trace(path))
    return Plain(path), ExploreRows(structure, len(structure.steps) - 1, Layers(), UNICODE)


def test_line_2_is_the_step_by_the_clock(both: tuple[Plain, ExploreRows]) -> None:
    plain, rows = both
    whole = plain.step[1] - plain.step[0]
    busy = plain.busy_ns()
    header = make_header(rows.structure, rows.step)
    text = "".join(part.text for part in header.equation)
    assert text.startswith(f"{format_ns(whole)} = GPU busy {format_ns(busy)}")
    assert f"idle {format_ns(whole - busy)} {format_share(whole - busy, whole)}" in text
    kernels = sum(a["cat"] == "kernel" for a in plain.of_step())
    assert f" {kernels} kernels" in text


def test_the_bar_adds_up_to_the_step(both: tuple[Plain, ExploreRows]) -> None:
    plain, rows = both
    bands = make_header(rows.structure, rows.step).bands
    assert sum(band.ns for band in bands) == plain.step[1] - plain.step[0]
    assert sum(band.ns for band in bands if band.letter) == plain.busy_ns()


def test_gpu_time_and_count_of_a_row_are_those_of_what_lies_below_it(
    both: tuple[Plain, ExploreRows],
) -> None:
    plain, rows = both
    tree, lens = rows.structure.tree, rows.lens
    for row in range(len(lens)):
        nodes = lens.outer_nodes(row)
        if not len(nodes) or rows.is_step_row(row) or tree.kind[nodes[0]] == NodeKind.LAUNCH:
            continue
        below = [a for node in nodes for a in plain.below(plain.events[int(tree.event[node])])]
        assert int(lens.totals.gpu_sum_ns[row]) == sum(ns(a["dur"]) for a in below), rows.label(row)
        assert int(lens.totals.kernels[row]) == sum(a["cat"] == "kernel" for a in below)


def test_the_steps_row_counts_what_the_step_launched(both: tuple[Plain, ExploreRows]) -> None:
    plain, rows = both
    mine = plain.of_step()
    assert rows.is_step_row(0)
    assert int(rows.lens.totals.kernels[0]) == sum(a["cat"] == "kernel" for a in mine)
    assert rows.gpu_ns(0) == plain.busy_ns()
    idle = plain.step[1] - plain.step[0] - plain.busy_ns()
    assert int(rows.lens.totals.idle_ns[0]) == idle


def test_the_kernel_panel_of_the_step_sums_by_name(both: tuple[Plain, ExploreRows]) -> None:
    plain, rows = both
    expected: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for activity in plain.of_step():
        expected[activity["name"]][0] += 1
        expected[activity["name"]][1] += ns(activity["dur"])
    kinds = Subject(rows, 0).kinds
    assert {kind.name: [kind.count, kind.total_ns] for kind in kinds} == dict(expected)
