"""From boundaries to windows: counts the steps, opens, marks, closes and saves."""

from __future__ import annotations

import statistics
import time
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from ptx.profiling.capture.inside.reports import Report
    from ptx.profiling.capture.inside.settings import Plan
    from ptx.profiling.capture.inside.windows import Window

_COMPARED_STEPS = 10
"""Steps after the last window that are timed, to tell what the recording cost."""

ENDED = "the script ended"
"""The reason for closing a window when nothing went wrong."""
PROFILED = "the script started its own profiler"
"""The reason for closing a window to make way."""


class Recorder:
    """Records the planned windows, each over whole steps.

    Args:
        plans: the windows, one after the other.
        skip: steps to let pass before the first.
        open_window: makes the window of a plan.
        save: writes a stopped window and reports it, and whether its last step was cut short.
        report: where to say what happened.
        on_open: called when a window opens.
        on_close: called when none is open any more.
        now: the clock, in seconds.
    """

    def __init__(
        self,
        plans: tuple[Plan, ...],
        skip: int,
        open_window: Callable[[Plan], Window],
        save: Callable[[Window, bool], None],
        report: Report,
        *,
        on_open: Callable[[], None] = lambda: None,
        on_close: Callable[[], None] = lambda: None,
        now: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.step = 0
        self.finished = False
        self._met_foreign = False
        self._plans = list(plans)
        self._next = skip
        self._open_window = open_window
        self._save = save
        self._report = report
        self._on_open = on_open
        self._on_close = on_close
        self._now = now
        self._window: Window | None = None
        self._foreign = False
        self._began = False
        self._begins = False
        self._last: float | None = None
        self._plain_s: deque[float] = deque(maxlen=64)
        self._after_s: list[float] = []
        self._recorded_s: list[float] = []

    def boundary(self, *, begins: bool) -> None:
        """Takes the end of a step and the begin of the next.

        Args:
            begins: whether the source tells begins; then the first boundary ends no step.
        """
        self._time_step()
        if self._began or not begins:
            self.step += 1
        self._began, self._begins = True, begins
        if self._window is not None:
            self._advance(self._window)
        if self._window is None and self._plans and self.step >= self._next and not self._foreign:
            self._open(self._plans[0])
        self._last = self._now()

    def foreign_begins(self) -> None:
        """Makes way for a profiler of the script's own: two at once crash the process."""
        self._foreign = self._met_foreign = True
        if self._window is not None:
            self._report.say("paused", step=self.step)
            self._close(PROFILED)

    def foreign_ends(self) -> None:
        """Allows windows again."""
        self._foreign = False

    def finish(self, reason: str) -> None:
        """Ends an open window and reports; at the end of the process, whatever brought it."""
        if self._window is not None:
            self._close(reason)
        self._end()

    def _open(self, plan: Plan) -> None:
        self._window = self._open_window(plan)
        self._on_open()
        self._next = self.step + plan.warmup
        self._window.prepare()
        self._advance(self._window)

    def _advance(self, window: Window) -> None:
        if not window.recording:
            if self.step < self._next:
                return
            window.start()
            self._report.say("open", step=self.step, ending=window.plan.ending)
        if len(window.marked) == window.plan.steps:
            self._close("")
        else:
            window.mark(self.step)

    def _close(self, reason: str) -> None:
        """Stops the window and saves it.

        Args:
            reason: why it ends before its time; "" when it has all its steps.
        """
        window, self._window = self._window, None
        if window is None:
            return
        last_is_whole = not reason or (reason == ENDED and self._begins)
        whole = len(window.marked) - (not last_is_whole)
        was_open = window.recording
        window.stop()
        # what was recorded before a failure is what the user wants to see
        if whole > 0 or (window.marked and reason not in (ENDED, PROFILED)):
            self._save(window, not last_is_whole)
            self._plans.pop(0)
        else:
            self._report.say("dropped", reason=reason, step=self.step, opened=was_open)
        self._next = self.step + 1
        self._on_close()

    def _time_step(self) -> None:
        """Keeps the time since the last boundary, which ended when ptx's own work there ended."""
        if self._last is None:
            return
        elapsed = self._now() - self._last
        if self._window is not None:
            if self._window.recording and not self._window.plan.ending:
                self._recorded_s.append(elapsed)
        elif self._plans:
            if self.step:  # the first step warms up
                self._plain_s.append(elapsed)
        else:
            self._after_s.append(elapsed)
            if len(self._after_s) == _COMPARED_STEPS:
                self._end()

    def _end(self) -> None:
        if self.finished:
            return
        self.finished = True
        # early steps still warm up, so those after the windows are the better measure
        plain = self._after_s[1:] if len(self._after_s) > 2 else list(self._plain_s)
        self._report.say(
            "done",
            steps=self.step,
            own_profiler=self._met_foreign,
            plain_ms=_median_ms(plain),
            recorded_ms=_median_ms(self._recorded_s),
        )


def _median_ms(seconds: list[float]) -> float | None:
    return statistics.median(seconds) * 1e3 if seconds else None
