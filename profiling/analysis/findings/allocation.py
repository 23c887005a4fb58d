"""`allocation`: device memory is taken from or given back to the driver inside the steps.

Evidence: calls such as `cudaMalloc` and `cudaFree` on a thread that launches.
Cost: see `waits`; such a call stops the host, and freeing waits for the device as well.
Threshold: 5 % of the step in at least half of the steps: a caching allocator that has warmed up
makes no such call at all. A trace without steps may be all warm-up and is not judged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptx.profiling.analysis.findings.model import Finding
from ptx.profiling.analysis.findings.waits import claim_waits
from ptx.profiling.analysis.findings.words import duration, times_a_step
from ptx.profiling.analysis.idle import CAUSES, causes

if TYPE_CHECKING:
    from ptx.profiling.analysis.findings.case import Case

_SHARE = 0.05


def allocation(case: Case) -> Finding | None:
    """Returns the finding, None where the allocator is at rest."""
    structure = case.structure
    if structure.steps.source == "trace":
        return None
    nodes = case.calls[causes(structure)[case.calls] == CAUSES.index("alloc")]
    stood_ns = structure.trace.table.dur_ns[structure.tree.event[nodes]]
    waits = claim_waits(case, nodes, stood_ns, _SHARE)
    if waits is None:
        return None
    return Finding(
        code="allocation",
        title=f"memory is taken from the driver {times_a_step(waits.count)}; "
        f"the device is idle for {duration(waits.cost_ns)} of it",
        cost_ns_per_step=waits.cost_ns,
        nodes=waits.nodes,
        advice="no torch.cuda.empty_cache() inside the loop; shapes that stay alike, or "
        "PYTORCH_ALLOC_CONF=expandable_segments:True; leave the caching allocator on",
        confidence=0.9,
        not_checked="why the cached blocks did not fit",
    )
