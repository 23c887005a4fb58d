"""Which step, which nodes, which activities a command or a screen asks for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ptx.profiling.errors import UsageError
from ptx.profiling.structure.nesting import levels, sizes
from ptx.profiling.structure.tree import NodeKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ptx.profiling.structure.structure import Structure

DETAIL_KINDS = (NodeKind.FRAME, NodeKind.RUNTIME, NodeKind.LAUNCH)
"""What a reader of the tree rarely wants: Python frames and runtime calls."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What a table is to show: one step (its position), names that hold a text, the first rows."""

    step: int | None = None
    text: str | None = None
    limit: int | None = None


def find_step(structure: Structure, wanted: str | None) -> int | None:
    """Returns the position of a step in `structure.steps`, None for None.

    Args:
        structure: the trace.
        wanted: `3` (the third of the trace), `last`, or a name such as `ProfilerStep#12`.

    Raises:
        UsageError: there is no such step.
    """
    if wanted is None:
        return None
    names = structure.steps.names
    if wanted == "last":
        return len(names) - 1
    if wanted in names:
        return names.index(wanted)
    if wanted.isdecimal() and 1 <= int(wanted) <= len(names):
        return int(wanted) - 1
    raise UsageError(
        f"no step {wanted!r}",
        where=str(structure.trace.path),
        hint=f"1 to {len(names)}, 'last', or a name such as {names[0]}",
    )


def select_nodes(
    structure: Structure,
    *,
    step: int | None = None,
    depth: int | None = None,
    text: str | None = None,
    leave_out: tuple[NodeKind, ...] = (),
) -> NDArray[np.intp]:
    """Returns nodes of the tree in pre-order.

    Args:
        structure: the trace.
        step: only what belongs to this step.
        depth: only nodes with fewer than `depth` kept ancestors.
        text: only nodes whose name holds this (case ignored), and their ancestors.
        leave_out: kinds that are skipped; what lies below them stays.
    """
    tree, table = structure.tree, structure.trace.table
    keep = ~np.isin(tree.kind, [int(kind) for kind in leave_out])
    if step is not None:
        keep &= structure.step_of_nodes() == step
    if text is not None:
        hit = matching_names(table.names, text)[table.name[tree.event]] & keep
        keep &= with_ancestors(tree.parent, hit)
    if depth is not None:
        keep &= kept_depth(tree.parent, tree.depth, keep) < depth
    return np.flatnonzero(keep)


def matching_names(names: tuple[str, ...], text: str) -> NDArray[np.bool_]:
    """Returns one flag per name: whether it holds `text`, case ignored."""
    needle = text.casefold()
    return np.fromiter((needle in name.casefold() for name in names), bool, len(names))


def with_ancestors(parent: NDArray[np.int32], hit: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Returns the flags of nodes that are hit or have a hit below them."""
    marked = hit.copy()
    above = parent[np.flatnonzero(hit)]
    while len(above):
        above = np.unique(above[above >= 0])
        above = above[~marked[above]]
        marked[above] = True
        above = parent[above]
    return marked


def kept_depth(
    parent: NDArray[np.int32], depth: NDArray[np.int32], keep: NDArray[np.bool_]
) -> NDArray[np.int32]:
    """Returns how many kept ancestors each node has, level by level from the roots."""
    out = np.zeros(len(parent), np.int32)
    for nodes in levels(depth)[1:]:
        above = parent[nodes]
        out[nodes] = out[above] + keep[above]
    return out


def climb(
    start: NDArray[np.int32], above: NDArray[np.int32], unwanted: NDArray[np.bool_]
) -> NDArray[np.int32]:
    """Returns the first wanted node on each way up from `start` by `above`, -1 for none."""
    at = start.copy()
    active = np.flatnonzero(at >= 0)
    active = active[unwanted[at[active]]]
    while len(active):
        at[active] = above[at[active]]
        active = active[at[active] >= 0]
        active = active[unwanted[at[active]]]
    return at


def sort_siblings(structure: Structure, nodes: NDArray[np.intp], by: str) -> NDArray[np.intp]:
    """Returns nodes (ascending) so that those under one parent stand by `gpu` or `cpu`, most first.

    Each stays in front of what is below it; `start` keeps them as they are. A node's parent is its
    nearest ancestor among `nodes`.
    """
    tree = structure.tree
    if by == "start" or not len(nodes):
        return nodes
    costs = structure.sums.gpu_sum_ns if by == "gpu" else structure.trace.table.dur_ns[tree.event]
    keep = np.zeros(len(tree), bool)
    keep[nodes] = True
    depth = kept_depth(tree.parent, tree.depth, keep)[nodes]
    above = climb(tree.parent[nodes], tree.parent, ~keep)
    parent = np.where(above >= 0, np.searchsorted(nodes, above), -1).astype(np.int32)
    size = sizes(parent, depth)
    position = np.zeros(len(nodes), np.int64)
    for row in levels(depth):
        row = row[np.lexsort((row, -costs[nodes[row]], parent[row]))]
        before = np.cumsum(size[row]) - size[row]
        first = np.concatenate(([True], parent[row][1:] != parent[row][:-1]))
        before -= before[first][np.cumsum(first) - 1]
        base = np.where(parent[row] >= 0, position[parent[row]] + 1, 0)
        position[row] = base + before
    ordered = np.empty_like(nodes)
    ordered[position] = nodes
    return ordered


def select_activities(
    structure: Structure, *, step: int | None = None, text: str | None = None
) -> NDArray[np.intp]:
    """Returns positions in `structure.activities`, by start.

    Args:
        structure: the trace.
        step: only what was launched in this step.
        text: only names that hold this, case ignored.
    """
    table, activities = structure.trace.table, structure.activities
    keep = np.ones(len(activities), bool)
    if step is not None:
        keep &= activities.step == step
    if text is not None:
        keep &= matching_names(table.names, text)[table.name[activities.event]]
    rows = np.flatnonzero(keep)
    return rows[np.argsort(table.start_ns[activities.event[rows]], kind="stable")]


def sort_activities(structure: Structure, rows: NDArray[np.intp], by: str) -> NDArray[np.intp]:
    """Returns activities in order of `start`, `gpu` (longest first) or `name`; ties by start."""
    table, activities = structure.trace.table, structure.activities
    start = table.start_ns[activities.event[rows]]
    if by == "gpu":
        return rows[np.lexsort((start, -activities.counted_ns[rows]))]
    if by == "name":
        rank = np.argsort(np.argsort(np.array(table.names, dtype=object), kind="stable"))
        return rows[np.lexsort((start, rank[table.name[activities.event[rows]]]))]
    return rows[np.argsort(start, kind="stable")]
