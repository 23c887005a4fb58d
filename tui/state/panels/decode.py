"""The Decode panel: what the pieces of a kernel's name say."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from ptx.profiling.kernels.decode import decode
from ptx.profiling.kernels.explain import parts_of
from ptx.profiling.report.units import format_count, format_ns
from ptx.profiling.sanitise import clean
from ptx.profiling.structure.tree import NodeKind
from ptx.profiling.tensors.gemm import compare_layout, gemm_of
from ptx.profiling.tensors.inputs import inputs_at
from ptx.tui.state.names import kernel_role, short_kernel
from ptx.tui.state.panels.panel import Panel, PanelLine, nodes_of_activities, text_line, wrapped
from ptx.tui.state.rows import Cell, Column, Row

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ptx.profiling.kernels.model import KernelName
    from ptx.tui.state.explore import KernelKind
    from ptx.tui.state.panels.panel import Subject

_MOST_KINDS = 12
_LONGEST_PART = 20
_LEAST_MEANING = 20
_TWO_COLUMNS_FROM = 72
_MARGIN = 3  # the cursor's sign and a blank
_GAP = 2
_COLUMNS = (Column("n", 6), Column("GPU", 7))


def decode_panel(subject: Subject, width: int) -> Panel:
    """Returns the pieces of the names of a row's kernels, the costliest kind first.

    Args:
        subject: the row.
        width: of the panel; a wide one has two pieces a line.
    """
    if not subject.kinds:
        return Panel("no GPU work here", (), [])
    lines: list[PanelLine] = []
    for kind in subject.kinds[:_MOST_KINDS]:
        lines += _kind_lines(subject, kind, width)
    left = len(subject.kinds) - _MOST_KINDS
    if left > 0:
        lines.append(text_line(f"{subject.rows.glyphs.ellipsis} {left} more kinds", dim=True))
    return Panel(_title(subject), _COLUMNS, lines)


def _title(subject: Subject) -> str:
    """Returns whether the letters of a matrix product's kernel are those that strides predict."""
    if subject.kind is NodeKind.OP:
        gemm = gemm_of(subject.op_name, inputs_at(subject.structure, subject.inner))
        if gemm is not None:
            return compare_layout(gemm, subject.kinds[0].name).text
    return "what the kernel's name says"


def _kind_lines(subject: Subject, kind: KernelKind, width: int) -> Iterator[PanelLine]:
    kernel = decode(kind.name)
    cells = (Cell(format_count(kind.count)), Cell(format_ns(kind.total_ns)))
    row = Row(short_kernel(kind.name), cells, role=kernel_role(kind.name), middle=True)
    nodes, name = nodes_of_activities(subject.structure, kind.activities), clean(kernel.name)
    yield PanelLine(row, nodes, copied=name)
    yield PanelLine(Row(f" {name}", role="dim", middle=True), nodes, copied=name)
    for line in _aligned(_pieces(kernel), width - _MARGIN, subject.rows.glyphs.ellipsis):
        yield text_line(f" {line}")
    if not kernel.complete:
        yield text_line(" ? not all of this name is understood", dim=True)
    for note in kernel.notes:
        yield from wrapped(f" {clean(note)}", width, dim=True)


def _pieces(kernel: KernelName) -> list[tuple[str, str]]:
    return [(clean(part.text), clean(part.meaning)) for part in parts_of(kernel)]


def _aligned(pieces: list[tuple[str, str]], width: int, ellipsis: str) -> Iterator[str]:
    """Yields the pieces with their meanings, two a line where both fit into half of it."""
    longest = min(_LONGEST_PART, max((len(text) for text, _ in pieces), default=0))
    half = (width - _GAP) // 2 if width >= _TWO_COLUMNS_FROM else 0
    waiting = ""
    for text, meaning in pieces:
        # a long piece is a word; its beginning tells it
        head = text if len(text) <= longest else text[: longest - 1] + ellipsis
        head = f"{head:<{longest}}{' ' * _GAP}"
        fits = len(head) + len(meaning) <= half
        if waiting and fits:
            yield f"{waiting:<{half}}{' ' * _GAP}{head}{meaning}"
            waiting = ""
            continue
        if waiting:
            yield waiting
        waiting = f"{head}{meaning}" if fits else ""
        if not fits:
            indent = " " * len(head)
            room = max(width, len(head) + _LEAST_MEANING)
            yield from textwrap.wrap(
                meaning, room, initial_indent=head, subsequent_indent=indent
            ) or [head]
    if waiting:
        yield waiting
