"""What a hooked process tells `ptx capture`: one file a process, one JSON object a line.

The script's own output is left alone, so this is the only way out. Lines are appended as things
happen: what a killed process had said stays.
"""

from __future__ import annotations

import functools
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec

if TYPE_CHECKING:
    from collections.abc import Callable

_P = ParamSpec("_P")


class Report:
    """The report of this process; after a failure of ptx it also keeps the rest of ptx away.

    Args:
        folder: the private folder of this capture.
    """

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)
        self._path = self._folder / f"{os.getpid()}.jsonl"
        self._pid = os.getpid()
        self._claimed: set[str] = set()
        self.failed = False

    @property
    def alive(self) -> bool:
        """Returns whether ptx may act here: nothing failed, and this is no forked child."""
        return not self.failed and os.getpid() == self._pid

    def say(self, event: str, **facts: object) -> None:
        """Appends one line: what happened, and facts about it."""
        line = json.dumps({"event": event, "pid": self._pid, **facts}) + "\n"
        try:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(line)
        except OSError:
            self.failed = True  # nobody reads any more, or the disk is full

    def claim(self, name: str) -> bool:
        """Returns whether this process may write the file of that name: the first one that asks."""
        if name not in self._claimed:
            try:
                (self._folder / f"{name}.claim").touch(exist_ok=False)
            except FileExistsError:
                return False
            self._claimed.add(name)
        return True

    def harmless(self, function: Callable[_P, None]) -> Callable[_P, None]:
        """Returns the function such that an error of it is reported and never raised.

        The first error ends ptx's part in this process: later calls do nothing.
        """

        @functools.wraps(function)
        def guarded(*args: _P.args, **kwargs: _P.kwargs) -> None:
            if not self.alive:
                return
            try:
                function(*args, **kwargs)
            except Exception as error:
                self.say("failed", what=f"{type(error).__name__}: {error}")
                self.failed = True

        return guarded
