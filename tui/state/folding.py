"""Folds the rows of a step: what repeats, what is alike among many, and what is small.

All passes work on whole levels of the forest; only the few places where something does fold are
visited one by one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ptx.profiling.structure.nesting import depths, levels
from ptx.profiling.trace.columns import ABSENT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

LONGEST_PERIOD = 8
MANY_SIBLINGS = 12
_SMALL_RUN_LIMITS = 5


@dataclass(frozen=True, slots=True)
class Weights:
    """What folding asks of the rows of a forest, one value a row.

    `label` is equal for rows that may merge. `bears` says that a row has GPU work below it: only
    such rows decide whether two are alike, since what the host did in between differs each time.
    `cost_ns` is GPU busy and idle time, `busy_ns` the first alone; `limit_ns` and `busy_limit_ns`
    are what each of a run of small rows must stay under.
    """

    label: NDArray[np.int64]
    bears: NDArray[np.bool_]
    cost_ns: NDArray[np.int64]
    busy_ns: NDArray[np.int64]
    limit_ns: float
    busy_limit_ns: float


@dataclass(slots=True)
class Folded:
    """The folded rows, in no order yet, added level by level.

    A run of small rows stands for none of the forest; they are its children.
    """

    parents: list[NDArray[np.int64]] = field(default_factory=list)
    ranks: list[NDArray[np.int64]] = field(default_factory=list)
    by_cost: list[NDArray[np.bool_]] = field(default_factory=list)
    holders: list[NDArray[np.int64]] = field(default_factory=list)
    held: list[NDArray[np.int64]] = field(default_factory=list)
    count: int = 0

    @property
    def parent(self) -> NDArray[np.int64]:
        """The parent of each row, -1 for a root."""
        return _together(self.parents)

    @property
    def rank(self) -> NDArray[np.int64]:
        """Where each row stands among its siblings."""
        return _together(self.ranks)

    @property
    def merged(self) -> NDArray[np.bool_]:
        """Whether equal labels from different places share each row."""
        return _together(self.by_cost).astype(bool)

    @property
    def members(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Rows of the result, and the row of the forest that each of them stands for."""
        return _together(self.holders), _together(self.held)

    def add(
        self, parent: NDArray[np.int64], rank: NDArray[np.int64], merged: NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        """Adds rows and returns their ids."""
        self.parents.append(parent)
        self.ranks.append(rank)
        self.by_cost.append(merged)
        ids = np.arange(self.count, self.count + len(parent))
        self.count += len(parent)
        return ids

    def hold(self, rows: NDArray[np.int64], members: NDArray[np.int64]) -> None:
        """Says for which row of the forest rows stand; a later word counts more."""
        self.holders.append(rows)
        self.held.append(members)


def _together(parts: Sequence[NDArray[np.generic]]) -> NDArray[np.int64]:
    return np.concatenate([np.zeros(0, np.int64), *parts])


def signatures(
    parent: NDArray[np.int32], label: NDArray[np.int64], bears: NDArray[np.bool_]
) -> NDArray[np.uint64]:
    """Returns a 64-bit signature of each row: its label, GPU work or none, and its children.

    Of the children the signatures count, once each; those without GPU work do not.
    """
    below = np.zeros(len(parent), np.uint64)
    own = _mix((label * 2 + bears).astype(np.uint64))
    out = np.zeros(len(parent), np.uint64)
    for level in reversed(levels(depths(parent))):
        out[level] = _mix(own[level] ^ below[level])
        child = level[bears[level] & (parent[level] >= 0)]
        order = np.lexsort((out[child], parent[child]))
        above, signature = parent[child][order], out[child][order]
        is_first = np.ones(len(order), bool)
        is_first[1:] = (above[1:] != above[:-1]) | (signature[1:] != signature[:-1])
        # a sum, so that the order of the children does not count
        np.add.at(below, above[is_first], _mix(signature[is_first]))
    return out


def _mix(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Returns well-spread 64-bit hashes (the finaliser of SplitMix64, Steele et al. 2014)."""
    z = values + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def fold(
    parent: NDArray[np.int32],
    weights: Weights,
    is_split: Callable[[int], bool],
) -> Folded:
    """Returns the rows of a pre-order forest with repeats, many alike and small ones folded.

    Args:
        parent: the forest.
        weights: what its rows are, and cost.
        is_split: asked with the first row of each fold: whether its instances stand below it.
    """
    folded = Folded()
    signature = signatures(parent, weights.label, weights.bears)
    # the folded row below which a row's children come
    owner = np.full(len(parent) + 1, ABSENT, np.int64)
    for level in levels(depths(parent)):
        above = owner[parent[level]]
        group = _aligned(level, parent, above, signature)
        group = _repeats(level, above, group, signature, weights.bears)
        group, is_merged = _many(level, above, group, weights)
        _emit(folded, level, above, group, is_merged, weights, owner, is_split)
    return folded


def _aligned(
    level: NDArray[np.int64],
    parent: NDArray[np.int32],
    above: NDArray[np.int64],
    signature: NDArray[np.uint64],
) -> NDArray[np.int64]:
    """Returns a group for each row: the k-th of a signature in each instance of its parent."""
    base, sign = parent[level], signature[level]
    order = np.lexsort((level, sign, base))
    is_first = _changes(base[order], sign[order])
    at = np.arange(len(level))
    nth = np.empty(len(level), np.int64)
    nth[order] = at - np.maximum.accumulate(np.where(is_first, at, 0))
    roots = above < 0
    return _codes(above, sign, np.where(roots, level, nth))


def _changes(*columns: NDArray[np.generic]) -> NDArray[np.bool_]:
    """Returns where any of the columns differs from the row before; always at the first."""
    out = np.zeros(len(columns[0]), bool)
    out[:1] = True
    for column in columns:
        out[1:] |= column[1:] != column[:-1]
    return out


def _codes(*columns: NDArray[np.generic]) -> NDArray[np.int64]:
    """Returns a code for each row, equal for equal rows."""
    order = np.lexsort(columns)
    code = np.cumsum(_changes(*(column[order] for column in columns))) - 1
    out = np.empty(len(order), np.int64)
    out[order] = code
    return out


def _firsts(group: NDArray[np.int64], key: NDArray[np.int64]) -> NDArray[np.int64]:
    """Returns the position of each group's least key, groups ascending."""
    order = np.lexsort((key, group))
    return order[_changes(group[order])]


def _places(
    level: NDArray[np.int64], above: NDArray[np.int64], group: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Returns (a position in `level` for each group, the groups' order within their parents)."""
    first = _firsts(group, level)
    return first, np.lexsort((level[first], above[first]))


def _repeats(
    level: NDArray[np.int64],
    above: NDArray[np.int64],
    group: NDArray[np.int64],
    signature: NDArray[np.uint64],
    bears: NDArray[np.bool_],
) -> NDArray[np.int64]:
    """Returns the groups with consecutive periods of equal signatures joined."""
    first, order = _places(level, above, group)
    sibling = first[order]  # one position in `level` a group, in order of the siblings
    sign, parents = signature[level[sibling]], above[sibling]
    to = np.arange(len(sibling))  # each sibling's stand-in
    work = np.flatnonzero(bears[level[sibling]] & (parents >= 0))
    stand_in = _periods(work, sign, parents)
    to[work] = stand_in
    host = np.flatnonzero(~bears[level[sibling]] & (parents >= 0))
    to[host] = _between(host, work, stand_in, sign, parents)
    joined = np.empty(len(sibling), np.int64)
    joined[order] = to
    return joined[group]


def _periods(
    work: NDArray[np.int64], sign: NDArray[np.uint64], parents: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Returns for each sibling with GPU work the first one that it repeats, itself if none.

    Shorter periods fold first, and what is folded counts as one in longer ones.
    """
    to = np.arange(len(sign))
    here = work
    for period in range(1, LONGEST_PERIOD + 1):
        if len(here) <= period:
            break
        same = sign[here[:-period]] == sign[here[period:]]
        same &= parents[here[:-period]] == parents[here[period:]]
        edges = np.diff(np.concatenate(([0], same.astype(np.int8), [0])))
        begins, ends = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
        enough = ends - begins >= period
        place = np.arange(len(here))
        used = 0
        for begin, end in zip(begins[enough].tolist(), ends[enough].tolist(), strict=True):
            begin = max(begin, used)
            if end - begin < period:
                continue
            used = begin + ((end - begin) // period + 1) * period
            place[begin:used] = begin + np.arange(used - begin) % period
        to[here] = here[place]
        here = here[place == np.arange(len(here))]
    while not np.array_equal(to[to], to):
        to = to[to]
    return to[work]


def _between(
    host: NDArray[np.int64],
    work: NDArray[np.int64],
    stand_in: NDArray[np.int64],
    sign: NDArray[np.uint64],
    parents: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Returns for each sibling without GPU work the first one that it shares a row with.

    Within the span of a repeat those with the same signature share one; elsewhere neighbours do.
    """
    # spans of repeats, as the union of [first, last] over the stand-ins
    last = np.zeros(len(sign), np.int64)
    np.maximum.at(last, stand_in, work)
    begins = np.unique(stand_in[stand_in != work])
    reach = np.maximum.accumulate(last[begins]) if len(begins) else begins
    at = np.searchsorted(begins, host, "right") - 1
    inside = at >= 0
    inside[inside] = host[inside] <= reach[at[inside]]
    # a span's number: how many spans began without touching the one before
    fresh = np.ones(len(begins), bool)
    fresh[1:] = begins[1:] > reach[:-1]
    span = np.cumsum(fresh) - 1
    neighbours = np.cumsum(_changes(parents[host], sign[host], _runs(host))) if len(host) else host
    key = np.where(inside, span[np.maximum(at, 0)] if len(span) else 0, ABSENT - neighbours)
    code = _codes(key, sign[host], parents[host])
    return host[_firsts(code, host)][code]


def _runs(places: NDArray[np.int64]) -> NDArray[np.int64]:
    """Returns a number that is equal for places that follow one another."""
    return places - np.arange(len(places))


def _many(
    level: NDArray[np.int64],
    above: NDArray[np.int64],
    group: NDArray[np.int64],
    weights: Weights,
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Returns the groups, equal labels joined where siblings are many, and where that is."""
    group = _codes(group)
    first = _firsts(group, level)
    parents = above[first]
    ids, inverse, counts = np.unique(parents, return_inverse=True, return_counts=True)
    crowded = (counts > MANY_SIBLINGS) & (ids >= 0)
    is_merged = crowded[inverse][group]
    label = weights.label[level]
    apart = np.where(is_merged, ABSENT, group)
    return _codes(above, np.where(is_merged, label, ABSENT), apart), is_merged


def _emit(
    folded: Folded,
    level: NDArray[np.int64],
    above: NDArray[np.int64],
    group: NDArray[np.int64],
    is_merged: NDArray[np.bool_],
    weights: Weights,
    owner: NDArray[np.int64],
    is_split: Callable[[int], bool],
) -> None:
    """Adds the groups of a level as rows, small neighbours below a row of their own."""
    first = _firsts(group, level)
    cost = np.zeros(len(first), np.int64)
    np.add.at(cost, group, weights.cost_ns[level])
    busy = np.zeros(len(first), np.int64)
    np.add.at(busy, group, weights.busy_ns[level])
    parents, merged = above[first], is_merged[first]
    order = np.lexsort((level[first], np.where(merged, -cost, 0), parents))
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    small = (cost < weights.limit_ns) & (busy < weights.busy_limit_ns)
    run = _small_runs(order, parents, cost, small, weights.limit_ns)
    runs = np.unique(run[run >= 0])
    if len(runs):
        holder = _firsts(run, rank)[-len(runs) :]
        above_run = folded.add(parents[holder], rank[holder], np.zeros(len(runs), bool))
        place = np.searchsorted(runs, run)
        parents = np.where(run >= 0, above_run[np.minimum(place, len(runs) - 1)], parents)
    ids = folded.add(parents, rank, merged)
    folded.hold(ids[group], level)
    owner[level] = ids[group]
    for k in np.flatnonzero(np.bincount(group) > 1).tolist():
        if is_split(int(level[first[k]])):
            mine = level[group == k]
            one_each = np.zeros(len(mine), bool)
            owner[mine] = folded.add(np.full(len(mine), ids[k]), mine, one_each)
            folded.hold(owner[mine], mine)


def _small_runs(
    order: NDArray[np.int64],
    parents: NDArray[np.int64],
    cost: NDArray[np.int64],
    small: NDArray[np.bool_],
    limit_ns: float,
) -> NDArray[np.int64]:
    """Returns the run that each group belongs to, -1 for those with a row of their own.

    A run that would hide more than five times the limit gives up its largest members first, which
    cuts it in pieces.
    """
    run = np.full(len(order), ABSENT, np.int64)
    is_small, above = small[order], parents[order]
    code = np.cumsum(_changes(is_small, above))
    starts = np.flatnonzero(_changes(code)) if len(code) else code
    ends = np.append(starts[1:], len(code))
    number = 0
    for begin, end in zip(starts.tolist(), ends.tolist(), strict=True):
        if not is_small[begin] or end - begin < 2:
            continue
        mine = order[begin:end]
        by_cost = np.sort(cost[mine])
        hidden = np.cumsum(by_cost)
        kept = int(np.searchsorted(hidden, _SMALL_RUN_LIMITS * limit_ns, "right"))
        # ties at the edge: the first so many in order of cost stay hidden
        stays = np.zeros(len(mine), bool)
        stays[np.argsort(cost[mine], kind="stable")[:kept]] = True
        is_all = begin == 0 or above[begin - 1] != above[begin]
        is_all &= end == len(above) or above[end] != above[begin]
        if is_all and stays.all():
            continue
        pieces = np.cumsum(_changes(stays))
        for piece in np.unique(pieces[stays]).tolist():
            rows = mine[(pieces == piece) & stays]
            if len(rows) > 1:
                run[rows] = number
                number += 1
    return run
