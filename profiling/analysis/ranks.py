"""Which rank of a distributed job a trace is of."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ptx.profiling.trace.reader import TraceFile

_IN_NAME = re.compile(r"(?:^|[^A-Za-z])rank[-_=.]?(\d{1,7})(?!\d)", re.IGNORECASE)


def rank_of(trace: TraceFile) -> int | None:
    """Returns the rank that the header states, else the one in the file's name, else None."""
    stated = trace.header.rank
    return rank_in_name(trace.path.name) if stated is None else stated


def rank_in_name(name: str) -> int | None:
    """Returns the number behind the word "rank" in a name: `rank_3`, `rank-3`, `rank3of8`."""
    found = _IN_NAME.search(name)
    return None if found is None else int(found[1])
