"""Totals by op, shape, module, category or kernel: the rows of `ptx ops` and of screens like it."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from ptx.profiling.analysis.categories import CATEGORY_LETTERS, CATEGORY_WORDS, categories_of
from ptx.profiling.analysis.selection import climb, kept_depth
from ptx.profiling.analysis.shapes import shape_codes
from ptx.profiling.structure.tree import NodeKind
from ptx.profiling.trace.columns import ABSENT, Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from ptx.profiling.structure.structure import Structure

Grouping: TypeAlias = Literal["op", "shape", "module", "class", "category", "kernel"]
TopSort: TypeAlias = Literal["gpu", "cpu", "self", "calls", "name"]
NO_MODULE = "(no module)"


@dataclass(frozen=True, slots=True, eq=False)
class TopRow:
    """One group of ops, modules or activities, with its instances to go to.

    Attributes:
        name: of the op, module or kernel as the file has it, or the word of a category.
        detail: the shapes of a group by shape, "" elsewhere.
        letter: the category of a group by category or kernel, "" elsewhere.
        calls: how many instances; of a category and of a kernel its activities.
        cpu_self_ns: time of the instances less that of the ops, launches and runtime calls below
            them (of a module: less that of the modules below it); None for activities.
        cpu_total_ns: time of the instances, those inside another one of the group left out, so
            that no ns counts twice; None for activities.
        gpu_sum_ns: counted durations of `activities`.
        kernels: how many of `activities` are kernels.
        nodes: the instances as ascending nodes of the op tree.
        activities: positions in `structure.activities`. An op has those launched in its subtree, a
            module those whose nearest module it is (by the forward op for those of a backward one).
    """

    name: str
    detail: str
    letter: str
    calls: int
    cpu_self_ns: int | None
    cpu_total_ns: int | None
    gpu_sum_ns: int
    kernels: int
    nodes: NDArray[np.intp]
    activities: NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class _Scope:
    """What of a trace counts: a step, and how many ops or modules may lie above."""

    step: int | None
    depth: int | None


def top_rows(
    structure: Structure,
    by: Grouping,
    *,
    step: int | None = None,
    depth: int | None = None,
    text: str | None = None,
) -> list[TopRow]:
    """Returns the groups of a trace, longest GPU sum first, then longest self time.

    Groups by module, class (of modules), category or kernel share the activities out: their GPU
    sums add up to that of the trace or step. Groups by op or shape do not, since ops hold others.

    Args:
        structure: the trace.
        by: what makes a group.
        step: only what belongs to this step (position in `structure.steps`).
        depth: only ops inside fewer than `depth` others; by module, activities count for the
            nearest of such modules. Means nothing for categories and kernels.
        text: only groups whose name holds this, case ignored.
    """
    rows = _holding(_BUILDERS[by](structure, _Scope(step, depth)), text)
    return sort_top_rows(rows, "gpu")


def slice_rows(
    structure: Structure, *, step: int | None = None, text: str | None = None
) -> list[TopRow]:
    """Returns the totals of annotations and foreign slices by name, longest total first.

    Args:
        structure: the trace.
        step: only slices that start in this step (position in `structure.steps`).
        text: only names that hold this, case ignored.
    """
    nodes = _nodes_of(structure, NodeKind.ANNOTATION, step)
    return sort_top_rows(_holding(_by_name(structure, nodes), text), "cpu")


def _holding(rows: list[TopRow], text: str | None) -> list[TopRow]:
    """Returns the rows whose name holds a text, case ignored; all for None."""
    needle = (text or "").casefold()
    return [row for row in rows if needle in row.name.casefold()]


def sort_top_rows(rows: list[TopRow], by: TopSort) -> list[TopRow]:
    """Returns rows by `gpu`, `cpu` (total), `self` or `calls` (most first), or by `name`."""
    return sorted(rows, key=_SORT_KEYS[by])


_SORT_KEYS: dict[TopSort, Callable[[TopRow], tuple[int | str, ...]]] = {
    "gpu": lambda r: (-r.gpu_sum_ns, -(r.cpu_self_ns or 0), r.name, r.detail),
    "cpu": lambda r: (-(r.cpu_total_ns or 0), -r.gpu_sum_ns, r.name, r.detail),
    "self": lambda r: (-(r.cpu_self_ns or 0), -r.gpu_sum_ns, r.name, r.detail),
    "calls": lambda r: (-r.calls, -r.gpu_sum_ns, r.name, r.detail),
    "name": lambda r: (r.name, r.detail),
}


def _ops(structure: Structure, scope: _Scope) -> list[TopRow]:
    return _by_name(structure, _op_nodes(structure, scope))


def _shapes(structure: Structure, scope: _Scope) -> list[TopRow]:
    nodes = _op_nodes(structure, scope)
    table, tree = structure.trace.table, structure.tree
    shape, texts = shape_codes(structure)
    name = table.name[tree.event[nodes]].astype(np.int64)
    pairs, group = np.unique(
        name * (len(texts) + 1) + shape[tree.event[nodes]], return_inverse=True
    )
    heads = [(table.names[p // (len(texts) + 1)], p % (len(texts) + 1)) for p in pairs.tolist()]
    rows = _of_slices(structure, nodes, group, [name for name, _ in heads])
    shown = [texts[code] if code < len(texts) else "" for _, code in heads]
    return [replace(row, detail=detail) for row, detail in zip(rows, shown, strict=True)]


def _modules(structure: Structure, scope: _Scope, *, by_class: bool = False) -> list[TopRow]:
    table, tree = structure.trace.table, structure.tree
    nodes = _nodes_of(structure, NodeKind.MODULE, scope.step)
    home = modules_of_activities(structure)
    if scope.depth is not None:
        above = kept_depth(tree.parent, tree.depth, tree.kind == NodeKind.MODULE)
        nodes = nodes[above[nodes] < scope.depth]
        home = climb(home, structure.module, above >= scope.depth)
    mine = _activities_of(structure, scope.step)
    home = home[mine]
    # a module that began in the step before may have activities in this one
    known = np.append(nodes, home[home >= 0])
    codes, slot = np.unique(table.name[tree.event[known]], return_inverse=True)
    labels: dict[str, int] = {}
    names = (table.names[code] for code in codes.tolist())
    group_of = [
        labels.setdefault(class_of(name) if by_class else name, len(labels)) for name in names
    ]
    group = np.array(group_of, np.intp)[slot]
    at = np.full(len(mine), len(labels), np.intp)
    at[home >= 0] = group[len(nodes) :]
    own = table.dur_ns[tree.event].copy()
    inner = nodes[structure.module[nodes] >= 0]
    np.subtract.at(own, structure.module[inner], table.dur_ns[tree.event[inner]])
    return _assemble(
        structure,
        [*labels, NO_MODULE],
        (nodes, group[: len(nodes)]),
        (mine, at),
        np.maximum(own, 0),
    )


_INSTANCE = re.compile(r"_\d+\Z")


def class_of(module: str) -> str:
    """Returns a module's name without the number that the profiler gives its instances."""
    return _INSTANCE.sub("", module)


def modules_of_activities(structure: Structure) -> NDArray[np.int32]:
    """Returns the module that each activity works for, as a node of the tree; -1 for none.

    That is the nearest one around the forward op of the nearest backward op that has one, so that
    the backward pass counts for the modules too; else the nearest one around the activity.
    """
    tree = structure.tree
    node = tree.node_of[structure.activities.event]
    lacks = structure.forward < 0
    backward = climb(structure.owner_op[node], structure.owner_op, lacks)
    forward = np.where(backward >= 0, structure.forward[backward], ABSENT)
    known = np.where(forward >= 0, structure.module[tree.node_of[forward]], ABSENT)
    return np.where(known >= 0, known, structure.module[node]).astype(np.int32)


def _categories(structure: Structure, scope: _Scope) -> list[TopRow]:
    labels = [CATEGORY_WORDS[letter] for letter in CATEGORY_LETTERS]
    rows = _of_activities(structure, scope.step, categories_of(structure).astype(np.intp), labels)
    by_word = {word: letter for letter, word in CATEGORY_WORDS.items()}
    return [replace(row, letter=by_word[row.name]) for row in rows]


def _kernels(structure: Structure, scope: _Scope) -> list[TopRow]:
    table, activities = structure.trace.table, structure.activities
    names, group = np.unique(table.name[activities.event], return_inverse=True)
    rows = _of_activities(
        structure, scope.step, group, [table.names[code] for code in names.tolist()]
    )
    letters = categories_of(structure)
    return [replace(row, letter=CATEGORY_LETTERS[letters[row.activities[0]]]) for row in rows]


_BUILDERS: dict[Grouping, Callable[[Structure, _Scope], list[TopRow]]] = {
    "op": _ops,
    "shape": _shapes,
    "module": _modules,
    "class": partial(_modules, by_class=True),
    "category": _categories,
    "kernel": _kernels,
}


def _nodes_of(structure: Structure, kind: NodeKind, step: int | None) -> NDArray[np.intp]:
    keep = structure.tree.kind == kind
    if step is not None:
        keep &= structure.step_of_nodes() == step
    return np.flatnonzero(keep)


def _op_nodes(structure: Structure, scope: _Scope) -> NDArray[np.intp]:
    nodes, tree = _nodes_of(structure, NodeKind.OP, scope.step), structure.tree
    if scope.depth is not None:
        above = kept_depth(tree.parent, tree.depth, tree.kind == NodeKind.OP)
        nodes = nodes[above[nodes] < scope.depth]
    return nodes


def _activities_of(structure: Structure, step: int | None) -> NDArray[np.intp]:
    """Returns positions in `structure.activities`: those of a step, or all."""
    activities = structure.activities
    return np.arange(len(activities)) if step is None else np.flatnonzero(activities.step == step)


def _by_name(structure: Structure, nodes: NDArray[np.intp]) -> list[TopRow]:
    table = structure.trace.table
    names, group = np.unique(table.name[structure.tree.event[nodes]], return_inverse=True)
    return _of_slices(structure, nodes, group, [table.names[code] for code in names.tolist()])


def _of_slices(
    structure: Structure, nodes: NDArray[np.intp], group: NDArray[np.intp], labels: Sequence[str]
) -> list[TopRow]:
    """Returns a row for each group of host slices, with the activities of their subtrees."""
    outermost = _outermost(structure, nodes, group)
    below, slot = _activities_below(structure, nodes[outermost])
    return _assemble(
        structure, labels, (nodes, group), (below, group[outermost][slot]), structure.sums.self_ns
    )


def _of_activities(
    structure: Structure, step: int | None, group: NDArray[np.intp], labels: Sequence[str]
) -> list[TopRow]:
    """Returns a row for each group of activities that is not empty; they are its instances."""
    mine = _activities_of(structure, step)
    nodes = structure.tree.node_of[structure.activities.event[mine]]
    order = np.argsort(nodes, kind="stable")
    instances = (nodes[order].astype(np.intp), group[mine][order])
    return _assemble(structure, labels, instances, (mine, group[mine]), None)


def _assemble(
    structure: Structure,
    labels: Sequence[str],
    instances: tuple[NDArray[np.intp], NDArray[np.intp]],
    caused: tuple[NDArray[np.intp], NDArray[np.intp]],
    own_ns: NDArray[np.int64] | None,
) -> list[TopRow]:
    """Returns a row a label, those with neither an instance nor an activity left out.

    Args:
        structure: the trace.
        labels: the names of the groups.
        instances: nodes of the tree, and the group of each.
        caused: positions in `structure.activities`, and the group of each.
        own_ns: the self time of every node of the tree; None where instances have no CPU time.
    """
    table, tree, activities = structure.trace.table, structure.tree, structure.activities
    (nodes, group), (rows, of), size = instances, caused, len(labels)

    def total(values: NDArray[np.integer], where: NDArray[np.intp]) -> list[int]:
        out = np.zeros(size, np.int64)
        np.add.at(out, where, values)
        return out.tolist()

    gpu = total(activities.counted_ns[rows], of)
    kernels = total((table.kind[activities.event[rows]] == Kind.KERNEL).astype(np.int64), of)
    self_ns: list[int] | list[None] = [None] * size
    total_ns: list[int] | list[None] = [None] * size
    if own_ns is not None:
        outer = _outermost(structure, nodes, group)
        self_ns = total(own_ns[nodes], group)
        total_ns = total(table.dur_ns[tree.event[nodes[outer]]], group[outer])
    node_parts, activity_parts = _split(nodes, group, size), _split(rows, of, size)
    return [
        TopRow(
            name=labels[k],
            detail="",
            letter="",
            calls=len(node_parts[k]),
            cpu_self_ns=self_ns[k],
            cpu_total_ns=total_ns[k],
            gpu_sum_ns=gpu[k],
            kernels=kernels[k],
            nodes=node_parts[k],
            activities=activity_parts[k],
        )
        for k in range(size)
        if len(node_parts[k]) or len(activity_parts[k])
    ]


def _split(values: NDArray[np.intp], group: NDArray[np.intp], size: int) -> list[NDArray[np.intp]]:
    """Returns the values of each group, in the order in which they stand."""
    order = np.argsort(group, kind="stable")
    ends = np.cumsum(np.bincount(group, minlength=size))
    return np.split(values[order], ends[:-1])


def _outermost(
    structure: Structure, nodes: NDArray[np.intp], group: NDArray[np.intp]
) -> NDArray[np.bool_]:
    """Returns which of `nodes` lie in no other node of their group among them."""
    order = np.lexsort((nodes, group))
    # subtrees nest, so within a group the farthest end so far tells; groups are set far apart
    offset = group[order].astype(np.int64) * (len(structure.tree) + 1)
    start = nodes[order] + offset
    reach = np.maximum.accumulate(start + structure.tree.size[nodes][order])
    inside = np.zeros(len(nodes), bool)
    inside[order[1:]] = (start[1:] < reach[:-1]) & (offset[1:] == offset[:-1])
    return ~inside


def _activities_below(
    structure: Structure, nodes: NDArray[np.intp]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Returns the activities of the nodes' subtrees, and for each which of `nodes` it is of."""
    place = structure.tree.node_of[structure.activities.event]
    order = np.argsort(place, kind="stable")
    first = np.searchsorted(place[order], nodes.astype(np.int32))
    behind = np.searchsorted(place[order], (nodes + structure.tree.size[nodes]).astype(np.int32))
    count = behind - first
    slot = np.repeat(np.arange(len(nodes)), count)
    within = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
    return order[first[slot] + within], slot
