"""The stretch of time on screen, and where its cells begin and end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

LEAST_SPAN_NS = 1000  # of a window; a cell is then a few ns, finer than any clock recorded
_MARGIN = 20  # a fitted stretch has a 20th of itself as a margin at each side


@dataclass(frozen=True, slots=True)
class Window:
    """The times from `start_ns` up to `end_ns`, at least `LEAST_SPAN_NS` long."""

    start_ns: int
    end_ns: int

    @property
    def span_ns(self) -> int:
        """Returns the length."""
        return self.end_ns - self.start_ns

    @property
    def middle_ns(self) -> int:
        """Returns the time in the middle."""
        return self.start_ns + self.span_ns // 2

    def holds(self, time_ns: int) -> bool:
        """Returns whether a time is on screen."""
        return self.start_ns <= time_ns < self.end_ns

    def edges(self, cells: int) -> NDArray[np.int64]:
        """Returns the `cells + 1` times at which the cells begin and end."""
        return self.start_ns + np.arange(cells + 1, dtype=np.int64) * self.span_ns // cells

    def cell_of(self, time_ns: int, cells: int) -> int:
        """Returns the cell that holds a time, -1 for none."""
        if not self.holds(time_ns):
            return -1
        return int(np.searchsorted(self.edges(cells), np.int64(time_ns), "right")) - 1

    def zoomed(self, factor: float, about_ns: int, limit: Window) -> Window:
        """Returns a window `factor` times as long in which a time keeps its place."""
        span = min(max(LEAST_SPAN_NS, round(self.span_ns * factor)), limit.span_ns)
        share = (about_ns - self.start_ns) / self.span_ns
        return Window(0, span)._moved_to(about_ns - round(share * span), limit)

    def panned(self, share: float, limit: Window) -> Window:
        """Returns the window moved by a share of its length."""
        return self._moved_to(self.start_ns + round(share * self.span_ns), limit)

    def showing(self, time_ns: int, limit: Window) -> Window:
        """Returns the window itself if it holds a time, else one of its length around it."""
        if self.holds(time_ns):
            return self
        return self._moved_to(time_ns - self.span_ns // 2, limit)

    def _moved_to(self, start_ns: int, limit: Window) -> Window:
        span = self.span_ns
        start = max(limit.start_ns, min(start_ns, limit.end_ns - span))
        return Window(start, start + span)


def fitted(start_ns: int, end_ns: int, limit: Window) -> Window:
    """Returns the window that shows a stretch of time with a small margin."""
    margin = (end_ns - start_ns) // _MARGIN
    span = max(LEAST_SPAN_NS, end_ns - start_ns + 2 * margin)
    start = (start_ns + end_ns - span) // 2
    return Window(0, min(span, limit.span_ns))._moved_to(start, limit)
