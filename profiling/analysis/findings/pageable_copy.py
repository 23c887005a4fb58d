"""`pageable-copy`: inputs are copied to the device from memory that is not pinned.

Evidence: copies whose name says that the host's side is pageable.
Cost: the time in which the device does nothing but such a copy, or nothing while the host is in
its call: a copy from pinned memory could run beside the work before it.
Threshold: 5 % of the step.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from ptx.profiling.analysis.findings.case import intersect
from ptx.profiling.analysis.findings.model import Finding
from ptx.profiling.analysis.findings.words import duration, times_a_step
from ptx.profiling.structure.intervals import merge

if TYPE_CHECKING:
    from ptx.profiling.analysis.findings.case import Case

_SHARE = 0.05
_PAGEABLE = re.compile(r".*Pageable -> Device")


def pageable_copy(case: Case) -> Finding | None:
    """Returns the finding, None where such copies are absent or hidden."""
    structure = case.structure
    table, tree, activities = structure.trace.table, structure.tree, structure.activities
    event = activities.event[case.activities]
    copies = case.activities[case.named(_PAGEABLE)[table.name[event]]]
    event = activities.event[copies]
    start, end = table.start_ns[event], table.start_ns[event] + activities.counted_ns[copies]
    alone = intersect(merge(start, end), case.times_of(case.pieces("memory_copy")))
    called = tree.node_of[activities.launch[copies[activities.launch[copies] >= 0]]]
    in_call = case.pieces("idle_host", "idle_sync") & np.isin(case.device.node, called)
    calls = case.times_of(in_call)
    claim = case.offer(
        merge(np.concatenate((alone[0], calls[0])), np.concatenate((alone[1], calls[1])))
    )
    if not case.is_worth(claim, _SHARE):
        return None
    case.take(claim)
    cost = claim.ns_per_step
    order = np.argsort(-activities.counted_ns[copies], kind="stable")
    return Finding(
        code="pageable-copy",
        title=f"copies from pageable memory {times_a_step(len(copies) / len(case.steps))} keep "
        f"the device from computing for {duration(cost)}",
        cost_ns_per_step=cost,
        nodes=tree.node_of[event[order]].astype(np.int64),
        advice="pin_memory=True in the DataLoader (or .pin_memory()) and .to(device, "
        "non_blocking=True)",
        confidence=1.0,
        not_checked="whether the data could be made on the device",
    )
