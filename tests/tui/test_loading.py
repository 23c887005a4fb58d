"""The screen while a trace is read: progress, giving up, errors."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest
from tests.traces import trace
from tests.tui_driver import screen_text, until

from ptx.profiling.errors import TraceFormatError
from ptx.profiling.trace.reader import LoadCancelled, LoadProgress, TraceFile, read_trace
from ptx.tui.app import PtxApp
from ptx.tui.screens import loading
from ptx.tui.screens.explore import ExploreScreen

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class SlowReader:
    """Stands in for `read_trace`: reports once, then waits to be told how to go on."""

    def __init__(self, error: Exception | None = None) -> None:
        self._go_on = threading.Event()
        self._error = error
        self.raised: BaseException | None = None

    def go_on(self) -> None:
        self._go_on.set()

    def __call__(self, path: Path, on_progress: Callable[[LoadProgress], None]) -> TraceFile:
        try:
            on_progress(LoadProgress(0, 176_000_000, 0))
            loading_done = LoadProgress(61_000_000, 176_000_000, 412_000)
            while not self._go_on.wait(0.02):
                on_progress(loading_done)
            on_progress(loading_done)
        except BaseException as error:
            self.raised = error
            raise
        if self._error is not None:
            raise self._error
        return read_trace(path, on_progress)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return trace().thread(1).op("aten::mm", 0, 50).write(tmp_path / "llama.json")


async def test_progress_is_shown_and_then_the_explorer(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = SlowReader()
    monkeypatch.setattr(loading, "read_trace", reader)
    app = PtxApp(path)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "61 of 176 MB  412,000 events" in screen_text(pilot))
        assert "reading llama.json" in screen_text(pilot)
        assert "q cancel" in screen_text(pilot)
        reader.go_on()
        # the end of the test ends the program: not while the screen is still being made
        await until(pilot, lambda: "GPU busy" in screen_text(pilot) or "CPU" in screen_text(pilot))
        assert isinstance(app.screen, ExploreScreen)


@pytest.mark.parametrize("key", ["q", "escape"])
async def test_reading_can_be_given_up(
    path: Path, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    reader = SlowReader()
    monkeypatch.setattr(loading, "read_trace", reader)
    app = PtxApp(path)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "reading" in screen_text(pilot))
        await pilot.press(key)
        await until(pilot, lambda: isinstance(reader.raised, LoadCancelled))
    assert app.return_code == 0


@pytest.mark.parametrize(
    "error",
    [
        TraceFormatError("llama.json", "not a trace", hint='expected "traceEvents"'),
        MemoryError(),
        OSError("the disk went away"),
    ],
    ids=["format", "memory", "disk"],
)
async def test_error_stays_on_screen_until_q_and_gives_exit_2(
    path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    reader = SlowReader(error)
    monkeypatch.setattr(loading, "read_trace", reader)
    reader.go_on()
    app = PtxApp(path)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "q quit" in screen_text(pilot))
        assert (str(error) or "MemoryError")[:40] in screen_text(pilot)
        await pilot.press("q")
    assert app.return_code == 2


async def test_error_text_from_the_file_is_only_text(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = SlowReader(TraceFormatError("\x1b[2J[red]x", "not a trace\nat all"))
    monkeypatch.setattr(loading, "read_trace", reader)
    reader.go_on()
    async with PtxApp(path).run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "q quit" in screen_text(pilot))
        assert "[red]x" in screen_text(pilot)
        assert "\x1b" not in screen_text(pilot)
