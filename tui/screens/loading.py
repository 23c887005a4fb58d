"""The screen while a trace is read, and what stands there when that fails."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding
from textual.screen import Screen
from textual.worker import get_current_worker

from ptx.profiling.analysis.idle import charge_idle
from ptx.profiling.errors import PtxError
from ptx.profiling.report.units import format_count
from ptx.profiling.sanitise import clean
from ptx.profiling.structure.structure import build_structure
from ptx.profiling.trace.reader import LoadCancelled, read_trace
from ptx.tui.widgets.lines import Lines

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from textual.app import ComposeResult
    from textual.binding import BindingType

    from ptx.profiling.structure.structure import Structure
    from ptx.profiling.trace.reader import LoadProgress
    from ptx.tui.state.glyphs import Glyphs

_REPORT_EVERY_S = 0.1


class LoadingScreen(Screen[None]):
    """Reads a trace in a thread and says how far it is; then hands it to `on_loaded`."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,ctrl+c", "cancel", "cancel", show=False)
    ]
    DEFAULT_CSS = """
    LoadingScreen Lines { height: 5; margin: 1 1; }
    """

    def __init__(
        self, path: Path, on_loaded: Callable[[Structure], None], *, glyphs: Glyphs
    ) -> None:
        super().__init__()
        self._path = path
        self._on_loaded = on_loaded
        self._glyphs = glyphs
        self._failed = False

    def compose(self) -> ComposeResult:
        """Makes the lines of text."""
        yield Lines(glyphs=self._glyphs, id="loading")

    def on_mount(self) -> None:
        """Starts reading."""
        self._say(f"reading {self._path.name}", "q cancel")
        self.run_worker(self._load, thread=True, exclusive=True, exit_on_error=False)

    def action_cancel(self) -> None:
        """Stops reading and the program."""
        self.workers.cancel_all()
        self.app.exit(return_code=2 if self._failed else 0)

    def _load(self) -> None:
        worker = get_current_worker()
        started = time.monotonic()
        last = 0.0

        def progress(now: LoadProgress) -> None:
            nonlocal last
            if worker.is_cancelled:
                raise LoadCancelled
            elapsed = time.monotonic() - started
            if elapsed - last >= _REPORT_EVERY_S:
                last = elapsed
                self.app.call_from_thread(self._show_progress, now, elapsed)

        try:
            trace = read_trace(self._path, progress)
            self.app.call_from_thread(
                self._say,
                f"{format_count(trace.events)} events read, linking ops and kernels",
                "q cancel",
            )
            structure = build_structure(trace)
            _ = structure.sums, charge_idle(structure)  # the screens need them at once
        except LoadCancelled:
            return
        except (PtxError, MemoryError, OSError) as error:
            if not worker.is_cancelled:
                self.app.call_from_thread(self._fail, str(error) or type(error).__name__)
            return
        if not worker.is_cancelled:
            self.app.call_from_thread(self._on_loaded, structure)

    def _show_progress(self, now: LoadProgress, elapsed_s: float) -> None:
        done = now.done_bytes / max(1, now.total_bytes)
        left = f"{elapsed_s * (1 - done) / done:.0f} s left" if done > 0.02 else ""
        self._say(
            f"reading {self._path.name}  {now.done_bytes / 1e6:.0f} of "
            f"{now.total_bytes / 1e6:.0f} MB  {format_count(now.events)} events  {left}",
            "q cancel",
        )

    def _fail(self, message: str) -> None:
        self._failed = True
        self._say(message, "q quit")

    def _say(self, text: str, keys: str) -> None:
        role = "alert" if self._failed else "normal"
        self.query_one(Lines).show([[(clean(text), role)], [("", "normal")], [(keys, "dim")]])
