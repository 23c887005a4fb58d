"""Claims on the device's busy time by some of its kernels: shared by findings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ptx.profiling.analysis.findings.case import intersect
from ptx.profiling.structure.intervals import merge

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ptx.profiling.analysis.findings.case import Case, Claim


def time_of(case: Case, rows: NDArray[np.intp]) -> Claim:
    """Returns a claim on the compute time of some activities (positions)."""
    table, activities = case.structure.trace.table, case.structure.activities
    start = table.start_ns[activities.event[rows]]
    times = merge(start, start + activities.counted_ns[rows])
    return case.offer(intersect(times, case.times_of(case.pieces("compute"))))


def costliest(case: Case, rows: NDArray[np.intp]) -> NDArray[np.int64]:
    """Returns the nodes of some activities, longest first."""
    activities = case.structure.activities
    order = np.argsort(-activities.counted_ns[rows], kind="stable")
    return case.structure.tree.node_of[activities.event[rows[order]]].astype(np.int64)
