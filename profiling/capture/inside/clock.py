"""Boundaries by the clock, for a script that has no steps."""

from __future__ import annotations

import _thread
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def start(interval_s: float, on_tick: Callable[[], None], is_done: Callable[[], bool]) -> None:
    """Calls `on_tick` in the main thread about every interval, between two of its bytecodes.

    The profiler records the thread that starts it, so another thread only asks the interpreter for
    a call in the main one. That thread is no `threading.Thread`: a script that lists those sees
    its own.

    Args:
        interval_s: seconds between two calls; a long call into C delays one.
        on_tick: never raises.
        is_done: whether to stop.
    """
    import ctypes  # not every Python has it, and few scripts need this

    waiting = _thread.allocate_lock()

    def tick(argument: int | None) -> int:
        on_tick()
        waiting.release()
        return 0

    c_tick = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(tick)

    def run() -> None:
        while True:
            waiting.acquire()  # until the call before has ended: it needs what this thread keeps
            if is_done():
                return
            time.sleep(interval_s)
            if ctypes.pythonapi.Py_AddPendingCall(c_tick, None) != 0:
                waiting.release()  # the interpreter's queue is full

    _thread.start_new_thread(run, ())
