"""The views that led to an op's input: from the tensor as it lies in memory, one by one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ptx.profiling.structure.tree import NodeKind
from ptx.profiling.tensors.effects import effect_of
from ptx.profiling.tensors.inputs import inputs_at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ptx.profiling.structure.structure import Structure
    from ptx.profiling.tensors.effect import Effect
    from ptx.profiling.tensors.execution_trace import ExecutionTrace
    from ptx.profiling.tensors.inputs import Tensor

_OPS_BACK = 24


@dataclass(frozen=True, slots=True)
class ViewStep:
    """A view op, by its node, with what it did."""

    node: int
    effect: Effect


def views_before(
    structure: Structure, node: int, position: int, et: ExecutionTrace | None = None
) -> list[ViewStep]:
    """Returns the views, first one first, whose last result is an input of an op.

    A view is taken for the input's maker if it is the last op before in the same scope with a
    result of just that shape and these strides: storage is not in the trace, so this is likely,
    not certain.

    Args:
        structure: the trace.
        node: the op.
        position: of the input.
        et: the trace's Execution Trace.
    """
    inputs = inputs_at(structure, node)
    wanted = inputs[position].tensor if position < len(inputs) else None
    found: list[ViewStep] = []
    for earlier in _before(structure, node):
        if wanted is None or wanted.strides is None:
            break
        effect = effect_of(structure, earlier, et)
        if effect is None or effect.after is None or not _same_place(effect.after, wanted):
            continue
        if effect.kind != "view":
            break  # made anew here
        found.append(ViewStep(earlier, effect))
        wanted = effect.before
    return found[::-1]


def _same_place(one: Tensor, other: Tensor) -> bool:
    return one.shape == other.shape and one.strides == other.strides


def _before(structure: Structure, node: int) -> Iterator[int]:
    """Yields the ops before a node under the same parent, the last one first."""
    tree = structure.tree
    parent = int(tree.parent[node])
    first = parent + 1 if parent >= 0 else 0
    siblings = np.flatnonzero(tree.parent[first:node] == parent)[::-1] + first
    ops = siblings[tree.kind[siblings] == NodeKind.OP]
    yield from ops[:_OPS_BACK].tolist()
