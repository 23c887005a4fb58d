"""The Source panel: the modules and the Python frames that a row was called from."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ptx.profiling.sanitise import clean
from ptx.profiling.structure.tree import NodeKind
from ptx.tui.state.names import FRAME, short_op
from ptx.tui.state.panels.panel import Panel, PanelLine, text_line
from ptx.tui.state.rows import Cell, Column, Row
from ptx.tui.state.source_file import FileLine

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ptx.profiling.structure.structure import Structure
    from ptx.tui.state.panels.panel import Subject

_TORCH = re.compile(r"(?:.*/)?(?:torch|functorch|torchgen|triton)/")
_INSTALLED_STDLIB = re.compile(r".*/lib/python3\.\d+/(?!site-packages/|dist-packages/)")
_LONGEST_PATH = 1000
_TITLE = "called from; lines are where a function starts (def)"
_LONGEST_FUNCTION = 30


@dataclass(frozen=True, slots=True)
class _Frame:
    """A Python frame: its node, the place of its def (None for built-in functions), its name."""

    node: int
    place: FileLine | None
    function: str


def has_frames(structure: Structure) -> bool:
    """Returns whether the trace has Python frames at all."""
    return bool((structure.tree.kind == NodeKind.FRAME).any())


def source_panel(subject: Subject) -> Panel:
    """Returns the frames above a row, innermost first; Enter shows the file of one."""
    if not has_frames(subject.structure):
        return Panel("recorded without stacks: with_stack=True", (), [])
    if subject.inner < 0:
        return Panel("this row groups others and was called from nowhere", (), [])
    node, lines = subject.inner, []
    above = _above(subject.structure, node)
    if not any(kind == NodeKind.FRAME for _, kind in above):
        forward = subject.forward
        if forward < 0:
            return Panel("no Python frame above: another thread called this", (), [])
        node = int(subject.structure.tree.node_of[forward])
        above = _above(subject.structure, node)
        name = short_op(subject.structure.trace.table.name_of(forward))
        lines.append(PanelLine(Row(f"backward of {name}, which was called from"), _nodes(node)))
    modules = [
        short_op(_name(subject.structure, k)) for k, kind in above if kind == NodeKind.MODULE
    ]
    if modules:
        join = f" {subject.rows.glyphs.join} "
        lines.append(
            PanelLine(Row(f"modules  {join.join(modules[::-1])}", role="strong", middle=True))
        )
    frames = [_frame(subject.structure, k) for k, kind in above if kind == NodeKind.FRAME]
    start = len(lines)
    made = list(_frame_lines(frames, subject.rows.glyphs.ellipsis))
    own = next((k for k, line in enumerate(made) if line.file is not None), 0)
    names = [len(line.row.cells[0].text) for line in made if line.row.cells]
    column = Column("", min(_LONGEST_FUNCTION, max(names, default=0)), left=True)
    return Panel(_TITLE, (column,), [*lines, *made], start=start + own)


def _above(structure: Structure, node: int) -> list[tuple[int, NodeKind]]:
    """Returns the nodes above a node with what they are, innermost first."""
    found = []
    while (node := int(structure.tree.parent[node])) >= 0:
        found.append((node, NodeKind(structure.tree.kind[node])))
    return found


def _nodes(node: int) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    return np.array([node], np.int32)


def _name(structure: Structure, node: int) -> str:
    return structure.trace.table.name_of(int(structure.tree.event[node]))


def _frame(structure: Structure, node: int) -> _Frame:
    name = _name(structure, node)
    match = FRAME.match(name[:_LONGEST_PATH])
    if match is None:
        return _Frame(node, None, name)
    return _Frame(node, FileLine(match["path"], int(match["line"])), match["function"])


def _frame_lines(frames: list[_Frame], ellipsis: str) -> Iterator[PanelLine]:
    """Yields a line for each frame of the user's and one for each run of others."""
    others = 0
    for frame in frames:
        if frame.place is None or is_foreign(frame.place.path):
            others += 1
            continue
        if others:
            yield text_line(_others(others, ellipsis), dim=True)
            others = 0
        label = clean(f"{frame.place.path}:{frame.place.line}")
        yield PanelLine(
            Row(label, (Cell(clean(f"in {frame.function}()")),), middle=True),
            _nodes(frame.node),
            copied=label,
            file=frame.place,
        )
    if others:
        yield text_line(_others(others, ellipsis), dim=True)


def _others(count: int, ellipsis: str) -> str:
    return f"{ellipsis} {count} torch and built-in frame{'s' if count > 1 else ''}"


def is_foreign(path: str) -> bool:
    """Returns whether a frame's path is torch's, Triton's or the standard library's.

    The profiler writes paths relative to the folders of `sys.path`: `torch/nn/modules/linear.py`,
    `contextlib.py`.
    """
    path = path.replace("\\", "/")
    if path.startswith("<") or _TORCH.match(path) or _INSTALLED_STDLIB.match(path):
        return True
    return path.partition("/")[0].removesuffix(".py") in sys.stdlib_module_names
