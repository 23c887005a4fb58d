"""The memory that an op took and kept, from the profiler's `[memory]` events."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ptx.profiling.trace.columns import Kind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ptx.profiling.structure.structure import Structure

_MOST_EVENTS = 256


class Allocations:
    """Looks up what was allocated while an op ran, on the thread of the op."""

    def __init__(self, structure: Structure) -> None:
        self._structure = structure

    def left_by(self, node: int) -> int | None:
        """Returns the bytes taken while an op ran and not given back before it ended.

        That is its output, and what it saved for later. None where no memory was recorded, or
        the op ran through more than a few hundred allocations.
        """
        table = self._structure.trace.table
        event = int(self._structure.tree.event[node])
        start = table.start_ns[event]
        first, behind = np.searchsorted(
            self._times, [start, start + table.dur_ns[event]], side="left"
        ).tolist()
        if not 0 < behind - first <= _MOST_EVENTS:
            return None
        rows = self._rows[first:behind]
        kept: dict[object, int] = {}
        for row in rows[table.thread[rows] == table.thread[event]].tolist():
            address, size = self._change(row)
            if size > 0:
                kept[address] = size
            else:
                kept.pop(address, None)
        return sum(kept.values()) or None

    def _change(self, row: int) -> tuple[object, int]:
        args = (self._structure.trace.args.event(row) or {}).get("args")
        if not isinstance(args, dict):
            return None, 0
        size = args.get("Bytes")
        return args.get("Addr"), size if type(size) is int else 0

    @cached_property
    def _rows(self) -> NDArray[np.int32]:
        table = self._structure.trace.table
        rows = table.of_kind(Kind.MEMORY)
        return rows[np.argsort(table.start_ns[rows], kind="stable")]

    @cached_property
    def _times(self) -> NDArray[np.int64]:
        times: NDArray[np.int64] = self._structure.trace.table.start_ns[self._rows]
        return times
