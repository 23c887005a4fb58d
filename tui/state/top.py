"""The groups of a step by what they cost: kernels, ops, modules, categories, shapes."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ptx.profiling.analysis.tops import TopRow, sort_top_rows, top_rows
from ptx.profiling.report.units import format_count, format_ns, format_share
from ptx.profiling.sanitise import clean
from ptx.profiling.trace.columns import ABSENT
from ptx.tui.state.names import CATEGORY_ROLES, kernel_role, short_kernel, short_op
from ptx.tui.state.rows import Cell, Column, FlatRows, Role, Row

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from ptx.profiling.analysis.tops import Grouping, TopSort
    from ptx.profiling.structure.structure import Structure
    from ptx.tui.state.glyphs import Glyphs

GROUPINGS: tuple[Grouping, ...] = ("kernel", "op", "module", "class", "category", "shape")
_FROM_OP = Column("from op", 22, left=True, cut="middle")
_CALLS = Column("n", 6)
_GPU = Column("GPU", 7)
_EACH = Column("each", 7)
_SELF = Column("self CPU", 8)
_TOTAL = Column("CPU", 7)
_SHARE = Column("% GPU", 6)
_CPU_SHARE = Column("% CPU", 6)
_BAR = Column("", 11, left=True)


class TopRows(FlatRows):
    """The groups of one kind, dearest first; `groups` are in the order of the rows.

    `sort` is one of `sorts`. Shares are of the GPU time of the step, of the CPU time of its ops
    where there is no GPU work.
    """

    def __init__(
        self,
        structure: Structure,
        by: Grouping,
        *,
        step: int | None,
        glyphs: Glyphs,
        text: str = "",
        sort: TopSort | None = None,
    ) -> None:
        self.by = by
        self.has_gpu = len(structure.activities) > 0
        self.sorts: tuple[TopSort, ...] = (
            ("gpu", "calls", "name") if by in ("kernel", "category") else _SORTS
        )
        if not self.has_gpu:
            self.sorts = tuple(sort for sort in self.sorts if sort != "gpu")
        self.sort = sort if sort in self.sorts else self.sorts[0]
        self._structure = structure
        self._glyphs = glyphs
        found = top_rows(structure, by, step=step, text=text or None)
        if by in ("op", "shape", "module", "class") and self.has_gpu:
            found = [row for row in found if row.gpu_sum_ns or row.cpu_self_ns]
        self.groups = sort_top_rows(found, self.sort)
        self._whole_ns = self._whole(structure, step, found)
        super().__init__(f"{by} by {_SORT_WORDS[self.sort]}", (), [Row("") for _ in self.groups])

    def _whole(self, structure: Structure, step: int | None, found: Sequence[TopRow]) -> int:
        if not self.has_gpu:
            return sum(row.cpu_self_ns or 0 for row in found)
        mine = structure.activities.counted_ns
        if step is not None:
            mine = mine[structure.activities.step == step]
        return int(mine.sum())

    def columns(self, width: int) -> list[Column]:
        """Returns the columns; the op that launched and the bar give way first."""
        if self.by in ("kernel", "category"):
            columns = [_CALLS, _GPU, _EACH, _SHARE]
            if self.by == "kernel" and width >= 110:
                columns.insert(0, _FROM_OP)
        elif self.has_gpu:
            columns = [_CALLS, _GPU, _SELF, _SHARE] if width >= 70 else [_CALLS, _GPU, _SHARE]
        else:
            columns = [_CALLS, _TOTAL, _SELF, _CPU_SHARE]
        return [*columns, _BAR] if width >= 76 else columns

    def row(self, node: int, columns: Sequence[Column]) -> Row:
        """Returns the row of a group, with one cell a column."""
        group = self.groups[node]
        return Row(
            self._label(group),
            tuple(self._cells[column](self, group) for column in columns),
            role=self._role(group) if self.by in ("kernel", "category") else "normal",
            middle=self.by == "kernel",
        )

    def label(self, row: int) -> str:
        """Returns what a row is called."""
        return self._label(self.groups[row])

    def nodes(self, row: int) -> NDArray[np.integer]:
        """Returns the instances of a row as nodes of the op tree; kernels where it has no other."""
        group, structure = self.groups[row], self._structure
        if len(group.nodes):
            return group.nodes
        return structure.tree.node_of[structure.activities.event[group.activities]]

    def _label(self, group: TopRow) -> str:
        if self.by == "kernel":
            return short_kernel(group.name)
        if self.by == "category":
            return f"{group.letter} {group.name}"
        detail = f" {clean(group.detail)}" if group.detail else ""
        return short_op(group.name) + detail

    def _role(self, group: TopRow) -> Role:
        if self.by == "kernel":
            return kernel_role(group.name)
        return CATEGORY_ROLES.get(group.letter, "other")

    def _from_op(self, group: TopRow) -> Cell:
        """Returns the op that launched most of a kernel, and how many other kinds did too."""
        owners = self._structure.activities.op[group.activities]
        owners = owners[owners != ABSENT]
        if not len(owners):
            return Cell("-", "dim")
        table = self._structure.trace.table
        names, counts = np.unique(table.name[owners], return_counts=True)
        most = int(names[np.argmax(counts)])
        more = f" +{len(names) - 1}" if len(names) > 1 else ""
        return Cell(short_op(table.names[most]) + more)

    def _each(self, group: TopRow) -> Cell:
        count = len(group.activities)
        return Cell(format_ns(group.gpu_sum_ns // count) if count else "-")

    def _part(self, group: TopRow) -> int:
        return group.gpu_sum_ns if self.has_gpu else group.cpu_self_ns or 0

    def _bar(self, group: TopRow) -> Cell:
        if self._whole_ns <= 0:
            return Cell("")
        cells = min(_BAR.width, round(_BAR.width * self._part(group) / self._whole_ns))
        return Cell(self._glyphs.full * cells, self._role(group) if group.letter else "kernel")

    _cells: ClassVar[dict[Column, Callable[[TopRows, TopRow], Cell]]] = {
        _FROM_OP: _from_op,
        _CALLS: lambda _, group: Cell(format_count(group.calls)),
        _GPU: lambda _, group: Cell(format_ns(group.gpu_sum_ns) if group.gpu_sum_ns else "-"),
        _EACH: _each,
        _SELF: lambda _, group: Cell(format_ns(group.cpu_self_ns or 0)),
        _TOTAL: lambda _, group: Cell(format_ns(group.cpu_total_ns or 0)),
        _SHARE: lambda self, group: Cell(
            format_share(group.gpu_sum_ns, self._whole_ns) if group.gpu_sum_ns else "-"
        ),
        _CPU_SHARE: lambda self, group: Cell(format_share(self._part(group), self._whole_ns)),
        _BAR: _bar,
    }


_SORTS: tuple[TopSort, ...] = ("gpu", "self", "cpu", "calls", "name")
_SORT_WORDS: dict[TopSort, str] = {
    "gpu": "GPU time",
    "self": "self CPU time",
    "cpu": "CPU time",
    "calls": "number",
    "name": "name",
}
