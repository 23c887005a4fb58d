"""Links that a file states as arrows (flow events) instead of correlation numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ptx.profiling.trace.columns import ABSENT, Kind, Phase

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ptx.profiling.trace.columns import EventTable

_QUEUE = "enqueue"  # the category of calls that hand an op to the thread that launches it


def link_by_flow(
    table: EventTable, activities: NDArray[np.int32], launch: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Returns (launch, op) of activities without a launch, as event ids, -1 where none is stated.

    An arrow counts that ends where the activity begins and starts where an op begins (Ascend's
    `torch_to_npu`). Where the op hands its work to a queue, the enqueuing call is the launch:
    the thread behind the queue runs the device's own calls, which belong to no op.
    """
    out_launch = np.full(len(activities), ABSENT, np.int32)
    out_op = np.full(len(activities), ABSENT, np.int32)
    loose = np.flatnonzero(launch == ABSENT)
    if not len(loose) or not len(table.flow_id.rows):
        return out_launch, out_op
    start, end = _arrows(table)
    ops = table.of_kind(Kind.OP)
    ops = ops[np.lexsort((-table.dur_ns[ops], table.start_ns[ops], table.thread[ops]))]
    op = _starting_at(table, ops, start)
    end, op = end[op != ABSENT], op[op != ABSENT]
    arrow = _starting_at(table, end, activities[loose], positions=True)
    hit = arrow != ABSENT
    out_op[loose[hit]] = op[arrow[hit]]
    out_launch[loose[hit]] = _enqueue_in(table, out_op[loose[hit]])
    return out_launch, out_op


def _arrows(table: EventTable) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Returns the flow events (start, end) of each arrow that has both."""
    rows, ids = table.flow_id.rows, table.flow_id.values
    phase = table.phase[rows]
    _, known = np.unique(ids, return_inverse=True)
    key = known.astype(np.int64) * (len(table.categories) + 1) + table.category[rows]
    begins, ends = (
        np.flatnonzero(phase == Phase.FLOW_START),
        np.flatnonzero(phase == Phase.FLOW_END),
    )
    slot = _match(key[begins], key[ends])
    hit = slot != ABSENT
    return rows[begins[slot[hit]]], rows[ends[hit]]


def _starting_at(
    table: EventTable,
    among: NDArray[np.int32],
    points: NDArray[np.int32],
    *,
    positions: bool = False,
) -> NDArray[np.int32]:
    """Returns which of the events `among` has lane and start of each point, the last if several.

    As event ids, or as positions in `among`; -1 where there is none.
    """
    key = _lane_and_time(table, np.concatenate((among, points)))
    slot = _match(key[: len(among)], key[len(among) :])
    if positions:
        return slot.astype(np.int32)
    return np.where(slot != ABSENT, np.append(among, np.int32(ABSENT))[slot], ABSENT).astype(
        np.int32
    )


def _lane_and_time(table: EventTable, events: NDArray[np.int32]) -> NDArray[np.int64]:
    """Returns a number per event that orders and compares like (lane, start)."""
    _, time = np.unique(table.start_ns[events], return_inverse=True)
    return table.thread[events].astype(np.int64) * len(events) + time


def _match(keys: NDArray[np.int64], wanted: NDArray[np.int64]) -> NDArray[np.int64]:
    """Returns the last position in `keys` of each wanted key, -1 where there is none."""
    order = np.argsort(keys, kind="stable")
    found = np.searchsorted(keys[order], wanted, "right") - 1
    slot = np.append(order, ABSENT)[found]
    hit = (found >= 0) & (np.append(keys, ABSENT)[slot] == wanted)
    return np.where(hit, slot, ABSENT).astype(np.int64)


def _enqueue_in(table: EventTable, ops: NDArray[np.int32]) -> NDArray[np.int32]:
    """Returns the first enqueuing call that begins within each op, -1 where there is none."""
    codes = [code for code, text in enumerate(table.categories) if text.lower() == _QUEUE]
    calls = table.of_kind(Kind.RUNTIME)
    calls = calls[np.isin(table.category[calls], codes)]
    if not len(calls):
        return np.full(len(ops), ABSENT, np.int32)
    key = _lane_and_time(table, np.concatenate((calls, ops)))
    order = np.argsort(key[: len(calls)], kind="stable")
    slot = np.searchsorted(key[order], key[len(calls) :])
    call = np.append(calls[order], np.int32(ABSENT))[slot]
    fits = (
        (call != ABSENT)
        & (table.thread[call] == table.thread[ops])
        & (table.start_ns[call] < table.start_ns[ops] + table.dur_ns[ops])
    )
    return np.where(fits, call, ABSENT).astype(np.int32)
