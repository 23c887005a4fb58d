"""The explorer's tree as rows: labels, kernels, GPU time, counts and shares of one step."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ptx.profiling.analysis.selection import with_ancestors
from ptx.profiling.analysis.summary import step_rows
from ptx.profiling.analysis.tables import kind_word
from ptx.profiling.report.units import format_ns, format_share
from ptx.profiling.sanitise import clean
from ptx.profiling.structure.tree import NodeKind
from ptx.tui.state.lens import Layers, build_lens
from ptx.tui.state.names import kernel_role, short_kernel, short_op
from ptx.tui.state.rows import Cell, Column, Row
from ptx.tui.state.tree_index import order_by

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ptx.profiling.structure.structure import Structure
    from ptx.tui.state.glyphs import Glyphs
    from ptx.tui.state.lens import Lens
    from ptx.tui.state.tree_index import TreeIndex

_KERNEL = Column("kernel", 24, left=True, cut="middle")
_WIDE_KERNEL = Column("kernel", 34, left=True, cut="middle")
_GPU = Column("GPU", 7)
_IDLE = Column("idle", 7)
_CPU = Column("CPU", 7)
_SELF = Column("self", 7)
_COUNT = Column("n", 5)
_SHARE = Column("share", 5)
_BAR = Column("", 11, left=True)
SHARES = ("step", "parent")


class ExploreRows:
    """A `RowSource` of one step; `order` is by time, `share` one of `SHARES`."""

    def __init__(
        self, structure: Structure, step: int | None, layers: Layers, glyphs: Glyphs
    ) -> None:
        self.structure = structure
        self.step = step
        self.layers = layers
        self.glyphs = glyphs
        self.share = SHARES[0]
        self.has_gpu = len(structure.activities) > 0
        self._all: Lens = build_lens(structure, step, layers)
        self.lens: Lens = self._all
        self.by_cost = False
        self.filter_text = ""
        tree = structure.tree
        self._activity_nodes = np.flatnonzero(tree.kind == NodeKind.ACTIVITY)
        self._kernel_cells: dict[int, Cell] = {}
        self._whole_ns = int(self.cost[self.lens.index.children(-1)].sum())

    @property
    def cost(self) -> NDArray[np.int64]:
        """Returns what rows are weighed by: GPU busy and idle, CPU time where there is no GPU."""
        if not self.has_gpu:
            return self.lens.cpu_ns
        return self.lens.gpu_busy_ns + self.lens.idle_ns

    def arrange(self, *, by_cost: bool, filter_text: str) -> None:
        """Orders siblings by cost or by time, and leaves only rows that hold a text."""
        self.by_cost, self.filter_text = by_cost, filter_text
        self.lens = self._all
        self._kernel_cells.clear()
        if filter_text:
            hit = np.zeros(len(self.lens.outer), bool)
            hit[self.hits(filter_text)] = True
            shown = with_ancestors(self.index.parent, hit)
            self.lens = self.lens.arranged(np.flatnonzero(shown).astype(np.int32))
            self.index.set_open_below(-1, True)
        if by_cost:
            self.lens = self.lens.arranged(order_by(self.index, self.cost))

    @property
    def index(self) -> TreeIndex:
        """Returns which rows are visible."""
        return self.lens.index

    def title(self) -> str:
        """Returns the heading of the labels."""
        if self.structure.steps.source == "trace" or self.step is None:
            return "threads: modules, ops"
        return "step tree: modules, ops"

    def columns(self, width: int) -> Sequence[Column]:
        """Returns the columns; the bar, `n` and the kernel give way first when it is narrow."""
        if not self.has_gpu:
            return [_CPU, _SELF, _SHARE, _BAR] if width >= 60 else [_CPU, _SELF]
        columns = [_GPU, _IDLE, _SHARE]
        if width >= 70:
            columns.append(_BAR)
        if width >= 100:
            columns = [_KERNEL, _GPU, _IDLE, _COUNT, _SHARE, _BAR]
        if width >= 118:
            columns = [_WIDE_KERNEL, _GPU, _IDLE, _COUNT, _SHARE, _BAR]
        return columns

    def row(self, node: int, columns: Sequence[Column]) -> Row:
        """Returns the row of a node, with one cell a column."""
        tail = f"+{self.lens.hidden[node]}" if self._says_hidden(node) else ""
        quiet = self.has_gpu and self.lens.kernels[node] == 0 and self.lens.gpu_sum_ns[node] == 0
        return Row(
            self.label(node),
            tuple(self._cell(node, column) for column in columns),
            tail,
            "dim" if quiet else "normal",
        )

    def label(self, node: int) -> str:
        """Returns what a row is called: of a chain the first and the last name."""
        if node in self.lens.titles:
            return clean(self.lens.titles[node])
        outer, inner = int(self.lens.outer[node]), int(self.lens.inner[node])
        names = [self._name(outer)]
        if inner != outer:
            join = f" {self.glyphs.join} "
            between = [join, self.glyphs.ellipsis] if self.lens.length[node] > 2 else []
            return names[0] + "".join(between) + join + self._name(inner)
        return names[0]

    def _name(self, node: int) -> str:
        table = self.structure.trace.table
        return short_op(table.name_of(int(self.structure.tree.event[node])))

    def _says_hidden(self, node: int) -> bool:
        return bool(self.lens.hidden[node] > 0 and not self.index.has_children(node))

    def _cell(self, node: int, column: Column) -> Cell:
        lens = self.lens
        if column in (_KERNEL, _WIDE_KERNEL):
            return self._kernel_cell(node)
        if column is _GPU:
            return _time_cell(self.gpu_ns(node))
        if column is _IDLE:
            return _time_cell(int(lens.idle_ns[node]))
        if column is _CPU:
            return _time_cell(int(lens.cpu_ns[node]))
        if column is _SELF:
            return _time_cell(int(lens.self_ns[node]))
        if column is _COUNT:
            return Cell(str(lens.kernels[node]) if lens.kernels[node] else "-")
        part, whole = int(self.cost[node]), self._base_ns(node)
        if column is _SHARE:
            return Cell(format_share(part, whole))
        return self._bar(node, part, whole)

    def _bar(self, node: int, part: int, whole: int) -> Cell:
        """Returns the row's share as a bar: full for the GPU's part, dots for the idle one."""
        if whole <= 0:
            return Cell("")
        cells = min(_BAR.width, round(_BAR.width * part / whole))
        if not self.has_gpu:
            return Cell(self.glyphs.full * cells, "host")
        full = min(cells, round(_BAR.width * int(self.lens.gpu_busy_ns[node]) / whole))
        return Cell(self.glyphs.full * full + self.glyphs.idle * (cells - full), "kernel")

    def gpu_ns(self, node: int) -> int:
        """Returns the GPU column: what the row launched; of the step's row what the clock says."""
        if self.is_step_row(node):
            return step_rows(self.structure)[self.step or 0].clock_busy_ns or 0
        return int(self.lens.gpu_sum_ns[node])

    def is_step_row(self, node: int) -> bool:
        """Returns whether a row is the step's own mark."""
        if self.step is None or self.lens.outer[node] < 0:
            return False
        event = self.structure.tree.event[self.lens.outer[node]]
        return bool(event == self.structure.steps.event[self.step])

    def _base_ns(self, node: int) -> int:
        above = int(self.index.parent[node])
        if self.share == "parent" and above >= 0:
            return int(self.cost[above])
        return self._whole_ns

    # --- kernels ------------------------------------------------------------------------------

    def activities_of(self, node: int) -> NDArray[np.int64]:
        """Returns the activities below a row, as positions in `structure.activities`."""
        tree, activities = self.structure.tree, self.structure.activities
        if self.is_step_row(node):
            return np.flatnonzero(activities.step == self.step)
        nodes = self._activity_nodes
        if (first := int(self.lens.outer[node])) >= 0:
            ends = np.array([first, first + int(tree.size[first])])
            low, high = np.searchsorted(nodes, ends)
            below = nodes[low:high]
        elif len(members := self.index.children(node)):
            tops = np.sort(self.lens.outer[members])
            above = tops[np.maximum(np.searchsorted(tops, nodes, "right") - 1, 0)]
            below = nodes[(nodes > above) & (nodes < above + tree.size[above])]
        else:
            return self.lens.loose.astype(np.int64)
        return np.searchsorted(activities.event, tree.event[below])

    def _kernel_cell(self, node: int) -> Cell:
        if self.index.has_children(node):
            return Cell("")
        cell = self._kernel_cells.get(node)
        if cell is None:
            cell = self._kernel_cells[node] = self._make_kernel_cell(node)
        return cell

    def _make_kernel_cell(self, node: int) -> Cell:
        kinds = kernel_kinds(self.structure, self.activities_of(node))
        if not kinds:
            return Cell("")
        more = f" +{len(kinds) - 1}" if len(kinds) > 1 else ""
        text = short_kernel(kinds[0].name) + more
        return Cell(text, kernel_role(kinds[0].name))

    # --- finding ------------------------------------------------------------------------------

    def hits(self, text: str) -> NDArray[np.int32]:
        """Returns the rows whose chain holds a name with this text, case ignored."""
        table, tree, lens = self.structure.trace.table, self.structure.tree, self.lens
        needle = text.casefold()
        named = np.fromiter((needle in n.casefold() for n in table.names), bool, len(table.names))
        node_hit = np.concatenate(([0], np.cumsum(named[table.name[tree.event]])))
        real = lens.outer >= 0
        found = np.zeros(len(lens.outer), bool)
        outer, inner = lens.outer[real], lens.inner[real]
        found[real] = node_hit[inner + 1] > node_hit[outer]
        found[real] |= self._launches_hit(named, outer, inner)
        return np.flatnonzero(found).astype(np.int32)

    def _launches_hit(
        self, named: NDArray[np.bool_], outer: NDArray[np.int32], inner: NDArray[np.int32]
    ) -> NDArray[np.bool_]:
        """Returns which leaf rows launched an activity whose name is hit."""
        table, tree = self.structure.trace.table, self.structure.tree
        nodes = self._activity_nodes[named[table.name[tree.event[self._activity_nodes]]]]
        leaf: NDArray[np.bool_] = self.index.size[self.lens.outer >= 0] == 1
        low = np.searchsorted(nodes, outer)
        high = np.searchsorted(nodes, outer + tree.size[outer])
        return leaf & (high > low)

    def kernels_in_time(self) -> NDArray[np.int64]:
        """Returns the activities of the step (positions), by start."""
        activities = self.structure.activities
        mine = np.arange(len(activities))
        if self.step is not None:
            mine = np.flatnonzero(activities.step == self.step)
        start = self.structure.trace.table.start_ns[activities.event[mine]]
        return mine[np.argsort(start, kind="stable")]

    def neighbour(self, order: NDArray[np.int64], node: int, by: int) -> int | None:
        """Returns the activity behind the last (or before the first) one of a row, None at an end.

        A row without any takes the first whose launch comes after it, or the last before it.
        """
        mine = self.activities_of(node)
        if len(mine):
            places = np.flatnonzero(np.isin(order, mine))
            at = int(places[-1] if by > 0 else places[0]) + by if len(places) else 0
        else:
            tree, table = self.structure.tree, self.structure.trace.table
            start = table.start_ns[tree.event[max(0, int(self.lens.outer[node]))]]
            at = int(np.searchsorted(table.start_ns[self.structure.activities.event[order]], start))
            at -= 1 if by < 0 else 0
        return int(order[at]) if 0 <= at < len(order) else None

    def costliest(self) -> int:
        """Returns the visible row that costs most among those that are not open; -1 for none."""
        rows = self.index.rows
        rows = rows[~self.index.open[rows]]
        if len(rows) == 0:
            return -1
        return int(rows[np.argmax(self.cost[rows])])

    def costliest_leaf(self, node: int) -> int:
        """Returns the leaf at the end of the costliest path below a row."""
        while len(children := self.index.children(node)):
            node = int(children[np.argmax(self.cost[children])])
        return node

    def open_heaviest(self, rows: int) -> None:
        """Opens the heaviest closed rows until so many rows are used.

        A row with most of the cost opens even if it overflows; where the heaviest does not fit,
        nothing lighter is opened instead.
        """
        index = self.index
        index.set_state(np.zeros(len(index), bool))
        while True:
            closed = index.rows[~index.open[index.rows] & (index.size[index.rows] > 1)]
            if len(closed) == 0:
                return
            node = int(closed[np.argmax(self.cost[closed])])
            fits = len(index.rows) + len(index.children(node)) <= rows
            if not fits and self.cost[node] <= 0.6 * self._whole_ns:
                return
            if self.cost[node] <= 0 and not fits:
                return
            index.set_open(node, True)


class KernelKind:
    """One kind of activity below a row: its name, number, and summed time."""

    __slots__ = ("activities", "count", "kind", "name", "total_ns")

    def __init__(
        self, name: str, kind: str, count: int, total_ns: int, activities: NDArray[np.int64]
    ) -> None:
        self.name = name
        self.kind = kind
        self.count = count
        self.total_ns = total_ns
        self.activities = activities


def kernel_kinds(structure: Structure, activities: NDArray[np.int64]) -> list[KernelKind]:
    """Returns activities (positions) by name, costliest first; those of a kind by start."""
    table, all_of_them = structure.trace.table, structure.activities
    events = all_of_them.event[activities]
    order = np.lexsort((table.start_ns[events], table.name[events]))
    names, first = np.unique(table.name[events[order]], return_index=True)
    found = []
    for name, mine in zip(names.tolist(), np.split(activities[order], first)[1:], strict=True):
        total_ns = int(all_of_them.counted_ns[mine].sum())
        kind = kind_word(int(table.kind[all_of_them.event[mine[0]]]))
        found.append(KernelKind(table.names[name], kind, len(mine), total_ns, mine))
    return sorted(found, key=lambda k: (-k.total_ns, k.name))


def _time_cell(ns: int) -> Cell:
    return Cell(format_ns(ns)) if ns else Cell("-", "dim")
