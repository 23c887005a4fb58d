"""Runs the script as a child that shares the terminal, and passes on what the child is sent."""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING

from ptx.profiling.capture.command import not_started
from ptx.profiling.errors import PtxError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_FROM_KERNEL = 0x80
"""SI_KERNEL: a terminal's Ctrl-C, its closing, its new size. The whole group gets those."""
_SIGNAL_BASE = 128


def run_child(argv: Sequence[str], environment: Mapping[str, str]) -> int:
    """Returns the exit code of a program; 128 and the signal's number when a signal ended it.

    The child is in this process's group, so the terminal's signals reach it by themselves; those
    that another process sends to ptx are sent on to it. ptx itself waits through all of them.

    Raises:
        PtxError: this is not Linux (exit code 2), or the program cannot be started (125).
    """
    if sys.platform != "linux":
        raise PtxError("capture runs on Linux only", hint="profile there, and explore here")
    passed_on = {
        signal.SIGINT,
        signal.SIGTERM,
        signal.SIGHUP,
        signal.SIGQUIT,
        signal.SIGUSR1,
        signal.SIGUSR2,
        signal.SIGWINCH,
    }
    waited_for = passed_on | {signal.SIGCHLD}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, waited_for)
    try:
        child = os.posix_spawnp(
            argv[0],
            list(argv),
            dict(environment),
            setsigmask=before,
            setsigdef=[signal.SIGPIPE, signal.SIGXFSZ],  # which Python ignores for itself
        )
        return _wait(child, waited_for)
    except OSError as error:
        raise not_started(error.strerror or str(error), where=argv[0]) from error
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _wait(child: int, waited_for: set[signal.Signals]) -> int:
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else _SIGNAL_BASE - code
        received = signal.sigwaitinfo(waited_for)
        if received.si_signo != signal.SIGCHLD and received.si_code != _FROM_KERNEL:
            os.kill(child, received.si_signo)
