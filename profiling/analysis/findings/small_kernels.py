"""`small-kernels`: one tiny kernel, launched again and again, is most of the work.

Evidence: the activities of the most frequent pair of op and kernel.
Cost: the idle time of a starved device, as of `launch-bound`, of which this is the case that has
one cause: a loop over small pieces.
Threshold: the pair makes 60 % of the launches, at least 50 a step, and each runs for less time
than its launch's call takes, so that no host could keep up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ptx.profiling.analysis.findings.model import Finding
from ptx.profiling.analysis.findings.starved import starved, wanted_share
from ptx.profiling.analysis.findings.words import duration

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ptx.profiling.analysis.findings.case import Case

_SHARE_OF_LAUNCHES = 0.6
_FEWEST = 50


def small_kernels(case: Case) -> Finding | None:
    """Returns the finding, None where no single tiny kernel makes up the work."""
    found = starved(case)
    if found is None:
        return None
    structure = case.structure
    table, activities = structure.trace.table, structure.activities
    rows = _most_frequent(case)
    a_step = len(rows) / len(case.steps)
    if a_step < _FEWEST or len(rows) < _SHARE_OF_LAUNCHES * len(case.activities):
        return None
    each = float(activities.counted_ns[rows].mean())
    if each >= found.call_ns:
        return None
    claim = case.offer(case.times_of(found.pieces))
    if not case.is_worth(claim, wanted_share(case)):
        return None
    case.take(claim)
    op = table.name_of(int(activities.op[rows[0]]))
    return Finding(
        code="small-kernels",
        title=f"{op} launches the same kernel {a_step:.0f} times a step, {duration(each)} each, "
        f"less than the {duration(found.call_ns)} that a launch takes",
        cost_ns_per_step=claim.ns_per_step,
        nodes=structure.tree.node_of[activities.op[rows]].astype(np.int64),
        advice="one op over all the pieces (batch, stack, vmap) instead of a loop over them",
        confidence=0.9,
        not_checked="whether the pieces depend on each other",
    )


def _most_frequent(case: Case) -> NDArray[np.intp]:
    """Returns the activities of the most frequent pair of op name and kernel name."""
    table, activities = case.structure.trace.table, case.structure.activities
    rows = case.activities[activities.op[case.activities] >= 0]
    if not len(rows):
        return rows
    op = table.name[activities.op[rows]].astype(np.int64)
    pair = op * len(table.names) + table.name[activities.event[rows]]
    _, slot, counts = np.unique(pair, return_inverse=True, return_counts=True)
    most: NDArray[np.bool_] = slot == np.argmax(counts)
    return rows[most]
