"""Totals by name of an activity: one row a kernel name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ptx.profiling.trace.columns import Kind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ptx.profiling.structure.structure import Structure


@dataclass(frozen=True, slots=True)
class KernelRow:
    """An activity name with its number and summed (counted) duration."""

    name: str
    kind: str
    calls: int
    gpu_sum_ns: int


_KIND_WORDS = {Kind.KERNEL: "kernel", Kind.MEMCPY: "memcpy", Kind.MEMSET: "memset"}


def kind_word(kind: int) -> str:
    """Returns `kernel`, `memcpy` or `memset` for an activity's kind."""
    return _KIND_WORDS[Kind(kind)]


def kernel_rows(structure: Structure, rows: NDArray[np.intp] | None = None) -> list[KernelRow]:
    """Returns the totals by activity name and kind, longest sum first.

    Args:
        structure: the trace.
        rows: only these activities, by position in `structure.activities`; None for all.
    """
    table, activities = structure.trace.table, structure.activities
    events, counted = activities.event, activities.counted_ns
    if rows is not None:
        events, counted = events[rows], counted[rows]
    key = table.name[events].astype(np.int64) * len(Kind) + table.kind[events]
    ids, group = np.unique(key, return_inverse=True)
    calls = np.bincount(group, minlength=len(ids))
    total = np.zeros(len(ids), np.int64)
    np.add.at(total, group, counted)
    found = [
        KernelRow(table.names[k // len(Kind)], kind_word(k % len(Kind)), int(n), int(ns))
        for k, n, ns in zip(ids.tolist(), calls, total, strict=True)
    ]
    return sorted(found, key=lambda r: (-r.gpu_sum_ns, r.name))


def sort_kernel_rows(rows: list[KernelRow], by: str) -> list[KernelRow]:
    """Returns the rows ordered by `gpu` (longest sum first), `calls` (most first) or `name`."""
    if by == "calls":
        return sorted(rows, key=lambda r: (-r.calls, r.name))
    if by == "name":
        return sorted(rows, key=lambda r: r.name)
    return sorted(rows, key=lambda r: (-r.gpu_sum_ns, r.name))
