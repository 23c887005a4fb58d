"""The shared damaged files, with the right answers that stand beside them."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.rows import codes

from ptx.profiling.report.documents import summary_document
from ptx.profiling.sanitise import clean
from ptx.profiling.structure.structure import Structure, build_structure
from ptx.profiling.trace.columns import Flag, Kind
from ptx.profiling.trace.reader import read_trace

_FAULTS = Path(__file__).parents[4] / "shared" / "faults"
_FILES = sorted(p.name for p in _FAULTS.glob("*.json") if not p.name.endswith(".expect.json"))


def _open(shared: Path, number: str) -> tuple[Structure, dict[str, Any]]:
    [path] = [p for p in (shared / "faults").glob(f"{number}-*.json") if "expect" not in p.name]
    expect = json.loads(path.with_suffix(".expect.json").read_text())
    return build_structure(read_trace(path)), expect


def _names(structure: Structure, events: list[int]) -> list[str | None]:
    table = structure.trace.table
    return [table.name_of(e) if e >= 0 else None for e in events]


def _parent(structure: Structure, name: str) -> str | None:
    tree, table = structure.tree, structure.trace.table
    [node] = [n for n in range(len(tree)) if table.name_of(int(tree.event[n])) == name]
    above = int(tree.parent[node])
    return table.name_of(int(tree.event[above])) if above >= 0 else None


@pytest.mark.parametrize("name", _FILES)
def test_every_file_opens(shared: Path, name: str) -> None:
    structure = build_structure(read_trace(shared / "faults" / name))
    assert len(structure.trace.table) > 0
    assert len(structure.sums.self_ns) == len(structure.tree)


def test_windows_paths_keep_their_backslashes(shared: Path) -> None:
    structure, expect = _open(shared, "01")
    assert _names(structure, [0, 1, 2]) == expect["names"]
    assert structure.trace.events == expect["events"]
    assert codes(structure.trace)["backslash"] == expect["repaired_events"]


def test_control_bytes_and_bad_bytes_are_counted(shared: Path) -> None:
    structure, expect = _open(shared, "03")
    assert structure.trace.events == expect["events"]
    assert _names(structure, [2]) == [expect["third_event"]]
    assert codes(structure.trace) == {"control-byte": 1, "bad-utf8": 1}
    for event in range(3):
        shown = clean(structure.trace.table.name_of(event))
        assert shown.isprintable()
        shown.encode()


def test_cut_file_gives_its_whole_events(shared: Path) -> None:
    structure, expect = _open(shared, "05")
    assert structure.trace.events == expect["complete_events"]
    assert _names(structure, [0, 1, 2, 3]) == expect["names"]
    assert codes(structure.trace) == {"truncated": 1}


def test_launch_that_outlives_an_op_belongs_to_the_one_around(shared: Path) -> None:
    structure, expect = _open(shared, "07")
    for name, parent in expect["parents"].items():
        assert _parent(structure, name) == parent
    owners = _names(structure, structure.activities.op.tolist())
    assert owners == list(expect["kernel_owner"].values())
    assert structure.crossing_slices == 1


def test_overrunning_kernel_counts_up_to_the_next(shared: Path) -> None:
    structure, expect = _open(shared, "10")
    activities, table = structure.activities, structure.trace.table
    flagged = activities.event[activities.overruns].tolist()
    assert _names(structure, flagged) == expect["suspect_events"]
    device, stream = expect["stream"]
    mine = (table.device[activities.event] == device) & (table.stream[activities.event] == stream)
    raw = int(table.dur_ns[activities.event[mine]].sum())
    assert raw == expect["sum_of_raw_durations_stream_7"] * 1000
    counted = int(activities.counted_ns[mine].sum())
    assert counted == expect["busy_us_stream_7_if_clipped"] * 1000
    by_name: Counter[str] = Counter()
    for event, ns in zip(activities.event.tolist(), activities.counted_ns.tolist(), strict=True):
        by_name[table.name_of(event)] += ns
    assert by_name.most_common(1)[0][0] == "gemm"
    starts, ends = structure.busy_by_clock(device)
    assert int((ends - starts).sum()) == expect["busy_us_stream_7_if_clipped"] * 1000
    document = summary_document(structure)
    assert document["top_kernels"][0]["name"] == "gemm"


def test_kernels_of_a_graph_hang_under_its_launch(shared: Path) -> None:
    structure, expect = _open(shared, "12")
    activities = structure.activities
    children: dict[str | None, list[str | None]] = {}
    launches = _names(structure, activities.launch.tolist())
    names = _names(structure, activities.event.tolist())
    for launch, name in zip(launches, names, strict=True):
        children.setdefault(launch, []).append(name)
    assert children == expect["launch_children"]
    owners = _names(structure, activities.op.tolist())
    assert dict(zip(names, owners, strict=True)) == expect["kernel_owner"]


def test_correlation_wins_over_an_external_id_that_is_none(shared: Path) -> None:
    structure, expect = _open(shared, "13")
    names = _names(structure, structure.activities.event.tolist())
    owners = _names(structure, structure.activities.op.tolist())
    assert dict(zip(names, owners, strict=True)) == expect["kernel_owner"]


def test_epoch_times_with_decimals_are_exact(shared: Path) -> None:
    structure, expect = _open(shared, "15")
    table, t0_ns = structure.trace.table, structure.trace.t0_ns
    for event in range(len(table)):
        name = table.name_of(event)
        if name in expect["start_ns"]:
            start = int(table.start_ns[event]) + t0_ns
            assert start == expect["start_ns"][name]
            assert start + int(table.dur_ns[event]) == expect["end_ns"][name]
    assert {_parent(structure, name) for name in expect["siblings"]} == {None}


def test_times_that_cannot_be_used_are_flagged_and_count_nothing(shared: Path) -> None:
    structure, expect = _open(shared, "17")
    trace = structure.trace
    flags = {
        trace.table.name_of(e): Flag(int(trace.table.flags[e])).name
        for e in range(len(trace.table))
        if trace.table.flags[e]
    }
    words = {name: text.upper().replace(" ", "_") for name, text in expect["flags"].items()}
    assert flags == words
    assert trace.events == expect["events"]
    first, last = expect["time_span_us"]
    assert (trace.t0_ns, trace.span_ns) == (first * 1000, (last - first) * 1000)
    roots = structure.tree.parent < 0
    assert int(structure.sums.gpu_busy_ns[roots].sum()) == expect["gpu_busy_us"] * 1000
    assert _parent(structure, "aten::view") == "aten::conv2d"


def test_inputs_of_every_form_are_kept_as_recorded(shared: Path) -> None:
    structure, expect = _open(shared, "18")
    trace = structure.trace
    names = [trace.table.name_of(e) for e in trace.table.of_kind(Kind.OP).tolist()]
    assert names == list(expect["inputs"])
    [path] = (shared / "faults").glob("18-*shapes.json")
    for event, recorded in enumerate(json.loads(path.read_text())["traceEvents"]):
        assert trace.args.event(event) == recorded


def test_every_real_trace_that_is_small_opens(shared: Path) -> None:
    paths = [p for p in (shared / "traces").glob("*.json*") if p.stat().st_size < 200_000]
    assert len(paths) > 5
    for path in paths:
        structure = build_structure(read_trace(path))
        events = structure.tree.event.tolist()
        assert len(set(events)) == len(events)
