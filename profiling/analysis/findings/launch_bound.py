"""`launch-bound`: the device is done with each kernel before the host launches the next.

Evidence: idle time in which nothing was queued and the host was in ops, launches or Python.
Cost: that idle time.
Threshold: see `starved`; and the host takes longer for a launch than the device for the work.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptx.profiling.analysis.findings.model import Finding
from ptx.profiling.analysis.findings.starved import starved, wanted_share
from ptx.profiling.analysis.findings.words import duration, share

if TYPE_CHECKING:
    from ptx.profiling.analysis.findings.case import Case


def launch_bound(case: Case) -> Finding | None:
    """Returns the finding, None where the device has enough to do."""
    found = starved(case)
    if found is None or found.per_launch_ns <= found.each_ns:
        return None
    claim = case.offer(case.times_of(found.pieces))
    if not case.is_worth(claim, wanted_share(case)):
        return None
    case.take(claim)
    cost = claim.ns_per_step
    return Finding(
        code="launch-bound",
        title=f"the host is the limit: {duration(found.per_launch_ns)} of it a launch for "
        f"{duration(found.each_ns)} of work; the device idles {duration(cost)} a step, "
        f"{share(cost, case.step_ns)}",
        cost_ns_per_step=cost,
        nodes=case.costliest_nodes(found.pieces),
        advice="larger batches, torch.compile (mode='reduce-overhead' for CUDA graphs), fewer and "
        "larger ops",
        confidence=0.9,
        not_checked="how much faster the host is without the profiler",
    )
