"""The rows of a step before anything is folded: which nodes of the op tree are worth one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ptx.profiling.analysis.idle import charge_idle
from ptx.profiling.structure.nesting import depths, sizes
from ptx.profiling.structure.tree import NodeKind
from ptx.profiling.tensors.op_names import ALWAYS_VIEWS
from ptx.profiling.tensors.ops import base_name
from ptx.profiling.trace.columns import ABSENT
from ptx.tui.state.blocks import Block, make_blocks, step_mark
from ptx.tui.state.tree_index import compact, nearest_kept

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ptx.profiling.structure.structure import Structure

_EMPTY_SHARE = 0.01
_NO_OP = "no op (launched before the trace, or by an unknown thread)"
_JOINED_KINDS = (NodeKind.OP, NodeKind.MODULE, NodeKind.ANNOTATION)


@dataclass(frozen=True, slots=True)
class Layers:
    """What has rows besides ops, modules and annotations that cost something."""

    frames: bool = False
    calls: bool = False
    views: bool = False
    empty: bool = False


@dataclass(frozen=True, slots=True)
class Forest:
    """Rows as a pre-order forest, each for a chain of nodes or for a group.

    `outer` and `inner` are the first and last node of a row's chain and `length` the number of
    its names; -1 for a group, which is no node itself. `title` and `last_title` are codes in
    `titles`, -1 for none: the name of a group, also of one that begins or ends a chain. `hidden`
    counts the children that the layers leave out. `loose` holds the activities (positions) that no
    op owns; the last row lists them. `nodes` are the nodes with a row, ascending, and `row_of` the
    row of each. `size` counts the rows of each subtree.
    """

    parent: NDArray[np.int32]
    outer: NDArray[np.int32]
    inner: NDArray[np.int32]
    length: NDArray[np.int32]
    title: NDArray[np.int32]
    last_title: NDArray[np.int32]
    hidden: NDArray[np.int32]
    titles: tuple[str, ...]
    loose: NDArray[np.int32]
    nodes: NDArray[np.int32]
    row_of: NDArray[np.int32]
    size: NDArray[np.int32]

    def __len__(self) -> int:
        """Returns the number of rows."""
        return len(self.parent)

    def row_above(self, structure: Structure, node: int) -> int:
        """Returns the row that shows a node of the op tree: its own or the nearest above; -1."""
        while node >= 0:
            at = int(np.searchsorted(self.nodes, np.int32(node)))
            if at < len(self.nodes) and self.nodes[at] == node:
                return int(self.row_of[at])
            node = int(structure.tree.parent[node])
        return ABSENT


def build_forest(structure: Structure, step: int | None, layers: Layers) -> Forest:
    """Returns the rows of a step (position in `structure.steps`), of the whole trace for None.

    The step's mark is the first root; what other threads did meanwhile hangs below it, one group
    a thread. Without a mark the threads are the roots, by GPU time. Activities have no rows: they
    are a column of the row that launched them; those without an op are grouped at the end.
    """
    tree = structure.tree
    keep = _worth_a_row(structure, step, layers)
    parent, nodes = compact(tree.parent, keep)
    blocks = make_blocks(structure, step, parent, nodes)
    loose = _loose(structure, step)
    return _joined(structure, *_assembled(blocks, has_loose=len(loose) > 0), keep, loose)


def span_ns(structure: Structure, step: int | None) -> int:
    """Returns the duration of a step, of the whole trace for None."""
    if step is None:
        return structure.trace.span_ns
    return int(structure.steps.end_ns[step] - structure.steps.start_ns[step])


def idle_of_nodes(structure: Structure) -> NDArray[np.int64]:
    """Returns the idle time charged to each node's subtree, 0 where no device is known."""
    charge = charge_idle(structure)
    return np.zeros(len(structure.tree), np.int64) if charge is None else charge.total_ns


def _worth_a_row(structure: Structure, step: int | None, layers: Layers) -> NDArray[np.bool_]:
    tree, sums, table = structure.tree, structure.sums, structure.trace.table
    keep: NDArray[np.bool_] = tree.kind != NodeKind.ACTIVITY
    if step is not None and structure.steps.source != "trace":
        keep &= _in_step(structure, step)
    launching = keep & (tree.kind == NodeKind.LAUNCH) & (sums.activities > 0)
    if not layers.frames:
        keep &= tree.kind != NodeKind.FRAME
    calls = (tree.kind == NodeKind.LAUNCH) | (tree.kind == NodeKind.RUNTIME)
    # nothing else shows what a graph or a call outside any op launched
    graph = calls & (sums.activities > 0) & ((sums.activities > 1) | (structure.owner_op < 0))
    if not layers.calls:
        keep &= ~calls | graph
    if not layers.empty:
        small = _empty(structure, step)
        if layers.views:
            view = np.fromiter((_is_view(n) for n in table.names), bool, len(table.names))
            small &= ~(view[table.name[tree.event]] & (tree.kind == NodeKind.OP))
        keep &= ~small | (calls & layers.calls)
    mark = step_mark(structure, step)
    if mark >= 0:
        keep[mark] = True
    # what a launch did must stand somewhere: in a row above it, else in its own
    keep |= launching & (nearest_kept(tree.parent, keep) < 0)
    return keep


def _empty(structure: Structure, step: int | None) -> NDArray[np.bool_]:
    """Returns the nodes without GPU work that cost under 1 % of the step."""
    limit = _EMPTY_SHARE * span_ns(structure, step)
    if not len(structure.activities):
        return structure.trace.table.dur_ns[structure.tree.event] < limit
    empty: NDArray[np.bool_] = structure.sums.activities == 0
    return empty & (idle_of_nodes(structure) < limit)


def _is_view(name: str) -> bool:
    return name.startswith("aten::") and base_name(name) in ALWAYS_VIEWS


def _in_step(structure: Structure, step: int) -> NDArray[np.bool_]:
    """Returns the nodes of a step: its mark's subtree, and what starts meanwhile elsewhere."""
    tree, table, steps = structure.tree, structure.trace.table, structure.steps
    start = table.start_ns[tree.event]
    inside: NDArray[np.bool_] = (start >= steps.start_ns[step]) & (start < steps.end_ns[step])
    mark = step_mark(structure, step)
    if mark >= 0:
        above = int(tree.parent[mark])
        while above >= 0:  # what holds the mark is not part of the step
            inside[above] = False
            above = int(tree.parent[above])
        inside[mark : mark + int(tree.size[mark])] = True
    return inside


def _loose(structure: Structure, step: int | None) -> NDArray[np.int32]:
    """Returns the positions of activities that hang under nothing, within the step by the clock."""
    activities, tree = structure.activities, structure.tree
    node = tree.node_of[activities.event]
    loose = tree.parent[node] < 0
    if step is not None and structure.steps.source != "trace":
        start = structure.trace.table.start_ns[activities.event]
        loose &= structure.steps.at(start) == step
    return np.flatnonzero(loose).astype(np.int32)


def _assembled(
    blocks: list[Block], *, has_loose: bool
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], tuple[str, ...]]:
    """Returns (parents, nodes, title codes, titles) of all blocks, one behind the other."""
    if has_loose:
        blocks = [*blocks, Block.of_title(_NO_OP)]
    parents, nodes, codes = ([np.zeros(0, np.int32)] for _ in range(3))
    titles: list[str] = []
    count = 0
    for block in blocks:
        parents.append(np.where(block.parent >= 0, block.parent + count, block.below))
        nodes.append(block.nodes)
        code = np.full(len(block.nodes), ABSENT, np.int32)
        for row, title in block.titles.items():
            code[row] = len(titles)
            titles.append(title)
        codes.append(code)
        count += len(block.nodes)
    return (
        np.concatenate(parents).astype(np.int32),
        np.concatenate(nodes).astype(np.int32),
        np.concatenate(codes),
        tuple(titles),
    )


def _hidden_children(
    structure: Structure, node: NDArray[np.int32], keep: NDArray[np.bool_]
) -> NDArray[np.int32]:
    """Returns how many direct children of each row's node have no row.

    Launches do not count: what they launched stands in the row.
    """
    tree = structure.tree
    left_out = ~keep & (tree.kind != NodeKind.ACTIVITY) & (tree.kind != NodeKind.LAUNCH)
    left_out = np.flatnonzero(left_out & (tree.parent >= 0))
    count = np.bincount(tree.parent[left_out], minlength=len(tree) + 1)
    return np.asarray(np.where(node >= 0, count[node], 0), np.int32)


def _joined(
    structure: Structure,
    parent: NDArray[np.int32],
    node: NDArray[np.int32],
    title: NDArray[np.int32],
    titles: tuple[str, ...],
    keep: NDArray[np.bool_],
    loose: NDArray[np.int32],
) -> Forest:
    """Joins a row with its only child where all that it launched lies below that child."""
    n = len(parent)
    tree, sums = structure.tree, structure.sums
    children = np.bincount(parent[parent >= 0], minlength=n + 1)
    above = node[parent]
    kinds = [int(k) for k in _JOINED_KINDS]
    marks = structure.steps.event[structure.steps.event >= 0]
    below_node = (node >= 0) & (above >= 0) & np.isin(tree.kind[node], kinds)
    below_node &= np.isin(tree.kind[above], kinds) & ~np.isin(tree.event[above], marks)
    below_node &= sums.activities[node] == sums.activities[above]
    # a module that stands for its backward ops joins too, a thread does not
    module = (above < 0) & (title[parent] >= 0) & (parent[parent] >= 0)
    below_module = module & (title[parent[parent]] >= 0)
    below_module &= (node < 0) | np.isin(tree.kind[node], kinds)
    joins = (parent >= 0) & (children[parent] == 1) & (below_node | below_module)
    heads = np.flatnonzero(~joins)
    length = np.diff(np.append(heads, n)).astype(np.int32)  # an only child is the next row
    last = heads + length - 1
    groups = np.concatenate(([0], np.cumsum(node < 0)))
    first = np.minimum(heads + groups[last + 1] - groups[heads], last)  # behind the chain's groups
    real = np.flatnonzero(node >= 0)
    order = np.argsort(node[real], kind="stable")
    row = np.cumsum(~joins, dtype=np.int32) - 1
    above_row = compact(parent, ~joins)[0]
    return Forest(
        parent=above_row,
        outer=node[first],
        inner=node[last],
        length=length,
        title=title[heads],
        last_title=title[last],
        hidden=_hidden_children(structure, node, keep)[last],
        titles=titles,
        loose=loose,
        nodes=node[real][order],
        row_of=row[real][order].astype(np.int32),
        size=sizes(above_row, depths(above_row)),
    )
