"""Runs a program in a real pseudo-terminal and measures what a key press costs."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

DOWN, PAGE_DOWN = b"\x1b[B", b"\x1b[6~"


@dataclass(frozen=True)
class Reply:
    """What came back for a key: when its first and last byte arrived, and how many there were."""

    first_ms: float
    last_ms: float
    bytes: int


class PtyProbe:
    """A program on a true-colour terminal of a fixed size; a context manager that ends it.

    A reply ends when nothing has come for `quiet_s`; that silence is not part of any figure.
    """

    def __init__(
        self, argv: Sequence[str], *, columns: int = 120, rows: int = 40, quiet_s: float = 0.15
    ) -> None:
        self._quiet_s = quiet_s
        self._terminal, side = pty.openpty()
        fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        dropped = ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES")
        env = {
            name: value
            for name, value in os.environ.items()
            if name not in dropped and not name.startswith(("TEXTUAL", "PTX_"))
        }
        env |= {"TERM": "xterm-256color", "COLORTERM": "truecolor", "LC_ALL": "C.UTF-8"}
        self._process = subprocess.Popen(
            argv, stdin=side, stdout=side, stderr=side, env=env, start_new_session=True
        )
        os.close(side)

    def __enter__(self) -> PtyProbe:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        os.close(self._terminal)

    def wait_for(self, text: bytes, timeout_s: float = 60) -> None:
        """Reads until a text has come and then silence; raises TimeoutError if it does not come."""
        seen = b""
        deadline = time.perf_counter() + timeout_s
        while text not in seen:
            chunk = self._read(deadline - time.perf_counter())
            if not chunk:
                raise TimeoutError(f"{text!r} did not come; the end was {seen[-400:]!r}")
            seen += chunk
        while self._read(self._quiet_s):
            pass

    def press(self, key: bytes) -> Reply:
        """Returns what one key brings."""
        started = time.perf_counter()
        os.write(self._terminal, key)
        first = last = count = 0.0
        # the first byte may take long, what follows comes at once
        while chunk := self._read(self._quiet_s if count else 10.0):
            last = time.perf_counter()
            first = first or last
            count += len(chunk)
        if not count:
            raise TimeoutError(f"the key {key!r} brought nothing")
        return Reply((first - started) * 1e3, (last - started) * 1e3, int(count))

    def _read(self, timeout_s: float) -> bytes:
        """Returns what has come within the time; nothing at its end or the program's."""
        if not select.select([self._terminal], [], [], max(0.0, timeout_s))[0]:
            return b""
        try:
            return os.read(self._terminal, 1 << 16)
        except OSError:  # Linux's way to say that the other side is closed
            return b""
