"""The rows of one step: the forest of what costs something, folded until it can be read."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ptx.profiling.analysis.summary import step_rows
from ptx.profiling.structure.sums import busy_by_node
from ptx.profiling.structure.tree import NodeKind
from ptx.profiling.trace.columns import ABSENT, Kind
from ptx.tui.state.blocks import step_mark
from ptx.tui.state.folding import Weights, fold
from ptx.tui.state.forest import Forest, Layers, build_forest, idle_of_nodes
from ptx.tui.state.tree_index import TreeIndex, compact, nearest_kept, preorder

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from ptx.profiling.structure.structure import Structure

_NUMBER = re.compile(r"[_#]\d+\Z")
_SMALL_SHARE, _SMALL_BUSY_SHARE = 0.01, 0.02
FEW_LINES = 30  # of a terminal; below, small rows are folded up to three times that size
_FEW_LINES_FACTOR = 3


@dataclass(frozen=True, slots=True)
class Totals:
    """What rows launched and cost, int64 a row.

    `gpu_busy_ns` and `gpu_sum_ns` are of the activities below, `idle_ns` is the idle time charged
    to them, `kernels` how many kernels, `cpu_ns` and `self_ns` their time on the host.
    """

    gpu_busy_ns: NDArray[np.int64]
    gpu_sum_ns: NDArray[np.int64]
    kernels: NDArray[np.int64]
    idle_ns: NDArray[np.int64]
    cpu_ns: NDArray[np.int64]
    self_ns: NDArray[np.int64]

    def taken(self, rows: NDArray[np.integer]) -> Totals:
        """Returns the totals of some rows, in their order."""
        return Totals(*(getattr(self, name)[rows] for name in self.__slots__))

    @property
    def cost_ns(self) -> NDArray[np.int64]:
        """GPU busy and idle time."""
        return self.gpu_busy_ns + self.idle_ns


@dataclass(frozen=True, slots=True)
class Lens:
    """The rows of a step as a pre-order forest, each for one or several rows of a `Forest`.

    Row r stands for `members[start[r]:start[r + 1]]`, rows of the forest, in time order: for none
    if it only holds small ones, for several if it is a repeat or (`merged`) many alike. `first` is
    the first of them, or of its first child. `shown` is the innermost row that shows each row of
    the forest.
    """

    forest: Forest
    index: TreeIndex
    start: NDArray[np.int64]
    members: NDArray[np.int64]
    first: NDArray[np.int64]
    merged: NDArray[np.bool_]
    shown: NDArray[np.int64]
    totals: Totals

    def __len__(self) -> int:
        """Returns the number of rows."""
        return len(self.index)

    def members_of(self, row: int) -> NDArray[np.int64]:
        """Returns the rows of the forest that a row stands for, in time order."""
        return self.members[self.start[row] : self.start[row + 1]]

    def count(self, row: int) -> int:
        """Returns how many rows of the forest a row stands for; 0 for a run of small ones."""
        return int(self.start[row + 1] - self.start[row])

    def outer_nodes(self, row: int) -> NDArray[np.int32]:
        """Returns the first node of the row's chain, one an instance; none for a group."""
        outer = self.forest.outer[self.members_of(row)]
        return outer[outer >= 0]

    def inner_nodes(self, row: int) -> NDArray[np.int32]:
        """Returns the last node of the row's chain, one an instance; none for a group."""
        inner = self.forest.inner[self.members_of(row)]
        return inner[inner >= 0]

    def top_nodes(self, row: int) -> NDArray[np.int32]:
        """Returns the nodes whose subtrees make up the row, ascending: its own, or those below."""
        holders = [row] if self.count(row) else self.index.children(row).tolist()
        owned = np.concatenate([self.members_of(k) for k in holders] or [self.members[:0]])
        outer = self.forest.outer[owned]
        below = [_tops_below(self.forest, group) for group in owned[outer < 0].tolist()]
        return np.sort(np.concatenate([outer[outer >= 0], *below]))

    def hidden(self, row: int) -> int:
        """Returns how many children the layers leave out below the row."""
        return int(self.forest.hidden[self.members_of(row)].sum())

    @property
    def outer(self) -> NDArray[np.int32]:
        """Each row's first node; -1 for a group or a run of small rows."""
        own = self.start[1:] > self.start[:-1]
        return np.where(own, self.forest.outer[self.first], ABSENT).astype(np.int32)

    @property
    def titles(self) -> dict[int, str]:
        """The names of rows that are no nodes; those of small ones have none here."""
        rows = np.flatnonzero(self.outer < 0)
        codes = self.forest.title[self.first[rows]]
        return {
            row: self.forest.titles[code] if self.count(row) else ""
            for row, code in zip(rows.tolist(), codes.tolist(), strict=True)
        }

    def is_loose(self, row: int) -> bool:
        """Returns whether the row lists the activities that no op owns."""
        last = len(self.forest) - 1
        return len(self.forest.loose) > 0 and int(self.first[row]) == last

    def arranged(self, order: NDArray[np.int32]) -> Lens:
        """Returns the lens with these rows in this order, which must be a pre-order.

        A row whose parent is left out hangs under its nearest kept ancestor.
        """
        keep = np.zeros(len(self), bool)
        keep[order] = True
        parent, kept = compact(self.index.parent, keep)
        place = np.full(len(self) + 1, ABSENT, np.int32)
        place[order] = np.arange(len(order), dtype=np.int32)
        above = np.full(len(self), ABSENT, np.int32)
        above[kept] = np.where(parent >= 0, kept[parent], ABSENT) if len(kept) else parent
        index = TreeIndex(place[above[order]])
        index.set_state(self.index.open[order])
        lengths = np.diff(self.start)[order]
        start = np.concatenate(([0], np.cumsum(lengths)))
        taken = np.repeat(self.start[order] - start[:-1], lengths) + np.arange(start[-1])
        nearest = np.where(keep, np.arange(len(self)), nearest_kept(self.index.parent, keep))
        return Lens(
            forest=self.forest,
            index=index,
            start=start,
            members=self.members[taken],
            first=self.first[order],
            merged=self.merged[order],
            shown=place[np.append(nearest, ABSENT)[self.shown]].astype(np.int64),
            totals=self.totals.taken(order),
        )

    def in_time_order(self) -> NDArray[np.int32]:
        """Returns the rows as a pre-order in which siblings stand by their first member."""
        return preorder(self.index.parent, self.first)

    def by_cost(self, cost: NDArray[np.int64]) -> NDArray[np.int32]:
        """Returns the rows as a pre-order in which siblings stand by falling cost."""
        return preorder(self.index.parent, -cost)

    def row_of_node(self, structure: Structure, node: int) -> int:
        """Returns the row that shows a node of the op tree: its own or the nearest above; -1.

        An activity without a launch is shown by the row that groups those.
        """
        row = self.forest.row_above(structure, node)
        if row < 0 <= node and len(self.forest.loose):
            alone = structure.tree.kind[node] == NodeKind.ACTIVITY
            row = len(self.forest) - 1 if alone and structure.tree.parent[node] < 0 else ABSENT
        return int(self.shown[row]) if row >= 0 else ABSENT


def _tops_below(forest: Forest, row: int) -> NDArray[np.int32]:
    """Returns the outermost nodes below a group of the forest."""
    below = slice(row + 1, row + int(forest.size[row]))
    outer = forest.outer[below]
    top = (outer >= 0) & (forest.outer[forest.parent[below]] < 0)
    return outer[top]


def build_lens(
    structure: Structure,
    step: int | None,
    layers: Layers,
    *,
    lines: int = FEW_LINES,
    split: Callable[[int], bool] = lambda _: False,
) -> Lens:
    """Returns the rows of a step (position in `structure.steps`), of the whole trace for None.

    Args:
        structure: the trace.
        step: the step.
        layers: what has rows.
        lines: the height of the terminal; on few lines more counts as small.
        split: asked with the first row of the forest of each fold, whether to list its instances.
    """
    return fold_forest(structure, step, build_forest(structure, step, layers), lines, split)


def fold_forest(
    structure: Structure,
    step: int | None,
    forest: Forest,
    lines: int,
    split: Callable[[int], bool],
) -> Lens:
    """Returns the folded rows of a forest; see `build_lens`."""
    totals = totals_of(structure, step, forest)
    folded = fold(forest.parent, _weights(structure, forest, totals, lines), split)
    parent = folded.parent
    order = preorder(parent, folded.rank)
    place = np.append(np.empty(len(order), np.int64), ABSENT)
    place[order] = np.arange(len(order))
    holder, member = folded.members
    holder = place[holder]
    shown = np.zeros(len(forest), np.int64)
    shown[member] = holder  # the last word has an instance, where a row lists them
    by_row = np.lexsort((member, holder))
    members = member[by_row]
    start = np.concatenate(([0], np.cumsum(np.bincount(holder, minlength=len(order)))))
    index = TreeIndex(place[parent[order]].astype(np.int32))
    # a run of small rows begins with its first child, which is the row behind it
    own = start[1:] > start[:-1]
    first = members[start[np.minimum(np.arange(len(own)) + ~own, len(own) - 1)]]
    return Lens(
        forest=forest,
        index=index,
        start=start,
        members=members,
        first=first,
        merged=folded.merged[order],
        shown=shown,
        totals=_summed(structure, forest, totals, index, start, members, shown),
    )


def plain_name(name: str, kind: int) -> str:
    """Returns a name without the number that tells instances of a module apart."""
    if kind in (NodeKind.MODULE, NodeKind.ANNOTATION):
        return _NUMBER.sub("", name)
    return name


def _weights(structure: Structure, forest: Forest, totals: Totals, lines: int) -> Weights:
    roots = forest.parent < 0
    has_gpu = len(structure.activities) > 0
    cost = totals.cost_ns if has_gpu else totals.cpu_ns
    factor = _FEW_LINES_FACTOR if lines < FEW_LINES else 1
    busy = int(totals.gpu_busy_ns[roots].sum())
    return Weights(
        label=_labels(structure, forest),
        bears=totals.gpu_sum_ns > 0 if has_gpu else np.ones(len(forest), bool),
        cost_ns=cost,
        busy_ns=totals.gpu_busy_ns,
        limit_ns=factor * _SMALL_SHARE * int(cost[roots].sum()),
        busy_limit_ns=factor * _SMALL_BUSY_SHARE * busy if has_gpu else 1,
    )


def _labels(structure: Structure, forest: Forest) -> NDArray[np.int64]:
    """Returns a code for each row, equal for rows whose chains begin and end with equal names."""
    codes: dict[str, int] = {}
    tree, table = structure.tree, structure.trace.table
    titles = np.array(
        [codes.setdefault(_NUMBER.sub("", title), len(codes)) for title in forest.titles], np.int64
    )

    def code_of(node: NDArray[np.int32], title: NDArray[np.int32]) -> NDArray[np.int64]:
        key = table.name[tree.event[node]].astype(np.int64) * len(NodeKind) + tree.kind[node]
        names, inverse = np.unique(key, return_inverse=True)
        known = [
            codes.setdefault(
                plain_name(table.names[k // len(NodeKind)], k % len(NodeKind)), len(codes)
            )
            for k in names.tolist()
        ]
        found = np.array(known, np.int64)[inverse] if known else np.zeros(0, np.int64)
        return np.where(title >= 0, np.append(titles, 0)[title], found)

    outer = code_of(forest.outer, forest.title)
    inner = code_of(forest.inner, forest.last_title)
    return outer * (len(codes) + 1) + inner


def totals_of(structure: Structure, step: int | None, forest: Forest) -> Totals:
    """Returns the totals of each row of a forest; a group adds up what is below it.

    A step's mark counts all that the step launched, on any thread.
    """
    tree, sums, table = structure.tree, structure.sums, structure.trace.table
    real = forest.outer >= 0
    top = real & ((forest.parent < 0) | (forest.outer[forest.parent] < 0))
    here = np.arange(len(forest))

    def column(values: NDArray[np.integer]) -> NDArray[np.int64]:
        own = np.where(real, values[forest.outer], 0).astype(np.int64)
        before = np.concatenate(([0], np.cumsum(np.where(top, own, 0))))
        return np.where(real, own, before[here + forest.size] - before[here])

    totals = Totals(
        gpu_busy_ns=column(sums.gpu_busy_ns),
        gpu_sum_ns=column(sums.gpu_sum_ns),
        kernels=column(sums.kernels),
        idle_ns=column(idle_of_nodes(structure)),
        cpu_ns=column(table.dur_ns[tree.event]),
        self_ns=column(sums.self_ns),
    )
    if len(forest.loose):
        activities = structure.activities
        event = activities.event[forest.loose]
        totals.gpu_sum_ns[-1] = activities.counted_ns[forest.loose].sum()
        totals.gpu_busy_ns[-1] = totals.gpu_sum_ns[-1]
        totals.kernels[-1] = (table.kind[event] == Kind.KERNEL).sum()
    _count_step(structure, step, totals)
    return totals


def _count_step(structure: Structure, step: int | None, totals: Totals) -> None:
    """Writes what a step launched, on any thread, and its idle time into its mark's row."""
    if step is None or step_mark(structure, step) < 0:
        return
    row = step_rows(structure)[step]
    totals.gpu_busy_ns[0], totals.gpu_sum_ns[0] = row.gpu_busy_ns, row.gpu_sum_ns
    totals.kernels[0] = row.kernels
    totals.idle_ns[0] = row.idle_ns or 0


def _summed(
    structure: Structure,
    forest: Forest,
    totals: Totals,
    index: TreeIndex,
    start: NDArray[np.int64],
    members: NDArray[np.int64],
    shown: NDArray[np.int64],
) -> Totals:
    """Returns the totals of folded rows: sums over their members, busy time as a union."""
    groups = np.flatnonzero(start[1:] == start[:-1])

    def summed(values: NDArray[np.int64]) -> NDArray[np.int64]:
        before = np.concatenate(([0], np.cumsum(values[members])))
        out: NDArray[np.int64] = before[start[1:]] - before[start[:-1]]
        np.add.at(out, index.parent[_below(index, groups)], out[_below(index, groups)])
        return out

    found = Totals(*(summed(getattr(totals, name)) for name in Totals.__slots__))
    busy = _busy_ns(structure, forest, index, shown)
    lone = np.flatnonzero(start[1:] - start[:-1] == 1)
    lone = lone[forest.outer[members[start[lone]]] >= 0]
    busy[lone] = found.gpu_busy_ns[lone]  # a step's mark counts what other threads launched too
    found.gpu_busy_ns[:] = busy
    return found


def _below(index: TreeIndex, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Returns the children of some rows."""
    return np.flatnonzero(np.isin(index.parent, rows))


def _busy_ns(
    structure: Structure, forest: Forest, index: TreeIndex, shown: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Returns the union of the activities of each row, added over devices."""
    tree, table, activities = structure.tree, structure.trace.table, structure.activities
    has_row = np.zeros(len(tree), bool)
    has_row[forest.nodes] = True
    nearest = nearest_kept(tree.parent, has_row)[tree.node_of[activities.event]]
    mine = nearest >= 0
    place = np.searchsorted(forest.nodes, nearest[mine])
    row = shown[forest.row_of[place]]
    event, counted = activities.event[mine], activities.counted_ns[mine]
    if len(forest.loose):
        loose = forest.loose
        row = np.concatenate((row, np.full(len(loose), shown[-1])))
        event = np.concatenate((event, activities.event[loose]))
        counted = np.concatenate((counted, activities.counted_ns[loose]))
    start = table.start_ns[event]
    return busy_by_node(
        index.parent, index.depth, index.size, row, start, start + counted, table.device[event]
    )
