"""What some nodes of the tree cover on the lanes: their own slices and the kernels below them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ptx.profiling.structure.tree import NodeKind
from ptx.tui.state.blocks import step_mark
from ptx.tui.state.timeline.busy import Busy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ptx.profiling.structure.structure import Structure
    from ptx.tui.state.timeline.lanes import Lane


class Linked:
    """The slices of disjoint subtrees, by thread and by stream."""

    def __init__(self, structure: Structure, step: int | None, nodes: NDArray[np.integer]) -> None:
        """Takes the top nodes of the subtrees, ascending; a step's mark stands for its step."""
        self._structure = structure
        tree, table = structure.tree, structure.trace.table
        self._hosts = nodes[tree.kind[nodes] != NodeKind.ACTIVITY]
        activities = structure.activities
        mine = _below(nodes, tree.size[nodes], tree.node_of[activities.event])
        mark = step_mark(structure, step)
        if mark >= 0 and mark in nodes:
            mine |= activities.step == step
        self._activities = np.flatnonzero(mine)
        event = activities.event[self._activities]
        self._start_ns = table.start_ns[event]
        self._end_ns = self._start_ns + activities.counted_ns[self._activities]
        self._device, self._stream = table.device[event], table.stream[event]
        self._known: dict[object, Busy] = {}

    def busy(self, lane: Lane) -> Busy:
        """Returns when the subtrees were at work on a lane's stream or thread."""
        key: object = lane.stream or lane.thread
        if key not in self._known:
            self._known[key] = self._on_thread(lane.thread)
            if lane.stream is not None:
                device, stream = lane.stream
                mine = (self._device == device) & (self._stream == stream)
                self._known[key] = Busy(self._start_ns[mine], self._end_ns[mine])
        return self._known[key]

    def _on_thread(self, thread: int) -> Busy:
        tree, table = self._structure.tree, self._structure.trace.table
        event = tree.event[self._hosts]
        event = event[table.thread[event] == thread]
        return Busy(table.start_ns[event], table.start_ns[event] + table.dur_ns[event])

    @property
    def span(self) -> tuple[int, int] | None:
        """Returns when the first slice starts and the last ends, on host and device."""
        tree, table = self._structure.tree, self._structure.trace.table
        event = tree.event[self._hosts]
        start = np.concatenate((table.start_ns[event], self._start_ns))
        if not len(start):
            return None
        end = np.concatenate((table.start_ns[event] + table.dur_ns[event], self._end_ns))
        return int(start.min()), int(end.max())


def _below(
    tops: NDArray[np.integer], sizes: NDArray[np.int32], nodes: NDArray[np.int32]
) -> NDArray[np.bool_]:
    """Returns which nodes lie in the subtrees of ascending disjoint top nodes."""
    if not len(tops):
        return np.zeros(len(nodes), bool)
    k = np.searchsorted(tops, nodes.astype(tops.dtype), "right") - 1
    inside: NDArray[np.bool_] = (k >= 0) & (nodes < tops[k] + sizes[k])
    return inside
