"""Totals by name: one row an op name, one row a kernel name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ptx.profiling.structure.tree import NodeKind
from ptx.profiling.trace.columns import Kind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ptx.profiling.structure.structure import Structure


@dataclass(frozen=True, slots=True)
class OpRow:
    """The totals of an op name.

    A call inside a call of the same name adds to `calls` and `cpu_self_ns` only, so that no ns
    counts twice in a total.
    """

    name: str
    calls: int
    cpu_self_ns: int
    cpu_total_ns: int
    gpu_sum_ns: int
    kernels: int


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


def op_rows(structure: Structure, step: int | None = None) -> list[OpRow]:
    """Returns the totals by op name, by GPU sum, then self CPU time.

    Args:
        structure: the trace.
        step: only ops that start in this step (position in `structure.steps`).
    """
    tree, table, sums = structure.tree, structure.trace.table, structure.sums
    nodes = np.flatnonzero(tree.kind == NodeKind.OP)
    if step is not None:
        nodes = nodes[structure.step_of_nodes()[nodes] == step]
    names = table.name[tree.event[nodes]]
    outermost = _outermost_of_its_name(structure, nodes, names)
    size = len(table.names)

    def total(values: NDArray[np.int64], where: NDArray[np.bool_]) -> NDArray[np.int64]:
        out = np.zeros(size, np.int64)
        np.add.at(out, names[where], values[nodes][where])
        return out

    everywhere = np.ones(len(nodes), bool)
    calls = np.bincount(names, minlength=size)
    own = total(sums.self_ns, everywhere)
    dur = total(table.dur_ns[tree.event], outermost)
    gpu = total(sums.gpu_sum_ns, outermost)
    kernels = total(sums.kernels.astype(np.int64), outermost)
    rows = [
        OpRow(table.names[k], int(calls[k]), int(own[k]), int(dur[k]), int(gpu[k]), int(kernels[k]))
        for k in np.flatnonzero(calls).tolist()
    ]
    return sorted(rows, key=lambda r: (-r.gpu_sum_ns, -r.cpu_self_ns, r.name))


def _outermost_of_its_name(
    structure: Structure, nodes: NDArray[np.intp], names: NDArray[np.int32]
) -> NDArray[np.bool_]:
    """Returns which op nodes lie in no other node of the same name among `nodes`."""
    order = np.lexsort((nodes, names))
    end = (nodes + structure.tree.size[nodes])[order]
    group = names[order].astype(np.int64)
    # ends reach monotonically within a name once nested ones are covered by the running maximum
    shifted = end + group * (len(structure.tree) + 1)
    reach = np.maximum.accumulate(shifted)
    inside = np.zeros(len(nodes), bool)
    starts = nodes[order] + group * (len(structure.tree) + 1)
    inside[order[1:]] = (starts[1:] < reach[:-1]) & (group[1:] == group[:-1])
    return ~inside


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
