"""How much of any stretch of time was busy, or how high a curve was, without a look at each event.

Both keep a running total, so that a stretch costs two binary searches however much it holds.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ptx.profiling.structure.intervals import merge

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BLOCK = 256


class Busy:
    """The union of slices in time: ascending disjoint `start_ns` and `end_ns`."""

    def __init__(self, start_ns: NDArray[np.int64], end_ns: NDArray[np.int64]) -> None:
        """Takes slices in any order, overlapping or not."""
        self.start_ns, self.end_ns = merge(start_ns, end_ns)
        self._total = np.concatenate(([0], np.cumsum(self.end_ns - self.start_ns)))

    def before(self, at_ns: NDArray[np.int64]) -> NDArray[np.int64]:
        """Returns how much busy time lies before each time; O(len(at_ns) log n)."""
        if not len(self.start_ns):
            return np.zeros(len(at_ns), np.int64)
        k = np.searchsorted(self.start_ns, at_ns, "right")
        last = np.maximum(k - 1, 0)
        inside = np.minimum(at_ns, self.end_ns[last]) - self.start_ns[last]
        found: NDArray[np.int64] = np.where(k > 0, self._total[last] + inside, 0)
        return found

    def within(self, edges_ns: NDArray[np.int64]) -> NDArray[np.int64]:
        """Returns the busy time in each cell between two neighbouring edges."""
        return np.diff(self.before(edges_ns))


class Curve:
    """A value that changes in steps: `values[k]` from `times_ns[k]` until the next time.

    It is 0 before the first time; times ascend. Integer values give exact means.
    """

    def __init__(
        self,
        times_ns: NDArray[np.int64],
        values: NDArray[np.int64] | NDArray[np.float64],
    ) -> None:
        self.times_ns, self.values = times_ns, values
        self._area = np.concatenate((values[:0], [0], np.cumsum(values[:-1] * np.diff(times_ns))))

    def at(self, time_ns: int) -> float:
        """Returns the value at a time."""
        k = int(np.searchsorted(self.times_ns, np.int64(time_ns), "right"))
        return float(self.values[k - 1]) if k else 0.0

    def means(self, edges_ns: NDArray[np.int64]) -> NDArray[np.float64]:
        """Returns the mean over each cell between two neighbouring edges; O(cells log n)."""
        if not len(self.times_ns):
            return np.zeros(len(edges_ns) - 1)
        k = np.searchsorted(self.times_ns, edges_ns, "right")
        last = np.maximum(k - 1, 0)
        inside = (edges_ns - self.times_ns[last]) * self.values[last]
        area = np.where(k > 0, self._area[last] + inside, 0)
        means: NDArray[np.float64] = np.diff(area) / np.diff(edges_ns)
        return means

    def extremes(self, start_ns: int, end_ns: int) -> tuple[float, float]:
        """Returns the lowest and the highest value in a stretch of time; O(n / 256)."""
        bounds = np.array([start_ns, end_ns], np.int64)
        first = int(np.searchsorted(self.times_ns, bounds[0], "right"))
        behind = int(np.searchsorted(self.times_ns, bounds[1], "left"))
        first = max(0, first - 1)
        if behind <= first:
            return 0.0, 0.0
        low, high = self._blocks
        whole = slice(-(-first // _BLOCK), behind // _BLOCK)
        if whole.start >= whole.stop:
            part = self.values[first:behind]
            return float(part.min()), float(part.max())
        ends = np.concatenate(
            (self.values[first : whole.start * _BLOCK], self.values[whole.stop * _BLOCK : behind])
        )
        return (
            float(np.concatenate((ends, low[whole])).min()),
            float(np.concatenate((ends, high[whole])).max()),
        )

    @cached_property
    def _blocks(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        at = np.arange(0, len(self.values), _BLOCK)
        return np.minimum.reduceat(self.values, at), np.maximum.reduceat(self.values, at)
