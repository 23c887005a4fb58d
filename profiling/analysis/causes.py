"""The op that the user called: what stands above an activity, the framework's own layers aside."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from ptx.profiling.analysis._once import once_per_trace
from ptx.profiling.analysis.selection import climb
from ptx.profiling.structure.tree import NodeKind
from ptx.profiling.trace.columns import ABSENT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ptx.profiling.structure.structure import Structure

NO_OP = "(no op)"

_LAYERS = re.compile(
    r"ProfilerStep#|autograd::engine::|torch::autograd::|\w+Backward\d*\Z|TorchDynamo Cache Lookup"
    r"|Torch-Compiled Region|Pregraph bytecode|AOTDispatcher|CompiledFunction"
    r"|## Call CompiledFxGraph"
)
"""Ops of the profiler, of autograd and of torch.compile's run time: nobody calls them by name."""


@once_per_trace
def outermost_ops(structure: Structure) -> NDArray[np.int32]:
    """Returns for each node the outermost op at or above it that a program can call, as a node.

    -1 where there is none.
    """
    table, tree = structure.trace.table, structure.tree
    callable_names = np.fromiter(
        (_LAYERS.match(name) is None for name in table.names), bool, len(table.names)
    )
    wanted = (tree.kind == NodeKind.OP) & callable_names[table.name[tree.event]]
    above = climb(structure.owner_op, structure.owner_op, ~wanted)
    top = np.where(wanted, np.arange(len(tree), dtype=np.int32), above).astype(np.int32)
    while True:
        # index -1, "none", ends every way up
        higher = np.append(above, np.int32(ABSENT))[top]
        higher = np.where(higher >= 0, higher, top)
        if np.array_equal(higher, top):
            return top
        top = higher


def forward_causes(structure: Structure, nodes: NDArray[np.integer]) -> NDArray[np.int32]:
    """Returns the outermost op of the forward pass whose gradient each node is part of.

    Args:
        structure: the trace.
        nodes: nodes of its tree.

    Returns:
        One node each, -1 for nodes of the forward pass and where autograd's link is not recorded.
    """
    table, tree = structure.trace.table, structure.tree
    is_backward = structure.forward >= 0
    # what autograd notes below a backward op is forward work again: checkpoints run it anew
    is_forward = table.sequence.at(tree.event) >= 0
    is_forward &= (tree.kind == NodeKind.OP) & (table.forward_thread.at(tree.event) <= 0)
    backward = climb(nodes.astype(np.int32), structure.owner_op, ~(is_backward | is_forward))
    backward = np.where(np.append(is_forward, False)[backward], ABSENT, backward)
    forward = np.where(backward >= 0, structure.forward[backward], ABSENT)
    node = np.where(forward >= 0, tree.node_of[forward], ABSENT)
    return np.where(node >= 0, outermost_ops(structure)[node], ABSENT).astype(np.int32)


def cause_names(structure: Structure, nodes: NDArray[np.integer]) -> list[str]:
    """Returns the name of the op behind each node: `aten::conv2d`, `aten::conv2d (backward)`."""
    table, tree = structure.trace.table, structure.tree
    top, forward = outermost_ops(structure)[nodes], forward_causes(structure, nodes)
    node = np.where(forward >= 0, forward, np.where(top >= 0, top, nodes))
    is_op = tree.kind[node] == NodeKind.OP
    code = np.where(is_op, table.name[tree.event[node]], ABSENT).astype(np.int64)
    pairs, slot = np.unique(2 * code + (forward >= 0), return_inverse=True)
    names = [
        (table.names[pair // 2] if pair >= 0 else NO_OP) + " (backward)" * (pair % 2)
        for pair in pairs.tolist()
    ]
    return [names[k] for k in slot.tolist()]
