"""Which rank of a distributed job a trace is of."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ptx.profiling.trace.reader import TraceFile

_IN_NAME = re.compile(r"(?:^|[^A-Za-z])rank[-_=.]?(\d{1,7})(?!\d)", re.IGNORECASE)
_GROUP = "rank"
# of the whole process: the explorer asks from threads and tasks that inherit no context
_asked: list[re.Pattern[str]] = []


def rank_of(trace: TraceFile) -> int | None:
    """Returns the rank of a trace, None where nothing tells it.

    The user's pattern (`ranks_by`) goes before the header, the header before the file's name.
    """
    asked = rank_by(_asked[-1], trace.path.as_posix()) if _asked else None
    if asked is not None:
        return asked
    stated = trace.header.rank
    return rank_in_name(trace.path.name) if stated is None else stated


@contextmanager
def ranks_by(pattern: re.Pattern[str] | None) -> Iterator[None]:
    """Makes `rank_of` ask a pattern of `rank_pattern` first until the block ends; None for none."""
    if pattern is None:
        yield
        return
    _asked.append(pattern)
    try:
        yield
    finally:
        _asked.pop()


def rank_pattern(text: str) -> re.Pattern[str]:
    """Returns a pattern that finds a rank in the path of a file.

    Its group named `rank`, else its first group, holds the number.

    Raises:
        ValueError: it is no regular expression, or has no group; in a few words.
    """
    try:
        pattern = re.compile(text)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"no regular expression, {error}") from error
    if not pattern.groups:
        raise ValueError(r"no group that holds the number, such as rank(\d+)")
    return pattern


def rank_by(pattern: re.Pattern[str], path: str) -> int | None:
    """Returns the number that a pattern of `rank_pattern` finds in a path (with `/`), else None."""
    found = pattern.search(path)
    number = None if found is None else found[_GROUP if _GROUP in pattern.groupindex else 1]
    return int(number) if number and number.isdecimal() and len(number) <= 7 else None


def rank_in_name(name: str) -> int | None:
    """Returns the number behind the word "rank" in a name: `rank_3`, `rank-3`, `rank3of8`."""
    return rank_by(_IN_NAME, name)
