"""The rows of one step: which nodes of the op tree are worth a row, and which share one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ptx.profiling.analysis.idle import charge_idle
from ptx.profiling.analysis.summary import step_rows
from ptx.profiling.structure.intervals import union_by_group
from ptx.profiling.structure.tree import NodeKind
from ptx.profiling.trace.columns import ABSENT
from ptx.tui.state.tree_index import TreeIndex, compact, nearest_kept

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ptx.profiling.structure.structure import Structure

_EMPTY_SHARE = 0.01
_JOINED_KINDS = (NodeKind.OP, NodeKind.MODULE, NodeKind.ANNOTATION)
# aten ops that rewrite shape and strides only: by schema they alias their input and run no kernel
_VIEWS = frozenset(
    (
        *("as_strided", "t", "transpose", "permute", "expand", "expand_as", "select", "slice"),
        *("narrow", "split", "split_with_sizes", "chunk", "unbind", "view", "view_as"),
        *("_reshape_alias", "_unsafe_view", "squeeze", "unsqueeze", "diagonal", "unfold"),
        *("detach", "alias", "lift_fresh", "view_as_real", "view_as_complex", "real", "imag"),
        *("movedim", "swapaxes", "swapdims", "mT", "numpy_T", "broadcast_to"),
        *("tensor_split", "hsplit", "vsplit"),
    )
)


@dataclass(frozen=True, slots=True)
class Layers:
    """What has rows besides ops, modules and annotations that cost something."""

    frames: bool = False
    calls: bool = False
    views: bool = False
    empty: bool = False


@dataclass(frozen=True, slots=True)
class Lens:
    """The rows of a step as a pre-order forest.

    `outer` and `inner` are the first and last node of the chain that a row stands for; -1 for a
    row that groups others and is no node itself (`titles` names it); `length` is the number of
    nodes joined. `hidden` counts the children that the layers leave out. `gpu_busy_ns` and
    `gpu_sum_ns` are what the row launched, `idle_ns` the idle time charged to it, `kernels` how
    many kernels, `cpu_ns` and `self_ns` its time on the host. `loose` holds the activities that no
    op owns (positions), which the last row lists.
    """

    index: TreeIndex
    outer: NDArray[np.int32]
    inner: NDArray[np.int32]
    length: NDArray[np.int32]
    hidden: NDArray[np.int32]
    gpu_busy_ns: NDArray[np.int64]
    gpu_sum_ns: NDArray[np.int64]
    idle_ns: NDArray[np.int64]
    kernels: NDArray[np.int64]
    cpu_ns: NDArray[np.int64]
    self_ns: NDArray[np.int64]
    titles: dict[int, str]
    loose: NDArray[np.int32]

    def arranged(self, order: NDArray[np.int32]) -> Lens:
        """Returns the lens with these rows in this order, which must be a pre-order.

        A row whose parent is left out hangs under its nearest kept ancestor.
        """
        keep = np.zeros(len(self.outer), bool)
        keep[order] = True
        parent, kept = compact(self.index.parent, keep)
        place = np.full(len(self.outer) + 1, ABSENT, np.int32)
        place[order] = np.arange(len(order), dtype=np.int32)
        above = np.full(len(self.outer), ABSENT, np.int32)
        above[kept] = np.where(parent >= 0, kept[parent], ABSENT) if len(kept) else parent
        index = TreeIndex(place[above[order]])
        index.set_state(self.index.open[order])
        return Lens(
            index=index,
            outer=self.outer[order],
            inner=self.inner[order],
            length=self.length[order],
            hidden=self.hidden[order],
            gpu_busy_ns=self.gpu_busy_ns[order],
            gpu_sum_ns=self.gpu_sum_ns[order],
            idle_ns=self.idle_ns[order],
            kernels=self.kernels[order],
            cpu_ns=self.cpu_ns[order],
            self_ns=self.self_ns[order],
            titles={int(place[k]): t for k, t in self.titles.items() if place[k] >= 0},
            loose=self.loose,
        )

    def row_of_node(self, structure: Structure, node: int) -> int:
        """Returns the row that shows a node of the op tree: its own or the nearest above; -1.

        An activity without a launch is shown by the row that groups those.
        """
        top = node
        while node >= 0:
            hit = np.flatnonzero((self.outer >= 0) & (self.outer <= node) & (node <= self.inner))
            if len(hit):
                return int(hit[-1])
            top, node = node, int(structure.tree.parent[node])
        if top >= 0 and structure.tree.kind[top] == NodeKind.ACTIVITY and len(self.loose):
            return next(row for row in self.titles if not self.index.has_children(row))
        return -1


def build_lens(structure: Structure, step: int | None, layers: Layers) -> Lens:
    """Returns the rows of a step (position in `structure.steps`), of the whole trace for None.

    The step's mark is the first root; what other threads did meanwhile hangs below it, one group
    a thread. Without a mark the threads are the roots, by GPU time. Activities have no rows: they
    are a column of the row that launched them; those without an op are grouped at the end.
    """
    tree = structure.tree
    keep = _worth_a_row(structure, step, layers)
    parent, nodes = compact(tree.parent, keep)
    blocks = _blocks(structure, step, parent, nodes)
    return _assemble(structure, step, blocks, keep)


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
    if not layers.empty and len(structure.activities):
        span = _span_ns(structure, step)
        small = (sums.activities == 0) & (_idle_ns(structure) < _EMPTY_SHARE * span)
        if layers.views:
            view = np.fromiter((_is_view(n) for n in table.names), bool, len(table.names))
            small &= ~(view[table.name[tree.event]] & (tree.kind == NodeKind.OP))
        keep &= ~small | (calls & layers.calls)
    if step is not None and structure.steps.event[step] >= 0:
        mark = tree.node_of[structure.steps.event[step]]
        if structure.steps.source == "ProfilerStep" and mark >= 0:
            keep[mark] = True
    # what a launch did must stand somewhere: in a row above it, else in its own
    keep |= launching & (nearest_kept(tree.parent, keep) < 0)
    return keep


def _is_view(name: str) -> bool:
    return name.startswith("aten::") and name[6:].partition(".")[0] in _VIEWS


def _span_ns(structure: Structure, step: int | None) -> int:
    if step is None:
        return structure.trace.span_ns
    return int(structure.steps.end_ns[step] - structure.steps.start_ns[step])


def _in_step(structure: Structure, step: int) -> NDArray[np.bool_]:
    """Returns the nodes of a step: its mark's subtree, and what starts meanwhile elsewhere."""
    tree, table, steps = structure.tree, structure.trace.table, structure.steps
    start = table.start_ns[tree.event]
    inside: NDArray[np.bool_] = (start >= steps.start_ns[step]) & (start < steps.end_ns[step])
    mark = int(tree.node_of[steps.event[step]]) if steps.source == "ProfilerStep" else ABSENT
    if mark >= 0:
        above = int(tree.parent[mark])
        while above >= 0:  # what holds the mark is not part of the step
            inside[above] = False
            above = int(tree.parent[above])
        inside[mark : mark + int(tree.size[mark])] = True
    return inside


@dataclass(frozen=True, slots=True)
class _Block:
    """A run of rows: a titled group (its first row is no node) or a mark's subtree."""

    title: str | None
    parent: NDArray[np.int32]
    nodes: NDArray[np.int32]
    below_first: bool


def _blocks(
    structure: Structure,
    step: int | None,
    parent: NDArray[np.int32],
    nodes: NDArray[np.int32],
) -> list[_Block]:
    tree, table, steps = structure.tree, structure.trace.table, structure.steps
    lane = table.thread[tree.event[nodes]]
    mark = ABSENT
    if step is not None and steps.source == "ProfilerStep":
        mark = int(tree.node_of[steps.event[step]])
    blocks: list[_Block] = []
    if mark >= 0:
        first = int(np.searchsorted(nodes, np.int32(mark)))
        last = int(np.searchsorted(nodes, np.int32(mark + int(tree.size[mark]))))
        own = parent[first:last] - first
        own[0] = ABSENT
        blocks.append(_Block(None, own, nodes[first:last], below_first=False))
        parent = np.concatenate((parent[:first], parent[last:] - (last - first)))
        parent[parent < 0] = ABSENT
        nodes = np.concatenate((nodes[:first], nodes[last:]))
        lane = np.concatenate((lane[:first], lane[last:]))
    rest = []
    for code in np.unique(lane).tolist():
        rows = np.flatnonzero(lane == code)  # a thread's nodes stand together
        low = int(rows[0])
        inside = parent[rows] - low
        inside[parent[rows] < low] = ABSENT
        busy = int(structure.sums.gpu_busy_ns[nodes[rows[inside < 0]]].sum())
        title = _thread_title(structure, code)
        rest.append((busy, _Block(title, inside.astype(np.int32), nodes[rows], mark >= 0)))
    rest.sort(key=lambda pair: -pair[0])
    return blocks + [block for _, block in rest]


def _thread_title(structure: Structure, code: int) -> str:
    lane = structure.trace.table.threads[code]
    backward = any(
        structure.trace.table.name_of(int(e)).startswith("autograd::engine")
        for e in _first_ops(structure, code)
    )
    if backward:
        return f"backward (thread {lane.tid})"
    return (lane.name or f"thread {lane.tid}").strip()


def _first_ops(structure: Structure, code: int) -> NDArray[np.int32]:
    table, tree = structure.trace.table, structure.tree
    ops = tree.event[tree.kind == NodeKind.OP]
    mine: NDArray[np.int32] = ops[table.thread[ops] == code]
    return mine[:8]


def _assemble(
    structure: Structure, step: int | None, blocks: list[_Block], keep: NDArray[np.bool_]
) -> Lens:
    parents: list[NDArray[np.int32]] = []
    outers: list[NDArray[np.int32]] = []
    titles: dict[int, str] = {}
    count = 0
    for block in blocks:
        offset = count
        own = block.parent.copy()
        top = 0 if block.below_first else ABSENT
        if block.title is not None:
            titles[count] = block.title
            parents.append(np.array([top], np.int32))
            outers.append(np.array([ABSENT], np.int32))
            count += 1
            own[own >= 0] += np.int32(count)
            own[block.parent < 0] = offset
        else:
            own[own >= 0] += np.int32(count)
            own[block.parent < 0] = top
        parents.append(own)
        outers.append(block.nodes)
        count += len(own)
    loose = _loose(structure, step)
    if len(loose):
        titles[count] = "no op (launched before the trace, or by an unknown thread)"
        parents.append(np.array([ABSENT], np.int32))
        outers.append(np.array([ABSENT], np.int32))
    if not parents:
        parents.append(np.zeros(0, np.int32))
        outers.append(np.zeros(0, np.int32))
    parent = np.concatenate(parents)
    outer = np.concatenate(outers)
    hidden = _hidden_children(structure, outer, keep)
    return _joined(structure, parent, outer, hidden, titles, loose)


def _loose(structure: Structure, step: int | None) -> NDArray[np.int32]:
    """Returns the positions of activities that hang under nothing, within the step by the clock."""
    activities, tree = structure.activities, structure.tree
    node = tree.node_of[activities.event]
    loose = tree.parent[node] < 0
    if step is not None and structure.steps.source != "trace":
        start = structure.trace.table.start_ns[activities.event]
        loose &= structure.steps.at(start) == step
    return np.flatnonzero(loose).astype(np.int32)


def _hidden_children(
    structure: Structure, outer: NDArray[np.int32], keep: NDArray[np.bool_]
) -> NDArray[np.int32]:
    """Returns how many direct children (activities apart) of each row's node have no row."""
    tree = structure.tree
    left_out = np.flatnonzero(~keep & (tree.kind != NodeKind.ACTIVITY) & (tree.parent >= 0))
    count = np.bincount(tree.parent[left_out], minlength=len(tree) + 1)
    return np.asarray(np.where(outer >= 0, count[outer], 0), np.int32)


def _joined(
    structure: Structure,
    parent: NDArray[np.int32],
    outer: NDArray[np.int32],
    hidden: NDArray[np.int32],
    titles: dict[int, str],
    loose: NDArray[np.int32],
) -> Lens:
    """Joins a row with its only child where all that it launched lies below that child."""
    n = len(parent)
    tree, sums = structure.tree, structure.sums
    children = np.bincount(parent[parent >= 0], minlength=n + 1)
    above = outer[parent]
    joins = (parent >= 0) & (outer >= 0) & (children[parent] == 1) & (above >= 0)
    joins &= np.isin(tree.kind[outer], [int(k) for k in _JOINED_KINDS])
    joins &= np.isin(tree.kind[above], [int(k) for k in _JOINED_KINDS])
    joins &= sums.activities[outer] == sums.activities[above]
    marks = set(structure.steps.event[structure.steps.event >= 0].tolist())
    is_mark = np.fromiter((int(e) in marks for e in tree.event[above]), bool, n)
    joins &= ~is_mark
    heads = np.flatnonzero(~joins)
    length = np.diff(np.append(heads, n))  # an only child is the next row, so chains are runs
    new_parent, _ = compact(parent, ~joins)
    outer_of = outer[heads]
    inner_of = np.where(outer_of >= 0, outer[heads + length - 1], ABSENT).astype(np.int32)
    new_titles = {int(np.searchsorted(heads, k)): title for k, title in titles.items()}
    index = TreeIndex(new_parent)
    busy, total, kernels, cpu, idle, own = _totals(structure, index, outer_of, loose, new_titles)
    return Lens(
        index=index,
        outer=outer_of,
        inner=inner_of,
        length=length.astype(np.int32),
        hidden=hidden[heads + length - 1],
        gpu_busy_ns=busy,
        gpu_sum_ns=total,
        idle_ns=idle,
        kernels=kernels,
        cpu_ns=cpu,
        self_ns=own,
        titles=new_titles,
        loose=loose,
    )


def _totals(
    structure: Structure,
    index: TreeIndex,
    outer: NDArray[np.int32],
    loose: NDArray[np.int32],
    titles: dict[int, str],
) -> list[NDArray[np.int64]]:
    """Returns (GPU busy, GPU sum, kernels, CPU, idle, self CPU) of each row.

    A group adds up its members; a step's mark counts all that the step launched, on any thread.
    """
    tree, sums, table = structure.tree, structure.sums, structure.trace.table
    real = outer >= 0
    columns = (
        sums.gpu_busy_ns,
        sums.gpu_sum_ns,
        sums.kernels.astype(np.int64),
        table.dur_ns[tree.event],
        _idle_ns(structure),
        sums.self_ns,
    )
    found = [np.where(real, column[outer], 0) for column in columns]
    for group in sorted(titles, reverse=True):
        members = index.children(group)
        for column in found[1:5]:
            column[group] = column[members].sum()
        found[0][group] = _busy_ns(structure, outer[members])
    if len(loose):
        activities = structure.activities
        total = int(activities.counted_ns[loose].sum())
        found[0][-1] = found[1][-1] = total
        found[2][-1] = len(loose)
    if len(outer) and outer[0] >= 0:
        marks = structure.steps.event.tolist()
        event = int(tree.event[outer[0]])
        if event in marks:
            step = step_rows(structure)[marks.index(event)]
            found[0][0], found[1][0] = step.gpu_busy_ns, step.gpu_sum_ns
            found[2][0] = step.kernels
            found[4][0] = step.idle_ns or 0
    return found


def _idle_ns(structure: Structure) -> NDArray[np.int64]:
    """Returns the idle time charged to each node's subtree, 0 where no device is known."""
    charge = charge_idle(structure)
    return np.zeros(len(structure.tree), np.int64) if charge is None else charge.total_ns


def _busy_ns(structure: Structure, nodes: NDArray[np.int32]) -> int:
    """Returns the union of the activities below some roots of the tree, added over devices."""
    tree, table, activities = structure.tree, structure.trace.table, structure.activities
    if len(nodes) == 0 or len(activities) == 0:
        return 0
    place = tree.node_of[activities.event]
    k = np.searchsorted(nodes, place, "right") - 1
    at = nodes[np.maximum(k, 0)]
    mine = (k >= 0) & (place < at + tree.size[at])
    event = activities.event[mine]
    device = np.searchsorted(structure.devices, table.device[event])
    start = table.start_ns[event]
    end = start + activities.counted_ns[mine]
    return int(union_by_group(device, start, end, len(structure.devices)).sum())
