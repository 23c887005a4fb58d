"""The columns of a trace: one row per element of its event list; its number is the event id."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, IntFlag
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

ABSENT = -1
"""Value of an integer column where the file gives none."""


class Kind(IntEnum):
    """What an event is.

    `SLICE` is a complete event of the host whose category nobody knows: it holds, it never owns.
    """

    OTHER = 0
    OP = 1
    ANNOTATION = 2
    MODULE = 3
    FRAME = 4
    RUNTIME = 5
    KERNEL = 6
    MEMCPY = 7
    MEMSET = 8
    DEVICE_ANNOTATION = 9
    SYNC = 10
    OVERHEAD = 11
    MEMORY = 12
    FLOW = 13
    INSTANT = 14
    COUNTER = 15
    METADATA = 16
    REFUSED = 17
    SLICE = 18


HOST_KINDS = (Kind.OP, Kind.ANNOTATION, Kind.MODULE, Kind.FRAME, Kind.RUNTIME, Kind.SLICE)
ACTIVITY_KINDS = (Kind.KERNEL, Kind.MEMCPY, Kind.MEMSET)


class Phase(IntEnum):
    """The event's phase letter, or what stands in its place.

    `REFUSED` marks an element that could not be decoded, `EMPTY` one that is `{}` or no object.
    """

    OTHER = 0
    COMPLETE = 1
    METADATA = 2
    FLOW_START = 3
    FLOW_STEP = 4
    FLOW_END = 5
    INSTANT = 6
    COUNTER = 7
    BEGIN = 8
    END = 9
    REFUSED = 10
    EMPTY = 11


class Flag(IntFlag):
    """Why a row's time is not what a sound event would carry."""

    NONE = 0
    NO_TIMESTAMP = 1
    NO_DURATION = 2
    UNFINISHED = 4
    NEGATIVE_DURATION = 8


@dataclass(frozen=True, slots=True)
class SparseColumn:
    """A value that only some rows have: ascending `rows` (int32) and their `values` (int64)."""

    rows: NDArray[np.int32]
    values: NDArray[np.int64]

    def at(self, rows: NDArray[np.integer]) -> NDArray[np.int64]:
        """Returns the value of each row, `ABSENT` where there is none; O(len(rows) log n)."""
        out = np.full(len(rows), ABSENT, np.int64)
        if len(self.rows) == 0:
            return out
        slot = np.searchsorted(self.rows, rows.astype(np.int32))
        slot[slot == len(self.rows)] = 0
        hit = self.rows[slot] == rows
        out[hit] = self.values[slot[hit]]
        return out


@dataclass(frozen=True, slots=True)
class ThreadInfo:
    """One (pid, tid) lane of the file, with the names that its metadata events give."""

    pid: int | str | None
    tid: int | str | None
    name: str | None = None
    process_name: str | None = None
    process_labels: str | None = None


@dataclass(frozen=True, slots=True)
class EventTable:
    """All events as read-only columns of equal length; row i is element i of the event list.

    `start_ns` counts from the trace's `t0_ns`; both times are 0 where `flags` says that the file
    gives none. `thread` indexes `threads`, `name` indexes `names`, `category` indexes
    `categories`. `device` and `stream` are set on device events. Integer columns hold `ABSENT`
    where the file says nothing.
    """

    start_ns: NDArray[np.int64]
    dur_ns: NDArray[np.int64]
    name: NDArray[np.int32]
    kind: NDArray[np.uint8]
    phase: NDArray[np.uint8]
    category: NDArray[np.uint16]
    thread: NDArray[np.int32]
    external_id: NDArray[np.int64]
    correlation: NDArray[np.int64]
    ev_idx: NDArray[np.int32]
    stream: NDArray[np.int32]
    device: NDArray[np.int32]
    flags: NDArray[np.uint8]
    sequence: SparseColumn
    forward_thread: SparseColumn
    bytes: SparseColumn
    python_id: SparseColumn
    python_parent_id: SparseColumn
    flow_id: SparseColumn
    names: tuple[str, ...]
    categories: tuple[str, ...]
    threads: tuple[ThreadInfo, ...]

    def __len__(self) -> int:
        """Returns the number of elements of the event list, refused ones included."""
        return len(self.start_ns)

    def of_kind(self, *kinds: Kind) -> NDArray[np.int32]:
        """Returns the event ids of the given kinds, ascending."""
        wanted = np.zeros(256, bool)
        wanted[list(kinds)] = True
        return np.flatnonzero(wanted[self.kind]).astype(np.int32)

    def name_of(self, event: int) -> str:
        """Returns the event's name as the file has it; sanitise it before any sink."""
        return self.names[int(self.name[event])]

    def names_matching(self, prefix: str) -> NDArray[np.bool_]:
        """Returns one flag per entry of `names`: whether it starts with `prefix`."""
        return np.fromiter((n.startswith(prefix) for n in self.names), bool, len(self.names))
