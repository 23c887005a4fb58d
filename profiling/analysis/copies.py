"""Copies that a program did not ask for by name, or could do without: which op, how much, why.

An activity is in at most one class. What counts: torch's copy kernels, copies inside device
memory, conversions of layout or type by libraries around their own kernels, compiled kernels that
only copy or cast, and elementwise kernels that strided inputs keep from wide loads (which compute
as well, and are told apart in every total). On a trace without a device the `aten::copy_` ops
stand for the kernels, by their CPU time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from ptx.profiling.analysis.copy_advice import advice
from ptx.profiling.analysis.copy_kinds import CopyKind
from ptx.profiling.analysis.copy_search import copies_of
from ptx.profiling.analysis.tops import NO_MODULE
from ptx.profiling.analysis.traffic import add_up, split_groups
from ptx.profiling.trace.columns import ABSENT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from ptx.profiling.analysis.copy_search import Copies
    from ptx.profiling.analysis.traffic import Traffic
    from ptx.profiling.structure.structure import Structure


@dataclass(frozen=True, slots=True, eq=False)
class CopyRow:
    """Copies of one class that one op causes in one way.

    Attributes:
        kind: the class.
        cause: the op that the program called; that of the forward pass for its gradient.
        via: the op inside it that copies, "" where the cause itself does.
        tensor: which tensor, "" where not known.
        change: what becomes of it; strides are those of the costliest instance.
        cost: their number, time and modelled bytes.
        avoid: one line on what would avoid them.
        nodes: the copying ops and kernels as ascending nodes of the op tree, to go to.
        activities: positions in `structure.activities`; none on a trace without a device.
    """

    kind: CopyKind
    cause: str
    via: str
    tensor: str
    change: str
    cost: Traffic
    avoid: str
    nodes: NDArray[np.intp]
    activities: NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class CopyTotal:
    """All copies of one class, module or step by name; `strided` is no part of `copied`."""

    name: str
    copied: Traffic
    strided: Traffic


def find_copies(
    structure: Structure,
    step: int | None = None,
    nodes: NDArray[np.integer] | None = None,
    text: str | None = None,
) -> list[CopyRow]:
    """Returns the copies of a trace by class and cause, the costliest first.

    Args:
        structure: the trace.
        step: only those caused in this step (position in `structure.steps`).
        nodes: only those in the subtrees of these nodes, each once.
        text: only those whose class or cause holds this, case ignored.
    """
    found = copies_of(structure)
    items = found.select(step, nodes)
    rows = [_row(found, part) for part in split_groups(items, found.key[items])]
    needle = (text or "").casefold()
    kept = [row for row in rows if needle in f"{row.kind.word}\n{row.cause}".casefold()]
    return sort_copies(kept, "gpu")


def sort_copies(rows: list[CopyRow], by: Literal["gpu", "calls", "name"]) -> list[CopyRow]:
    """Returns rows by `gpu` (time) or `calls` (most first), or by the `name` of their cause."""
    return sorted(rows, key=_SORT_KEYS[by])


_SORT_KEYS: dict[str, Callable[[CopyRow], tuple[int | str, ...]]] = {
    "gpu": lambda r: (-r.cost.ns, r.kind, r.cause, r.via, r.tensor, r.change),
    "calls": lambda r: (-r.cost.count, -r.cost.ns, r.kind, r.cause, r.via, r.tensor, r.change),
    "name": lambda r: (r.cause, r.kind, r.via, r.tensor, r.change),
}


def copies_cost(
    structure: Structure, step: int | None = None, nodes: NDArray[np.integer] | None = None
) -> CopyTotal:
    """Returns what all copies cost, each counted once; arguments as in `find_copies`."""
    found = copies_of(structure)
    return _total(found, found.select(step, nodes), "")


def copy_totals(structure: Structure, step: int | None = None) -> list[CopyTotal]:
    """Returns what the copies of each class cost, the costliest first; no copy is in two."""
    found = copies_of(structure)
    items = found.select(step)
    return _totals(found, items, found.kind[items], [kind.word for kind in CopyKind])


def copies_by_module(structure: Structure, step: int | None = None) -> list[CopyTotal]:
    """Returns what the copies of each module cost (by its name), the costliest first.

    A copy counts for the nearest module around it, one of the backward pass for that of its
    forward op.
    """
    found = copies_of(structure)
    items = found.select(step)
    table, module = structure.trace.table, found.module[items]
    code = np.where(module >= 0, table.name[structure.tree.event[module]], ABSENT)
    codes, group = np.unique(code, return_inverse=True)
    names = [NO_MODULE if c == ABSENT else table.names[c] for c in codes.tolist()]
    return _totals(found, items, group, names)


def copies_by_step(structure: Structure) -> list[CopyTotal]:
    """Returns what the copies of each step cost, in order; steps without a copy are left out."""
    found = copies_of(structure)
    items = np.flatnonzero(found.step >= 0)
    return [
        _total(found, part, structure.steps.names[int(found.step[part[0]])])
        for part in split_groups(items, found.step[items])
    ]


def _row(found: Copies, items: NDArray[np.intp]) -> CopyRow:
    """Returns the row of copies that are of one class and cause."""
    costliest = int(items[np.argmax(found.ns[items])])
    fact, cause = found.facts[int(found.fact[costliest])], found.causes[costliest]
    code, activity = int(found.via[costliest]), found.activity[items]
    via = found.structure.trace.table.names[code] if code >= 0 else ""
    return CopyRow(
        fact.kind,
        cause,
        via,
        fact.tensor,
        fact.change,
        _cost(found, items),
        advice(fact, cause, via),
        np.sort(found.node[items]).astype(np.intp),
        activity[activity >= 0].astype(np.intp),
    )


def _totals(
    found: Copies, items: NDArray[np.intp], group: NDArray[np.integer], names: Sequence[str]
) -> list[CopyTotal]:
    parts = split_groups(np.arange(len(items)), group)
    rows = [_total(found, items[part], names[int(group[part[0]])]) for part in parts]
    return sorted(rows, key=lambda r: (-r.copied.ns - r.strided.ns, r.name))


def _total(found: Copies, items: NDArray[np.intp], name: str) -> CopyTotal:
    is_strided = found.kind[items] == CopyKind.STRIDED
    return CopyTotal(name, _cost(found, items[~is_strided]), _cost(found, items[is_strided]))


def _cost(found: Copies, items: NDArray[np.intp]) -> Traffic:
    return add_up(found.ns[items], found.read_bytes[items], found.write_bytes[items])
