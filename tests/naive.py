"""Plain-loop references, by definition and not by speed, for what ptx does in array passes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

TOLERANCE_NS = 2


@dataclass
class Slice:
    """A host slice in the order of its thread, with what nesting found for it."""

    position: int
    thread: int
    start: int
    end: int
    parent: int = -1
    crossing: bool = False
    children: list[int] = field(default_factory=list)


def order_slices(
    thread: Sequence[int], start: Sequence[int], dur: Sequence[int], ev_idx: Sequence[int]
) -> list[int]:
    """Returns positions by thread, start, then `ev_idx` if all that tie have one, else length."""
    ties: dict[tuple[int, int], list[int]] = {}
    for i in range(len(thread)):
        ties.setdefault((thread[i], start[i]), []).append(i)
    out: list[int] = []
    for key in sorted(ties):
        group = ties[key]
        if all(ev_idx[i] >= 0 for i in group):
            group = sorted(group, key=lambda i: (ev_idx[i], i))
        else:
            group = sorted(group, key=lambda i: (-dur[i], i))
        out.extend(group)
    return out


def contains(outer: Slice, inner: Slice) -> bool:
    """Returns whether an earlier slice holds a later one whole, but for rounding at its end.

    The tolerance never lets a slice hold one that begins at its very end or behind it, unless
    that one has no length.
    """
    if inner.end == inner.start:
        return outer.end >= inner.end
    return outer.end > inner.start and outer.end >= inner.end - TOLERANCE_NS


def nest(
    thread: Sequence[int], start: Sequence[int], dur: Sequence[int], ev_idx: Sequence[int]
) -> list[Slice]:
    """Returns the slices in order, each with the index of the nearest earlier one that holds it."""
    out: list[Slice] = []
    for position in order_slices(thread, start, dur, ev_idx):
        mine = Slice(position, thread[position], start[position], start[position] + dur[position])
        for k in range(len(out) - 1, -1, -1):
            if out[k].thread == mine.thread and contains(out[k], mine):
                mine.parent = k
                break
        siblings = [s for s in out if s.thread == mine.thread and s.parent == mine.parent]
        mine.crossing = any(s.end > mine.start for s in siblings)
        if mine.parent >= 0:
            out[mine.parent].children.append(len(out))
        out.append(mine)
    return out


def depths(parent: Sequence[int]) -> list[int]:
    """Returns how many ancestors each node has."""
    return [len(ancestors(parent, node)) for node in range(len(parent))]


def sizes(parent: Sequence[int]) -> list[int]:
    """Returns how many nodes each subtree has, its root included."""
    size = [1] * len(parent)
    for node in range(len(parent)):
        for above in ancestors(parent, node):
            size[above] += 1
    return size


def ancestors(parent: Sequence[int], node: int) -> list[int]:
    """Returns the ancestors of a node, the nearest first."""
    found = []
    above = parent[node]
    while above >= 0:
        found.append(above)
        above = parent[above]
    return found


def union_ns(intervals: Sequence[tuple[int, int]]) -> int:
    """Returns the length of a union of intervals, one ns at a time."""
    return len({ns for start, end in intervals for ns in range(start, end)})


def covered_before(intervals: Sequence[tuple[int, int]], at: int) -> int:
    """Returns how many ns of a union of intervals lie before a time."""
    return len({ns for start, end in intervals for ns in range(start, end) if ns < at})


def counted_durations(
    stream: Sequence[tuple[int, int]], start: Sequence[int], dur: Sequence[int]
) -> list[int]:
    """Returns what each activity counts: up to the next of its stream if it holds that one whole.

    Those that start together follow each other longest first, then by position.
    """
    counted = list(dur)
    for i in range(len(start)):
        later = [
            (start[k], -dur[k], k)
            for k in range(len(start))
            if stream[k] == stream[i] and (start[k], -dur[k], k) > (start[i], -dur[i], i)
        ]
        if not later or stream[i][1] < 0:
            continue
        following = min(later)[2]
        end, next_end = start[i] + dur[i], start[following] + dur[following]
        if start[following] < end and next_end <= end:
            counted[i] = start[following] - start[i]
    return counted
