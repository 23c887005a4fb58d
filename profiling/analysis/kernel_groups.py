"""Totals of activities by what their names state: family, input type, tensor cores, category."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from ptx.profiling.analysis.categories import CATEGORY_WORDS
from ptx.profiling.kernels.decode import decode
from ptx.profiling.kernels.words import UNKNOWN

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ptx.profiling.kernels.model import KernelName
    from ptx.profiling.structure.structure import Structure

GroupBy: TypeAlias = Literal["family", "dtype", "tensor-core", "category"]
GROUPINGS: tuple[GroupBy, ...] = ("family", "dtype", "tensor-core", "category")

_TRANSFERS = ("memcpy", "memset")
_AS_NAMED = frozenset(("nccl", "rccl", "hccl"))
"""Families whose one kernel runs what its name does not say: a type in it is only a name."""


@dataclass(frozen=True, slots=True)
class KernelGroup:
    """Activities whose names state the same.

    Attributes:
        label: what they state; None for those whose names do not state it.
        kinds: how many distinct names there are.
        calls: how many activities.
        gpu_sum_ns: their summed (counted) durations.
    """

    label: str | None
    kinds: int
    calls: int
    gpu_sum_ns: int


def kernel_groups(structure: Structure, rows: NDArray[np.intp], by: GroupBy) -> list[KernelGroup]:
    """Returns the groups of some activities, longest sum first; their sums add up to the whole.

    Args:
        structure: the trace.
        rows: positions in `structure.activities`.
        by: what of a name groups it. `dtype` is the type of the inputs, `tensor-core` what the
            name proves about matrix units: a kernel whose name is silent is not counted as either.
    """
    table, activities = structure.trace.table, structure.activities
    codes, slot = np.unique(table.name[activities.event[rows]], return_inverse=True)
    labels = [label_of(decode(table.names[code], cut=False), by) for code in codes.tolist()]
    known = list(dict.fromkeys(labels))
    place = {label: k for k, label in enumerate(known)}
    group_of_name = np.array([place[label] for label in labels], np.intp)
    kinds = np.bincount(group_of_name, minlength=len(known))
    group = group_of_name[slot]
    calls = np.bincount(group, minlength=len(known))
    sums = np.zeros(len(known), np.int64)
    np.add.at(sums, group, activities.counted_ns[rows])
    found = [
        KernelGroup(label, int(n), int(count), int(ns))
        for label, n, count, ns in zip(known, kinds, calls, sums, strict=True)
    ]
    return sort_kernel_groups(found, "gpu")


def sort_kernel_groups(groups: list[KernelGroup], by: str) -> list[KernelGroup]:
    """Returns the groups ordered by `gpu` (longest sum first), `calls` (most first) or `name`."""
    if by == "calls":
        return sorted(groups, key=lambda g: (-g.calls, g.label or ""))
    if by == "name":
        return sorted(groups, key=lambda g: (g.label is None, g.label or ""))
    return sorted(groups, key=lambda g: (-g.gpu_sum_ns, g.label or ""))


def label_of(kernel: KernelName, by: GroupBy) -> str | None:
    """Returns what a name states in one respect; None where it is silent.

    Copies and fills of memory compute nothing: by type or tensor cores they are a group of their
    own. A type that a collective only bears in its name is marked `as named`.
    """
    if by == "category":
        return CATEGORY_WORDS[kernel.category]
    if by == "family":
        return None if kernel.family == UNKNOWN else kernel.family
    if kernel.family in _TRANSFERS:
        return "memcpy, memset"
    return _cores(kernel) if by == "tensor-core" else _dtype(kernel)


def _cores(kernel: KernelName) -> str | None:
    used = kernel.fields.get("tensor_core")
    return None if used is None else "tensor cores" if used else "no tensor cores"


def _dtype(kernel: KernelName) -> str | None:
    fields = kernel.fields
    if "dtype_a" in fields:
        first, second = fields["dtype_a"], fields.get("dtype_b", fields["dtype_a"])
        return str(first) if first == second else f"{first} x {second}"
    found = fields.get("dtype", fields.get("dtype_q"))
    if found is None:
        return None
    return f"{found} (as named)" if kernel.family in _AS_NAMED else str(found)
