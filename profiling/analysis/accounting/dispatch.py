"""What it costs the host to give the device its work: per op and per launch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ptx.profiling.analysis._once import once_per_trace
from ptx.profiling.structure.tree import NodeKind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ptx.profiling.structure.structure import Structure


@dataclass(frozen=True, slots=True)
class Dispatch:
    """The host's work of a step on all of its threads.

    Attributes:
        ops: how many ops started in it.
        launches: how many launches.
        op_self_ns: time of the ops outside of launches, runtime calls and other ops below them.
        launch_ns: time inside the launches.
    """

    ops: int
    launches: int
    op_self_ns: int
    launch_ns: int

    @property
    def per_op_ns(self) -> float | None:
        """Returns the mean self time of an op, None without ops."""
        return self.op_self_ns / self.ops if self.ops else None

    @property
    def per_launch_ns(self) -> float | None:
        """Returns what a launch costs with the ops that lead to it, None without launches."""
        return (self.op_self_ns + self.launch_ns) / self.launches if self.launches else None


@once_per_trace
def dispatch_of_steps(structure: Structure) -> tuple[Dispatch, ...]:
    """Returns the cost of dispatch of every step, in order; it needs no device."""
    tree = structure.tree
    step = structure.step_of_nodes()
    is_op, is_launch = tree.kind == NodeKind.OP, tree.kind == NodeKind.LAUNCH
    dur_ns = structure.trace.table.dur_ns[tree.event]
    columns = (
        _added(structure, step, is_op, np.ones(len(tree), np.int64)),
        _added(structure, step, is_launch, np.ones(len(tree), np.int64)),
        _added(structure, step, is_op, structure.sums.self_ns),
        _added(structure, step, is_launch, dur_ns),
    )
    return tuple(Dispatch(*row) for row in zip(*(c.tolist() for c in columns), strict=True))


def _added(
    structure: Structure,
    step: NDArray[np.int32],
    nodes: NDArray[np.bool_],
    values: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Returns the sum of some nodes' values in each step."""
    total = np.zeros(len(structure.steps), np.int64)
    inside = nodes & (step >= 0)
    np.add.at(total, step[inside], values[inside])
    return total
