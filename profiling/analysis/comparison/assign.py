"""Which generated kernel each eager unit went into: the cheapest explanation of all together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ptx.profiling.analysis.comparison.costs import NOT_MATCHED, Costs
from ptx.profiling.analysis.comparison.flow import heaviest

if TYPE_CHECKING:
    from collections.abc import Sequence

_NONE = -1
_SWEEPS = 6
_ROUNDS = 3
_EXTRA_READER = 0.1
_STRONG = 0.5
_LONGEST_CHAIN = 40
_MOST_READERS = 6
_TRIED = 2
_NO_EDGE = float("inf")
_LEAST_GAIN = 1e-9


@dataclass(frozen=True, slots=True)
class Assignment:
    """The kernel of each unit that found one, and how much worse its next choice would be."""

    kernel: dict[int, int]
    margin: dict[int, float]


def assign(costs: Costs, units: Sequence[int]) -> Assignment:
    """Returns the kernels of units that no anchor took; what fits nowhere is left out."""
    search = _Search(costs, units)
    search.run()
    kernel = {unit: k for unit, k in search.now.items() if k != _NONE}
    return Assignment(kernel, {unit: search.margin(unit) for unit in kernel})


class _Search:
    """Where each unit is now, and what moving it would cost."""

    def __init__(self, costs: Costs, units: Sequence[int]) -> None:
        self._costs = costs
        self._units = list(units)
        open_ = set(units)
        self.options: dict[int, dict[int, float]] = {}
        for unit in units:
            found = dict(costs.candidates(unit)) if not self._is_plain_copy(unit) else {}
            self.options[unit] = {**found, _NONE: NOT_MATCHED}
        self._makers: dict[int, list[tuple[int, float]]] = {unit: [] for unit in units}
        self._readers: dict[int, list[tuple[int, float]]] = {unit: [] for unit in units}
        for unit in units:
            for maker, weight in heaviest(costs.flow.sources[unit]).items():
                if maker in open_ and len(self._readers[maker]) < _MOST_READERS:
                    self._makers[unit].append((maker, weight))
                    self._readers[maker].append((unit, weight))
        self.now: dict[int, int] = {}

    def _is_plain_copy(self, unit: int) -> bool:
        """Returns whether a unit joins tensors of which at most one has elements."""
        call = self._costs.a[unit].call
        return call.leaf == "cat" and call.has_sizes and sum(n > 0 for n in call.numels) <= 1

    def run(self) -> None:
        """Places every unit, then improves one by one and by connected groups."""
        for unit in self._units:
            self.now[unit] = self._best(unit)
        self._sweep(set(self._units))
        for _ in range(_ROUNDS):
            moved = self._move_groups()
            if not moved:
                break
            self._sweep({other for unit in moved for other in self._around(unit)})

    def _sweep(self, waiting: set[int]) -> None:
        """Moves single units where that is cheaper, and looks again at those beside them."""
        for sweep in range(_SWEEPS):
            later: set[int] = set()
            for unit in sorted(waiting, reverse=sweep % 2 == 0):
                best = self._best(unit)
                if best != self.now[unit]:
                    self.now[unit] = best
                    later.update(self._around(unit))
            waiting = later
            if not waiting:
                break

    def _around(self, unit: int) -> set[int]:
        """Returns the units whose cost depends on where a unit is."""
        makers = [maker for maker, _ in self._makers[unit]]
        near = {*makers, *(reader for reader, _ in self._readers[unit])}
        return near | {reader for maker in makers for reader, _ in self._readers[maker]} - {unit}

    def margin(self, unit: int) -> float:
        """Returns how much more the next best place of a unit costs."""
        prices = self._prices(unit)
        mine = prices.pop(self.now[unit])
        return min(prices.values()) - mine

    def _best(self, unit: int) -> int:
        """Returns the cheapest place; of equal ones where its neighbours are, none last."""
        if len(self.options[unit]) == 1:
            return _NONE
        prices = self._prices(unit)
        least = min(prices.values()) + _LEAST_GAIN
        equal = [k for k, price in prices.items() if price <= least]
        if len(equal) == 1:
            return equal[0]
        beside: dict[int, float] = dict.fromkeys(equal, 0.0)
        for other, weight in (*self._makers[unit], *self._readers[unit]):
            at = self.now.get(other, _NONE)
            if at in beside:
                beside[at] += weight
        return min(equal, key=lambda k: (-beside[k], k < 0, k))

    def _prices(self, unit: int) -> dict[int, float]:
        """Returns the cost of the likely places: the first by their own cost, and a neighbour's."""
        options = self.options[unit]
        taken = {self.now.get(other) for other, _ in (*self._makers[unit], *self._readers[unit])}
        taken |= {self.now.get(unit), _NONE}
        return {
            k: price + self._edges(unit, k)
            for place, (k, price) in enumerate(options.items())
            if place < _TRIED or k in taken
        }

    def _edges(self, unit: int, kernel: int) -> float:
        """Returns the cost of the edges at a unit if it went into a kernel."""
        moved = {unit: kernel}
        total = self._read_by(unit, kernel, moved)
        for maker, weight in self._makers[unit]:
            at = self.now.get(maker)
            if at is None:
                continue
            if len(self._readers[maker]) == 1:
                total += 0.0 if at == kernel else weight * self._costs.edge(maker, at, kernel)
            else:
                total += self._read_by(maker, at, moved)
        return total

    def _read_by(self, maker: int, kernel: int, moved: dict[int, int]) -> float:
        """Returns the cost of a maker's readers: the cheapest, and a little for each other."""
        least, others = _NO_EDGE, 0.0
        for reader, weight in self._readers[maker]:
            at = moved.get(reader)
            if at is None:
                at = self.now.get(reader)
                if at is None:
                    continue
            price = 0.0 if at == kernel else weight * self._costs.edge(maker, kernel, at)
            others += price if price < _EXTRA_READER else _EXTRA_READER
            if price < least:
                least = price
        if least == _NO_EDGE:
            return 0.0
        return least + min(1.0, others - min(_EXTRA_READER, least))

    def _move_groups(self) -> list[int]:
        """Moves connected units of one kernel together where that is cheaper; returns them."""
        moved: list[int] = []
        groups = dict.fromkeys((*self._groups(0.0), *self._groups(_STRONG), *self._chains()))
        for group in groups:
            here = self.now[group[0]]
            if any(self.now[unit] != here for unit in group):
                continue  # an earlier move took it apart
            targets = self._targets(group)
            if not targets:
                continue
            best, gain = here, _LEAST_GAIN
            before = self._cost_of(group, here)
            for target in sorted(targets, key=lambda k: (k < 0, k)):
                after = self._cost_of(group, target)
                if before - after > gain:
                    best, gain = target, before - after
            if best != here:
                moved += group
                self.now.update(dict.fromkeys(group, best))
        return moved

    def _targets(self, group: Sequence[int]) -> set[int]:
        """Returns the other kernels that a group may move to: those of its neighbours."""
        beside = {
            self.now[other]
            for unit in group
            for other, _ in (*self._makers[unit], *self._readers[unit])
        }
        beside.discard(self.now[group[0]])
        for unit in group:
            if not beside:
                break
            beside &= self.options[unit].keys()
        return beside

    def _cost_of(self, group: Sequence[int], kernel: int) -> float:
        """Returns the cost of a group and of its edges if it went into a kernel."""
        moved = dict.fromkeys(group, kernel)
        makers = {maker for unit in group for maker, _ in self._makers[unit]} | set(group)
        return sum(self.options[unit][kernel] for unit in group) + sum(
            self._read_by(maker, moved.get(maker, self.now[maker]), moved) for maker in makers
        )

    def _groups(self, least: float) -> list[tuple[int, ...]]:
        """Returns the units of each kernel that read from each other with more than a weight."""
        seen: set[int] = set()
        groups = []
        for unit in self._units:
            if unit in seen:
                continue
            seen.add(unit)
            group, queue = [], [unit]
            while queue:
                at = queue.pop()
                group.append(at)
                for other, weight in (*self._makers[at], *self._readers[at]):
                    same = self.now[other] == self.now[unit]
                    if weight > least and other not in seen and same:
                        seen.add(other)
                        queue.append(other)
            if len(group) > 1:
                groups.append(tuple(sorted(group)))
        return groups

    def _chains(self) -> list[tuple[int, ...]]:
        """Returns for each unit those of its kernel that strongly depend on it, and itself."""
        chains = []
        for unit in self._units:
            here = self.now[unit]
            chain, queue = {unit}, [unit]
            while queue and len(chain) < _LONGEST_CHAIN:
                for reader, weight in self._readers[queue.pop()]:
                    if weight > _STRONG and reader not in chain and self.now[reader] == here:
                        chain.add(reader)
                        queue.append(reader)
            if len(chain) > 1:
                chains.append(tuple(sorted(chain)))
        return chains
