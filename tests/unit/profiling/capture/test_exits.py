from __future__ import annotations

import signal
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="SIGTERM ends a process by force")

PROGRAM = """
import os, signal
from ptx.profiling.capture.inside.exits import Termination
termination = Termination(lambda: print("saved", flush=True))
def terminate():
    os.kill(os.getpid(), signal.SIGTERM)
"""


def run(text: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM + text], capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout


def test_a_window_is_saved_before_the_signal_takes_effect() -> None:
    assert run("termination.arm(); terminate()") == (-signal.SIGTERM, "saved\n")


def test_work_of_ptx_ends_before_the_signal_takes_effect() -> None:
    text = "termination.arm()\nwith termination.hold():\n    terminate()\n    print('worked')\n"
    assert run(text) == (-signal.SIGTERM, "worked\nsaved\n")


def test_without_a_window_the_signal_is_left_alone() -> None:
    assert run("termination.arm(); termination.disarm(); terminate()") == (-signal.SIGTERM, "")


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_handler_of_the_script_is_left_alone(when: str) -> None:
    own = "signal.signal(signal.SIGTERM, lambda *_: print('own'))"
    first, second = (own, "termination.arm()") if when == "before" else ("termination.arm()", own)
    assert run(f"{first}; {second}; termination.disarm(); terminate()") == (0, "own\n")
