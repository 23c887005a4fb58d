"""From matches of units to groups: what belongs together, and what kind of change it is."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from ptx.profiling.analysis.comparison.operands import differences, launch_differences
from ptx.profiling.kernels.decode import decode

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ptx.profiling.analysis.comparison.anchors import Anchor
    from ptx.profiling.analysis.comparison.assign import Assignment
    from ptx.profiling.analysis.comparison.calls import Call
    from ptx.profiling.analysis.comparison.costs import Costs
    from ptx.profiling.analysis.comparison.model import Kind
    from ptx.profiling.analysis.comparison.program import Unit

_OPERAND_END = re.compile(r" \(| none")
LEAST_CLAIMED = 0.5
"""No match below this confidence is claimed."""

_CLOSE = 0.3


@dataclass(slots=True)
class UnitGroup:
    """Units (positions) of both sides that are one place in the program.

    `details` tell what differs behind equal kernel names, what is computed again, and the like.
    """

    a: tuple[int, ...]
    b: tuple[int, ...]
    kind: Kind
    confidence: float
    how: str
    details: tuple[str, ...] = field(default=())


_UnitId: TypeAlias = "tuple[int, int]"


class Joined:
    """Units of both sides in disjoint sets; a unit is (side, position)."""

    def __init__(self) -> None:
        self._above: dict[_UnitId, _UnitId] = {}

    def root(self, unit: _UnitId) -> _UnitId:
        """Returns the unit that stands for the set of another."""
        path = []
        while unit in self._above:
            path.append(unit)
            unit = self._above[unit]
        for step in path:
            self._above[step] = unit
        return unit

    def join(self, first: _UnitId, second: _UnitId) -> None:
        """Makes one set of the sets of two units."""
        one, other = sorted((self.root(first), self.root(second)))
        if one != other:
            self._above[other] = one


def group_units(
    costs: Costs,
    anchors: Sequence[Anchor],
    chain: Sequence[Anchor],
    assignment: Assignment,
    scopes: Iterable[tuple[tuple[int, ...], tuple[int, ...]]],
    *,
    flipped: bool = False,
) -> list[UnitGroup]:
    """Returns the groups; every unit of both sides is in exactly one.

    Args:
        costs: both sides and their flow.
        anchors: the pairs that are one op.
        chain: those of them that keep their order.
        assignment: the generated kernel of each other unit of `a`.
        scopes: units of both sides that only the scope that they ran in holds together.
        flipped: the reader's first side is `b`, so details go from there to `a`.
    """
    kernels = {
        unit: kernel
        for unit, kernel in assignment.kernel.items()
        if _confidence(costs, unit, kernel, assignment.margin[unit]) >= LEAST_CLAIMED
    }
    by_a, in_order = {anchor.a: anchor for anchor in anchors}, {anchor.a for anchor in chain}
    grouping = _Grouping(costs, by_a, in_order, kernels, flipped=flipped)
    return grouping.groups(assignment.margin, scopes)


class _Grouping:
    def __init__(
        self,
        costs: Costs,
        anchors: dict[int, Anchor],
        in_order: set[int],
        kernels: dict[int, int],
        *,
        flipped: bool,
    ) -> None:
        self._costs = costs
        self._flipped = flipped
        self._anchors = anchors
        self._in_order = in_order
        self._kernels = kernels
        self._by_b = {anchor.b: anchor for anchor in anchors.values()}
        self._listed = {name for unit in costs.a for name in unit.call.names}

    def groups(
        self,
        margin: dict[int, float],
        scopes: Iterable[tuple[tuple[int, ...], tuple[int, ...]]],
    ) -> list[UnitGroup]:
        """Returns the groups, those with units of `a` first."""
        by_scope = {unit: other for mine, theirs in scopes for unit, other in _star(mine, theirs)}
        joined = self._joined(by_scope)
        members: dict[_UnitId, list[_UnitId]] = {}
        for side, units in enumerate((self._costs.a, self._costs.b)):
            for position in range(len(units)):
                members.setdefault(joined.root((side, position)), []).append((side, position))
        found = []
        for mine in members.values():
            a = tuple(k for side, k in mine if side == 0)
            b = tuple(k for side, k in mine if side == 1)
            found.append(self._group(a, b, margin, scoped=mine[0] in by_scope))
        return found

    def _joined(self, by_scope: dict[_UnitId, _UnitId]) -> Joined:
        joined = Joined()
        for anchor in self._anchors.values():
            joined.join((0, anchor.a), (1, anchor.b))
        for position, kernel in self._kernels.items():
            joined.join((0, position), (1, kernel))
        taken = {anchor.b for anchor in self._anchors.values()} | set(self._kernels.values())
        for first, second in _split_reductions(self._costs, taken):
            joined.join((1, first), (1, second))
        for unit, other in by_scope.items():
            joined.join(unit, other)
        return joined

    def _group(
        self, a: tuple[int, ...], b: tuple[int, ...], margin: dict[int, float], *, scoped: bool
    ) -> UnitGroup:
        if not a or not b:
            return self._alone(a, b)
        anchor = self._anchors.get(a[0])
        if anchor is not None and b == (anchor.b,) and len(a) == 1:
            return self._anchored(anchor)
        if scoped:
            return UnitGroup(a, b, _fused_kind(a, b), 0.6, "module")
        return self._fused(a, b, margin)

    def _alone(self, a: tuple[int, ...], b: tuple[int, ...]) -> UnitGroup:
        """Returns a group that only one side has, with the reason where the flow tells one."""
        sure, how = (0.9, "shapes") if _have_sizes(self._costs, a, b) else (0.6, "names")
        kind: Kind = "removed" if a else "added"
        return UnitGroup(a, b, kind, sure, how, tuple(self._reasons(b)))

    def _reasons(self, b: Sequence[int]) -> Iterator[str]:
        """Yields why only `b` has kernels: they prepare an operand that `a` passes as it is."""
        costs = self._costs
        for kernel in b:
            for reader in costs.b_flow.readers[kernel]:
                anchor = self._by_b.get(reader)
                if anchor is None:
                    continue
                made = costs.b[kernel].call.tensors[-1:]
                sizes = [str(tensor.shape).replace(" ", "") for tensor in made]
                before, after = self._pair(anchor)
                changed = differences(before.call, after.call)
                fitting = [text for text in changed if any(size in text for size in sizes)]
                if fitting:
                    names = dict.fromkeys(_OPERAND_END.split(text)[0] for text in fitting)
                    leaf = costs.b[reader].call.leaf
                    yield f"prepares {' or '.join(names)} for {leaf}: {fitting[0]}"
                    return
            if "_foreach_copy" in costs.b[kernel].call.leaf:
                yield "copies inputs into the static buffers of a graph"

    def _pair(self, anchor: Anchor) -> tuple[Unit, Unit]:
        """Returns an anchor's units in the order in which the reader named the sides."""
        one, other = self._costs.a[anchor.a], self._costs.b[anchor.b]
        return (other, one) if self._flipped else (one, other)

    def _anchored(self, anchor: Anchor) -> UnitGroup:
        before, after = self._pair(anchor)
        one, other = before.call, after.call
        details = differences(one, other)
        if sorted(one.kernel_names) != sorted(other.kernel_names):
            kind: Kind = "replaced"
            details = (*details, *_other_kernels(one, other))
        else:
            details = (*details, *launch_differences(one, other))
            kind = "same*" if details else "same"
            if anchor.a not in self._in_order and anchor.level == 1 and not details:
                kind = "moved"
        return UnitGroup((anchor.a,), (anchor.b,), kind, anchor.confidence, anchor.how, details)

    def _fused(self, a: tuple[int, ...], b: tuple[int, ...], margin: dict[int, float]) -> UnitGroup:
        kernels, costs = self._kernels, self._costs
        sure = min(
            (_confidence(costs, k, kernels[k], margin[k]) for k in a if k in kernels), default=0.6
        )
        mine = {name for k in a for name in costs.a[k].call.names}
        fusions = [costs.b[k].call.fusion for k in b]
        ops = {op for fusion in fusions if fusion is not None for op in fusion.computing}
        unexplained = sorted(ops - self._listed)
        again = sorted(op for op in ops - mine if op in self._listed)
        details = []
        if again:
            details.append(f"also lists {', '.join(again)}, which other groups own")
        if unexplained:
            words = ", ".join(unexplained)
            details.append(f"lists {words}, which no op of the other side explains")
            sure = max(LEAST_CLAIMED, sure - 0.1)
        how = "shapes" if _have_sizes(costs, a, b) else "names"
        return UnitGroup(a, b, _fused_kind(a, b), round(sure, 2), how, tuple(details))


def _star(mine: Sequence[int], theirs: Sequence[int]) -> list[tuple[_UnitId, _UnitId]]:
    """Returns each unit of a scope with the scope's first."""
    units = [*((0, k) for k in mine), *((1, k) for k in theirs)]
    return [(unit, units[0]) for unit in units]


def _have_sizes(costs: Costs, a: Sequence[int], b: Sequence[int]) -> bool:
    units = (*(costs.a[k] for k in a), *(costs.b[k] for k in b))
    return all(unit.call.has_sizes for unit in units)


def _split_reductions(costs: Costs, taken: set[int]) -> list[tuple[int, int]]:
    """Returns pairs of generated kernels that are two stages of one reduction.

    The second reads what the first wrote; one of them got no unit because the eager op is one.
    """
    found = []
    for kernel in costs.fused:
        second = costs.b[kernel].call.fusion
        sources = costs.b_flow.sources[kernel]
        if second is None or second.kind not in ("per", "red"):
            continue
        maker = sources[0][-1][0] if sources else kernel - 1
        first = costs.b[maker].call.fusion if maker >= 0 else None
        if first is None or first.kind != "red" or (maker in taken and kernel in taken):
            continue
        if second.computing <= first.computing or first.computing <= second.computing:
            found.append((maker, kernel))
    return found


def _confidence(costs: Costs, unit: int, kernel: int, margin: float) -> float:
    """Returns how sure it is that a unit went into a kernel, by what both sides record."""
    if not costs.is_near(unit, kernel):
        return 0.4
    a, b = costs.a[unit].call, costs.b[kernel].call
    if a.has_sizes and b.has_sizes:
        if b.iterations is None:
            return 0.5
        return 0.75 if margin < _CLOSE else 0.9
    if a.has_sizes or b.has_sizes:
        return 0.5
    return 0.4 if margin < _CLOSE else 0.7


def _other_kernels(one: Call, other: Call) -> list[str]:
    """Returns the helpers (memsets, layout changes) that only one of two calls launches."""
    found = []
    for word, mine, theirs in (("without", one, other), ("with", other, one)):
        extra = Counter(mine.kernel_names) - Counter(theirs.kernel_names)
        for name, count in extra.items():
            if name != mine.main:
                times = f"{count}x " if count > 1 else ""
                found.append(f"{word} {times}{decode(name, cut=False).short}")
    return found


def _fused_kind(a: Sequence[int], b: Sequence[int]) -> Kind:
    return "replaced" if len(a) == len(b) == 1 else "fused"
