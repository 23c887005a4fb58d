"""Lanes put right: device lanes without categories, foreign slices, frames of unknown threads."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ptx.profiling.trace.columns import ACTIVITY_KINDS, Kind, ThreadInfo

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from ptx.profiling.trace.columns import SparseColumn

_ASCEND = "Ascend Hardware"
_DEVICE_LABEL = re.compile(r"(GPU|NPU|MTIA|MLU|XPU|HPU|TPU)\b")
_PROFILER_PIDS = ("Spans", "Traces")  # the profiler's own marks of its windows
_COPY = re.compile(r"memcpy|sdma", re.IGNORECASE)
_WAIT = re.compile(r"(event|notify)_(record|wait|reset)", re.IGNORECASE)
_UNKNOWN_THREAD = "Python thread"


def settle_lanes(
    columns: dict[str, NDArray[Any]],
    kind: NDArray[np.uint8],
    python_ids: tuple[SparseColumn, SparseColumn],
    names: tuple[str, ...],
    categories: tuple[str, ...],
    threads: tuple[ThreadInfo, ...],
) -> tuple[ThreadInfo, ...]:
    """Changes `kind` and the thread column in place; returns the lanes with those added.

    - Slices without a known category on a lane of an Ascend device become activities.
    - Such slices on another device's lane, and the profiler's own marks, are no part of the tree.
    - The rest are foreign slices: where their thread holds ops, calls or frames too, each
      category gets a lane of its own, since nothing says that they nest with those.
    - Frames whose thread the profiler did not know stand on thread 0, often that of a GPU's
      stream 0: they go to the thread of the frame that called them, else to a lane of their own.
    """
    lanes = _Lanes(columns["thread"], threads)
    _settle_ascend(columns, kind, names, lanes)
    _drop_device_slices(kind, lanes)
    _move_frames(kind, python_ids, lanes)
    _split_slices(columns["category"], kind, categories, lanes)
    return tuple(lanes.threads)


class _Lanes:
    """The lanes of a trace and the lane of each event, both open to change."""

    def __init__(self, thread: NDArray[np.int32], threads: tuple[ThreadInfo, ...]) -> None:
        self.thread = thread
        self.threads = list(threads)

    def having(self, rows: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Returns one flag per lane: whether any of the events flagged stands on it."""
        return np.bincount(self.thread[rows], minlength=len(self.threads)) > 0

    def where(self, test: Callable[[ThreadInfo], bool]) -> NDArray[np.bool_]:
        """Returns one flag per lane."""
        return np.fromiter(map(test, self.threads), bool, len(self.threads))

    def move(self, rows: NDArray[np.intp], **changes: str | None) -> None:
        """Puts events of one lane on a new one like it but for `changes`."""
        like = self.threads[int(self.thread[rows[0]])]
        self.threads.append(replace(like, **changes))
        self.thread[rows] = len(self.threads) - 1


def _settle_ascend(
    columns: dict[str, NDArray[Any]], kind: NDArray[np.uint8], names: tuple[str, ...], lanes: _Lanes
) -> None:
    on_device = lanes.where(lambda lane: lane.process_name == _ASCEND)
    if not on_device.any():
        return
    rows = np.flatnonzero((kind == Kind.SLICE) & on_device[lanes.thread])
    kind[rows] = Kind.KERNEL
    for pattern, settled in ((_COPY, Kind.MEMCPY), (_WAIT, Kind.SYNC)):
        mine = np.fromiter((pattern.match(n) is not None for n in names), bool, len(names))
        kind[rows[mine[columns["name"][rows]]]] = settled
    # the pid of such a process is no device number: count them instead
    pids = sorted({str(lanes.threads[k].pid) for k in np.flatnonzero(on_device)})
    number = [pids.index(str(t.pid)) if t.process_name == _ASCEND else -1 for t in lanes.threads]
    unset = rows[columns["device"][rows] < 0]
    columns["device"][unset] = np.array(number, np.int32)[lanes.thread[unset]]


def _drop_device_slices(kind: NDArray[np.uint8], lanes: _Lanes) -> None:
    slices = np.flatnonzero(kind == Kind.SLICE)
    if not len(slices):
        return
    outside = lanes.where(lambda lane: lane.pid in _PROFILER_PIDS)
    known = _is_one(kind, Kind.OP, *ACTIVITY_KINDS)
    if known.any():  # else a trace of another kind, all of whose slices count
        outside |= lanes.having(_is_one(kind, *ACTIVITY_KINDS, Kind.DEVICE_ANNOTATION, Kind.SYNC))
        outside |= lanes.where(_is_device) & ~lanes.having(_on_host(kind))
    kind[slices[outside[lanes.thread[slices]]]] = Kind.OTHER


def _is_one(kind: NDArray[np.uint8], *kinds: Kind) -> NDArray[np.bool_]:
    wanted = np.zeros(256, bool)
    wanted[list(kinds)] = True
    return wanted[kind]


def _on_host(kind: NDArray[np.uint8]) -> NDArray[np.bool_]:
    return _is_one(kind, Kind.OP, Kind.ANNOTATION, Kind.MODULE, Kind.FRAME, Kind.RUNTIME)


def _is_device(lane: ThreadInfo) -> bool:
    return any(
        text is not None and _DEVICE_LABEL.match(text) is not None
        for text in (lane.process_labels, lane.process_name)
    )


def _move_frames(
    kind: NDArray[np.uint8], python_ids: tuple[SparseColumn, SparseColumn], lanes: _Lanes
) -> None:
    frame = _is_one(kind, Kind.FRAME, Kind.MODULE)
    if not frame.any():
        return
    works = lanes.having(_on_host(kind) & ~frame)
    unknown = lanes.where(lambda lane: lane.tid == 0) & lanes.having(frame) & ~works
    unknown |= lanes.having(_is_one(kind, *ACTIVITY_KINDS)) & lanes.having(frame)
    if not unknown.any() or not (works | lanes.having(frame) & ~unknown).any():
        return
    rows = np.flatnonzero(frame & unknown[lanes.thread])
    home = _lanes_of_callers(rows, python_ids, unknown, lanes.thread)
    known = home >= 0
    lanes.thread[rows[known]] = home[known]
    for code in np.unique(lanes.thread[rows[~known]]).tolist():
        lost = rows[~known]
        lost = lost[lanes.thread[lost] == code]
        lanes.move(lost, name=_UNKNOWN_THREAD, process_name=None, process_labels=None)


def _lanes_of_callers(
    rows: NDArray[np.intp],
    python_ids: tuple[SparseColumn, SparseColumn],
    unknown: NDArray[np.bool_],
    thread: NDArray[np.int32],
) -> NDArray[np.int32]:
    """Returns the lane of the nearest caller whose thread is known, -1 for none."""
    own, parent = python_ids
    home = np.full(len(rows), -1, np.int32)
    if not len(own.rows):
        return home
    order = np.argsort(own.values, kind="stable")
    ids = own.values[order]

    def frame_of(wanted: NDArray[np.int64]) -> NDArray[np.intp]:
        slot = np.minimum(np.searchsorted(ids, wanted), len(ids) - 1)
        return np.where(ids[slot] == wanted, own.rows[order[slot]], -1).astype(np.intp)

    active = np.arange(len(rows))
    at = rows
    for _ in range(len(rows)):  # a call chain is no longer than its frames, circles included
        at = frame_of(parent.at(at))
        active, at = active[at >= 0], at[at >= 0]
        if not len(at):
            break
        settled = ~unknown[thread[at]]
        home[active[settled]] = thread[at[settled]]
        active, at = active[~settled], at[~settled]
    return home


def _split_slices(
    category: NDArray[np.uint16],
    kind: NDArray[np.uint8],
    categories: tuple[str, ...],
    lanes: _Lanes,
) -> None:
    slices = np.flatnonzero(kind == Kind.SLICE)
    if not len(slices):
        return
    shared = lanes.having(_on_host(kind))
    mixed = slices[shared[lanes.thread[slices]]]
    group = lanes.thread[mixed].astype(np.int64) * (len(categories) + 1) + category[mixed]
    for code in np.unique(group).tolist():
        rows = mixed[group == code]
        thread = lanes.threads[int(lanes.thread[rows[0]])]
        text = categories[int(category[rows[0]])] or "other"
        lanes.move(rows, name=f"{thread.name or f'thread {thread.tid}'} ({text})")
