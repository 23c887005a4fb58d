"""What calls that stop the host cost the device: the rule that several findings share.

While the host stands in such a call it launches nothing. Without the call everything behind it
would be launched earlier by as long as the host stood: the device loses the idle time from the
call's start on, up to that long, and no more than there is before the next such call.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ptx.profiling.analysis.findings.case import intersect
from ptx.profiling.analysis.selection import climb
from ptx.profiling.structure.intervals import covered, merge
from ptx.profiling.structure.tree import NodeKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ptx.profiling.analysis.findings.case import Case, Times

_LOST = ("idle_sync", "idle_alloc", "idle_host", "idle_other")


@dataclass(frozen=True, slots=True, eq=False)
class Waits:
    """What calls cost together: `cost_ns` a step, `count` of those that cost something a step.

    `nodes` are the outermost ops around these calls, costliest first.
    """

    cost_ns: int
    count: float
    nodes: NDArray[np.int64]


def claim_waits(
    case: Case, nodes: NDArray[np.intp], stood_ns: NDArray[np.int64], share: float
) -> Waits | None:
    """Claims the idle time that calls cost; None, and no claim, for less than a share of the step.

    Args:
        case: what is looked at.
        nodes: the calls as nodes of the op tree, by start.
        stood_ns: for how long the host stood in each for this reason.
        share: of the step.
    """
    times, lost = _lost_to(case, nodes, stood_ns)
    claim = case.offer(times)
    if not case.is_worth(claim, share):
        return None
    case.take(claim)
    order = np.argsort(-lost, kind="stable")
    order = order[lost[order] > 0]
    found = callers(case, nodes[order])
    once = np.fromiter(dict.fromkeys(found.tolist()), np.int64)
    return Waits(claim.ns_per_step, len(order) / len(case.steps), once)


def _lost_to(
    case: Case, nodes: NDArray[np.intp], stood_ns: NDArray[np.int64]
) -> tuple[Times, NDArray[np.int64]]:
    """Returns the idle times that calls cost, and how much each costs (int64 ns)."""
    table, tree = case.structure.trace.table, case.structure.tree
    start = table.start_ns[tree.event[nodes]]
    idle = case.offer(case.times_of(case.pieces(*_LOST))).times
    total = np.concatenate(([0], np.cumsum(idle[1] - idle[0])))
    before = covered(*idle, start)
    limit = np.append(before[1:], total[-1])
    lost = np.minimum(stood_ns, limit - before)
    counts = lost > 0
    end = _time_at(idle, total, (before + lost)[counts])
    return intersect(idle, merge(start[counts], end)), lost


def callers(case: Case, nodes: NDArray[np.integer]) -> NDArray[np.int64]:
    """Returns the outermost op around each node, the node itself where there is none."""
    tree = case.structure.tree
    above = case.structure.owner_op
    has_op_above = (above >= 0) & (tree.kind == NodeKind.OP)
    top = climb(above[nodes], above, has_op_above)
    return np.where(top >= 0, top, nodes).astype(np.int64)


def most_frequent_name(case: Case, nodes: NDArray[np.int64]) -> str:
    """Returns the name that most of some nodes bear."""
    table, tree = case.structure.trace.table, case.structure.tree
    names, counts = np.unique(table.name[tree.event[nodes]], return_counts=True)
    return table.names[int(names[np.argmax(counts)])]


def _time_at(idle: Times, total: NDArray[np.int64], amount: NDArray[np.int64]) -> NDArray[np.int64]:
    """Returns the first times by which as much of some intervals has passed (amounts > 0)."""
    k = np.searchsorted(total, amount, "left") - 1
    times: NDArray[np.int64] = idle[0][k] + amount - total[k]
    return times
