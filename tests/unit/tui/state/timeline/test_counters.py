"""The counters of a trace and the memory that torch records become curves."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.hostile import HOSTILE, UNSAFE
from tests.traces import TraceBuilder, trace

from ptx.profiling.structure.structure import build_structure
from ptx.profiling.trace.reader import read_trace
from ptx.tui.state.timeline.counters import counter_lanes, has_counters

if TYPE_CHECKING:
    from pathlib import Path

    from ptx.tui.state.timeline.lanes import CurveLane


def counted(name: str, start: int, args: dict[str, object], pid: int = 1) -> dict[str, object]:
    return {"ph": "C", "name": name, "pid": pid, "tid": 1, "ts": start, "args": args}


def memory(start: int, total: int, device: int) -> dict[str, object]:
    kind = 1 if device >= 0 else 0
    args = {"Device Type": kind, "Device Id": device, "Bytes": 1, "Total Allocated": total}
    event = {"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1}
    return {**event, "tid": 1, "ts": start, "args": args}


def lanes_of(builder: TraceBuilder, folder: Path) -> dict[str, CurveLane]:
    structure = build_structure(read_trace(builder.write(folder / "t.json", "lines")))
    assert has_counters(structure)
    return {lane.title: lane for lane in counter_lanes(structure)}


def at(lane: CurveLane, *times_us: int) -> list[float]:
    return [lane.curve.at(1000 * time) for time in times_us]


def test_a_counter_is_a_curve_whatever_the_order_of_its_events(tmp_path: Path) -> None:
    builder = trace().op("aten::mm", 0, 100)
    builder.add(counted("load", 50, {"value": 2.5})).add(counted("load", 10, {"value": 7}))
    lanes = lanes_of(builder, tmp_path)
    assert list(lanes) == ["load"]
    assert at(lanes["load"], 5, 10, 49, 50, 99) == [0, 7, 7, 2.5, 2.5]


def test_each_value_and_each_thread_has_a_curve_of_its_own(tmp_path: Path) -> None:
    builder = trace().op("aten::mm", 0, 100)
    builder.add(counted("net", 10, {"in": 1, "out": 2})).add(counted("net", 20, {"in": 3}))
    builder.add(counted("net", 30, {"out": 9}, pid=2))
    structure = build_structure(read_trace(builder.write(tmp_path / "t.json")))
    found = [(lane.title, at(lane, 15, 25, 35)) for lane in counter_lanes(structure)]
    assert found == [
        ("net in", [1, 3, 3]),
        ("net out", [2, 2, 2]),
        ("net out", [0, 0, 9]),
    ]


def test_values_that_are_no_numbers_are_left_out(tmp_path: Path) -> None:
    builder = trace().op("aten::mm", 0, 100)
    for start, value in ((10, 4), (20, "many"), (30, None), (40, [1]), (50, 6)):
        builder.add(counted("c", start, {"value": value}))
    lanes = lanes_of(builder, tmp_path)
    assert at(lanes["c"], 15, 25, 35, 45, 55) == [4, 4, 4, 4, 6]


def test_memory_has_a_curve_for_each_device(tmp_path: Path) -> None:
    builder = trace().op("aten::mm", 0, 100)
    for start, total, device in ((10, 512, -1), (20, 4096, 0), (30, 1024, 0), (40, 99, 1)):
        builder.add(memory(start, total, device))
    lanes = lanes_of(builder, tmp_path)
    assert set(lanes) == {"memory CPU", "memory GPU 0", "memory GPU 1"}
    assert at(lanes["memory GPU 0"], 15, 25, 35) == [0, 4096, 1024]
    assert {lane.unit for lane in lanes.values()} == {"bytes"}


def test_names_of_counters_are_safe_to_show(tmp_path: Path) -> None:
    builder = trace().op("aten::mm", 0, 100)
    builder.add(counted(HOSTILE, 10, {HOSTILE: 1, "other": 2}))
    titles = "".join(lanes_of(builder, tmp_path))
    assert not UNSAFE & set(titles), json.dumps(titles)


def test_a_trace_without_counters_has_no_curves(tmp_path: Path) -> None:
    path = trace().op("aten::mm", 0, 100).write(tmp_path / "t.json")
    structure = build_structure(read_trace(path))
    assert not has_counters(structure)
    assert counter_lanes(structure) == ()
