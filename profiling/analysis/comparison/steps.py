"""Which steps of a trace are compared: those that run the same kernels in the same order."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ptx.profiling.structure.tree import NodeKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ptx.profiling.structure.structure import Structure

_COLD_COMPILE = re.compile(r"entire_frame_compile|compile_attempt_|_compile\.compile_inner")


@dataclass(frozen=True, eq=False)
class ComparableSteps:
    """The steps of one side whose kernel sequences are equal.

    Attributes:
        positions: positions in `structure.steps`, ascending.
        rows: positions in `structure.activities`, one row a step in launch order, one column a
            place in the sequence.
        unlinked: positions in `structure.activities` of what ran in those steps and has neither
            launch nor op; no place can be told for it.
        representative: which row of `rows` stands for all: the GPU sum nearest to the median.
        signatures: how many different kernel sequences the trace's warm steps have.
        left_out: (name of a step, why) for the steps that are not compared.
        cold: names of the steps in which code was compiled.
    """

    positions: tuple[int, ...]
    rows: NDArray[np.int64]
    unlinked: NDArray[np.int64]
    representative: int
    signatures: int
    left_out: tuple[tuple[str, str], ...]
    cold: tuple[str, ...]


def comparable_steps(structure: Structure) -> ComparableSteps:
    """Returns the steps with the most frequent kernel sequence, the later one on a tie.

    Steps in which code was compiled count only where there are no others, and steps without
    device activity only where the whole trace has none.
    """
    steps = structure.steps
    by_step, unlinked = _rows_by_step(structure)
    cold = cold_steps(structure)
    active = [k for k in range(len(steps)) if len(by_step[k])] or list(range(len(steps)))
    usable = [k for k in active if k not in cold] or active
    names = structure.trace.table.name[structure.activities.event]
    signature = {k: names[by_step[k]].tobytes() for k in usable}
    counts = Counter(signature.values())
    last = {sequence: k for k, sequence in signature.items()}
    chosen = max(counts, key=lambda s: (counts[s], last[s]), default=b"")
    positions = tuple(k for k in usable if signature[k] == chosen)
    width = len(by_step[positions[0]]) if positions else 0
    rows = np.array([by_step[k] for k in positions], np.int64).reshape(len(positions), width)
    return ComparableSteps(
        positions,
        rows,
        np.concatenate([unlinked[k] for k in positions] or [np.zeros(0, np.int64)]),
        _nearest_to_median(structure.activities.counted_ns[rows].sum(axis=1)),
        len(counts),
        tuple(
            (steps.names[k], _reason(k, cold, len(by_step[k])))
            for k in range(len(steps))
            if k not in positions
        ),
        tuple(steps.names[k] for k in sorted(cold)),
    )


def cold_steps(structure: Structure) -> frozenset[int]:
    """Returns the positions of the steps in which torch.compile compiled something."""
    table, tree = structure.trace.table, structure.tree
    compiles = np.fromiter((_COLD_COMPILE.search(n) is not None for n in table.names), bool)
    if not compiles.any():
        return frozenset()
    host = tree.event[tree.kind != NodeKind.ACTIVITY]
    found = structure.steps.at(table.start_ns[host[compiles[table.name[host]]]])
    return frozenset(np.unique(found[found >= 0]).tolist())


def _rows_by_step(
    structure: Structure,
) -> tuple[list[NDArray[np.int64]], list[NDArray[np.int64]]]:
    """Returns each step's activities: (those with a launch or an op by its time, the others).

    Where a trace links nothing at all, all count as linked and stand by their own start.
    """
    activities, table = structure.activities, structure.trace.table
    caller = np.where(activities.launch >= 0, activities.launch, activities.op)
    linked = caller >= 0
    if not linked.any():
        linked = ~linked
    when = table.start_ns[np.where(caller >= 0, caller, activities.event)]
    order = np.lexsort((activities.event, table.start_ns[activities.event], when))
    order = order[np.argsort(activities.step[order], kind="stable")]
    steps = np.arange(len(structure.steps))
    first = np.searchsorted(activities.step[order], steps, "left")
    behind = np.searchsorted(activities.step[order], steps, "right")
    parts = [order[a:b] for a, b in zip(first.tolist(), behind.tolist(), strict=True)]
    return [part[linked[part]] for part in parts], [part[~linked[part]] for part in parts]


def _nearest_to_median(totals: NDArray[np.int64]) -> int:
    return int(np.argmin(np.abs(totals - np.median(totals)))) if len(totals) else 0


def _reason(step: int, cold: frozenset[int], activities: int) -> str:
    if step in cold:
        return "compiles code"
    return "another kernel sequence" if activities else "no device activity"
