"""Chunks of columns appended to one growing table, so that no join ever doubles the memory."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from ptx.profiling.trace.classify import classify
from ptx.profiling.trace.columns import (
    ACTIVITY_KINDS,
    EventTable,
    Flag,
    Kind,
    Phase,
    SparseColumn,
    ThreadInfo,
)
from ptx.profiling.trace.lanes import settle_lanes
from ptx.profiling.trace.pairs import Unmatched, pair_events

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ptx.profiling.trace.decode import ChunkColumns, LaneName, Tables

_DENSE: dict[str, Any] = {
    "start_ns": np.int64,
    "dur_ns": np.int64,
    "name": np.int32,
    "phase": np.uint8,
    "category": np.uint16,
    "thread": np.int32,
    "external_id": np.int64,
    "correlation": np.int64,
    "ev_idx": np.int32,
    "stream": np.int32,
    "device": np.int32,
    "flags": np.uint8,
}
_ESCAPED = {"\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_PATH_ESCAPES = re.compile("[\b\f\n\r\t]")
_DEVICE_NAME = re.compile(r"(?:gpu|npu|xpu|cuda|hip|device)[ :_#]?([0-9]{1,4})", re.IGNORECASE)
_NO_ROWS = np.zeros(0, np.intp)
_SPARSE = ("sequence", "forward_thread", "bytes", "python_id", "python_parent_id", "flow_id")
_DEVICE_KINDS = (
    Kind.KERNEL,
    Kind.MEMCPY,
    Kind.MEMSET,
    Kind.DEVICE_ANNOTATION,
    Kind.SYNC,
)


@dataclass(frozen=True, slots=True)
class Built:
    """The finished table with the absolute time of its origin and of its last end.

    `restored_paths` are the events whose name got backslashes back (see `_restore_paths`).
    """

    table: EventTable
    t0_ns: int
    end_ns: int
    empty_elements: int
    restored_paths: NDArray[np.intp]
    unmatched: Unmatched


class TableBuilder:
    """Collects chunks; `finish` gives the table with times counted from the trace's start."""

    def __init__(self, expected_events: int) -> None:
        # pages that are never written cost no memory, so a generous guess is free
        self._capacity = max(1024, expected_events)
        self._columns = {k: np.empty(self._capacity, t) for k, t in _DENSE.items()}
        self._sparse: dict[str, list[tuple[NDArray[np.int32], NDArray[np.int64]]]] = {
            name: [] for name in _SPARSE
        }
        self._lane_names: list[LaneName] = []
        self.count = 0

    def append(self, chunk: ChunkColumns) -> None:
        """Adds a chunk behind those before it."""
        end = self.count + len(chunk)
        if end > self._capacity:
            self._grow(end)
        for name, column in self._columns.items():
            column[self.count : end] = getattr(chunk, name)
        for name, (rows, values) in chunk.sparse.items():
            self._sparse[name].append((rows + np.int32(self.count), values))
        self._lane_names.extend(chunk.lane_names)
        self.count = end

    def _grow(self, needed: int) -> None:
        self._capacity = max(needed, self._capacity * 2)
        for name, column in self._columns.items():
            larger = np.empty(self._capacity, column.dtype)
            larger[: self.count] = column[: self.count]
            self._columns[name] = larger

    def finish(self, tables: Tables) -> Built:
        """Returns the table of all chunks; the builder is empty afterwards."""
        columns = {k: v[: self.count] for k, v in self._columns.items()}
        self._columns = {}
        names = tuple(map(_storable, tables.names))
        categories = tuple(map(_storable, tables.categories))
        unmatched = pair_events(columns, names)
        kind = classify(columns["phase"], columns["category"], columns["name"], categories, names)
        names, restored = _restore_paths(columns["name"], kind, names)
        sparse: dict[str, Any] = {name: _join(parts) for name, parts in self._sparse.items()}
        threads = settle_lanes(
            columns,
            kind,
            (sparse["python_id"], sparse["python_parent_id"]),
            names,
            categories,
            _lanes(tables, self._lane_names),
        )
        empty = columns["phase"] == Phase.EMPTY
        start_ns, dur_ns, flags = columns["start_ns"], columns["dur_ns"], columns["flags"]
        device_side = np.isin(kind, _DEVICE_KINDS)
        lost = device_side & (start_ns == 0) & (dur_ns == 0)
        flags[lost] |= np.uint8(Flag.NO_TIMESTAMP)
        valid = (flags & np.uint8(Flag.NO_TIMESTAMP)) == 0
        valid &= (kind != Kind.METADATA) & (kind != Kind.REFUSED) & ~empty
        t0_ns = int(start_ns[valid].min()) if valid.any() else 0
        end_ns = int((start_ns[valid] + dur_ns[valid]).max()) if valid.any() else 0
        start_ns -= t0_ns
        start_ns[empty | ((flags & np.uint8(Flag.NO_TIMESTAMP)) != 0)] = 0
        _fill_device_columns(columns, kind, threads)
        filled: dict[str, Any] = {**columns, **sparse}
        table = EventTable(
            **filled,
            kind=kind,
            names=names,
            categories=categories,
            threads=threads,
        )
        for spec in fields(table):
            value = getattr(table, spec.name)
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
        return Built(table, t0_ns, end_ns, int(empty.sum()), restored, unmatched)


def _storable(text: str | None) -> str:
    """Returns the text without lone surrogates, which no encoder takes; "" for null."""
    if not text:
        return ""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _restore_paths(
    name: NDArray[np.int32], kind: NDArray[np.uint8], names: tuple[str, ...]
) -> tuple[tuple[str, ...], NDArray[np.intp]]:
    r"""Puts back the backslashes of Windows paths that happened to read as escapes.

    `C:\new\train.py` written without escaping its backslashes is legal JSON for a name with a
    line feed and a tab. No name of a Python frame holds either; `name` is changed in place.
    Returns the names with the restored ones added, and the events concerned.
    """
    broken = [code for code, text in enumerate(names) if _PATH_ESCAPES.search(text)]
    rows = np.flatnonzero((kind == Kind.FRAME) & np.isin(name, broken)) if broken else _NO_ROWS
    if not len(rows):
        return names, rows
    more = list(names)
    for code in np.unique(name[rows]).tolist():
        name[rows[name[rows] == code]] = len(more)
        more.append(_PATH_ESCAPES.sub(lambda m: _ESCAPED[m[0]], names[code]))
    return tuple(more), rows


def _join(parts: list[tuple[NDArray[np.int32], NDArray[np.int64]]]) -> SparseColumn:
    if not parts:
        return SparseColumn(np.zeros(0, np.int32), np.zeros(0, np.int64))
    return SparseColumn(
        np.concatenate([rows for rows, _ in parts]),
        np.concatenate([values for _, values in parts]),
    )


def _fill_device_columns(
    columns: dict[str, NDArray[Any]], kind: NDArray[np.uint8], threads: tuple[ThreadInfo, ...]
) -> None:
    """Sets device and stream of device events from their lane where the args lack them."""
    pids = np.array([_device_of(lane.pid) for lane in threads] or [-1], np.int64)
    tids = np.array([_stream_of(lane.tid) for lane in threads] or [-1], np.int64)
    for name, ids in (("device", pids), ("stream", tids)):
        column = columns[name]
        missing = np.flatnonzero((column < 0) & np.isin(kind, _DEVICE_KINDS))
        if len(missing):
            column[missing] = ids[columns["thread"][missing]]
    activity = np.isin(kind, ACTIVITY_KINDS)
    if activity.any() and columns["device"][activity].max() < 0:
        columns["device"][activity] = 0  # a file that tells no device apart has one


def _device_of(pid: int | str | None) -> int:
    """Returns the number of a device's process: a number, or text such as `GPU 1`, `cuda:1`."""
    found = _DEVICE_NAME.fullmatch(pid) if isinstance(pid, str) else None
    return int(found[1]) if found else _small(pid)


def _stream_of(tid: int | str | None) -> int:
    """Returns the stream number of a device lane: a number, or text such as `stream 7`."""
    if not isinstance(tid, str):
        return _small(tid)
    last = tid.split()[-1] if tid.split() else ""
    return int(last) if last.isascii() and last.isdigit() and len(last) < 10 else -1


def _small(number: int | str | None) -> int:
    """Returns a number that can be one of a device or a stream, -1 for anything else."""
    return number if isinstance(number, int) and 0 <= number < 2**31 else -1


def _lanes(tables: Tables, lane_names: list[LaneName]) -> tuple[ThreadInfo, ...]:
    keys = list(tables.threads.lanes)
    thread_names: dict[int, str] = {}
    process: dict[tuple[str, int | str | None], str] = {}
    for found in lane_names:
        if found.kind == "thread_name":
            thread_names[found.thread] = found.text
        else:
            process[found.kind, keys[found.thread][0]] = found.text
    return tuple(
        ThreadInfo(
            pid=pid,
            tid=tid,
            name=thread_names.get(code),
            process_name=process.get(("process_name", pid)),
            process_labels=process.get(("process_labels", pid)),
        )
        for code, (pid, tid) in enumerate(keys)
    )
