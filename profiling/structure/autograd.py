"""Which forward op a backward op belongs to: by the profiler's flows, else by sequence number."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ptx.profiling.structure.tree import NodeKind
from ptx.profiling.trace.columns import ABSENT, Flag, Phase

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ptx.profiling.structure.tree import Tree
    from ptx.profiling.trace.columns import EventTable

_FLOWS = ("fwdbwd", "fwd_bwd", "forward_backward")


def forward_of(table: EventTable, tree: Tree) -> NDArray[np.int32]:
    """Returns the forward op of each node as an event id, -1 where it is none of a backward op.

    Many ops carry a sequence number before the one that makes the autograd node does; so the last
    op of a number counts, and of that the outermost op around it with the same number (the
    `aten::linear` around an `aten::t`). A flow names that last op directly. Without one, the ops
    of the backward op's forward thread with its number are looked through for the last that began
    before it: activation checkpointing and a second pass over a graph repeat numbers.
    """
    out = np.full(len(tree), ABSENT, np.int32)
    ops = np.flatnonzero(tree.kind == NodeKind.OP)
    if len(table.sequence.rows) == 0 or len(ops) == 0:
        return out
    sequence = np.full(len(tree), ABSENT, np.int64)
    sequence[ops] = table.sequence.at(tree.event[ops])
    forward_thread = np.zeros(len(tree), np.int64)
    forward_thread[ops] = table.forward_thread.at(tree.event[ops])
    numbered = np.flatnonzero(sequence >= 0)
    backward = forward_thread > 0
    outermost = _outermost(tree, sequence, backward)

    found = np.full(len(tree), ABSENT, np.int64)  # of the outermost node of each backward op
    starts, ends = _flow_pairs(table, tree, numbered)
    found[outermost[ends]] = starts
    asking = numbered[backward[numbered] & (outermost[numbered] == numbered)]
    asking = asking[found[asking] < 0]
    thread = np.where(backward, forward_thread, 0)
    found[asking] = _by_number(table, tree, asking, numbered, sequence, thread)
    answered = np.flatnonzero(found[outermost] >= 0)
    out[answered] = tree.event[outermost[found[outermost[answered]]]]
    return out


def _outermost(
    tree: Tree, sequence: NDArray[np.int64], backward: NDArray[np.bool_]
) -> NDArray[np.int32]:
    """Returns each node's outermost op with the same sequence number and direction, else itself."""
    itself = np.arange(len(tree), dtype=np.int32)
    numbered = sequence >= 0
    # the nearest numbered op above, by jumps over what carries no number
    up = np.append(tree.parent, np.int32(-1))
    stops = np.append(numbered, True)
    active = np.flatnonzero(~stops[up[:-1]])
    while len(active):
        up[active] = up[up[active]]
        active = active[~stops[up[active]]]
    above = up[:-1]
    same = numbered & (above >= 0) & (sequence == sequence[above]) & (backward == backward[above])
    top = np.where(same, above, itself).astype(np.int32)
    while True:
        higher = top[top]
        if np.array_equal(higher, top):
            return top
        top = higher


def _flow_pairs(
    table: EventTable, tree: Tree, numbered: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Returns (forward nodes, backward nodes) that flows of autograd join."""
    known = [code for code, text in enumerate(table.categories) if text.lower() in _FLOWS]
    nothing = np.zeros(0, np.intp)
    if not known or len(numbered) == 0:
        return nothing, nothing
    flows = np.flatnonzero(
        np.isin(table.category, known) & ((table.flags & np.uint8(Flag.NO_TIMESTAMP)) == 0)
    )
    starts = flows[table.phase[flows] == Phase.FLOW_START]
    ends = flows[table.phase[flows] == Phase.FLOW_END]
    ids = (table.flow_id.at(starts), table.flow_id.at(ends))
    times = (table.start_ns[starts], table.start_ns[ends])
    mate = last_before((ids[0],), times[0], (ids[1],), times[1])
    paired = (mate >= 0) & (ids[1] != ABSENT)
    starts, ends = starts[mate[paired]], ends[paired]
    forward = _op_at(table, tree, numbered, starts)
    backward = _op_at(table, tree, numbered, ends)
    joined = (forward >= 0) & (backward >= 0) & (forward != backward)
    return forward[joined], backward[joined]


def _op_at(
    table: EventTable, tree: Tree, numbered: NDArray[np.intp], flows: NDArray[np.intp]
) -> NDArray[np.intp]:
    """Returns the innermost numbered op that a flow event is bound to, -1 for none.

    Flows bear the start time of their op. Where a writer put them behind it, the last op that
    began before the flow is taken, provided that it is still running.
    """
    event = tree.event[numbered]
    start = table.start_ns[event]
    slot = last_before((table.thread[event],), start, (table.thread[flows],), table.start_ns[flows])
    inside = slot >= 0
    inside[inside] = (start + table.dur_ns[event])[slot[inside]] >= table.start_ns[flows[inside]]
    return np.where(inside, numbered[slot], ABSENT)


def _by_number(
    table: EventTable,
    tree: Tree,
    asking: NDArray[np.intp],
    numbered: NDArray[np.intp],
    sequence: NDArray[np.int64],
    forward_thread: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Returns the last op of each asking op's number that began before it, -1 for none.

    `forward_thread` is 0 for all but backward ops.
    """
    out = np.full(len(asking), ABSENT, np.int64)
    is_forward = forward_thread[numbered] == 0
    forward, backward = numbered[is_forward], numbered[~is_forward]
    if len(asking) == 0 or len(forward) == 0:
        return out
    lane, start = table.thread[tree.event], table.start_ns[tree.event]
    lane_of = _lanes_of_threads(
        (lane[forward], sequence[forward], start[forward]),
        (forward_thread[backward], sequence[backward], start[backward]),
    )
    asked_of = lane_of[np.searchsorted(backward, asking)]
    slot = last_before(
        (lane[forward], sequence[forward]),
        start[forward],
        (asked_of, sequence[asking]),
        start[asking],
    )
    hit = (slot >= 0) & (asked_of >= 0)
    out[hit] = forward[slot[hit]]
    return out


def _lanes_of_threads(
    forward: tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]],
    backward: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]],
) -> NDArray[np.int32]:
    """Returns the lane that each backward op's forward thread is, -1 where two are as likely.

    The file counts forward threads in an order of its own. Every thread counts its sequence
    numbers alone, so a thread is the lane that has most of the numbers asked of it in time.

    Args:
        forward: (lane, sequence number, start) of each forward op.
        backward: (forward thread, sequence number, start) of each backward op.
    """
    lanes, lane = np.unique(forward[0], return_inverse=True)
    threads, thread = np.unique(backward[0], return_inverse=True)
    _, number = np.unique(np.concatenate((forward[1], backward[1])), return_inverse=True)
    offers, at = np.unique(number[: len(lane)] * len(lanes) + lane, return_inverse=True)
    asked, by = np.unique(number[len(lane) :] * len(threads) + thread, return_inverse=True)
    earliest = np.full(len(offers), np.iinfo(np.int64).max)
    np.minimum.at(earliest, at, forward[2])
    latest = np.full(len(asked), np.iinfo(np.int64).min)
    np.maximum.at(latest, by, backward[2])
    # each asked number once for every lane that has it: one vote of its thread for the lane
    first = np.searchsorted(offers, asked // len(threads) * len(lanes))
    behind = np.searchsorted(offers, (asked // len(threads) + 1) * len(lanes))
    count = behind - first
    skipped = np.repeat(np.cumsum(count) - count, count)
    offer = np.repeat(first, count) + np.arange(len(skipped)) - skipped
    voter = np.repeat(np.arange(len(asked)), count)
    in_time = earliest[offer] <= latest[voter]
    offer, voter = offers[offer[in_time]] % len(lanes), asked[voter[in_time]] % len(threads)
    pairs, votes = np.unique(voter * len(lanes) + offer, return_counts=True)
    most = np.zeros(len(threads), np.int64)
    np.maximum.at(most, pairs // len(lanes), votes)
    winners = pairs[votes == most[pairs // len(lanes)]]
    best = np.full(len(threads), ABSENT, np.int32)
    best[winners // len(lanes)] = lanes[winners % len(lanes)]
    best[np.bincount(winners // len(lanes), minlength=len(threads)) != 1] = ABSENT
    return best[thread]


def last_before(
    groups: tuple[NDArray[np.integer], ...],
    time_ns: NDArray[np.int64],
    asked_groups: tuple[NDArray[np.integer], ...],
    asked_ns: NDArray[np.int64],
) -> NDArray[np.intp]:
    """Returns the last item of the same groups at or before each asked time, -1 for none.

    Of items at one time the last in the arrays counts.
    """
    n = len(time_ns)
    keys = [np.concatenate(pair) for pair in zip(groups, asked_groups, strict=True)]
    order = np.lexsort((np.concatenate((time_ns, asked_ns)), *keys[::-1]))  # stable: items first
    place = np.where(order < n, np.arange(len(order)), -1)
    last = np.maximum.accumulate(place) if len(place) else place
    asked = np.flatnonzero(order >= n)
    found = order[last[asked]]
    same = last[asked] >= 0
    for key in keys:
        same &= key[found] == key[order[asked]]
    out = np.full(len(asked_ns), ABSENT, np.intp)
    out[order[asked] - n] = np.where(same, found, ABSENT)
    return out
