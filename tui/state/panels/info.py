"""The Info panel: the facts of a row's event, its partners, and what the file records of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ptx.profiling.report.units import format_bytes, format_count, format_ns
from ptx.profiling.sanitise import clean
from ptx.profiling.trace.columns import Flag
from ptx.tui.state.panels.panel import Panel, PanelLine, nodes_of_activities
from ptx.tui.state.rows import Cell, Column, Row

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from ptx.profiling.structure.structure import Structure
    from ptx.tui.state.panels.panel import Subject

_KEYS_WIDTH = 26
_ACTIVITIES = 3
_LONGEST_VALUE = 400


class _Facts(Panel):
    def columns(self, width: int) -> Sequence[Column]:
        """Returns one column that takes all but the keys' width."""
        return [Column("", max(10, width - _KEYS_WIDTH), left=True, cut="middle")]


def info_panel(subject: Subject) -> Panel:
    """Returns the facts of the innermost event of a row; Enter on a partner leads to it."""
    if subject.inner < 0:
        return _Facts("a group of rows, no event itself", (), list(_group(subject)))
    lines = [*_event(subject), *_partners(subject)]
    for k in subject.activities[:_ACTIVITIES].tolist():
        lines += _activity(subject.structure, k)
    recorded = subject.structure.trace.args.event(subject.event)
    args = recorded.get("args") if recorded else None
    if isinstance(args, dict) and args:
        lines += [_fact("", ""), _fact("recorded arguments", "")]
        lines += [_fact(f"  {key}", value) for key, value in args.items()]
    which = f", first of {subject.count} alike" if subject.count > 1 else ""
    return _Facts(f"event {subject.event}{which}", (), lines)


def _fact(key: str, value: object, nodes: NDArray[np.integer] | None = None) -> PanelLine:
    row = Row(clean(_short(key)), (Cell(clean(_short(value))),))
    return PanelLine(row) if nodes is None else PanelLine(row, nodes)


def _group(subject: Subject) -> Iterator[PanelLine]:
    yield _fact("group", subject.rows.label(subject.row))
    yield _fact("rows", format_count(len(subject.rows.index.children(subject.row))))


def _event(subject: Subject) -> Iterator[PanelLine]:
    structure, event, node = subject.structure, subject.event, subject.inner
    assert subject.kind is not None  # asked only for a row with an event
    table, sums = structure.trace.table, structure.sums
    step = subject.rows.step
    origin = int(structure.steps.start_ns[step]) if step is not None else 0
    lane = table.threads[table.thread[event]]
    yield _fact("name", subject.op_name)
    yield _fact("kind", subject.kind.name.lower())
    yield _fact("start in the step", format_ns(int(table.start_ns[event]) - origin))
    yield _fact("CPU", format_ns(int(table.dur_ns[event])))
    yield _fact("self CPU", format_ns(int(sums.self_ns[node])))
    yield _fact("GPU sum", format_ns(int(sums.gpu_sum_ns[node])))
    yield _fact("GPU busy", format_ns(int(sums.gpu_busy_ns[node])))
    yield _fact("kernels", format_count(int(sums.kernels[node])))
    yield _fact("thread", f"{lane.name or ''} pid {lane.pid} tid {lane.tid}".strip())
    flags = Flag(int(table.flags[event]))
    if flags:
        yield _fact("flags", (flags.name or "").lower().replace("|", ", "))


def _partners(subject: Subject) -> Iterator[PanelLine]:
    """Yields the forward op of a backward op, and the backward ops of a forward one."""
    structure, node = subject.structure, subject.inner
    if subject.forward >= 0:
        to = structure.tree.node_of[np.array([subject.forward])]
        yield _fact("forward op", _called(structure, int(to[0])), to)
    # the outermost op of a call is the one that backward ops name
    around = np.array([n for n in (node, int(structure.owner_op[node])) if n >= 0])
    outer = subject.rows.lens.outer_nodes(subject.row)[:1]
    events = structure.tree.event[np.append(around, outer)]
    backward = np.flatnonzero(np.isin(structure.forward, events))
    if len(backward):
        more = f" and {len(backward) - 1} inside" if len(backward) > 1 else ""
        yield _fact("backward op", f"{_called(structure, int(backward[0]))}{more}", backward)


def partner_of(subject: Subject) -> int:
    """Returns the node of the forward op of a backward op, or the other way round; -1 for none."""
    return next((int(line.nodes[0]) for line in _partners(subject)), -1)


def _called(structure: Structure, node: int) -> str:
    event = int(structure.tree.event[node])
    return f"{structure.trace.table.name_of(event)}, event {event}"


def _activity(structure: Structure, k: int) -> Iterator[PanelLine]:
    table, activities = structure.trace.table, structure.activities
    event = int(activities.event[k])
    to = nodes_of_activities(structure, np.array([k]))
    yield _fact("", "")
    yield _fact(table.categories[table.category[event]], table.name_of(event), to)
    yield _fact("  event", event)
    yield _fact("  device, stream", f"{table.device[event]}, {table.stream[event]}")
    yield _fact("  GPU", format_ns(int(activities.counted_ns[k])))
    if activities.launch[k] >= 0:
        yield _fact("  queue delay", format_ns(int(activities.queue_delay_ns[k])))
    moved = int(table.bytes.at(np.array([event]))[0])
    if moved >= 0:
        yield _fact("  moved", format_bytes(moved))


def _short(value: object) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= _LONGEST_VALUE else text[:_LONGEST_VALUE] + "..."
