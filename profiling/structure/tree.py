"""The op tree: host slices nested by time, with each activity under the call that launched it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np

from ptx.profiling.structure.nesting import depths, sizes
from ptx.profiling.trace.columns import ABSENT, Kind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ptx.profiling.structure.nesting import Nesting
    from ptx.profiling.trace.columns import EventTable


class NodeKind(IntEnum):
    """What a node of the tree is."""

    OP = 0
    ANNOTATION = 1
    MODULE = 2
    FRAME = 3
    LAUNCH = 4
    RUNTIME = 5
    ACTIVITY = 6


_NODE_KINDS = {
    Kind.OP: NodeKind.OP,
    Kind.ANNOTATION: NodeKind.ANNOTATION,
    Kind.SLICE: NodeKind.ANNOTATION,
    Kind.MODULE: NodeKind.MODULE,
    Kind.FRAME: NodeKind.FRAME,
    Kind.RUNTIME: NodeKind.RUNTIME,
    Kind.KERNEL: NodeKind.ACTIVITY,
    Kind.MEMCPY: NodeKind.ACTIVITY,
    Kind.MEMSET: NodeKind.ACTIVITY,
}


@dataclass(frozen=True, slots=True)
class Tree:
    """All host slices and activities of a trace as one pre-order forest of nodes.

    A node's subtree is the slice [node, node + size[node]). `event` maps a node to its event id,
    `node_of` an event id to its node (-1 where it has none). An activity's parent is its launch;
    an activity whose launch is unknown is a root behind all threads.
    """

    event: NDArray[np.int32]
    parent: NDArray[np.int32]
    depth: NDArray[np.int32]
    size: NDArray[np.int32]
    kind: NDArray[np.uint8]
    node_of: NDArray[np.int32]

    def __len__(self) -> int:
        """Returns the number of nodes."""
        return len(self.event)

    def nearest(self, kinds: tuple[NodeKind, ...]) -> NDArray[np.int32]:
        """Returns each node's nearest proper ancestor of the given kinds as a node, -1 for none."""
        wanted = np.zeros(len(NodeKind), bool)
        wanted[list(kinds)] = True
        is_wanted = np.append(wanted[self.kind], True)  # index -1, "none", ends every search
        up = np.append(self.parent, np.int32(-1))
        active = np.flatnonzero(~is_wanted[up[:-1]])
        while len(active):
            # a jump is safe: what lies between a node and its `up` was found unwanted before
            up[active] = up[up[active]]
            active = active[~is_wanted[up[active]]]
        return up[:-1]


def join_activities(
    table: EventTable,
    hosts: NDArray[np.int32],
    nesting: Nesting,
    activities: NDArray[np.int32],
    above: NDArray[np.int32],
) -> Tree:
    """Returns the tree of nested host events with the activities hung in.

    Args:
        table: the events.
        hosts: event ids of the nested host slices, in the order that `nesting.order` refers to.
        nesting: their nesting.
        activities: event ids of the activities.
        above: the event id (a launch, or an op) that each activity hangs under, -1 for none.
    """
    host_event = hosts[nesting.order]
    n, m = len(host_event), len(activities)
    place = np.full(len(table), ABSENT, np.int32)
    place[host_event] = np.arange(n, dtype=np.int32)
    parent_place = np.where(above >= 0, place[above], ABSENT)
    # an activity comes behind everything that already lies below its parent
    size = np.append(nesting.size, np.int32(0))  # index -1; a trace may have no host slice at all
    behind = np.where(parent_place >= 0, parent_place + size[parent_place], n)
    order = np.lexsort((activities, table.start_ns[activities], -parent_place, behind))
    behind, parent_place = behind[order], parent_place[order]
    before = np.cumsum(np.bincount(behind, minlength=n + 1))  # activities in front of place k
    host_node = np.arange(n, dtype=np.int64) + before[:n]
    activity_node = behind + np.arange(m)
    event = np.empty(n + m, np.int32)
    parent = np.full(n + m, ABSENT, np.int32)
    event[host_node] = host_event
    event[activity_node] = activities[order]
    nested = nesting.parent >= 0
    parent[host_node[nested]] = host_node[nesting.parent[nested]]
    linked = parent_place >= 0
    parent[activity_node[linked]] = host_node[parent_place[linked]]
    depth = depths(parent)
    node_of = np.full(len(table), ABSENT, np.int32)
    node_of[event] = np.arange(n + m, dtype=np.int32)
    lut = np.zeros(len(Kind) + 1, np.uint8)
    for kind, node_kind in _NODE_KINDS.items():
        lut[kind] = node_kind
    return Tree(event, parent, depth, sizes(parent, depth), lut[table.kind[event]], node_of)
