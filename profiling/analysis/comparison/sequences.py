"""Sequences: the heaviest increasing chain, and the longest common subsequence."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

_MOST_EDITS = 3000


def heaviest_chain(values: Sequence[int], weights: Sequence[int]) -> list[int]:
    """Returns the positions of the increasing subsequence with the greatest total weight.

    O(n log n) by a tree of prefix maxima; of equal chains the one that ends first.

    Args:
        values: distinct numbers from 0 up to less than 2 n.
        weights: positive, one a value.
    """
    size = max(values, default=-1) + 2
    best = [0] * size  # by Fenwick index: the heaviest chain that ends in a value below
    ends = [-1] * size
    before = [-1] * len(values)
    total = [0] * len(values)
    for position, value in enumerate(values):
        at, weight, last = value, 0, -1
        while at > 0:
            if best[at] > weight:
                weight, last = best[at], ends[at]
            at &= at - 1
        total[position] = weight + weights[position]
        before[position] = last
        at = value + 1
        while at < size:
            if total[position] > best[at]:
                best[at], ends[at] = total[position], position
            at += at & -at
    chain: list[int] = []
    at = max(range(len(values)), key=lambda k: (total[k], -k), default=-1)
    while at >= 0:
        chain.append(at)
        at = before[at]
    return chain[::-1]


def common_subsequence(a: Sequence[Hashable], b: Sequence[Hashable]) -> list[tuple[int, int]]:
    """Returns the pairs of positions of a longest common subsequence.

    O((n + m) D) for D differences; where there are more than 3000, only the common ends.
    """
    start = 0
    while start < min(len(a), len(b)) and a[start] == b[start]:
        start += 1
    end_a, end_b = len(a), len(b)
    while end_a > start and end_b > start and a[end_a - 1] == b[end_b - 1]:
        end_a -= 1
        end_b -= 1
    inner = _by_fewest_edits(a[start:end_a], b[start:end_b])
    return [
        *((k, k) for k in range(start)),
        *((start + i, start + j) for i, j in inner),
        *zip(range(end_a, len(a)), range(end_b, len(b)), strict=True),
    ]


def _by_fewest_edits(a: Sequence[Hashable], b: Sequence[Hashable]) -> list[tuple[int, int]]:
    """Myers' greedy algorithm: how far each diagonal gets with d edits, for d = 0, 1, ..."""
    n, m = len(a), len(b)
    if not n or not m or abs(n - m) > _MOST_EDITS:
        return []
    reach = {1: 0}
    history: list[dict[int, int]] = []
    for edits in range(min(n + m, _MOST_EDITS) + 1):
        history.append(dict(reach))
        for diagonal in range(-edits, edits + 1, 2):
            down = diagonal == -edits or (
                diagonal != edits and reach.get(diagonal - 1, -1) < reach.get(diagonal + 1, -1)
            )
            x = reach[diagonal + 1] if down else reach[diagonal - 1] + 1
            y = x - diagonal
            while x < n and y < m and a[x] == b[y]:
                x += 1
                y += 1
            reach[diagonal] = x
            if x >= n and y >= m:
                return _traced(history, n, m)
    return []


def _traced(history: list[dict[int, int]], n: int, m: int) -> list[tuple[int, int]]:
    pairs: list[tuple[int, int]] = []
    x, y = n, m
    for edits in range(len(history) - 1, -1, -1):
        reach = history[edits]
        diagonal = x - y
        down = diagonal == -edits or (
            diagonal != edits and reach.get(diagonal - 1, -1) < reach.get(diagonal + 1, -1)
        )
        previous = diagonal + 1 if down else diagonal - 1
        from_x = reach.get(previous, 0) if edits else 0
        from_y = from_x - previous if edits else 0
        while x > from_x and y > from_y:
            x -= 1
            y -= 1
            pairs.append((x, y))
        if edits:
            x, y = from_x, from_y
    return pairs[::-1]
