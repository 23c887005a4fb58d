"""The threads of a step as runs of rows; backward ops under the modules of the forward."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ptx.profiling.structure.tree import NodeKind
from ptx.profiling.trace.columns import ABSENT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ptx.profiling.structure.structure import Structure

_ENGINE = "autograd::engine"


@dataclass(slots=True)
class Block:
    """A run of rows in pre-order.

    `nodes` holds -1 for a row that is a group, which `titles` names; a root (parent -1) hangs
    below the row `below` of all rows, -1 for none.
    """

    parent: NDArray[np.int32]
    nodes: NDArray[np.int32]
    titles: dict[int, str] = field(default_factory=dict)
    below: int = ABSENT

    @classmethod
    def of_title(cls, title: str) -> Block:
        """Returns a group without members."""
        return cls(np.array([ABSENT], np.int32), np.array([ABSENT], np.int32), {0: title})

    def titled(self, title: str) -> Block:
        """Returns the block below a group of its own."""
        return Block(
            np.concatenate(([ABSENT], self.parent + 1)).astype(np.int32),
            np.concatenate(([ABSENT], self.nodes)).astype(np.int32),
            {0: title, **{row + 1: text for row, text in self.titles.items()}},
            self.below,
        )


def step_mark(structure: Structure, step: int | None) -> int:
    """Returns the node of a step's own mark (`ProfilerStep#N`), -1 where there is none."""
    steps = structure.steps
    if step is None or steps.source != "ProfilerStep":
        return ABSENT
    return int(structure.tree.node_of[steps.event[step]])


def make_blocks(
    structure: Structure,
    step: int | None,
    parent: NDArray[np.int32],
    nodes: NDArray[np.int32],
) -> list[Block]:
    """Returns the blocks of a forest of kept nodes: the step's mark, then threads by GPU time.

    Args:
        structure: the trace.
        step: the step, None for the whole trace.
        parent: parents of the kept nodes, as positions in `nodes`.
        nodes: the kept nodes, ascending.
    """
    tree, table = structure.tree, structure.trace.table
    mark = step_mark(structure, step)
    own: list[Block] = []
    if mark >= 0:
        ends = np.array([mark, mark + int(tree.size[mark])], np.int32)
        first, last = np.searchsorted(nodes, ends).tolist()
        own = [_cut_out(parent, nodes, np.arange(first, last))]
        rest = np.r_[0:first, last : len(nodes)]
    else:
        rest = np.arange(len(nodes))
    lane = table.thread[tree.event[nodes[rest]]]
    others = []
    for code in np.unique(lane).tolist():
        block = _cut_out(parent, nodes, rest[lane == code])
        busy = int(structure.sums.gpu_busy_ns[block.nodes[block.parent < 0]].sum())
        title = _thread_title(structure, code)
        if _is_backward(structure, code):
            block = by_forward_modules(structure, block)
        block = block.titled(title)
        block.below = 0 if mark >= 0 else ABSENT
        others.append((busy, block))
    others.sort(key=lambda pair: -pair[0])
    return own + [block for _, block in others]


def _cut_out(parent: NDArray[np.int32], nodes: NDArray[np.int32], rows: NDArray[np.intp]) -> Block:
    """Returns some rows (ascending) of a forest; one whose parent is not among them is a root."""
    place = np.full(len(nodes) + 1, ABSENT, np.int32)
    place[rows] = np.arange(len(rows), dtype=np.int32)
    return Block(place[parent[rows]], nodes[rows])


def _thread_title(structure: Structure, code: int) -> str:
    lane = structure.trace.table.threads[code]
    if _is_backward(structure, code):
        return f"backward (thread {lane.tid})"
    return (lane.name or f"thread {lane.tid}").strip()


def _is_backward(structure: Structure, code: int) -> bool:
    table, tree = structure.trace.table, structure.tree
    ops = tree.event[tree.kind == NodeKind.OP]
    mine = ops[table.thread[ops] == code][:8]
    return any(table.name_of(int(event)).startswith(_ENGINE) for event in mine)


def by_forward_modules(structure: Structure, block: Block) -> Block:
    """Returns a thread's backward ops under the modules that ran their forward ops.

    An op without a forward op stays with the one before it. Modules are groups here: what runs
    below them is theirs, but on another thread and at another time.
    """
    tree, table = structure.tree, structure.trace.table
    roots = np.flatnonzero(block.parent < 0)
    event = structure.forward[block.nodes[roots]]
    forward = np.where(event >= 0, tree.node_of[event], ABSENT)
    module = np.where(forward >= 0, structure.module[forward], ABSENT)
    if not (module >= 0).any():
        return block
    module[event < 0] = -2  # stays with the op before
    above: list[int] = []
    parents: list[NDArray[np.integer]] = []
    nodes: list[NDArray[np.int32]] = []
    titles: dict[int, str] = {}
    rows: dict[int, int] = {}
    count = 0
    ends = np.append(roots[1:], len(block.parent))
    for first, end, mine in zip(roots.tolist(), ends.tolist(), module.tolist(), strict=True):
        path = above if mine == -2 else _chain(structure, mine)
        same = 0
        while same < min(len(path), len(above)) and path[same] == above[same]:
            same += 1
        for k in range(same, len(path)):
            parents.append(np.array([rows[path[k - 1]] if k else ABSENT]))
            nodes.append(np.array([ABSENT]))
            titles[count] = table.name_of(int(tree.event[path[k]]))
            rows[path[k]] = count
            count += 1
        above = path
        inside = block.parent[first:end]
        top = rows[path[-1]] if path else ABSENT
        parents.append(np.where(inside >= 0, inside - first + count, top))
        nodes.append(block.nodes[first:end])
        count += end - first
    return Block(
        np.concatenate(parents).astype(np.int32), np.concatenate(nodes).astype(np.int32), titles
    )


def _chain(structure: Structure, module: int) -> list[int]:
    """Returns a module's node and the modules around it, outermost first."""
    found = []
    while module >= 0:
        found.append(module)
        module = int(structure.module[module])
    return found[::-1]
