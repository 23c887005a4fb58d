"""Groups of units as groups of kernels: times, order, phase, and a line of text for each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptx.profiling.analysis.comparison.model import Group, Place, difference
from ptx.profiling.analysis.comparison.totals import activity_bytes
from ptx.profiling.analysis.comparison.vocabulary import VIEW_WORDS
from ptx.profiling.kernels.decode import decode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ptx.profiling.analysis.comparison.calls import Call
    from ptx.profiling.analysis.comparison.grouping import UnitGroup
    from ptx.profiling.analysis.comparison.program import Program

_PHASES = ("forward", "backward", "optimizer")
_LISTED = 6


class Describer:
    """Turns positions of units into what a reader sees."""

    def __init__(self, a: Program, b: Program) -> None:
        self._programs = (a, b)
        self._bytes = (activity_bytes(a).tolist(), activity_bytes(b).tolist())
        self._all = (_all_places(a), _all_places(b))
        self._steps = (len(a.steps.positions), len(b.steps.positions))

    def groups(self, groups: Sequence[UnitGroup]) -> tuple[Group, ...]:
        """Returns the groups in the order of B's launches; what only A has stands where it was."""
        ordered = sorted(zip(self._order(groups), range(len(groups)), strict=True))
        return tuple(self._group(groups[k]) for _, k in ordered)

    def _order(self, groups: Sequence[UnitGroup]) -> list[tuple[int, int, int]]:
        first_b = {k: min(g.b) for g in groups if g.b for k in g.a}
        last = -1
        behind: list[int] = []
        for unit in range(len(self._programs[0].units)):
            last = first_b.get(unit, last)
            behind.append(last)
        return [(min(g.b), 0, 0) if g.b else (behind[min(g.a)], 1, min(g.a)) for g in groups]

    def _group(self, group: UnitGroup) -> Group:
        a, b = self._places(0, group.a), self._places(1, group.b)
        sum_a, sum_b = (sum(place.ns for place in places) for places in (a, b))
        return Group(
            kind=group.kind,
            a=a,
            b=b,
            delta_ns=difference(sum_a, self._steps[0], sum_b, self._steps[1]),
            delta_bytes=self._delta_bytes(group),
            confidence=group.confidence,
            how=group.how,
            phase=self._phase(group),
            text=self._text(group, len(a), len(b)),
            details=group.details,
        )

    def _places(self, side: int, units: Sequence[int]) -> tuple[Place, ...]:
        every, mine = self._all[side], self._programs[side].units
        return tuple(every[k] for k in sorted(k for unit in units for k in mine[unit].places))

    def _delta_bytes(self, group: UnitGroup) -> int | None:
        moved: list[int] = []
        for side, units in enumerate((group.a, group.b)):
            every, mine = self._bytes[side], self._programs[side].units
            sizes = [every[k] for unit in units for k in mine[unit].places]
            if any(size < 0 for size in sizes):
                return None
            moved.append(sum(sizes))
        return moved[1] - moved[0]

    def _calls(self, side: int, units: Sequence[int]) -> list[Call]:
        return [self._programs[side].units[unit].call for unit in units]

    def _phase(self, group: UnitGroup) -> str:
        phases = {c.phase for side in (0, 1) for c in self._calls(side, (group.a, group.b)[side])}
        return phases.pop() if len(phases) == 1 else "other"

    def _text(self, group: UnitGroup, kernels_a: int, kernels_b: int) -> str:
        ops = [c.leaf or c.main for c in self._calls(0, group.a)]
        theirs = [_work(c) for c in self._calls(1, group.b)]
        if group.kind in ("same", "moved"):
            return f"{_listed(ops)}: the same" + (" in another order" * (group.kind == "moved"))
        if group.kind == "same*":
            return f"{_listed(ops)}: the same kernel, but {'; '.join(group.details[:_LISTED])}"
        if group.kind == "removed":
            return f"{_listed(ops)}: only in A"
        if group.kind == "added":
            return f"{_listed(theirs)}: only in B"
        word = "replaced" if group.kind == "replaced" else _direction(kernels_a, kernels_b)
        return f"{_listed(ops)}: {word}, {kernels_a} -> {kernels_b} kernels"


def _all_places(program: Program) -> list[Place]:
    """Returns the places of a side's step in order."""
    table, activities = program.structure.trace.table, program.structure.activities
    count = len(program.steps.positions)
    if not count:
        return []
    events = activities.event[program.rows].tolist()
    sums = activities.counted_ns[program.steps.rows].sum(axis=0).tolist()
    names = [table.name_of(event) for event in events]
    return [
        Place(event, name, decode(name, cut=False).short, ns, median, count)
        for event, name, ns, median in zip(
            events, names, sums, program.median_ns.tolist(), strict=True
        )
    ]


def _direction(kernels_a: int, kernels_b: int) -> str:
    return "split" if kernels_b > kernels_a else "fused"


def _work(call: Call) -> str:
    if call.fusion is None:
        return call.leaf or decode(call.main, cut=False).short
    return "+".join(sorted(call.fusion.ops - VIEW_WORDS)) or decode(call.main, cut=False).short


def _listed(words: Sequence[str]) -> str:
    """Returns the distinct words in order, with their counts, the first few of many."""
    counts: dict[str, int] = {}
    for word in words:
        counts[word] = counts.get(word, 0) + 1
    parts = [f"{n}x {word}" if n > 1 else word for word, n in counts.items()]
    more = f", {len(parts) - _LISTED} more" if len(parts) > _LISTED else ""
    return ", ".join(parts[:_LISTED]) + more
