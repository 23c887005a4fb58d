"""The time-line of a trace: its window, its cursor, its marks, and which lanes are on screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptx.tui.state.timeline.lanes import CurveLane, Lane, TraceLanes
from ptx.tui.state.timeline.layout import (
    FEW_LEVELS,
    FEW_LINES,
    LEVELS,
    Line,
    lanes_of_step,
    lay_out,
)
from ptx.tui.state.timeline.linked import Linked
from ptx.tui.state.timeline.window import LEAST_SPAN_NS, Window, fitted

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from ptx.profiling.structure.structure import Structure

_NONE = -1


class Timeline:
    """What the time-line shows and where its cursor is: a time, a lane, and a slice or none.

    Attributes:
        home: the time of the step.
        window: the time on screen.
        lines: all lines from top to bottom; `top` is the first one on screen.
        linked: what the tree's row covers, None for no row.
        marks: the times that letters were given, the latest last.
    """

    def __init__(self, structure: Structure, *, letters: bool) -> None:
        """Makes the time-line of the whole trace; `letters` where there is no colour."""
        self.structure = structure
        self.lanes = TraceLanes(structure)
        self.limit = Window(0, max(LEAST_SPAN_NS, structure.trace.span_ns))
        self.home = self.window = self.limit
        self.step: int | None = None
        self.lines: list[Line] = []
        self.top = 0
        self.linked: Linked | None = None
        self.marks: dict[str, int] = {}
        self.time_ns, self.slice = 0, _NONE
        self._line = 0
        self._letters = letters
        self._counters: Sequence[CurveLane] = ()
        self._rows, self._levels = 1, FEW_LEVELS

    @property
    def lane(self) -> Lane | CurveLane | None:
        """Returns the lane of the cursor, None where there are no lanes."""
        return self.lines[self._line].lane if self.lines else None

    @property
    def node(self) -> int:
        """Returns the node of the slice under the cursor, -1 for none."""
        lane = self.lane
        return int(lane.node[self.slice]) if isinstance(lane, Lane) and self.slice >= 0 else _NONE

    @property
    def shown(self) -> list[Line]:
        """Returns the lines on screen."""
        return self.lines[self.top : self.top + self._rows]

    # --- what is shown ------------------------------------------------------------------------

    def show_step(self, step: int | None) -> None:
        """Shows a step (None: the whole trace) whole, with the cursor at its start."""
        steps = self.structure.steps
        self.step, self.home = step, self.limit
        if step is not None and steps.source != "trace":
            start, end = int(steps.start_ns[step]), int(steps.end_ns[step])
            self.home = Window(start, max(end, start + LEAST_SPAN_NS))
        self.window = self.home
        self.linked = None
        self.time_ns = self.home.start_ns
        self._arrange()

    def show_counters(self, counters: Sequence[CurveLane]) -> None:
        """Shows the trace's own counters too."""
        self._counters = counters
        self._arrange()

    def resize(self, rows: int, height: int) -> None:
        """Fits the lanes to so many lines, in a terminal of a height."""
        levels = LEVELS if height >= FEW_LINES else FEW_LEVELS
        if (rows, levels) != (self._rows, self._levels):
            self._rows, self._levels = rows, levels
            self._arrange()

    def _arrange(self) -> None:
        """Chooses the lines; the cursor keeps its lane if that is still there."""
        before = self.lane
        lanes = lanes_of_step(self.lanes, self.step, self.home, self._counters)
        self.lines = lay_out(lanes, self.lanes, self._rows, self._levels, letters=self._letters)
        self._line = self.top = 0
        self.slice = _NONE
        if before is not None:
            self._go_to(before)

    def link(self, nodes: NDArray[np.integer]) -> None:
        """Shows what some nodes of the tree (ascending) cover; the cursor goes to the first."""
        self.linked = Linked(self.structure, self.step, nodes) if len(nodes) else None
        if self.linked is None:
            return
        table, tree = self.structure.trace.table, self.structure.tree
        event = int(tree.event[nodes[0]])
        start = int(table.start_ns[event])
        self.time_ns = start
        self.window = self.window.showing(start, self.limit)
        best = (0, False, 0)
        for k, line in enumerate(self.lines):
            if isinstance(line.lane, Lane):
                near = line.lane.slice_near(start, start + int(table.dur_ns[event]))
                own = near >= 0 and int(line.lane.node[near]) == int(nodes[0])
                # its own slice, else the op around it or its first op, else any slice there
                best = max(best, (2 * own + (near >= 0), line.lane.group == "ops", -k))
        if best[0]:
            self._line = -best[2]
            lane = self.lane
            assert isinstance(lane, Lane)
            self.slice = lane.slice_near(start, start + int(table.dur_ns[event]))
            self._scroll()

    # --- time ---------------------------------------------------------------------------------

    def zoom(self, factor: float) -> None:
        """Makes the window `factor` times as long, about the cursor where it is on screen."""
        about = self.time_ns if self.window.holds(self.time_ns) else self.window.middle_ns
        self.window = self.window.zoomed(factor, about, self.limit)

    def pan(self, share: float) -> None:
        """Moves the window by a share of its length."""
        self.window = self.window.panned(share, self.limit)

    def show_home(self) -> None:
        """Shows the whole step."""
        self.window = self.home

    def fit(self) -> bool:
        """Fits the window to the tree's row, or, if it shows that already, to the cursor's slice.

        Returns whether there is anything to fit to.
        """
        spans = [self.linked.span] if self.linked is not None else []
        lane = self.lane
        if isinstance(lane, Lane) and self.slice >= 0:
            spans.append((int(lane.start_ns[self.slice]), int(lane.end_ns[self.slice])))
        windows = [fitted(*span, self.limit) for span in spans if span is not None]
        other = [window for window in windows if window != self.window]
        if other:
            self.window = other[0]
        return bool(windows)

    def mark(self, letter: str) -> None:
        """Gives the cursor's time a letter."""
        self.marks.pop(letter, None)
        self.marks[letter] = self.time_ns

    def go_to_mark(self, letter: str) -> bool:
        """Moves the cursor to a marked time; returns whether there is such a mark."""
        if letter not in self.marks:
            return False
        self.time_ns = self.marks[letter]
        self.window = self.window.showing(self.time_ns, self.limit)
        self._choose_at_cursor()
        return True

    # --- lanes and slices ---------------------------------------------------------------------

    def move(self, lanes: int) -> None:
        """Moves the cursor by so many lanes, at most to the first or last."""
        every = list(dict.fromkeys(line.lane for line in self.lines))
        if self.lane is not None:
            at = every.index(self.lane) + lanes
            self._go_to(every[max(0, min(at, len(every) - 1))])

    def page(self, pages: float) -> None:
        """Moves the cursor by pages of lines."""
        if self.lines:
            line = self._line + (int(pages * self._rows) or (1 if pages > 0 else -1))
            self._go_to(self.lines[max(0, min(line, len(self.lines) - 1))].lane)

    def beside(self, by: int) -> bool:
        """Moves to the next or previous slice of the lane; returns whether there is one."""
        lane = self.lane
        if not isinstance(lane, Lane):
            return False
        if self.slice >= 0:
            k = self.slice + by
        else:
            at = self.time_ns if self.window.holds(self.time_ns) else self.window.start_ns
            k = lane.slice_beside(at, by)
        if not 0 <= k < len(lane.node):
            return False
        self.slice, self.time_ns = k, int(lane.start_ns[k])
        self.window = self.window.showing(self.time_ns, self.limit)
        return True

    def _go_to(self, lane: Lane | CurveLane) -> None:
        """Moves the cursor to a lane, to its slice at the cursor's time; unless it is not there."""
        found = next((k for k, line in enumerate(self.lines) if line.lane is lane), None)
        if found is not None:
            self._line = found
            self._choose_at_cursor()
            self._scroll()

    def _choose_at_cursor(self) -> None:
        lane, self.slice = self.lane, _NONE
        if isinstance(lane, Lane) and self.window.holds(self.time_ns):
            self.slice = lane.slice_at(self.time_ns)

    def _scroll(self) -> None:
        """Moves the lines so that all of the cursor's lane is on screen."""
        last = max(k for k, line in enumerate(self.lines) if line.lane is self.lane)
        self.top = min(self._line, max(self.top, last - self._rows + 1))
