"""The Kernels panel: what a row ran on the device, by kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ptx.profiling.report.units import format_count, format_ns, format_share
from ptx.tui.state.names import kernel_role, short_kernel
from ptx.tui.state.panels.panel import Panel, PanelLine, nodes_of_activities
from ptx.tui.state.rows import Cell, Column, Row

if TYPE_CHECKING:
    from ptx.tui.state.panels.panel import Subject

_COLUMNS = (
    Column("n", 6),
    Column("GPU", 7),
    Column("each", 7),
    Column("% GPU", 6),
    Column("", 10, left=True),
)


def kernel_panel(subject: Subject) -> Panel:
    """Returns the kinds of activities below a row, costliest first; Enter leads to their ops."""
    whole = sum(kind.total_ns for kind in subject.kinds)
    roots = subject.rows.index.children(-1)
    step_ns = int(subject.rows.lens.totals.gpu_sum_ns[roots].sum())
    lines = []
    for kind in subject.kinds:
        role = kernel_role(kind.name)
        bar = subject.rows.glyphs.full * round(10 * kind.total_ns / whole) if whole else ""
        cells = (
            Cell(format_count(kind.count)),
            Cell(format_ns(kind.total_ns)),
            Cell(format_ns(kind.total_ns // kind.count)),
            Cell(format_share(kind.total_ns, step_ns)),
            Cell(bar, role),
        )
        # the tails of names differ where their heads do not
        row = Row(short_kernel(kind.name), cells, role=role, middle=True)
        lines.append(PanelLine(row, nodes_of_activities(subject.structure, kind.activities)))
    return Panel(_title(subject), _COLUMNS, lines)


def _title(subject: Subject) -> str:
    if not subject.kinds:
        return "no GPU work here"
    if subject.count < 2:
        return "kernels of this row"
    nodes = subject.rows.lens.outer_nodes(subject.row)
    if len(nodes) != subject.count:
        return f"kernels of {subject.count} alike"
    each = subject.structure.sums.gpu_sum_ns[nodes]
    figures = "/".join(format_ns(int(f(each))) for f in (np.min, np.median, np.max))
    return f"{subject.count}x {figures} (min/median/max)"
