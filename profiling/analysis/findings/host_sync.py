"""`host-sync`: the host waits for the device, and the device then waits for the host.

Evidence: calls that return only when the device is done: synchronisations, blocking copies, and
copies to the host whose call outlasts the copy itself.
Cost: see `waits`, for as long as the device worked during the call. A wait at a point where the
host is behind anyway costs nothing, one that drains a full queue costs the time to refill it.
Threshold: 15 % of the step. Runs that wait once a step refill the queue in 56 to 171 us (H200,
under the profiler), which is less in every step of more than 1.2 ms.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from ptx.profiling.analysis.findings.model import Finding
from ptx.profiling.analysis.findings.waits import claim_waits, most_frequent_name
from ptx.profiling.analysis.findings.words import duration, times_a_step
from ptx.profiling.structure.intervals import covered

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ptx.profiling.analysis.findings.case import Case

_SHARE = 0.15
_WAITS = re.compile(r"\w*?([Ss]ynchronize|QueueSync|SyncDevice)|(cuda|hip|cu)Memcpy(?!.*Async)")
_TO_HOST = re.compile(r".*(DtoH|DeviceToHost|Device -> (Host|Pageable|Pinned))")


def host_sync(case: Case) -> Finding | None:
    """Returns the finding, None where waits cost little."""
    nodes = _waiting_calls(case)
    waits = claim_waits(case, nodes, _worked_during(case, nodes), _SHARE)
    if waits is None:
        return None
    return Finding(
        code="host-sync",
        title=f"the host waits for the device {times_a_step(waits.count)}, mostly in "
        f"{most_frequent_name(case, waits.nodes)}; "
        f"refilling the queue costs {duration(waits.cost_ns)} a step",
        cost_ns_per_step=waits.cost_ns,
        nodes=waits.nodes,
        advice="keep values on the device (no .item(), .cpu(), print or branch on a tensor inside "
        "the step), read them once after many steps, or copy with non_blocking=True",
        confidence=0.9,
        not_checked="whether the program needs the value at that point",
    )


def _worked_during(case: Case, nodes: NDArray[np.intp]) -> NDArray[np.int64]:
    """Returns for how long the device worked while the host was in each call."""
    table, tree = case.structure.trace.table, case.structure.tree
    start = table.start_ns[tree.event[nodes]]
    busy = case.structure.busy_by_clock(case.device.device)
    return covered(*busy, start + table.dur_ns[tree.event[nodes]]) - covered(*busy, start)


def _waiting_calls(case: Case) -> NDArray[np.intp]:
    structure = case.structure
    table, tree, activities = structure.trace.table, structure.tree, structure.activities
    waits = np.zeros(len(tree), bool)
    waits[case.calls] = case.named(_WAITS)[table.name[tree.event[case.calls]]]
    copies = case.activities[case.named(_TO_HOST)[table.name[activities.event[case.activities]]]]
    copies = copies[activities.launch[copies] >= 0]
    call, copy = activities.launch[copies], activities.event[copies]
    call_end = table.start_ns[call] + table.dur_ns[call]
    blocks = call_end >= table.start_ns[copy] + activities.counted_ns[copies]
    waits[tree.node_of[call[blocks]]] = True
    return case.calls[waits[case.calls]]
