"""The ways in which a process ends, and how a window is saved in each that allows it."""

from __future__ import annotations

import atexit
import os
import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType


def at_exit(finish: Callable[[], None]) -> None:
    """Calls `finish` when the interpreter ends: after the script, an exception or Ctrl-C."""
    atexit.register(finish)


class Termination:
    """Saves the window when SIGTERM would end the process at once, while a window is open.

    A script that handles or ignores SIGTERM keeps doing so.

    Args:
        finish: saves the window.
    """

    def __init__(self, finish: Callable[[], None]) -> None:
        self._finish = finish
        self._held = False
        self._came = False

    def arm(self) -> None:
        """Takes SIGTERM over where nobody else has."""
        if _in_main_thread() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, self._handle)

    def disarm(self) -> None:
        """Gives SIGTERM back, unless the script has taken it meanwhile."""
        if _in_main_thread() and signal.getsignal(signal.SIGTERM) == self._handle:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Lets ptx's own work in the block end before SIGTERM takes effect."""
        self._held = True
        try:
            yield
        finally:
            self._held = False
            if self._came:
                self._terminate()

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self._held:
            self._came = True
        else:
            self._terminate()

    def _terminate(self) -> None:
        self._finish()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTERM)


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
