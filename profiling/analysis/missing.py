"""What the profiler could have recorded and did not, with the line of code that turns it on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ptx.profiling.trace.columns import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from ptx.profiling.structure.structure import Structure

_SAMPLED_OPS = 64


@dataclass(frozen=True, slots=True)
class Missing:
    """A capture flag that was off: what it would show, and the line of code that turns it on."""

    flag: str
    what_it_would_show: str
    how: str


def missing_flags(structure: Structure) -> Iterator[Missing]:
    """Yields what the profiler could have recorded; a trace without ops is none of PyTorch's."""
    table, flag = structure.trace.table, structure.trace.header.flag
    by_kind = np.bincount(table.kind, minlength=len(Kind))
    ops = table.of_kind(Kind.OP)
    if not len(ops):
        return
    if not len(structure.activities):
        yield Missing(
            "ProfilerActivity.CUDA",
            "the kernels that the ops launched, busy and idle time of the device",
            "profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])",
        )
    if structure.steps.source != "ProfilerStep":
        yield Missing(
            "steps",
            "each step on its own, so that warm-up and outliers stand out",
            "prof.step()  # at the end of each iteration",
        )
    if not _has_shapes(structure, ops):
        yield Missing(
            "record_shapes",
            "shapes, strides and dtypes of every op's inputs",
            "profile(record_shapes=True)",
        )
    if not (by_kind[Kind.FRAME] or by_kind[Kind.MODULE] or flag("with_stack")):
        yield Missing(
            "with_stack", "modules and the source line behind each op", "profile(with_stack=True)"
        )
    if not (by_kind[Kind.MEMORY] or flag("profile_memory")):
        yield Missing(
            "profile_memory", "allocations and the memory curve", "profile(profile_memory=True)"
        )
    if structure.trace.header.torch_version is None:
        yield Missing(
            "torch version",
            "which PyTorch made the trace",
            'prof.add_metadata("pytorch_version", torch.__version__)',
        )


def _has_shapes(structure: Structure, ops: NDArray[np.int32]) -> bool:
    if structure.trace.header.flag("record_shapes"):
        return True
    picks = ops[np.linspace(0, len(ops) - 1, min(_SAMPLED_OPS, len(ops))).astype(np.intp)]
    return any(structure.trace.args.has_shapes(event) for event in picks.tolist())
