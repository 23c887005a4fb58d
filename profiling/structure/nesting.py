"""Which slice of a thread lies in which: parents, depths and subtree sizes by array passes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

TOLERANCE_NS = 2
"""By so much a child may outlive its parent: what rounding of us with 3 decimals can do."""

_NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class Nesting:
    """A forest of slices in pre-order.

    `order[k]` is the input position of the k-th slice; `parent`, `depth`, `size` are indexed by k
    (parent -1 for a root; size counts the slice itself). `crossing` marks slices that start
    inside an earlier slice and outlive it: they hang under the nearest one that contains them.
    """

    order: NDArray[np.int64]
    parent: NDArray[np.int32]
    depth: NDArray[np.int32]
    size: NDArray[np.int32]
    crossing: NDArray[np.bool_]


def nest(
    thread: NDArray[np.integer],
    start_ns: NDArray[np.int64],
    dur_ns: NDArray[np.int64],
    ev_idx: NDArray[np.integer],
) -> Nesting:
    """Returns the nesting of slices, thread by thread in ascending thread code.

    A slice's parent is the nearest earlier slice of its thread that contains it whole, within
    `TOLERANCE_NS` at the end. Slices that start together are ordered by `ev_idx` where all of
    them have one (>= 0), else longest first, then by position.
    """
    order = _order(thread, start_ns, dur_ns, ev_idx)
    start = start_ns[order]
    end = start + dur_ns[order]
    lane = np.asarray(thread)[order]
    parent = _parents(lane, start, end)
    depth = depths(parent)
    size = sizes(parent, depth)
    return Nesting(order, parent, depth, size, _crossing(lane, parent, depth, start, end))


def _order(
    thread: NDArray[np.integer],
    start_ns: NDArray[np.int64],
    dur_ns: NDArray[np.int64],
    ev_idx: NDArray[np.integer],
) -> NDArray[np.int64]:
    n = len(start_ns)
    same_lane = thread[1:] == thread[:-1]
    if n > 1 and not ((thread[1:] > thread[:-1]) | (same_lane & (np.diff(start_ns) >= 0))).all():
        order = np.lexsort((start_ns, thread))
    else:
        order = np.arange(n)
    lane, start = thread[order], start_ns[order]
    tied = (start[1:] == start[:-1]) & (lane[1:] == lane[:-1])
    if not tied.any():
        return order
    group = np.concatenate(([0], np.cumsum(~tied)))
    in_tie = np.zeros(n, bool)
    in_tie[1:] |= tied
    in_tie[:-1] |= tied
    places = np.flatnonzero(in_tie)
    members = order[places]
    mine = group[places]
    lacking = np.unique(mine[ev_idx[members] < 0])
    by_ev_idx = ~np.isin(mine, lacking)
    first_key = np.where(by_ev_idx, ev_idx[members], -dur_ns[members])
    order[places] = members[np.lexsort((members, first_key, mine))]
    return order


def _parents(
    lane: NDArray[np.integer], start: NDArray[np.int64], end: NDArray[np.int64]
) -> NDArray[np.int32]:
    """Returns for each slice the nearest earlier one whose end reaches far enough.

    Every slice first points at its predecessor, then all jump to where that one points, until
    each stands on one that contains it. A jump skips only slices that end too early, since the
    skipped ones ended too early even for the (shorter) slice that was jumped from.
    """
    n = len(start)
    if n == 0:
        return np.zeros(0, np.int32)
    # what the parent's end must reach: the own end less the tolerance, but past the own start
    need = np.maximum(end - TOLERANCE_NS, np.minimum(end, start + 1))
    ends = np.append(end, _NEVER)  # index -1 stands for "no parent" and contains everything
    at = np.arange(-1, n - 1, dtype=np.int32)
    at[1:][lane[1:] != lane[:-1]] = -1
    at = np.append(at, np.int32(-1))
    active = np.flatnonzero(ends[at[:n]] < need)
    while len(active):
        jumped = at[at[active]]
        at[active] = jumped
        active = active[ends[jumped] < need[active]]
    return at[:n]


def depths(parent: NDArray[np.int32]) -> NDArray[np.int32]:
    """Returns the depth of each node of a pre-order forest (roots 0), by pointer doubling."""
    n = len(parent)
    depth = np.append((parent >= 0).astype(np.int32), np.int32(0))
    up = np.append(parent, np.int32(-1))
    active = np.flatnonzero(parent >= 0)
    while len(active):
        above = up[active]
        depth[active] += depth[above]
        up[active] = up[above]
        active = active[up[active] >= 0]
    return depth[:n]


def sizes(parent: NDArray[np.int32], depth: NDArray[np.int32]) -> NDArray[np.int32]:
    """Returns the subtree size of each node of a pre-order forest, deepest level first."""
    size = np.ones(len(parent), np.int32)
    for level in reversed(levels(depth)[1:]):
        above = parent[level]
        first = np.flatnonzero(np.concatenate(([True], above[1:] != above[:-1])))
        size[above[first]] += np.add.reduceat(size[level], first).astype(np.int32)
    return size


def levels(depth: NDArray[np.int32]) -> list[NDArray[np.int64]]:
    """Returns the nodes of each depth, ascending; siblings of one parent stand together."""
    if len(depth) == 0:
        return []
    small = depth.astype(np.uint16) if depth.max() < 2**16 else depth
    order = np.argsort(small, kind="stable")
    return np.split(order, np.cumsum(np.bincount(depth))[:-1])


def _crossing(
    lane: NDArray[np.integer],
    parent: NDArray[np.int32],
    depth: NDArray[np.int32],
    start: NDArray[np.int64],
    end: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """Returns which slices start before the sibling in front of them has ended.

    Of earlier siblings the last one ends last (else it would lie inside one of them), so only
    neighbours need a look.
    """
    crossing = np.zeros(len(parent), bool)
    for level in levels(depth):
        above = parent[level]
        siblings = (above[1:] == above[:-1]) & (lane[level[1:]] == lane[level[:-1]])
        early = siblings & (start[level[1:]] < end[level[:-1]])
        crossing[level[1:][early]] = True
    return crossing
