"""Totals of every node: kernels, GPU sum and GPU busy of its subtree, and its self time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ptx.profiling.structure.intervals import fresh_by_group, union_by_group
from ptx.profiling.structure.tree import NodeKind
from ptx.profiling.trace.columns import Kind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ptx.profiling.structure.activities import Activities
    from ptx.profiling.structure.tree import Tree
    from ptx.profiling.trace.columns import EventTable


@dataclass(frozen=True, slots=True)
class NodeSums:
    """Totals of each node's subtree as arrays over nodes.

    `gpu_sum_ns` adds the counted durations of the activities, `gpu_sum_raw_ns` the recorded ones;
    `gpu_busy_ns` is the length of the union of their intervals per device, added over devices.
    """

    kernels: NDArray[np.int32]
    activities: NDArray[np.int32]
    launches: NDArray[np.int32]
    ops: NDArray[np.int32]
    gpu_sum_ns: NDArray[np.int64]
    gpu_sum_raw_ns: NDArray[np.int64]
    gpu_busy_ns: NDArray[np.int64]
    self_ns: NDArray[np.int64]


def subtree_sums(tree: Tree, values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Returns the sum of `values` (one a node) over each node's subtree, by one prefix sum."""
    total = np.concatenate(([0], np.cumsum(values)))
    start = np.arange(len(tree))
    sums: NDArray[np.int64] = total[start + tree.size] - total[start]
    return sums


def sum_nodes(table: EventTable, tree: Tree, activities: Activities) -> NodeSums:
    """Returns the totals of every node."""
    mine = tree.node_of[activities.event]
    counted = np.zeros(len(tree), np.int64)
    counted[mine] = activities.counted_ns
    raw = np.zeros(len(tree), np.int64)
    raw[mine] = table.dur_ns[activities.event]
    kernel = (table.kind[tree.event] == Kind.KERNEL).astype(np.int64)

    def count(kind: NodeKind) -> NDArray[np.int32]:
        return subtree_sums(tree, (tree.kind == kind).astype(np.int64)).astype(np.int32)

    gpu_sum_ns = subtree_sums(tree, counted)
    return NodeSums(
        kernels=subtree_sums(tree, kernel).astype(np.int32),
        activities=count(NodeKind.ACTIVITY),
        launches=count(NodeKind.LAUNCH),
        ops=count(NodeKind.OP),
        gpu_sum_ns=gpu_sum_ns,
        gpu_sum_raw_ns=subtree_sums(tree, raw),
        gpu_busy_ns=busy_by_node(
            tree.parent,
            tree.depth,
            tree.size,
            mine,
            table.start_ns[activities.event],
            table.start_ns[activities.event] + activities.counted_ns,
            table.device[activities.event],
        ),
        self_ns=self_times(table, tree),
    )


def busy_by_node(
    parent: NDArray[np.int32],
    depth: NDArray[np.int32],
    size: NDArray[np.int32],
    node: NDArray[np.integer],
    start_ns: NDArray[np.int64],
    end_ns: NDArray[np.int64],
    device: NDArray[np.integer],
) -> NDArray[np.int64]:
    """Returns the busy time of each node of a pre-order forest (int64 ns, one a node).

    That is the union of the intervals at or below it per device, added over devices. Intervals
    that overlap no other on their device add their length, by prefix sum. The rest is united level
    by level: at each depth every one of them belongs to one ancestor.

    Args:
        parent: the forest.
        depth: its depths.
        size: its subtree sizes.
        node: the node of each interval.
        start_ns: where each interval starts.
        end_ns: where it ends.
        device: its device.
    """
    order = np.lexsort((start_ns, device))
    overlapping = np.zeros(len(node), bool)
    if len(order):
        d, s, e = device[order].astype(np.int64), start_ns[order], end_ns[order]
        overlapping[order] = (fresh_by_group(d, s, e) < e - s) | _reaches_next(d, s, e)
    alone = np.zeros(len(parent), np.int64)
    np.add.at(alone, node[~overlapping], (end_ns - start_ns)[~overlapping])
    total = np.concatenate(([0], np.cumsum(alone)))
    here = np.arange(len(parent))
    busy: NDArray[np.int64] = total[here + size] - total[here]
    at = node[overlapping].astype(np.int64)
    start, end = start_ns[overlapping], end_ns[overlapping]
    devices = device[overlapping].astype(np.int64)
    devices -= devices.min(initial=0)
    width = int(devices.max(initial=0)) + 1
    # deepest first, so that all intervals of a subtree have come up when its node's turn comes
    level = int(depth[at].max(initial=0))
    while len(at):
        now = np.flatnonzero(depth[at] == level)
        ids, group = np.unique(at[now] * width + devices[now], return_inverse=True)
        union = union_by_group(group, start[now], end[now], len(ids))
        np.add.at(busy, ids // width, union)
        at[now] = parent[at[now]]
        level -= 1
        if (at < 0).any():
            keep = at >= 0
            at, start, end, devices = at[keep], start[keep], end[keep], devices[keep]
    return busy


def _reaches_next(
    device: NDArray[np.int64], start: NDArray[np.int64], end: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Returns which intervals (sorted by device, start) reach past the start of the next one."""
    reach = np.zeros(len(start), bool)
    reach[:-1] = (device[1:] == device[:-1]) & (start[1:] < end[:-1])
    return reach


def self_times(table: EventTable, tree: Tree) -> NDArray[np.int64]:
    """Returns each node's duration less the union of its nearest non-transparent descendants.

    Frames and modules are transparent: what lies below them counts for the node above them too.
    An activity's self time is its duration.
    """
    start = table.start_ns[tree.event]
    dur = table.dur_ns[tree.event]
    end = start + dur
    solid_kinds = (NodeKind.OP, NodeKind.ANNOTATION, NodeKind.LAUNCH, NodeKind.RUNTIME)
    solid = np.isin(tree.kind, solid_kinds)
    covered = np.zeros(len(tree), np.int64)
    node = np.flatnonzero(solid).astype(np.int64)
    above = tree.parent[node].astype(np.int64)
    keep = above >= 0
    node, above = node[keep], above[keep]
    # one round per transparent level: a slice counts for its parent, and on through frames
    parts_node, parts_above = [node], [above]
    while len(above):
        through = ~solid[above]
        node, above = node[through], tree.parent[above[through]].astype(np.int64)
        keep = above >= 0
        node, above = node[keep], above[keep]
        parts_node.append(node)
        parts_above.append(above)
    node, above = np.concatenate(parts_node), np.concatenate(parts_above)
    if len(node):
        inner_start = np.clip(start[node], start[above], end[above])
        inner_end = np.clip(end[node], start[above], end[above])
        covered = union_by_group(above, inner_start, inner_end, len(tree))
    return dur - covered
