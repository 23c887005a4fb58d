"""Which slice of a thread lies in which: parents, depths and subtree sizes by array passes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

TOLERANCE_NS = 2
"""By so much a child may outlive its parent: what rounding of us with 3 decimals can do."""

WHOLE_US_TOLERANCE_NS = 1000
"""The same where the file has whole us only: start and duration were both rounded down."""

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


@dataclass(frozen=True, slots=True)
class Calls:
    """What Python frames tell of themselves, one entry a slice, -1 where a slice tells nothing.

    `number` ascends in the order of the calls of a thread; `caller` is the position of the frame
    that made the call.
    """

    number: NDArray[np.int64]
    caller: NDArray[np.int64]


def nest(
    thread: NDArray[np.integer],
    start_ns: NDArray[np.int64],
    dur_ns: NDArray[np.int64],
    ev_idx: NDArray[np.integer],
    calls: Calls | None = None,
    tolerance_ns: int = TOLERANCE_NS,
) -> Nesting:
    """Returns the nesting of slices, thread by thread in ascending thread code.

    A slice's parent is the nearest earlier slice of its thread that contains it whole, within the
    tolerance at the end. Slices that start together are ordered by `ev_idx` or by the number of
    their call where all of them have one, else longest first, then by position.

    Args:
        thread: a code for the thread of each slice.
        start_ns: when each starts.
        dur_ns: how long each lasts.
        ev_idx: the profiler's own order, -1 where it gives none.
        calls: settles what time cannot: a frame may outlive its caller, and one without length
            that has a caller but called nothing holds nothing.
        tolerance_ns: by so much a child may outlive its parent.
    """
    order = _order(thread, start_ns, dur_ns, ev_idx, calls)
    start = start_ns[order]
    end = start + dur_ns[order]
    lane = np.asarray(thread)[order]
    reach = end if calls is None else _reach(lane, start, end, _places(order, calls.caller))
    parent = _parents(lane, start, end, reach, tolerance_ns)
    depth = depths(parent)
    size = sizes(parent, depth)
    return Nesting(order, parent, depth, size, _crossing(lane, parent, depth, start, end))


def _order(
    thread: NDArray[np.integer],
    start_ns: NDArray[np.int64],
    dur_ns: NDArray[np.int64],
    ev_idx: NDArray[np.integer],
    calls: Calls | None,
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
    first_key = -dur_ns[members]
    for number in (ev_idx,) if calls is None else (ev_idx, calls.number):
        lacking = np.unique(mine[number[members] < 0])
        first_key = np.where(np.isin(mine, lacking), first_key, number[members])
    order[places] = members[np.lexsort((members, first_key, mine))]
    return order


def _places(order: NDArray[np.int64], caller: NDArray[np.int64]) -> NDArray[np.int64]:
    """Returns the callers, in the order, as places in it; -1 for none."""
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    position = caller[order]
    return np.where(position >= 0, place[position], -1)


def _reach(
    lane: NDArray[np.integer],
    start: NDArray[np.int64],
    end: NDArray[np.int64],
    caller: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Returns until when each slice may hold others: its end, or that of a call it made.

    A call counts only if it starts while its caller runs; what starts later fits by no rounding.
    Calls in a row that were too short for the clock lie in each other by time; those that called
    nothing may hold nothing.
    """
    outlives = (caller >= 0) & (caller < np.arange(len(caller)))
    outlives &= (lane[caller] == lane) & (start < end[caller]) & (end > end[caller])
    reach = end.copy()
    np.maximum.at(reach, caller[outlives], end[outlives])
    is_caller = np.zeros(len(caller), bool)
    is_caller[caller[caller >= 0]] = True
    reach[(end == start) & (caller >= 0) & ~is_caller] -= 1
    return reach


def _parents(
    lane: NDArray[np.integer],
    start: NDArray[np.int64],
    end: NDArray[np.int64],
    reach: NDArray[np.int64],
    tolerance_ns: int,
) -> NDArray[np.int32]:
    """Returns for each slice the nearest earlier one that reaches far enough.

    Every slice first points at its predecessor, then all jump to where that one points, until
    each stands on one that contains it. A jump skips only slices that end too early, since the
    skipped ones ended too early even for the (shorter) slice that was jumped from.
    """
    n = len(start)
    if n == 0:
        return np.zeros(0, np.int32)
    # what the parent's end must reach: the own end less the tolerance, but past the own start
    need = np.maximum(end - tolerance_ns, np.minimum(end, start + 1))
    ends = np.append(reach, _NEVER)  # index -1 stands for "no parent" and contains everything
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
