"""Where to go: a time, a step, an event or a correlation, typed by the user."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ptx.profiling.errors import UsageError

if TYPE_CHECKING:
    from ptx.profiling.structure.structure import Structure

_TIME = re.compile(r"(\d+(?:\.\d+)?)\s*(ns|us|ms|s)\Z")
_NUMBERED = re.compile(r"(step|ev|event|corr|correlation)\s+#?(\d+)\Z")
_SCALE_NS = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
_FORMS = "12.5ms, step 3, trace, ev 1234 or corr 77"


@dataclass(frozen=True, slots=True)
class Place:
    """A place to go to: a step (position), a node of the op tree, or the whole trace."""

    step: int | None = None
    node: int | None = None
    everything: bool = False


def find_place(structure: Structure, step: int | None, text: str) -> Place:
    """Returns the place that a text names; times count from the present step's start.

    Raises:
        UsageError: the text has another form, or there is nothing there.
    """
    text = text.strip().lower()
    if text == "trace":
        return Place(everything=True)
    time = _TIME.match(text)
    if time is not None:
        origin = int(structure.steps.start_ns[step]) if step is not None else 0
        return Place(node=_at(structure, origin + int(float(time[1]) * _SCALE_NS[time[2]]), step))
    numbered = _NUMBERED.match(text)
    if numbered is None:
        raise UsageError(f"cannot go to {text!r}", hint=_FORMS)
    number = int(numbered[2])
    if numbered[1] == "step":
        if not 1 <= number <= len(structure.steps):
            raise UsageError(f"no step {number}", hint=f"1 to {len(structure.steps)}")
        return Place(step=number - 1)
    if numbered[1].startswith("ev"):
        return Place(node=_node_of(structure, number))
    return Place(node=_with_correlation(structure, number))


def _at(structure: Structure, time_ns: int, step: int | None) -> int:
    """Returns the innermost node at a time, on the step's thread where there is one."""
    tree, table = structure.tree, structure.trace.table
    start = table.start_ns[tree.event]
    inside = (start <= time_ns) & (time_ns < start + table.dur_ns[tree.event])
    if step is not None and structure.steps.thread[step] >= 0:
        inside &= table.thread[tree.event] == structure.steps.thread[step]
    nodes = np.flatnonzero(inside)
    if len(nodes) == 0:
        raise UsageError("nothing runs at that time")
    return int(nodes[np.argmax(tree.depth[nodes])])


def _node_of(structure: Structure, event: int) -> int:
    table = structure.trace.table
    if event >= len(table):
        raise UsageError(f"no event {event}", hint=f"0 to {len(table) - 1}")
    node = int(structure.tree.node_of[event])
    if node < 0:
        raise UsageError(f"event {event} is no op, call or kernel")
    return node


def _with_correlation(structure: Structure, correlation: int) -> int:
    table = structure.trace.table
    activities = structure.activities.event
    found = activities[table.correlation[activities] == correlation]
    if len(found) == 0:
        found = np.flatnonzero(structure.is_launch & (table.correlation == correlation))
    if len(found) == 0:
        raise UsageError(f"no kernel or launch has the correlation {correlation}")
    return int(structure.tree.node_of[found[0]])
