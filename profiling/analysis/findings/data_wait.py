"""`data-wait`: the device is idle while the step's thread fetches or makes the data.

Evidence: the idle pieces inside a `DataLoader`'s `__next__`; and those inside stalls of the host
(see `Case.stalls`) in an ATen op that launches nothing, which thus computes on the CPU.
Cost: that idle time; a loader that keeps ahead, or work on the device, would leave none of it.
Threshold: 5 % of the step. Workers that keep up hand a batch over in 70 us a step (8 A100 with a
recommender, steps of 76 ms).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from ptx.profiling.analysis.findings.model import Finding
from ptx.profiling.analysis.findings.waits import callers, most_frequent_name
from ptx.profiling.analysis.findings.words import duration, share
from ptx.profiling.structure.intervals import contains
from ptx.profiling.structure.tree import NodeKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ptx.profiling.analysis.findings.case import Case

_SHARE = 0.05
_ATEN = re.compile(r"aten::")


def data_wait(case: Case) -> Finding | None:
    """Returns the finding, None where the data does not hold the device up."""
    loading, computing = case.pieces("idle_data"), _computing(case)
    claim = case.offer(case.times_of(loading | computing))
    if not case.is_worth(claim, _SHARE):
        return None
    case.take(claim)
    cost = claim.ns_per_step
    by_loader = case.length_ns(loading) >= case.length_ns(computing)
    nodes = case.costliest_nodes(loading if by_loader else computing)
    where = "for the DataLoader" if by_loader else f"for {_name(case, nodes)} on the CPU"
    return Finding(
        code="data-wait",
        title=f"the device waits {duration(cost)} a step {where}, {share(cost, case.step_ns)}",
        cost_ns_per_step=cost,
        nodes=nodes,
        advice="more workers or a higher prefetch_factor in the DataLoader, cheaper transforms, or "
        "data prepared ahead of the run or made on the device",
        confidence=0.9 if by_loader else 0.6,
        not_checked="what the workers do: their processes are not in the trace",
    )


def _computing(case: Case) -> NDArray[np.bool_]:
    """Returns the idle pieces in which the host computes in an ATen op, not for the device."""
    structure, device = case.structure, case.device
    table, tree = structure.trace.table, structure.tree
    pieces = case.pieces("idle_host") & (device.node >= 0)
    pieces &= contains(*case.stalls, device.begin_ns)
    at = np.flatnonzero(pieces)
    top = callers(case, device.node[at])
    alone = (tree.kind[top] == NodeKind.OP) & case.named(_ATEN)[table.name[tree.event[top]]]
    alone &= (structure.sums.launches[top] == 0) & (structure.sums.activities[top] == 0)
    pieces[at] = alone
    return pieces


def _name(case: Case, nodes: NDArray[np.int64]) -> str:
    return most_frequent_name(case, callers(case, nodes[:1]))
