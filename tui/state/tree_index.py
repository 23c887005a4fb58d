"""Which nodes of a pre-order forest are visible, and where: the state behind a tree of any size."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ptx.profiling.structure.nesting import depths, levels, sizes
from ptx.profiling.trace.columns import ABSENT

if TYPE_CHECKING:
    from numpy.typing import NDArray


class TreeIndex:
    """A forest in pre-order with a fold state per node.

    `parent` (-1 for a root), `depth` and `size` (of the subtree, the node itself included) are
    int32 and never change. `rows` holds the ids of the visible nodes, ascending: a node's row is
    its position there. A subtree is the slice [node, node + size[node]), so folding cuts a slice
    out of `rows` and unfolding inserts one; nothing is ever rebuilt row by row.

    The id of a node never changes; a cursor should be an id, never a row.
    """

    def __init__(self, parent: NDArray[np.int32]) -> None:
        self.parent = parent
        self.depth = depths(parent)
        self.size = sizes(parent, self.depth)
        self.open = np.zeros(len(parent), bool)
        self.rows = np.flatnonzero(parent < 0).astype(np.int32)

    def __len__(self) -> int:
        """Returns the number of nodes, visible or not."""
        return len(self.parent)

    # --- where things are ---------------------------------------------------------------------

    def row_of(self, node: int) -> int:
        """Returns the row of a node, or of its lowest visible ancestor; -1 in an empty tree."""
        while True:
            # np.int32: a Python int would make numpy convert the whole array first
            row = int(np.searchsorted(self.rows, np.int32(node), "right")) - 1
            if row < 0 or self.rows[row] == node:
                return row
            above = int(self.parent[node])
            if above < 0:
                return row
            node = above

    def is_visible(self, node: int) -> bool:
        """Returns whether a node has a row of its own."""
        row = int(np.searchsorted(self.rows, np.int32(node)))
        return row < len(self.rows) and bool(self.rows[row] == node)

    def has_children(self, node: int) -> bool:
        """Returns whether a node can be opened."""
        return bool(self.size[node] > 1)

    def children(self, node: int) -> NDArray[np.int32]:
        """Returns the children of one node, in order; of the forest (its roots) for -1."""
        if node < 0:
            return np.flatnonzero(self.parent < 0).astype(np.int32)
        below = slice(node + 1, node + int(self.size[node]))
        return (np.flatnonzero(self.parent[below] == node) + node + 1).astype(np.int32)

    def ancestors(self, node: int) -> list[int]:
        """Returns the nodes above a node, outermost first."""
        found = []
        while (node := int(self.parent[node])) >= 0:
            found.append(node)
        return found[::-1]

    # --- folding ------------------------------------------------------------------------------

    def set_open(self, node: int, opened: bool) -> None:
        """Opens or closes one node; what lies below keeps its own state."""
        if bool(self.open[node]) == opened or not self.has_children(node):
            return
        self.open[node] = opened
        if not self.is_visible(node):
            return
        row = self.row_of(node)
        end = node + int(self.size[node])
        last = int(np.searchsorted(self.rows, np.int32(end)))
        inside = self._visible_below(node) if opened else self.rows[:0]
        self.rows = np.concatenate((self.rows[: row + 1], inside, self.rows[last:]))

    def set_open_below(self, node: int, opened: bool) -> None:
        """Opens or closes a node and everything below it; the whole forest for -1."""
        below = slice(None) if node < 0 else slice(node, node + int(self.size[node]))
        self.open[below] = opened & (self.size[below] > 1)
        self.refresh()

    def open_to_depth(self, depth: int) -> None:
        """Opens exactly the nodes less deep than `depth`."""
        self.open[:] = (self.depth < depth) & (self.size > 1)
        self.refresh()

    def reveal(self, node: int) -> None:
        """Opens what is closed above a node, so that it gets a row."""
        for above in self.ancestors(node):
            self.set_open(above, True)

    def set_state(self, opened: NDArray[np.bool_]) -> None:
        """Sets the fold state of every node at once."""
        self.open[:] = opened & (self.size > 1)
        self.refresh()

    def refresh(self) -> None:
        """Derives `rows` from `open` for the whole forest."""
        self.rows = np.flatnonzero(self._shown(0, len(self))).astype(np.int32)

    def _visible_below(self, node: int) -> NDArray[np.int32]:
        start, end = node + 1, node + int(self.size[node])
        return (np.flatnonzero(self._shown(start, end)) + start).astype(np.int32)

    def _shown(self, start: int, end: int) -> NDArray[np.bool_]:
        """Returns which nodes of [start, end) have no closed node above them in that range.

        A closed node adds one over the inside of its subtree; what sums to 0 is visible.
        """
        size = self.size[start:end]
        closed = np.flatnonzero(~self.open[start:end] & (size > 1))
        change = np.zeros(end - start + 1, np.int32)
        change[closed + 1] += 1  # closed nodes are distinct, so no index repeats
        # np.int32: with a Python int numpy takes a path that is 40 times slower
        np.add.at(change, closed + size[closed], np.int32(-1))
        shown: NDArray[np.bool_] = np.cumsum(change[:-1], dtype=np.int32) == 0
        return shown

    # --- finding ------------------------------------------------------------------------------

    def next_hit(self, hits: NDArray[np.int32], node: int, step: int) -> int | None:
        """Returns the hit behind (`step` 1) or before (-1) a node, going round at the end.

        Args:
            hits: ascending node ids.
            node: where to start; not an answer itself unless it is the only hit.
            step: 1 or -1.
        """
        if len(hits) == 0:
            return None
        side = "right" if step > 0 else "left"
        at = int(np.searchsorted(hits, np.int32(node), side))  # type: ignore[call-overload]
        at = at if step > 0 else at - 1
        return int(hits[at % len(hits)])


def compact(
    parent: NDArray[np.int32], keep: NDArray[np.bool_]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Returns (parents, node ids) of the kept nodes of a pre-order forest.

    A kept node hangs under its nearest kept ancestor. The parents count within the kept nodes, the
    ids are those of the original forest.
    """
    nodes = np.flatnonzero(keep).astype(np.int32)
    new_id = np.append(np.cumsum(keep, dtype=np.int32) - 1, np.int32(-1))
    return new_id[nearest_kept(parent, keep)[nodes]].astype(np.int32), nodes


def nearest_kept(parent: NDArray[np.int32], keep: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Returns each node's nearest kept ancestor, -1 for none."""
    up = np.append(parent, np.int32(-1))
    is_end = np.append(keep, True)
    active = np.flatnonzero(~is_end[up[:-1]])
    while len(active):
        # a jump is safe: what lies between a node and its `up` was found left out before
        up[active] = up[up[active]]
        active = active[~is_end[up[active]]]
    return up[:-1]


def preorder(parent: NDArray[np.integer], rank: NDArray[np.integer]) -> NDArray[np.int32]:
    """Returns the nodes of a forest, given in any order, as a pre-order; siblings by `rank`.

    Siblings of equal rank keep their order.
    """
    depth = depths(parent.astype(np.int32))
    by_depth = levels(depth)
    size = np.ones(len(parent), np.int64)
    for level in reversed(by_depth[1:]):
        np.add.at(size, parent[level], size[level])
    place = np.zeros(len(parent), np.int64)
    above = np.append(parent, ABSENT)
    for level in by_depth:
        holder = above[level]
        at = np.where(holder >= 0, place[holder], ABSENT)
        order = np.lexsort((level, rank[level], at))
        nodes, at = level[order], at[order]
        before = np.cumsum(size[nodes]) - size[nodes]
        first = np.concatenate(([True], at[1:] != at[:-1]))
        group = np.maximum.accumulate(np.where(first, np.arange(len(nodes)), 0))
        place[nodes] = at + 1 + before - before[group]
    out = np.empty(len(parent), np.int32)
    out[place] = np.arange(len(parent), dtype=np.int32)
    return out
