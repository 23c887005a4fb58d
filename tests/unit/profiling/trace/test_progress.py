"""Progress, cancelling, files that change, lanes and their names."""

from __future__ import annotations

import gc
import os
from pathlib import Path
from typing import Any

import pytest
from tests.rows import block_bytes, codes
from tests.traces import trace

from ptx.profiling.errors import TraceFormatError
from ptx.profiling.trace.columns import Kind
from ptx.profiling.trace.reader import LoadCancelled, LoadProgress, read_trace


def _write(path: Path, n: int, *, gz: bool = False) -> Path:
    builder = trace()
    for k in range(n):
        builder.op(f"aten::op{k}", k, 0.5)
    return builder.write(path, gz=gz)


@pytest.mark.parametrize("gz", [False, True])
def test_progress_only_grows_and_ends_at_the_whole(tmp_path: Path, gz: bool) -> None:
    path = _write(tmp_path / "t.json", 300, gz=gz)
    seen: list[LoadProgress] = []
    with block_bytes(2000):
        loaded = read_trace(path, seen.append)
    assert len(seen) > 3
    assert [p.done_bytes for p in seen] == sorted(p.done_bytes for p in seen)
    assert [p.events for p in seen] == sorted(p.events for p in seen)
    assert {p.total_bytes for p in seen} == {path.stat().st_size}
    assert seen[-1].done_bytes == path.stat().st_size
    assert seen[-1].events == len(loaded.table) == 300


def _open_files() -> set[str]:
    return {os.path.realpath(descriptor) for descriptor in Path("/proc/self/fd").iterdir()}


_needs_proc = pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs /proc")


@_needs_proc
@pytest.mark.parametrize("gz", [False, True])
def test_cancelling_stops_and_closes_the_file(tmp_path: Path, gz: bool) -> None:
    path = _write(tmp_path / "t.json", 300, gz=gz)

    def cancel(progress: LoadProgress) -> None:
        if progress.events > 20:
            raise LoadCancelled

    with block_bytes(2000), pytest.raises(LoadCancelled):
        read_trace(path, cancel)
    assert not [name for name in _open_files() if name.startswith(str(path))]
    assert gc.isenabled()


@_needs_proc
def test_file_that_is_no_trace_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_bytes(b'{"a": 1}')
    with pytest.raises(TraceFormatError):
        read_trace(path)
    assert str(path) not in _open_files()


def test_file_that_grows_while_read_is_told(tmp_path: Path) -> None:
    path = _write(tmp_path / "t.json", 300)

    def grow(_: LoadProgress) -> None:
        with path.open("ab") as file:
            file.write(b" ")

    with block_bytes(4000):
        loaded = read_trace(path, grow)
    assert codes(loaded) == {"changed": 1}
    assert len(loaded.table) == 300


def test_missing_file_and_folder_are_one_kind_of_error(tmp_path: Path) -> None:
    for path in (tmp_path / "none.json", tmp_path):
        with pytest.raises(TraceFormatError):
            read_trace(path)


def test_ids_as_number_and_as_text_are_one_lane(tmp_path: Path) -> None:
    builder = trace().thread(7).op("a", 0, 1).thread("7", "1").op("b", 2, 1)
    builder.thread("Spans", "Traces").op("c", 4, 1).thread(-549452224).op("d", 5, 1)
    loaded = read_trace(builder.write(tmp_path / "t.json"))
    table = loaded.table
    assert table.thread.tolist() == [0, 0, 1, 2]
    assert [(t.pid, t.tid) for t in table.threads] == [
        (1, 7),
        ("Traces", "Spans"),
        (1, -549452224),
    ]


def test_lanes_have_the_names_that_metadata_gives(tmp_path: Path) -> None:
    def named(kind: str, tid: object, key: str, text: str) -> dict[str, Any]:
        return {"ph": "M", "name": kind, "pid": 1, "tid": tid, "ts": 0, "args": {key: text}}

    builder = trace().thread(5).op("a", 3, 1)
    builder.add(named("process_name", 0, "name", "python"))
    builder.add(named("process_labels", 0, "labels", "CPU"))
    builder.add(named("thread_name", "5", "name", "main"))
    loaded = read_trace(builder.write(tmp_path / "t.json"))
    thread = loaded.table.threads[int(loaded.table.thread[0])]
    assert (thread.name, thread.process_name, thread.process_labels) == ("main", "python", "CPU")
    assert loaded.t0_ns == 3000


def test_kinds_follow_phase_category_and_name(tmp_path: Path) -> None:
    builder = trace().op("a", 0, 1).annotation("b", 0, 1).frame("c.py(1): f", 0, 1)
    builder.frame("nn.Module: L_0", 0, 1).runtime("cudaMalloc", 0, 1).kernel("k", 1, 1)
    builder.kernel("m", 1, 1, cat="gpu_memcpy").kernel("s", 1, 1, cat="gpu_memset")
    builder.kernel("u", 1, 1, cat="gpu_user_annotation").kernel("y", 1, 1, cat="cuda_sync")
    builder.host("overhead", "o", 0, 1, {})
    builder.host("something_new", "n", 0, 1, {})
    builder.add({"ph": "C", "name": "count", "pid": 1, "ts": 1, "args": {"v": 3}})
    builder.add({"ph": "s", "id": 3, "name": "ac2g", "cat": "ac2g", "pid": 1, "tid": 1, "ts": 1})
    loaded = read_trace(builder.write(tmp_path / "t.json"))
    assert [Kind(k).name for k in loaded.table.kind.tolist()] == [
        "OP", "ANNOTATION", "FRAME", "MODULE", "RUNTIME", "KERNEL", "MEMCPY", "MEMSET",
        "DEVICE_ANNOTATION", "SYNC", "OVERHEAD", "SLICE", "COUNTER", "FLOW",
    ]  # fmt: skip


def test_device_and_stream_come_from_the_lane_where_args_lack_them(tmp_path: Path) -> None:
    builder = trace()
    for pid, tid in ((2, 13), (1, "stream 7"), (0, "7"), (-1, 2**40)):
        builder.add(
            {"ph": "X", "cat": "kernel", "name": "k", "pid": pid, "tid": tid, "ts": 1, "dur": 1}
        )
    loaded = read_trace(builder.write(tmp_path / "t.json"))
    assert loaded.table.device.tolist() == [2, 1, 0, -1]
    assert loaded.table.stream.tolist() == [13, 7, 7, -1]


def test_columns_are_read_only(tmp_path: Path) -> None:
    loaded = read_trace(_write(tmp_path / "t.json", 3))
    with pytest.raises(ValueError, match="read-only"):
        loaded.table.start_ns[0] = 1
