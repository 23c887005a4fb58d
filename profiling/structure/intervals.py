"""Unions of time intervals, by array passes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def merge(
    start_ns: NDArray[np.int64], end_ns: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Returns the union of intervals as sorted, disjoint (starts, ends)."""
    if len(start_ns) == 0:
        return start_ns, end_ns
    order = np.argsort(start_ns, kind="stable")
    start, end = start_ns[order], end_ns[order]
    reach = np.maximum.accumulate(end)
    first = np.concatenate(([True], start[1:] > reach[:-1]))
    last = np.concatenate((first[1:], [True]))
    return start[first], reach[last]


def covered(
    starts: NDArray[np.int64], ends: NDArray[np.int64], at: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Returns how much of disjoint sorted intervals lies before each time `at`."""
    total = np.concatenate(([0], np.cumsum(ends - starts)))
    k = np.searchsorted(starts, at, "right")
    last = np.maximum(k - 1, 0)
    inside = np.clip(at - starts[last], 0, ends[last] - starts[last]) if len(starts) else 0
    return np.where(k > 0, total[last] + inside, 0).astype(np.int64)


def contains(
    starts: NDArray[np.int64], ends: NDArray[np.int64], at: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Returns whether each time lies in one of disjoint sorted intervals; ends do not count."""
    k = np.searchsorted(starts, at, "right") - 1
    if not len(starts):
        return k >= 0
    inside: NDArray[np.bool_] = (k >= 0) & (at < ends[np.maximum(k, 0)])
    return inside


def distinct(*times: NDArray[np.int64]) -> NDArray[np.int64]:
    """Returns all times once, ascending; np.unique hashes them first, which takes twice as long."""
    together = np.sort(np.concatenate(times))
    is_first = np.ones(len(together), bool)
    is_first[1:] = together[1:] > together[:-1]
    return together[is_first]


def union_by_group(
    group: NDArray[np.int64], start_ns: NDArray[np.int64], end_ns: NDArray[np.int64], groups: int
) -> NDArray[np.int64]:
    """Returns the length of the union of each group's intervals (int64[groups])."""
    out = np.zeros(groups, np.int64)
    if len(group) == 0:
        return out
    order = np.lexsort((start_ns, group))
    g = group[order]
    np.add.at(out, g, fresh_by_group(g, start_ns[order], end_ns[order]))
    return out


def fresh_by_group(
    group: NDArray[np.int64], start_ns: NDArray[np.int64], end_ns: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Returns what each interval adds to the union of those of its group before it.

    Input is sorted by group, then start. Each group is moved to a range of time of its own, so
    that one running maximum serves all of them.
    """
    if len(group) == 0:
        return np.zeros(0, np.int64)
    first = np.flatnonzero(np.concatenate(([True], group[1:] != group[:-1])))
    origin = start_ns[first]
    span = np.maximum.reduceat(end_ns, first) - origin + 1
    shift = np.concatenate(([0], np.cumsum(span)[:-1])) - origin
    per_item = np.repeat(shift, np.diff(np.append(first, len(group))))
    start, end = start_ns + per_item, end_ns + per_item
    before = np.concatenate(([np.iinfo(np.int64).min], np.maximum.accumulate(end)[:-1]))
    before[first] = start[first]
    fresh: NDArray[np.int64] = np.maximum(end - np.maximum(start, before), 0)
    return fresh
