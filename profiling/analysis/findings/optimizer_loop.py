"""`optimizer-loop`: the optimizer walks over the parameters one by one.

Evidence: the kernels launched inside `Optimizer.step`, hardly any of them over many tensors.
Cost: the idle time with the host inside `Optimizer.step`.
Threshold: 10 % of the step; 32 kernels an optimizer step, fewer than a fifth of them over many
tensors (with `foreach` or `fused` nearly all are).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from ptx.profiling.analysis.findings.model import Finding
from ptx.profiling.analysis.findings.words import duration
from ptx.profiling.analysis.idle import at_or_below
from ptx.profiling.structure.intervals import contains
from ptx.profiling.structure.tree import NodeKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ptx.profiling.analysis.findings.case import Case

_SHARE = 0.1
_FEWEST = 32
_MOST_OVER_MANY = 0.2
_STEP = re.compile(r"Optimizer\.step#")
_OVER_MANY = re.compile(r".*(multi_tensor_apply|[Ff]used|foreach)")


def optimizer_loop(case: Case) -> Finding | None:
    """Returns the finding, None where the optimizer works on many tensors at once."""
    roots = _optimizer_steps(case)
    if not roots.any():
        return None
    structure = case.structure
    table, tree, activities = structure.trace.table, structure.tree, structure.activities
    below = at_or_below(tree, roots)
    kernels = activities.event[case.activities]
    kernels = kernels[below[tree.node_of[kernels]]]
    over_many = case.named(_OVER_MANY)[table.name[kernels]]
    each_time = len(kernels) / int(roots.sum())
    if each_time < _FEWEST or over_many.mean() > _MOST_OVER_MANY:
        return None
    pieces = case.pieces("idle_host", "idle_other") & (case.device.node >= 0)
    pieces &= below[case.device.node]
    claim = case.offer(case.times_of(pieces))
    if not case.is_worth(claim, _SHARE):
        return None
    case.take(claim)
    cost = claim.ns_per_step
    return Finding(
        code="optimizer-loop",
        title=f"the optimizer launches {each_time:.0f} kernels a step, a few for each parameter; "
        f"the device idles {duration(cost)} meanwhile",
        cost_ns_per_step=cost,
        nodes=np.flatnonzero(roots).astype(np.int64),
        advice="foreach=True or fused=True in the optimizer",
        confidence=0.9,
        not_checked="whether the parameters' types allow it",
    )


def _optimizer_steps(case: Case) -> NDArray[np.bool_]:
    table, tree = case.structure.trace.table, case.structure.tree
    roots: NDArray[np.bool_] = tree.kind == NodeKind.ANNOTATION
    roots &= case.named(_STEP)[table.name[tree.event]]
    roots &= contains(case.start_ns, case.end_ns, table.start_ns[tree.event])
    return roots
