"""What it costs to say that a unit went into a generated kernel: names, sizes, data flow, order."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from typing import TYPE_CHECKING

from ptx.profiling.analysis.comparison.flow import heaviest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ptx.profiling.analysis.comparison.anchors import Anchor
    from ptx.profiling.analysis.comparison.calls import Call
    from ptx.profiling.analysis.comparison.flow import Flow
    from ptx.profiling.analysis.comparison.program import Unit

NOT_MATCHED = 6.0
"""The cost of saying that a unit went into no kernel."""

_WINDOW = 12
_MOST_FAR = 400
_KEPT = 8
_NOT_WRITTEN = 1.0
_TEMPLATE, _STAGED, _OTHER_ROWS = 3.0, 0.3, 1.0
_NEAR = 14
_BEFORE_ITS_INPUTS, _BEHIND_ITS_READERS = 1.5, 1.0
_LIKELY = 0.3
_STORED, _MAY_BE_STORED, _NOT_STORED = 0.3, 0.8, 2.0
_TOO_EARLY = 1.5
_ONE_UNMATCHED = 0.4
_IMPOSSIBLE = float("inf")


def call_cost(a: Call, b: Call) -> float:
    """Returns the cost by names and sizes alone, infinite where it cannot be."""
    assert b.fusion is not None
    named = min((p for name, p in a.names.items() if name in b.fusion.ops), default=_IMPOSSIBLE)
    if named == _IMPOSSIBLE:
        return _IMPOSSIBLE
    return named + _size_cost(a, b)


def _size_cost(a: Call, b: Call) -> float:
    size, made, work = b.iterations, a.made, a.work
    if not b.has_sizes or size is None or made is None:
        return 1.0
    misfit = _TEMPLATE if b.fusion is not None and b.fusion.kind == "tem" and made != size else 0.0
    if a.reduces and b.fusion is not None and b.fusion.kind in ("red", "per"):
        misfit += _reduced(made, b.sizes[0], staged=b.fusion.kind == "red")
    if size in (made, work):
        return misfit
    if made in b.numels and work in b.numels:
        return 0.9 + misfit
    if made in b.numels or made in b.sizes:
        return 0.8 + misfit
    if made and size % made == 0:
        return 1.2 + misfit
    reduces = b.fusion is not None and b.fusion.kind in ("red", "per")
    if reduces and work and work % size == 0:
        return 2.0 + misfit
    return _IMPOSSIBLE


def _reduced(made: int, rows: int, *, staged: bool) -> float:
    """Returns the price of a reduction to `made` elements in a kernel that reduces to `rows`.

    The first of two stages leaves several rows for each element.
    """
    if rows == made:
        return 0.0
    return _STAGED if staged and made and rows % made == 0 else _OTHER_ROWS


class Costs:
    """Costs between the units of `a` that no anchor took and the generated kernels of `b`."""

    def __init__(
        self,
        a: Sequence[Unit],
        b: Sequence[Unit],
        flows: tuple[Flow, Flow],
        anchors: Sequence[Anchor],
        chain: Sequence[Anchor],
    ) -> None:
        self.a, self.b = a, b
        self.flow, self.b_flow = flows
        self.match = {anchor.a: anchor.b for anchor in anchors}
        taken = {anchor.b for anchor in anchors}
        cuts_a = [anchor.a for anchor in chain]
        cuts_b = sorted(anchor.b for anchor in chain)
        self._rank_a = [bisect_left(cuts_a, k) for k in range(len(a))]
        self._rank_b = [bisect_left(cuts_b, k) for k in range(len(b))]
        self.fused = [k for k, u in enumerate(b) if u.call.fusion is not None and k not in taken]
        self._by_where: dict[object, list[int]] = defaultdict(list)
        for k in self.fused:
            self._by_where[b[k].call.where].append(k)
        self._ranks = {
            where: [self._rank_b[k] for k in found] for where, found in self._by_where.items()
        }
        self._bases: dict[int, dict[int, float]] = defaultdict(dict)
        self._calls_b = [id(unit.call) for unit in b]
        self._feeds = [heaviest(sources) for sources in self.b_flow.sources]
        self._after, self._before = self._bounds()
        self._read_inside = [
            any(reader not in self.match and reader - k <= _NEAR for reader in readers)
            for k, readers in enumerate(self.flow.readers)
        ]

    def candidates(self, unit: int) -> list[tuple[int, float]]:
        """Returns the kernels that a unit may have gone into with their costs, cheapest first."""
        call = self.a[unit].call
        found = self._by_where.get(call.where, [])
        ranks = self._ranks.get(call.where, [])
        rank = self._rank_a[unit]
        near = found[bisect_left(ranks, rank - _WINDOW) : bisect_right(ranks, rank + _WINDOW)]
        rough = self._by_order(unit, near) or self._by_order(unit, found[:_MOST_FAR])
        rough.sort()
        priced = [(price + self._by_flow(unit, k), k) for price, k in rough[: _KEPT + 2]]
        priced.sort()
        return [(kernel, price) for price, kernel in priced[:_KEPT]]

    def is_near(self, unit: int, kernel: int) -> bool:
        """Returns whether a kernel stands within the window of anchors around a unit."""
        return abs(self._rank_a[unit] - self._rank_b[kernel]) <= _WINDOW

    def _by_order(self, unit: int, kernels: Sequence[int]) -> list[tuple[float, int]]:
        """Returns (cost by names, sizes and order, kernel) of the kernels that are possible."""
        call, rank = self.a[unit].call, self._rank_a[unit]
        after, before, rooted = self._after[unit], self._before[unit], self.flow.rooted[unit]
        bases = self._bases[id(call)]
        priced = []
        for kernel in kernels:
            number = self._calls_b[kernel]
            base = bases.get(number)
            if base is None:
                base = bases[number] = call_cost(call, self.b[kernel].call)
            if base == _IMPOSSIBLE or (self.b_flow.is_fresh[kernel] and not rooted):
                continue
            distance = abs(rank - self._rank_b[kernel])
            price = base + 0.15 * min(distance, 6) + 0.05 * max(0, distance - 6)
            if kernel < after:
                price += _BEFORE_ITS_INPUTS
            if kernel > before:
                price += _BEHIND_ITS_READERS
            priced.append((price, kernel))
        return priced

    def _by_flow(self, unit: int, kernel: int) -> float:
        return (
            self._by_producers(unit, kernel)
            + self._by_consumers(unit, kernel)
            + self._by_result(unit, kernel)
        )

    def _by_result(self, unit: int, kernel: int) -> float:
        """Returns the price of a reduction whose result is needed and not what a kernel writes.

        The first of two stages writes a part of the result for each of several blocks.
        """
        a, b = self.a[unit].call, self.b[kernel].call
        if not (a.reduces and a.made and b.numels) or self._read_inside[unit]:
            return 0.0
        written = b.numels[-1]
        staged = b.fusion is not None and b.fusion.kind == "red" and written % a.made == 0
        return 0.0 if written == a.made or staged else _NOT_WRITTEN

    def _by_producers(self, unit: int, kernel: int) -> float:
        total = 0.0
        call = self.b[kernel].call
        if not call.has_sizes:
            return 0.0
        for source in self.flow.sources[unit]:
            for maker, _ in source:
                match = self.match.get(maker)
                if match is None:
                    continue
                weight = self._feeds[kernel].get(match)
                if weight is not None:
                    term = -0.6 if weight >= _LIKELY else -0.2
                elif self.a[maker].call.made in call.numels:
                    term = 0.3
                else:
                    term = 1.2
                total += term / len(source)
        return total

    def _by_consumers(self, unit: int, kernel: int) -> float:
        if not self.b[kernel].call.has_sizes:
            return 0.0
        phase = self.a[unit].call.phase
        matches = [
            self.match[reader]
            for reader in self.flow.readers[unit]
            if reader in self.match and self.a[reader].call.phase == phase
        ]
        if not matches:
            return 0.0
        weight = max(self._feeds[match].get(kernel, -1.0) for match in matches)
        if weight < 0:
            return 0.4
        return -1.0 if weight >= _LIKELY else -0.4

    def _bounds(self) -> tuple[list[int], list[int]]:
        """Returns between which units of `b` each unit of `a` belongs, by what it depends on.

        That is behind the match of its last anchored ancestor and before that of its first
        anchored descendant.
        """
        after = [-1] * len(self.a)
        for unit, sources in enumerate(self.flow.sources):
            for source in sources:
                reached = [self._reach(maker, after) for maker, _ in source]
                after[unit] = max(after[unit], min(reached))
        last = len(self.b)
        before = [last] * len(self.a)
        for unit in range(len(self.a) - 1, -1, -1):
            for source in self.flow.sources[unit]:
                if len(source) == 1:
                    maker = source[0][0]
                    mine = self.match.get(unit, before[unit])
                    before[maker] = min(before[maker], mine)
        return after, before

    def _reach(self, maker: int, after: list[int]) -> int:
        match = self.match.get(maker)
        return after[maker] if match is None else max(match, after[maker])

    def edge(self, maker: int, left: int, right: int) -> float:
        """Returns what it costs that a maker's reader is in another kernel; -1 stands for none.

        Args:
            maker: the unit that makes a tensor.
            left: the maker's kernel.
            right: the reader's, another one.
        """
        if left < 0 or right < 0:
            return _ONE_UNMATCHED
        size = self.a[maker].call.made
        first, second = self.b[left].call.numels, self.b[right].call.numels
        if not first or not second:
            price = _STORED
        elif size not in second:
            price = _NOT_STORED
        elif size in (first[0], first[-1]):  # in place, or the output
            price = _STORED
        else:
            price = _MAY_BE_STORED if size in first else _NOT_STORED
        return price + (_TOO_EARLY if right < left else 0.0)
