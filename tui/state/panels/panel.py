"""What all panels share: the row that they are about, and their lines."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ptx.profiling.structure.tree import NodeKind
from ptx.profiling.trace.columns import ABSENT
from ptx.tui.state.explore import kernel_kinds
from ptx.tui.state.rows import FlatRows, Row

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ptx.profiling.structure.structure import Structure
    from ptx.tui.state.explore import ExploreRows, KernelKind
    from ptx.tui.state.rows import Column
    from ptx.tui.state.source_file import FileLine

_MARGIN = 3  # the cursor's sign and what a list keeps free
_NOWHERE = np.zeros(0, np.int32)


@dataclass(frozen=True, slots=True)
class PanelLine:
    """A line of a panel: what is drawn, the nodes that it leads to, what else it stands for.

    `nodes` are of the op tree, the first to go to in front; `copied` replaces the drawn text in
    the clipboard; `file` is a line of a source file that can be shown.
    """

    row: Row
    nodes: NDArray[np.integer] = field(default_factory=lambda: _NOWHERE)
    copied: str = ""
    file: FileLine | None = None


class Panel(FlatRows):
    """The lines of one panel below a title; `lines` are in the order of the rows."""

    def __init__(
        self, title: str, columns: Sequence[Column], lines: Sequence[PanelLine], *, start: int = 0
    ) -> None:
        super().__init__(title, columns, [line.row for line in lines])
        self.lines = lines
        self.start = start


@dataclass(frozen=True, eq=False)
class Subject:
    """A row of the tree as panels see it; what several of them need is worked out once."""

    rows: ExploreRows
    row: int

    @property
    def structure(self) -> Structure:
        """Returns the trace."""
        return self.rows.structure

    @property
    def count(self) -> int:
        """Returns how many instances the row stands for, 0 for a run of small rows."""
        return self.rows.lens.count(self.row)

    @property
    def is_leaf(self) -> bool:
        """Returns whether no row stands below."""
        return not self.rows.index.has_children(self.row)

    @cached_property
    def inner(self) -> int:
        """Returns the last node of the chain of the first instance, -1 for a group."""
        nodes = self.rows.lens.inner_nodes(self.row)
        return int(nodes[0]) if len(nodes) else ABSENT

    @property
    def event(self) -> int:
        """Returns the event of `inner`."""
        return int(self.structure.tree.event[self.inner])

    @property
    def kind(self) -> NodeKind | None:
        """Returns what `inner` is."""
        return NodeKind(self.structure.tree.kind[self.inner]) if self.inner >= 0 else None

    @property
    def op_name(self) -> str:
        """Returns the name of `inner` as recorded."""
        return self.structure.trace.table.name_of(self.event) if self.inner >= 0 else ""

    @cached_property
    def forward(self) -> int:
        """Returns the event of the forward op that `inner` is the backward of, -1 for none.

        What runs inside a backward op has its partner from the op above.
        """
        node = self.inner
        while node >= 0 and self.structure.forward[node] < 0:
            node = int(self.structure.tree.parent[node])
        return int(self.structure.forward[node]) if node >= 0 else ABSENT

    @cached_property
    def activities(self) -> NDArray[np.int64]:
        """Returns the activities below the row, as positions in `structure.activities`."""
        return self.rows.activities_of(self.row)

    @cached_property
    def kinds(self) -> list[KernelKind]:
        """Returns the kinds of activities below the row, costliest first."""
        return kernel_kinds(self.structure, self.activities)

    @cached_property
    def nodes(self) -> NDArray[np.int64]:
        """Returns all nodes of the op tree below the row and its own, ascending."""
        tree = self.structure.tree
        if self.rows.is_step_row(self.row):
            return np.flatnonzero(self.structure.step_of_nodes() == self.rows.step)
        tops = self.rows.lens.top_nodes(self.row)
        size = tree.size[tops].astype(np.int64)
        first = np.cumsum(size) - size
        return np.repeat(tops - first, size) + np.arange(size.sum())


def text_line(text: str, *, dim: bool = False) -> PanelLine:
    """Returns a line of text alone."""
    return PanelLine(Row(text, role="dim" if dim else "normal"))


def wrapped(text: str, width: int, *, dim: bool = False) -> list[PanelLine]:
    """Returns a text as lines that fit a panel of this width; those behind the first set in."""
    lines = textwrap.wrap(text, max(20, width - _MARGIN), subsequent_indent="    ")
    return [text_line(line, dim=dim) for line in lines]


def nodes_of_activities(structure: Structure, activities: NDArray[np.integer]) -> NDArray[np.int32]:
    """Returns the node to show for each activity: that of its launch, else its own."""
    events = structure.activities.event[activities]
    launch = structure.activities.launch[activities]
    nodes: NDArray[np.int32] = structure.tree.node_of[np.where(launch >= 0, launch, events)]
    return nodes
