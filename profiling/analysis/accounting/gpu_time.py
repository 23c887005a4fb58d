"""GPU time by what it was spent on: modules, and what the kernels' names state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from ptx.profiling.analysis.kernel_groups import (
    GROUPINGS,
    GroupBy,
    KernelGroup,
    kernel_groups,
    sort_kernel_groups,
)
from ptx.profiling.analysis.selection import select_activities
from ptx.profiling.analysis.tops import modules_of_activities
from ptx.profiling.trace.columns import ABSENT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ptx.profiling.structure.structure import Structure

GpuTimeBy: TypeAlias = Literal["module"] | GroupBy
GPU_TIME_BY: tuple[GpuTimeBy, ...] = ("module", *GROUPINGS)


def gpu_time(structure: Structure, by: GpuTimeBy, step: int | None = None) -> list[KernelGroup]:
    """Returns the GPU time by one respect, longest sum first; the sums add up to the whole.

    Args:
        structure: the trace.
        by: `module` (the nearest one, by the forward op for a backward one), or what the names
            state, see `kernel_groups`.
        step: only what this step launched (its position); None for the whole trace.
    """
    rows = select_activities(structure, step=step)
    if by == "module":
        return _by_module(structure, rows)
    return kernel_groups(structure, rows, by)


def _by_module(structure: Structure, rows: NDArray[np.intp]) -> list[KernelGroup]:
    table, tree, activities = structure.trace.table, structure.tree, structure.activities
    home = modules_of_activities(structure)[rows]
    module = np.where(home >= 0, table.name[tree.event[home]], ABSENT)
    labels, group = np.unique(module, return_inverse=True)
    kernel = table.name[activities.event[rows]].astype(np.int64)
    pairs = np.unique(group * len(table.names) + kernel)
    kinds = np.bincount(pairs // max(1, len(table.names)), minlength=len(labels))
    calls = np.bincount(group, minlength=len(labels))
    sums = np.zeros(len(labels), np.int64)
    np.add.at(sums, group, activities.counted_ns[rows])
    found = [
        KernelGroup(None if code == ABSENT else table.names[code], kind, count, ns)
        for code, kind, count, ns in zip(
            labels.tolist(), kinds.tolist(), calls.tolist(), sums.tolist(), strict=True
        )
    ]
    return sort_kernel_groups(found, "gpu")
