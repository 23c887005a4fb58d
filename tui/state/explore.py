"""The explorer's tree as rows: labels, kernels, GPU time, counts and shares of one step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ptx.profiling.analysis.categories import CATEGORY_LETTERS, categories_of
from ptx.profiling.analysis.selection import with_ancestors
from ptx.profiling.analysis.summary import step_rows
from ptx.profiling.analysis.tables import kind_word
from ptx.profiling.report.units import format_ns, format_share
from ptx.profiling.structure.tree import NodeKind
from ptx.profiling.tensors.gemm import gemm_of
from ptx.profiling.tensors.inputs import inputs_at
from ptx.tui.state.forest import build_forest
from ptx.tui.state.lens import FEW_LINES, fold_forest, plain_name
from ptx.tui.state.names import kernel_role, short_kernel, short_op
from ptx.tui.state.rows import Cell, Column, Row
from ptx.tui.state.tree_index import nearest_kept

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ptx.profiling.structure.structure import Structure
    from ptx.tui.state.forest import Layers
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
SHARES = ("step", "GPU busy", "parent")
ORDERS = ("start", "cost", "time")
_NAMED_SMALL = 3
_MOST_SHAPES = 256  # instances whose inputs are read for one row
_OPENS_ANYWAY = 0.6


@dataclass(frozen=True, eq=False)
class Only:
    """Which rows are left: those that hold a text, or some nodes of the op tree.

    `text` is what names must hold, in any case; with `nodes` it says what these are.
    """

    text: str = ""
    nodes: NDArray[np.integer] | None = None

    def __bool__(self) -> bool:
        """Returns whether rows are left out at all."""
        return bool(self.text) or self.nodes is not None


@dataclass(frozen=True, slots=True)
class Place:
    """A row by its first node of the op tree and its label."""

    node: int
    label: str


class ExploreRows:
    """A `RowSource` of one step; `order` is one of `ORDERS`, `share` one of `SHARES`."""

    def __init__(
        self,
        structure: Structure,
        step: int | None,
        layers: Layers,
        glyphs: Glyphs,
        lines: int = FEW_LINES,
    ) -> None:
        self.structure = structure
        self.step = step
        self.layers = layers
        self.glyphs = glyphs
        self.share = SHARES[0]
        self.has_gpu = len(structure.activities) > 0
        self.order = ORDERS[0]
        self.only = Only()
        self._lines = lines
        self._split: set[int] = set()
        self._all_split = False
        self._forest = build_forest(structure, step, layers)
        self._activity_nodes = np.flatnonzero(structure.tree.kind == NodeKind.ACTIVITY)
        self._fold()
        roots = self.lens.index.children(-1)
        self._whole_ns = int(self.cost[roots].sum())
        self._whole_busy_ns = int(self.lens.totals.gpu_busy_ns[roots].sum())

    def _fold(self) -> None:
        split = self._split
        self._all: Lens = fold_forest(
            self.structure,
            self.step,
            self._forest,
            self._lines,
            lambda row: self._all_split or row in split,
        )
        self.lens: Lens = self._all
        self._kernel_cells: dict[int, Cell] = {}
        self._shapes: dict[int, str] = {}

    @property
    def cost(self) -> NDArray[np.int64]:
        """Returns what rows are weighed by: GPU busy and idle, CPU time where there is no GPU."""
        return self.lens.totals.cost_ns if self.has_gpu else self.lens.totals.cpu_ns

    def arrange(self, order: str, only: Only) -> None:
        """Orders siblings, and leaves only rows that hold a text.

        Args:
            order: `start` by time, but where many siblings are merged by cost; `cost`; `time`.
            only: what a row, or one below it, must hold.
        """
        self.order, self.only = order, only
        self.lens = self._all
        self._kernel_cells.clear()
        self._shapes.clear()
        if only:
            hit = np.zeros(len(self.lens), bool)
            found = self.hits(only.text) if only.nodes is None else self.rows_of(only.nodes)
            hit[found] = True
            shown = with_ancestors(self.index.parent, hit)
            self.lens = self.lens.arranged(np.flatnonzero(shown).astype(np.int32))
            self.index.set_open_below(-1, True)
        if order == "cost":
            self.lens = self.lens.arranged(self.lens.by_cost(self.cost))
        elif order == "time":
            self.lens = self.lens.arranged(self.lens.in_time_order())

    # --- instances ----------------------------------------------------------------------------

    @property
    def lists_all(self) -> bool:
        """Returns whether the instances of all rows are listed."""
        return self._all_split

    def fit(self, lines: int) -> None:
        """Folds for a terminal of this height: on few lines more counts as small."""
        if (lines < FEW_LINES) != (self._lines < FEW_LINES):
            self._lines = lines
            self._fold()

    def list_instances(self, row: int | None, listed: bool) -> None:
        """Lists the instances of a row below it, or of all rows for None; or folds them again.

        What else is open stays open; the row of before has another number after this.
        """
        opened = self._keys()[self.index.open]
        if row is None:
            self._all_split = listed
            self._split.clear()
        else:
            first = int(self.lens.first[row])
            (self._split.add if listed else self._split.discard)(first)
            opened = np.append(opened, self._keys()[row])
        self._fold()
        self.arrange(self.order, self.only)
        if not self.only:
            self.index.set_state(np.isin(self._keys(), opened))

    def _keys(self) -> NDArray[np.int64]:
        """Returns what stays the same of each row when they are folded anew."""
        return self.lens.first * len(self._forest) + np.diff(self.lens.start)

    def is_listed(self, row: int) -> bool:
        """Returns whether a row's instances are listed below it."""
        children = self.index.children(row)
        if self.lens.count(row) < 2 or not len(children):
            return False
        return bool(np.isin(self.lens.members_of(row), self.lens.first[children]).all())

    def spread(self, row: int) -> str:
        """Returns least, median and most GPU and idle time of a row's listed instances."""
        cost = np.sort(self.cost[self.index.children(row)])
        found = (cost[0], cost[len(cost) // 2], cost[-1])
        low, middle, high = (format_ns(int(ns)) for ns in found)
        return f"{low} to {high}, median {middle}"

    # --- places -------------------------------------------------------------------------------

    def place_of(self, row: int) -> Place:
        """Returns where a row is, in words that hold for other layers and folds of its step."""
        tops = self.lens.top_nodes(row)
        return Place(int(tops[0]) if len(tops) else -1, self.label(row))

    def row_at(self, place: Place) -> int:
        """Returns the row of a place, else the innermost that shows its node; -1 for none."""
        nearest = self.lens.row_of_node(self.structure, place.node)
        row = nearest
        while row >= 0:
            if self.label(row) == place.label:
                return row
            row = int(self.index.parent[row])
        return nearest

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
        leaf = not self.index.has_children(node)
        # of several at once the number would say little; x lists them
        hidden = self.lens.hidden(node) if leaf and self.lens.count(node) == 1 else 0
        totals = self.lens.totals
        quiet = self.has_gpu and totals.kernels[node] == 0 and totals.gpu_sum_ns[node] == 0
        tail = [self._shape(node)] if leaf else []
        tail += [f"+{hidden}"] if hidden else []
        return Row(
            self.label(node),
            tuple(self._cell(node, column) for column in columns),
            " ".join(tail).strip(),
            "dim" if quiet or not self.lens.count(node) else "normal",
            brief=self._brief(node),
        )

    def label(self, node: int) -> str:
        """Returns what a row is called: of a chain the first and the last name."""
        count = self.lens.count(node)
        if count == 0:
            return self._small_label(node)
        names = self._chain(node)
        between = f" {self.glyphs.join} {self.glyphs.ellipsis}" if self._length(node) > 2 else ""
        joined = f"{between} {self.glyphs.join} ".join(names)
        return f"{count}x {joined}" if count > 1 else joined

    def _brief(self, node: int) -> str:
        """Returns a shorter label of a chain: its last name; a module keeps its own too."""
        names = self._chain(node) if self.lens.count(node) else []
        if len(names) < 2:
            return ""
        forest, first = self.lens.forest, int(self.lens.first[node])
        of_module = forest.title[first] >= 0 or (
            self.structure.tree.kind[forest.outer[first]] == NodeKind.MODULE
        )
        text = f" {self.glyphs.join} ".join(names) if of_module else names[-1]
        count = self.lens.count(node)
        return f"{count}x {text}" if count > 1 else text

    def _length(self, node: int) -> int:
        return int(self.lens.forest.length[self.lens.first[node]])

    def _chain(self, node: int) -> list[str]:
        """Returns the first and the last name of a row's chain, one name where it is none."""
        forest, first = self.lens.forest, int(self.lens.first[node])
        plain = self.lens.count(node) > 1
        names = [self._name(forest.title[first], forest.outer[first], plain=plain)]
        if forest.length[first] > 1:
            names.append(self._name(forest.last_title[first], forest.inner[first], plain=plain))
        return names

    def _shape(self, node: int) -> str:
        """Returns `MxNxK` of a matrix product, or how many shapes its instances have."""
        text = self._shapes.get(node)
        if text is None:
            text = self._shapes[node] = self._make_shape(node)
        return text

    def _make_shape(self, node: int) -> str:
        table, tree = self.structure.trace.table, self.structure.tree
        nodes = self.lens.inner_nodes(node)
        if not 0 < len(nodes) <= _MOST_SHAPES or not self.lens.totals.kernels[node]:
            return ""
        name = table.name_of(int(tree.event[nodes[0]]))
        if gemm_of(name, inputs_at(self.structure, int(nodes[0]))) is None:
            return ""
        found = {gemm_of(name, inputs_at(self.structure, k)) for k in nodes.tolist()}
        sizes = {(g.batch, g.m, g.n, g.k) for g in found if g is not None}
        if None in found:
            return ""
        if len(sizes) > 1:
            return f"{len(sizes)} shapes"
        batch, m, n, k = next(iter(sizes))
        return f"{m}x{n}x{k}" if batch == 1 else f"{batch}*{m}x{n}x{k}"

    def _name(self, title: int, node: int, *, plain: bool) -> str:
        table, tree = self.structure.trace.table, self.structure.tree
        if title >= 0:
            name = self.lens.forest.titles[title]
            return short_op(plain_name(name, NodeKind.MODULE) if plain else name)
        name = table.name_of(int(tree.event[node]))
        return short_op(plain_name(name, int(tree.kind[node])) if plain else name)

    def _small_label(self, node: int) -> str:
        children = self.index.children(node)
        names = list(dict.fromkeys(self.label(k) for k in children[:_NAMED_SMALL].tolist()))
        more = f", {self.glyphs.ellipsis}" if len(children) > _NAMED_SMALL else ""
        return f"{len(children)} small: {', '.join(names)}{more}"

    def _cell(self, node: int, column: Column) -> Cell:
        totals = self.lens.totals
        if column in (_KERNEL, _WIDE_KERNEL):
            return self._kernel_cell(node)
        if column is _GPU:
            return _time_cell(self.gpu_ns(node))
        if column is _IDLE:
            return _time_cell(int(totals.idle_ns[node]))
        if column is _CPU:
            return _time_cell(int(totals.cpu_ns[node]))
        if column is _SELF:
            return _time_cell(int(totals.self_ns[node]))
        if column is _COUNT:
            return Cell(str(totals.kernels[node]) if totals.kernels[node] else "-")
        part, whole = int(self.cost[node]), self._base_ns(node)
        if column is _SHARE:
            if self.share == "GPU busy":
                part = int(totals.gpu_busy_ns[node])
            return Cell(format_share(part, whole))
        return self._bar(node, part, whole)

    def _bar(self, node: int, part: int, whole: int) -> Cell:
        """Returns the row's share as a bar: full for the GPU's part, dots for the idle one."""
        if whole <= 0:
            return Cell("")
        cells = min(_BAR.width, round(_BAR.width * part / whole))
        if not self.has_gpu:
            return Cell(self.glyphs.full * cells, "host")
        full = min(cells, round(_BAR.width * int(self.lens.totals.gpu_busy_ns[node]) / whole))
        return Cell(self.glyphs.full * full + self.glyphs.idle * (cells - full), "kernel")

    def gpu_ns(self, node: int) -> int:
        """Returns the GPU column: what the row launched; of the step's row what the clock says."""
        if self.is_step_row(node):
            return step_rows(self.structure)[self.step or 0].clock_busy_ns or 0
        return int(self.lens.totals.gpu_sum_ns[node])

    def is_step_row(self, node: int) -> bool:
        """Returns whether a row is the step's own mark."""
        if self.step is None or self.lens.outer_nodes(node).size != 1:
            return False
        event = self.structure.tree.event[self.lens.outer_nodes(node)[0]]
        return bool(event == self.structure.steps.event[self.step])

    def _base_ns(self, node: int) -> int:
        above = int(self.index.parent[node])
        if self.share == "parent" and above >= 0:
            return int(self.cost[above])
        if self.share == "GPU busy" and self.has_gpu:
            return self._whole_busy_ns
        return self._whole_ns

    # --- kernels ------------------------------------------------------------------------------

    def activities_of(self, node: int) -> NDArray[np.int64]:
        """Returns the activities below a row, as positions in `structure.activities`."""
        tree, activities = self.structure.tree, self.structure.activities
        if self.is_step_row(node):
            return np.flatnonzero(activities.step == self.step)
        if self.lens.is_loose(node):
            return self.lens.forest.loose.astype(np.int64)
        below = _within(self._activity_nodes, self.lens.top_nodes(node), tree.size)
        return np.searchsorted(activities.event, np.sort(tree.event[below]))

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
        """Returns the rows whose chain, or a kernel of a leaf, holds this text; case ignored.

        A single capital that is a category's letter finds the rows of its kernels instead.
        """
        if len(text) == 1 and text in CATEGORY_LETTERS:
            mine = categories_of(self.structure) == CATEGORY_LETTERS.index(text)
            return self.rows_of(self.structure.tree.node_of[self.structure.activities.event[mine]])
        table, tree, forest = self.structure.trace.table, self.structure.tree, self.lens.forest
        needle = text.casefold()
        named = np.fromiter((needle in n.casefold() for n in table.names), bool, len(table.names))
        before = np.concatenate(([0], np.cumsum(named[table.name[tree.event]])))
        real = forest.outer >= 0
        found = real & (before[forest.inner + 1] > before[forest.outer])
        titled = [needle in title.casefold() for title in forest.titles]
        found |= np.append(np.array(titled, bool), False)[forest.title]
        launched = self._activity_nodes[named[table.name[tree.event[self._activity_nodes]]]]
        low = np.searchsorted(launched, forest.outer)
        high = np.searchsorted(launched, forest.outer + tree.size[forest.outer])
        found |= real & (forest.size == 1) & (high > low)
        rows = np.repeat(np.arange(len(self.lens)), np.diff(self.lens.start))
        return np.unique(rows[found[self.lens.members]]).astype(np.int32)

    def rows_of(self, nodes: NDArray[np.integer]) -> NDArray[np.int32]:
        """Returns the rows that show some nodes of the op tree: their own or the nearest above."""
        tree, lens = self.structure.tree, self.lens
        has_row = np.zeros(len(tree) + 1, bool)
        has_row[lens.forest.nodes] = True
        nearest = np.where(has_row[nodes], nodes, nearest_kept(tree.parent, has_row[:-1])[nodes])
        shown = nearest[nearest >= 0]
        found = lens.shown[lens.forest.row_of[np.searchsorted(lens.forest.nodes, shown)]]
        loose = [lens.row_of_node(self.structure, k) for k in nodes[nearest < 0][:1].tolist()]
        return np.unique(np.append(found, [row for row in loose if row >= 0])).astype(np.int32)

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
            first = self.lens.top_nodes(node)[:1]
            start = table.start_ns[tree.event[first[0]]] if len(first) else 0
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
            weight = self._weight(closed)
            node, part = int(closed[np.argmax(weight)]), float(weight.max())
            fits = len(index.rows) + len(index.children(node)) <= rows
            if not fits and part <= _OPENS_ANYWAY:
                return
            index.set_open(node, True)

    def _weight(self, rows: NDArray[np.int32]) -> NDArray[np.float64]:
        """Returns the share of some rows: of the step or of GPU busy, which is larger."""
        share = self.cost[rows] / max(1, self._whole_ns)
        busy = self.lens.totals.gpu_busy_ns[rows] / max(1, self._whole_busy_ns)
        return np.asarray(np.maximum(share, busy))


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


def _within(
    nodes: NDArray[np.intp], tops: NDArray[np.int32], size: NDArray[np.int32]
) -> NDArray[np.intp]:
    """Returns those of some nodes (ascending) that lie below one of `tops` (ascending)."""
    if len(tops) == 0:
        return nodes[:0]
    above = tops[np.maximum(np.searchsorted(tops, nodes, "right") - 1, 0)]
    return nodes[(nodes > above) & (nodes < above + size[above])]


def _time_cell(ns: int) -> Cell:
    return Cell(format_ns(ns)) if ns else Cell("-", "dim")
