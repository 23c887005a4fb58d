"""`no-tensor-cores`: matrix products run on the plain units of a device that has tensor cores.

Evidence: products whose kernel's name proves that no tensor core was used.
Cost: half of their time. By the data sheets tensor cores are at least twice as fast at TF32, and
at 16 bits more, on every device that has them; memory may then limit the rest.
Threshold: 5 % of the step, for the half.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ptx.profiling.analysis.findings.kernel_time import costliest, time_of
from ptx.profiling.analysis.findings.model import Finding
from ptx.profiling.analysis.findings.words import duration
from ptx.profiling.kernels.decode import decode

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ptx.profiling.analysis.findings.case import Case

_SHARE = 0.1  # of all their time, of which half is claimed
_FIRST_WITH_TENSOR_CORES = 7
_FIRST_WITH_TF32 = 8
_TF32 = ", or torch.set_float32_matmul_precision('high') where TF32 is exact enough"


def no_tensor_cores(case: Case) -> Finding | None:
    """Returns the finding, None where products use tensor cores, or where it is not proven."""
    generation = _generation(case)
    if generation < _FIRST_WITH_TENSOR_CORES:
        return None
    rows = _plain_products(case)
    claim = time_of(case, rows)
    if not case.is_worth(claim, _SHARE):
        return None
    case.take(claim)
    return Finding(
        code="no-tensor-cores",
        title=f"matrix products take {duration(claim.ns_per_step)} a step without tensor cores",
        cost_ns_per_step=claim.ns_per_step // 2,
        nodes=costliest(case, rows),
        advice="float16 or bfloat16 (torch.autocast)"
        + (_TF32 if generation >= _FIRST_WITH_TF32 else ""),
        confidence=0.9,
        not_checked="whether the results bear less precision",
    )


def _generation(case: Case) -> int:
    """Returns the major compute capability of the device, 0 where it is not known."""
    for device in case.structure.trace.header.devices:
        if device.index == case.device.device and device.compute_capability is not None:
            return int(device.compute_capability.split(".")[0])
    return 0


def _plain_products(case: Case) -> NDArray[np.intp]:
    table, activities = case.structure.trace.table, case.structure.activities
    codes, slot = np.unique(table.name[activities.event[case.activities]], return_inverse=True)
    kernels = [decode(table.names[code], cut=False) for code in codes.tolist()]
    plain = np.fromiter(
        (k.category == "G" and k.fields.get("tensor_core") is False for k in kernels), bool
    )
    return case.activities[plain[slot]] if len(plain) else case.activities
