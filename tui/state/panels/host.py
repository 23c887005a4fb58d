"""The Host panel: what the host did while the device had nothing to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ptx.profiling.analysis.idle import (
    CAUSES,
    charge_cpu,
    charge_idle,
    charges_by_name,
)
from ptx.profiling.report.units import format_count, format_ns, format_share
from ptx.tui.state.names import short_op
from ptx.tui.state.panels.panel import Panel, PanelLine
from ptx.tui.state.rows import Cell, Column, Row

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ptx.profiling.analysis.idle import HostWork, IdleCharge
    from ptx.tui.state.panels.panel import Subject

_WORDS = {
    "op": "op",
    "python": "Python",
    "launch": "launch call",
    "sync": "sync call",
    "alloc": "allocation",
    "data": "data loader",
    "other": "other",
}
_WIDTH = max(map(len, _WORDS.values()))
_MOST_NAMES = 200
_COLUMNS = (Column("", 6), Column("", 7), Column("", 5))


def host_panel(subject: Subject) -> Panel:
    """Returns the idle time of a row by cause and name; without a device its CPU time."""
    charge = charge_idle(subject.structure) or charge_cpu(subject.structure)
    found = charges_by_name(subject.structure, charge, subject.nodes)
    charged_ns = sum(work.own_ns for work in found)
    totals = subject.rows.lens.totals
    whole_ns = max(charged_ns, int(totals.idle_ns[subject.row])) if subject.rows.has_gpu else 0
    whole_ns = whole_ns or charged_ns
    lines = [*_instances(subject, charge), *_works(subject, found, whole_ns)]
    if whole_ns > charged_ns:
        lines.append(_line("nothing recorded", None, whole_ns - charged_ns, whole_ns))
    return Panel(_title(subject, found, whole_ns), _COLUMNS, lines)


def _title(subject: Subject, found: list[HostWork], whole_ns: int) -> str:
    what = "GPU idle" if subject.rows.has_gpu else "CPU time"
    if whole_ns == 0:
        return "the GPU is not idle here" if subject.rows.has_gpu else "no CPU time here"
    by_cause = {cause: sum(w.own_ns for w in found if w.cause == cause) for cause in CAUSES}
    parts = [
        f"{_WORDS[cause].partition(' ')[0]} {format_ns(ns)} {format_share(ns, whole_ns)}"
        for cause, ns in sorted(by_cause.items(), key=lambda item: -item[1])
        if ns
    ]
    where = ", host in" if subject.rows.has_gpu else ""
    return f"{what} {format_ns(whole_ns)}{where}: {'  '.join(parts)}"


def _instances(subject: Subject, charge: IdleCharge) -> Iterator[PanelLine]:
    """Yields the least and the most that an instance of a repeated row costs."""
    nodes = subject.rows.lens.outer_nodes(subject.row)
    if len(nodes) < 2:
        return
    cost = charge.total_ns[nodes] + subject.structure.sums.gpu_busy_ns[nodes]
    by_cost = np.argsort(-cost, kind="stable")
    what = "GPU + idle" if subject.rows.has_gpu else "CPU time"
    low, high = format_ns(int(cost.min())), format_ns(int(cost.max()))
    label = f"{len(nodes)} instances, {what} of each {low} to {high}"
    yield PanelLine(Row(label, role="strong"), nodes[by_cost])


def _works(subject: Subject, found: list[HostWork], whole_ns: int) -> Iterator[PanelLine]:
    for work in found[:_MOST_NAMES]:
        name = f"{_WORDS[work.cause]:<{_WIDTH}} {short_op(work.name)}"
        line = _line(name, work.calls, work.own_ns, whole_ns)
        yield PanelLine(line.row, work.nodes)
    if len(found) > _MOST_NAMES:
        rest = found[_MOST_NAMES:]
        label = f"{subject.rows.glyphs.ellipsis} {format_count(len(rest))} more names"
        yield _line(label, sum(w.calls for w in rest), sum(w.own_ns for w in rest), whole_ns)


def _line(label: str, calls: int | None, own_ns: int, whole_ns: int) -> PanelLine:
    cells = (
        Cell("" if calls is None else format_count(calls)),
        Cell(format_ns(own_ns)),
        Cell(format_share(own_ns, whole_ns)),
    )
    return PanelLine(Row(label, cells, role="normal" if calls is not None else "dim"))
