"""Which runtime call launched which device activity."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from ptx.profiling.trace.columns import ABSENT, Kind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ptx.profiling.trace.columns import EventTable

# Calls that put work on a device queue: CUDA runtime and driver, HIP, Level Zero / SYCL, MTIA, MLU.
_ENQUEUES = re.compile(
    r"(?:cuda|cu|hip|hipDrv|cnrt|cn|musa|mu)(?:Ext|Module|Graph)*"
    r"(?:Launch(?!HostFunc)|Memcpy|Memset|InvokeKernel)"
    r"|(?:ur|pi)Enqueue(?:Kernel|Mem|USM)"
    r"|zeCommandListAppend(?:Launch|Memory)"
    r"|enqueueCommand memcpy|runFunction\b"
)
_PROOF_SHARE = 0.9


def enqueues(names: tuple[str, ...]) -> NDArray[np.bool_]:
    """Returns one flag per name: whether a call of this name enqueues work on a device."""
    return np.fromiter((_ENQUEUES.match(n) is not None for n in names), bool, len(names))


def launch_of(table: EventTable, activities: NDArray[np.int32]) -> NDArray[np.int32]:
    """Returns the launch of each activity as an event id, -1 where none carries its correlation.

    The correlation alone decides: in files of 2022 to 2024 the `External id` of a device event is
    the correlation number and can equal the id of an unrelated op. Several activities may share
    one launch (a graph). Should several calls carry one correlation, the call that by its name
    enqueues work is taken, then the last to start: the innermost. Where a number comes back later
    (several processes in one file, a counter that wrapped), that is the last before the activity.
    """
    out = np.full(len(activities), ABSENT, np.int32)
    calls = table.of_kind(Kind.RUNTIME)
    calls = calls[table.correlation[calls] != ABSENT]
    if len(calls) == 0 or len(activities) == 0:
        return out
    wanted = table.correlation[activities]
    ids = table.correlation[calls]
    low, high = int(ids.min()), int(ids.max())
    rank = np.lexsort((table.start_ns[calls], enqueues(table.names)[table.name[calls]]))
    if high - low < 8 * (len(calls) + len(activities)) + 1024:
        by_id = np.full(high - low + 1, ABSENT, np.int32)
        by_id[ids[rank] - low] = calls[rank]  # the highest rank is written last and stays
        inside = (wanted >= low) & (wanted <= high)
        out[inside] = by_id[wanted[inside] - low]
    else:
        order = rank[np.argsort(ids[rank], kind="stable")]
        sorted_ids = ids[order]
        slot = np.searchsorted(sorted_ids, wanted, "right") - 1
        hit = (slot >= 0) & (sorted_ids[slot] == wanted)
        out[hit] = calls[order[slot[hit]]]
    out[wanted == ABSENT] = ABSENT
    _settle_repeated(table, activities, calls[enqueues(table.names)[table.name[calls]]], out)
    return out


def _settle_repeated(
    table: EventTable,
    activities: NDArray[np.int32],
    calls: NDArray[np.int32],
    launch: NDArray[np.int32],
) -> None:
    """Gives activities whose correlation several calls carry the last call before them, in place.

    One that precedes them all (clock skew) keeps the call that it has.
    """
    ids, times = np.unique(table.correlation[calls], return_counts=True)
    asking = np.flatnonzero(np.isin(table.correlation[activities], ids[times > 1]))
    if not len(asking):
        return
    events = np.concatenate((calls, activities[asking]))
    is_call = np.arange(len(events)) < len(calls)
    number = table.correlation[events]
    order = np.lexsort((~is_call, table.start_ns[events], number))
    last = np.maximum.accumulate(np.where(is_call[order], np.arange(len(order)), -1))
    found = np.where(last >= 0, order[last], 0)
    known = (last >= 0) & (number[found] == number[order]) & ~is_call[order]
    launch[asking[order[known] - len(calls)]] = calls[found[known]]


def op_by_external_id(
    table: EventTable,
    activities: NDArray[np.int32],
    launch: NDArray[np.int32],
    owner_op: NDArray[np.int32],
) -> NDArray[np.int32]:
    """Returns the op that an unlinked activity's `External id` names, -1 where none is proven.

    The file must prove that its `External id` is an op id: nearly all linked activities carry the
    id of the op that owns their launch, and it is not just their correlation.
    """
    out = np.full(len(activities), ABSENT, np.int32)
    external = table.external_id[activities]
    loose = (launch == ABSENT) & (external != ABSENT)
    if not loose.any():
        return out
    linked = (launch != ABSENT) & (external != ABSENT) & (owner_op != ABSENT)
    agrees = external[linked] == table.external_id[owner_op[linked]]
    differs = external[linked] != table.correlation[activities[linked]]
    if linked.any() and not (agrees.mean() >= _PROOF_SHARE and differs.any()):
        return out
    ops = table.of_kind(Kind.OP)
    ops = ops[table.external_id[ops] != ABSENT]
    if not linked.any() and (table.correlation[activities[loose]] != ABSENT).any():
        return out
    order = np.argsort(table.external_id[ops], kind="stable")
    ids = table.external_id[ops[order]]
    left = np.searchsorted(ids, external[loose], "left")
    right = np.searchsorted(ids, external[loose], "right")
    unique = right - left == 1
    found = np.full(len(left), ABSENT, np.int32)
    found[unique] = ops[order[left[unique]]]
    out[loose] = found
    return out
