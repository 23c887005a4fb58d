"""Units of both sides that only share the scope in which they ran: a module, a range, an op."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from ptx.profiling.analysis.comparison.vocabulary import base_name, op_class
from ptx.profiling.structure.tree import NodeKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ptx.profiling.analysis.comparison.program import Program

ScopeKey: TypeAlias = "tuple[str, int]"

_NO_SCOPE = re.compile(
    r"ProfilerStep#|Optimizer\.|## Call |Torch-Compiled Region|TorchDynamo|Pregraph|AOTDispatcher"
    r"|CompiledFunction|autograd::engine"
)
_CUSTOM = re.compile(r"(?!aten::|autograd::|torch::|c10d::|prims::)\w+::\w")


def shared_scopes(
    a: Program, b: Program, open_a: Sequence[int], open_b: Sequence[int]
) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Returns the open units of both sides under the same instance of the same scope.

    Only scopes in which nothing at all is matched count; inner scopes go first.
    """
    if not open_a or not open_b:
        return []
    mine, theirs = _open_scopes(a, open_a), _open_scopes(b, open_b)
    found = []
    used_a: set[int] = set()
    used_b: set[int] = set()
    for key in sorted(mine.keys() & theirs.keys(), key=lambda k: (len(mine[k]), k)):
        units_a, units_b = mine[key], theirs[key]
        if used_a.isdisjoint(units_a) and used_b.isdisjoint(units_b):
            found.append((tuple(units_a), tuple(units_b)))
            used_a.update(units_a)
            used_b.update(units_b)
    return found


def _open_scopes(program: Program, open_: Sequence[int]) -> dict[ScopeKey, list[int]]:
    """Returns the open units under each scope that holds no other unit."""
    structure = program.structure
    tree = structure.tree
    events = structure.activities.event[program.rows]
    launched_by = tree.parent[tree.node_of[events]]
    first = np.array([unit.places[0] for unit in program.units])
    is_closed = np.ones(len(first), bool)
    is_closed[list(open_)] = False
    closed = np.zeros(len(tree) + 1, bool)  # index -1, above every root
    above = launched_by[first[is_closed]]
    while len(above):
        closed[above] = True
        above = np.unique(tree.parent[above[above >= 0]])
        above = above[~closed[above]]
    inside: dict[int, list[int]] = defaultdict(list)
    for position in open_:
        node = int(launched_by[first[position]])
        while node >= 0 and not closed[node]:
            inside[node].append(position)
            node = int(tree.parent[node])
    table = structure.trace.table
    scopes = [
        node
        for node in inside
        if is_scope(int(tree.kind[node]), table.name_of(int(tree.event[node])))
    ]
    numbers = _instances(program, scopes)
    return {numbers[node]: inside[node] for node in scopes}


def is_scope(kind: int, name: str) -> bool:
    """Returns whether a node of the tree is a place that both sides may name alike."""
    if kind == NodeKind.OP:
        return _CUSTOM.match(name) is not None or bool(op_class(base_name(name)))
    return kind in (NodeKind.ANNOTATION, NodeKind.MODULE) and _NO_SCOPE.match(name) is None


def _instances(program: Program, nodes: Iterable[int]) -> dict[int, ScopeKey]:
    """Returns each node's name with its number among those of that name in the step."""
    structure = program.structure
    table, tree = structure.trace.table, structure.tree
    step = program.steps.positions[program.steps.representative]
    start = table.start_ns[tree.event]
    in_step = (start >= structure.steps.start_ns[step]) & (start < structure.steps.end_ns[step])
    found: dict[int, ScopeKey] = {}
    by_name: dict[int, list[int]] = defaultdict(list)
    for node in nodes:
        by_name[int(table.name[tree.event[node]])].append(node)
    for name, mine in by_name.items():
        alike = np.flatnonzero(in_step & (table.name[tree.event] == name))
        for node, number in zip(mine, np.searchsorted(alike, mine).tolist(), strict=True):
            found[node] = (table.names[name], number)
    return found
