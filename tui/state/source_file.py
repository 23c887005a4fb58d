"""Lines of a source file that a trace names, read from this machine with care.

The name comes from a file of somebody else's: only regular Python files of a sane size are opened,
and what they hold is made safe to show.
"""

from __future__ import annotations

import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ptx.profiling.sanitise import clean

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_AROUND = 8
_LARGEST_BYTES = 4_000_000
_LONGEST_LINE = 400
_SUFFIXES = (".py", ".pyi", ".pyx")


class SourceMissingError(Exception):
    """The lines cannot be shown; the text says why."""


@dataclass(frozen=True, slots=True)
class FileLine:
    """A line of a source file, counted from 1; the path is as the trace has it."""

    path: str
    line: int


def lines_around(place: FileLine, folders: Sequence[Path]) -> str:
    """Returns the line with 8 lines before and behind it, numbered, the line itself marked.

    Args:
        place: the line.
        folders: where to look for a path that is not absolute, in this order.

    Raises:
        SourceMissingError: there is no such file here, or it cannot be the one.
    """
    text = _read(place, folders)
    lines = text.splitlines()
    if not 1 <= place.line <= len(lines):
        raise SourceMissingError(f"has {len(lines)} lines here: changed since the recording?")
    first = max(0, place.line - 1 - _AROUND)
    shown = lines[first : place.line + _AROUND]
    width = len(str(first + len(shown)))
    return "\n".join(
        f"{'>' if number == place.line else ' '} {number:>{width}}  "
        f"{clean(line.expandtabs(4)[:_LONGEST_LINE])}"
        for number, line in enumerate(shown, first + 1)
    )


def _read(place: FileLine, folders: Sequence[Path]) -> str:
    for folder in folders:
        path = folder / place.path  # an absolute path stays itself
        try:
            found = path.stat()
            if path.suffix not in _SUFFIXES or not stat.S_ISREG(found.st_mode):
                continue
            if found.st_size > _LARGEST_BYTES:
                raise SourceMissingError("is too large to show")
            return path.read_text(encoding="utf-8", errors="replace")
        except (OSError, ValueError):  # ValueError: a NUL in the name
            continue
    raise SourceMissingError("is not on this machine")
