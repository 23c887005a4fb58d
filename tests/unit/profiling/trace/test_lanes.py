"""Slices nobody knows, device lanes without categories, frames of unknown threads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.traces import trace

from ptx.profiling.structure.structure import build_structure
from ptx.profiling.structure.tree import NodeKind
from ptx.profiling.trace.columns import Kind
from ptx.profiling.trace.reader import read_trace

if TYPE_CHECKING:
    from pathlib import Path

    from tests.traces import TraceBuilder

    from ptx.profiling.structure.structure import Structure
    from ptx.profiling.trace.columns import ThreadInfo


def _load(tmp_path: Path, builder: TraceBuilder) -> Structure:
    return build_structure(read_trace(builder.write(tmp_path / "t.json")))


def _lane(structure: Structure, event: int) -> ThreadInfo:
    table = structure.trace.table
    return table.threads[int(table.thread[event])]


def _process(name: str, pid: int | str, labels: str | None = None) -> list[dict[str, object]]:
    found: list[dict[str, object]] = [
        {"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": name}}
    ]
    if labels:
        args = {"labels": labels}
        found.append({"ph": "M", "name": "process_labels", "pid": pid, "tid": 0, "args": args})
    return found


def test_slices_of_a_foreign_trace_make_a_tree(tmp_path: Path) -> None:
    builder = trace().host("FEE", "main", 0, 10, {}).host("other", "call", 2, 3, {})
    structure = _load(tmp_path, builder)
    assert structure.tree.event.tolist() == [0, 1]
    assert structure.tree.parent.tolist() == [-1, 0]
    assert set(structure.tree.kind.tolist()) == {NodeKind.ANNOTATION}


def test_unknown_categories_beside_ops_stand_on_lanes_of_their_own(tmp_path: Path) -> None:
    builder = trace().op("aten::mm", 0, 10)
    builder.host("new_thing", "n", 2, 3, {}).host("newer", "m", 2, 3, {})
    builder.host("new_thing", "n", 6, 1, {}).runtime("cudaLaunchKernel", 2, 1, correlation=1)
    structure = _load(tmp_path, builder.kernel("k", 4, 1, correlation=1))
    table, tree = structure.trace.table, structure.tree
    assert table.thread[1] == table.thread[3]
    assert len({int(table.thread[i]) for i in (0, 1, 2)}) == 3
    assert (_lane(structure, 1).pid, _lane(structure, 1).tid) == (1, 1)
    assert "new_thing" in (_lane(structure, 1).name or "")
    assert [int(tree.parent[tree.node_of[i]]) for i in (1, 2, 3)] == [-1, -1, -1]
    assert structure.activities.op.tolist() == [0]


def test_unknown_categories_of_a_device_stay_out_of_the_tree(tmp_path: Path) -> None:
    builder = trace().op("aten::mm", 0, 10).kernel("k", 1, 2, stream=7)
    builder.kernel("range", 1, 2, stream=7, cat="new_device_thing")
    for meta in _process("python", 3, labels="GPU 3"):
        builder.add(meta)
    builder.kernel("range", 1, 2, device=3, stream=9, cat="new_device_thing")
    structure = _load(tmp_path, builder)
    kinds = structure.trace.table.kind
    assert (kinds[2], kinds[5]) == (Kind.OTHER, Kind.OTHER)


def test_the_profilers_own_window_marks_stay_out_of_the_tree(tmp_path: Path) -> None:
    builder = trace().op("aten::mm", 0, 10)
    builder.thread("PyTorch Profiler", "Spans").host("Trace", "PyTorch Profiler (0)", 0, 99, {})
    structure = _load(tmp_path, builder)
    assert structure.tree.event.tolist() == [0]


def test_frames_on_a_gpus_lane_go_to_the_thread_of_their_caller(tmp_path: Path) -> None:
    builder = trace().frame("main.py(1): f", 0, 90, Python_id=1, Python_parent_id=None)
    builder.op("aten::mm", 60, 5).kernel("k", 70, 1, device=0, stream=0)
    builder.thread(0, pid=0)
    builder.frame("main.py(2): g", 10, 30, Python_id=2, Python_parent_id=1)
    builder.frame("main.py(3): h", 12, 10, Python_id=3, Python_parent_id=2)
    structure = _load(tmp_path, builder)
    tree = structure.tree
    assert {_lane(structure, i).tid for i in (0, 3, 4)} == {1}
    above = [int(tree.event[tree.parent[tree.node_of[i]]]) for i in (3, 4)]
    assert above == [0, 3]
    assert _lane(structure, 2).tid == 0
    assert structure.trace.table.stream[2] == 0


def test_frames_of_an_unknown_thread_get_a_lane_that_is_no_gpus(tmp_path: Path) -> None:
    builder = trace().op("aten::mm", 0, 90)
    for meta in _process("python", 0, labels="GPU 0"):
        builder.add(meta)
    builder.kernel("k", 10, 1, device=0, stream=0).thread(0, pid=0)
    builder.frame("threading.py(1): _bootstrap", 0, 80, Python_id=1, Python_parent_id=None)
    builder.frame("tqdm.py(2): run", 1, 70, Python_id=2, Python_parent_id=1)
    structure = _load(tmp_path, builder)
    lane = _lane(structure, 4)
    assert lane == _lane(structure, 5)
    assert lane != _lane(structure, 3)
    assert (lane.process_name, lane.process_labels) == (None, None)
    assert int(structure.tree.parent[structure.tree.node_of[5]]) >= 0


def test_callers_that_go_in_a_circle_end(tmp_path: Path) -> None:
    builder = trace().op("aten::mm", 0, 90).thread(0, pid=0)
    builder.frame("a.py(1): f", 0, 80, Python_id=1, Python_parent_id=2)
    builder.frame("a.py(2): g", 1, 70, Python_id=2, Python_parent_id=1)
    structure = _load(tmp_path, builder)
    assert len(structure.tree) == 3


def test_frames_alone_on_thread_0_stay_where_they_are(tmp_path: Path) -> None:
    builder = trace().thread(0, pid=7).frame("a.py(1): f", 0, 80, Python_id=1)
    structure = _load(tmp_path, builder)
    assert _lane(structure, 0).name is None


def test_copies_and_event_records_of_mtia_are_told_from_work(tmp_path: Path) -> None:
    builder = trace()
    for name in ("merge", "dma_request", "event_wait"):
        builder.kernel(name, 1, 1, device=17, stream=3, cat="mtia_ccp_events")
    structure = _load(tmp_path, builder)
    kinds = [Kind(k) for k in structure.trace.table.kind.tolist()]
    assert kinds == [Kind.KERNEL, Kind.MEMCPY, Kind.SYNC]
    assert structure.devices.tolist() == [17]
