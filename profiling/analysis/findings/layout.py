"""`layout`: a library converts between NCHW and NHWC around its own kernels.

Evidence: conversion kernels of cuDNN and MIOpen by their names.
Cost: their time on the device; with channels_last throughout there are none.
Threshold: 5 % of the step.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ptx.profiling.analysis.findings.kernel_time import costliest, time_of
from ptx.profiling.analysis.findings.model import Finding
from ptx.profiling.analysis.findings.words import duration, times_a_step

if TYPE_CHECKING:
    from ptx.profiling.analysis.findings.case import Case

_SHARE = 0.05
_CONVERTS = re.compile(r".*(nchwToNhwc|nhwcToNchw)|batched_transpose_\d")


def layout(case: Case) -> Finding | None:
    """Returns the finding, None where conversions are rare."""
    table, activities = case.structure.trace.table, case.structure.activities
    names = table.name[activities.event[case.activities]]
    rows = case.activities[case.named(_CONVERTS)[names]]
    claim = time_of(case, rows)
    if not case.is_worth(claim, _SHARE):
        return None
    case.take(claim)
    cost = claim.ns_per_step
    return Finding(
        code="layout",
        title=f"convolutions convert their tensors {times_a_step(len(rows) / len(case.steps))}, "
        f"{duration(cost)} of the device",
        cost_ns_per_step=cost,
        nodes=costliest(case, rows),
        advice="model.to(memory_format=torch.channels_last), and the input likewise",
        confidence=1.0,
        not_checked="whether other ops of the model would then convert",
    )
