"""All findings of a trace, costliest first."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ptx.profiling.analysis.accounting.buckets import BUSY_BUCKETS, account
from ptx.profiling.analysis.findings.allocation import allocation
from ptx.profiling.analysis.findings.case import Case, steady_steps
from ptx.profiling.analysis.findings.data_wait import data_wait
from ptx.profiling.analysis.findings.host_sync import host_sync
from ptx.profiling.analysis.findings.launch_bound import launch_bound
from ptx.profiling.analysis.findings.layout import layout
from ptx.profiling.analysis.findings.no_tensor_cores import no_tensor_cores
from ptx.profiling.analysis.findings.optimizer_loop import optimizer_loop
from ptx.profiling.analysis.findings.pageable_copy import pageable_copy
from ptx.profiling.analysis.findings.small_kernels import small_kernels

if TYPE_CHECKING:
    from ptx.profiling.analysis.findings.model import Finding
    from ptx.profiling.structure.structure import Structure

EVIDENCE = 100
"""How many nodes of evidence a finding keeps at most."""

# In this order they claim time: what has one certain cause goes before what is the rest.
_DETECTORS = (
    data_wait,
    allocation,
    pageable_copy,
    host_sync,
    optimizer_loop,
    small_kernels,
    launch_bound,
    layout,
    no_tensor_cores,
)


def find(structure: Structure, step: int | None = None) -> list[Finding]:
    """Returns what holds a run back, costliest first; nothing without device activity.

    On several devices the busiest one is judged. Steps in which something was compiled are left
    out; should none remain, nothing is claimed.

    Args:
        structure: the trace.
        step: judge this step alone (its position), compiling or not; None for all.
    """
    accounted = account(structure)
    if accounted is None:
        return []
    steps = steady_steps(structure) if step is None else np.array([step])
    if not len(steps):
        return []
    busy = len(BUSY_BUCKETS)
    device = max(accounted.devices, key=lambda d: sum(d.whole.ns[:busy]))
    case = Case(structure, device, steps)
    found = [finding for detect in _DETECTORS if (finding := detect(case)) is not None]
    found = [replace(finding, nodes=finding.nodes[:EVIDENCE]) for finding in found]
    return sorted(found, key=lambda finding: -finding.cost_ns_per_step)
