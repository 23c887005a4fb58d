"""The steps of a trace as a list to choose from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptx.profiling.analysis.summary import step_rows
from ptx.profiling.report.units import format_count, format_ns
from ptx.profiling.sanitise import clean
from ptx.tui.state.rows import Cell, Column, FlatRows, Row

if TYPE_CHECKING:
    from ptx.profiling.structure.structure import Structure


def step_choices(structure: Structure) -> FlatRows:
    """Returns the steps as a list to choose from."""
    columns = (
        Column("time", 8),
        Column("GPU busy", 8),
        Column("idle", 8),
        Column("kernels", 8),
    )
    made = [
        Row(
            clean(step.name),
            (
                Cell(format_ns(step.dur_ns)),
                Cell("-" if step.clock_busy_ns is None else format_ns(step.clock_busy_ns)),
                Cell("-" if step.idle_ns is None else format_ns(step.idle_ns)),
                Cell(format_count(step.kernels)),
            ),
        )
        for step in step_rows(structure)
    ]
    return FlatRows("step", columns, made)
