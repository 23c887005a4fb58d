"""The totals of one side over its compared steps: sums, and their spread."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ptx.profiling.analysis.comparison.model import TOTALS, Side, Spread
from ptx.profiling.analysis.idle import CAUSES, causes, charge_idle
from ptx.profiling.analysis.roofline import modelled
from ptx.profiling.analysis.summary import step_rows
from ptx.profiling.trace.columns import Kind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ptx.profiling.analysis.comparison.host import HostSide
    from ptx.profiling.analysis.comparison.program import Program


def side_of(program: Program, host: HostSide) -> Side:
    """Returns one side of the comparison's answer, without its groups."""
    structure, steps = program.structure, program.steps
    figures = {**_device_figures(program), **host.figures()}
    rows = step_rows(structure)
    chosen = [rows[k] for k in steps.positions]
    idle = [row.idle_ns for row in chosen if row.idle_ns is not None]
    names = {d.index: d.name for d in structure.trace.header.devices}
    return Side(
        structure=structure,
        steps=tuple(structure.steps.names[k] for k in steps.positions),
        left_out=steps.left_out,
        totals={word: _total(figures[word]) for word in TOTALS},
        per_step={word: _spread(figures[word]) for word in TOTALS},
        step_ns=tuple(row.dur_ns for row in chosen),
        idle_ns=tuple(idle) if len(idle) == len(chosen) and chosen else None,
        idle_by=_idle_by(program, host.typical),
        unmatched_ns=int(structure.activities.counted_ns[steps.unlinked].sum()),
        devices=tuple(names.get(k) or f"device {k}" for k in structure.devices.tolist()),
        typical=host.typical,
    )


def activity_bytes(program: Program) -> NDArray[np.int64]:
    """Returns the modelled bytes of each place in the representative step, -1 where unknown."""
    total = modelled(program.structure).total_bytes[program.rows]
    return np.asarray(total, np.int64)


def _device_figures(program: Program) -> dict[str, NDArray[np.int64] | None]:
    structure, steps = program.structure, program.steps
    counted = structure.activities.counted_ns
    kinds = structure.trace.table.kind[structure.activities.event]
    count = len(steps.positions)
    loose_step = structure.activities.step[steps.unlinked]
    sums, kernels, activities = np.zeros((3, count), np.int64)
    for row, position in enumerate(steps.positions):
        mine = np.concatenate((steps.rows[row], steps.unlinked[loose_step == position]))
        sums[row] = counted[mine].sum()
        kernels[row] = (kinds[mine] == Kind.KERNEL).sum()
        activities[row] = len(mine)
    busy = [row.gpu_busy_ns for row in step_rows(structure)]
    known = modelled(structure).total_bytes[steps.rows]
    return {
        "gpu_sum_ns": sums,
        "gpu_busy_ns": np.array([busy[k] for k in steps.positions], np.int64),
        "kernels": kernels,
        "activities": activities,
        "modelled_bytes": known.sum(axis=1) if known.size and (known >= 0).all() else None,
    }


def _total(by_step: NDArray[np.int64] | None) -> int | None:
    return None if by_step is None else int(by_step.sum())


def _spread(by_step: NDArray[np.int64] | None) -> Spread:
    if by_step is None or not len(by_step):
        return Spread(None, None, None)
    return Spread(int(np.median(by_step)), int(by_step.min()), int(by_step.max()))


def _idle_by(program: Program, typical: tuple[int, ...]) -> dict[str, int]:
    """Returns the idle time of an average typical step by what the host did meanwhile."""
    structure = program.structure
    charge = charge_idle(structure)
    if charge is None:
        return {}
    event = structure.tree.event
    step = structure.steps.at(structure.trace.table.start_ns[event])
    positions = [program.steps.positions[k] for k in typical]
    keep = np.isin(step, positions) & (charge.own_ns > 0)
    total = np.zeros(len(CAUSES), np.int64)
    np.add.at(total, causes(structure)[keep], charge.own_ns[keep])
    total //= max(1, len(positions))
    return {word: int(ns) for word, ns in zip(CAUSES, total.tolist(), strict=True) if ns}
