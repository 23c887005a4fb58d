"""A real terminal for the program: tmux on a socket of its own, with an interactive shell."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import uuid
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType

DEADLINE_S = 30.0
_POLL_S = 0.05
PROMPT = "ready>"
PTX = f"{sys.executable} -m ptx"


class Terminal:
    """A tmux window with a shell; use it as a context manager.

    Every look at the screen has a deadline: `wait_for` asks again until the screen is as expected,
    and fails with a copy of the screen otherwise.
    """

    def __init__(
        self, width: int = 80, height: int = 24, *, env: Mapping[str, str] | None = None
    ) -> None:
        self._socket = f"ptx-{uuid.uuid4().hex[:12]}"
        self._size = (width, height)
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("TMUX", "NO_COLOR"))}
        self._env = {**clean, "LC_ALL": "C.UTF-8", "PAGER": "less", **(env or {})}
        self._env.pop("LESS", None)

    def __enter__(self) -> Terminal:
        width, height = self._size
        self.tmux(
            "-f", "/dev/null", "-u", "new-session", "-d", "-x", str(width), "-y", str(height),
            f"PS1='{PROMPT}' exec bash --noprofile --norc -i",
        )  # fmt: skip
        self.tmux("set-option", "-g", "escape-time", "10")
        self.wait_for(PROMPT)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.tmux("kill-server")

    def tmux(self, *args: str) -> str:
        """Runs a tmux command on this terminal's server and returns what it prints."""
        done = subprocess.run(
            ["tmux", "-L", self._socket, *args],
            env=self._env,
            capture_output=True,
            text=True,
            check=True,
            timeout=DEADLINE_S,
        )
        return done.stdout

    def run(self, command: str) -> None:
        """Types a command line and Enter."""
        self.type(command)
        self.press("Enter")

    def type(self, text: str) -> None:
        """Types text as it is."""
        self.tmux("send-keys", "-l", "--", text)

    def press(self, *keys: str) -> None:
        """Presses keys by tmux's names, such as `Down`, `C-z`, `j`."""
        self.tmux("send-keys", *keys)

    def resize(self, width: int, height: int) -> None:
        """Gives the window another size."""
        self.tmux("resize-window", "-x", str(width), "-y", str(height))

    def screen(self) -> str:
        """Returns the text on screen."""
        return self.tmux("capture-pane", "-p")

    def wait_for(self, *texts: str) -> str:
        """Returns the screen as soon as it shows all texts."""
        return self.wait_until(lambda screen: all(t in screen for t in texts), " and ".join(texts))

    def wait_without(self, text: str) -> str:
        """Returns the screen as soon as a text has gone."""
        return self.wait_until(lambda screen: text not in screen, f"no {text}")

    def wait_until(self, is_so: Callable[[str], bool], wanted: str) -> str:
        """Returns the screen as soon as a condition holds for it; fails at the deadline."""
        end = time.monotonic() + DEADLINE_S
        while True:
            screen = self.screen()
            if is_so(screen):
                return screen
            if time.monotonic() > end:
                raise AssertionError(f"waited {DEADLINE_S} s for {wanted!r}; the screen:\n{screen}")
            time.sleep(_POLL_S)
