"""Begin and end events put together: the begin becomes a slice with a duration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ptx.profiling.trace.columns import Flag, Phase

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Unmatched:
    """Event ids of the begins without an end, and of the ends without a begin."""

    begins: NDArray[np.intp]
    ends: NDArray[np.intp]


_NONE = Unmatched(np.zeros(0, np.intp), np.zeros(0, np.intp))


def pair_events(columns: dict[str, NDArray[Any]], names: tuple[str, ...]) -> Unmatched:
    """Gives each begin event the time to its end as duration, in place; returns the rest.

    Per thread and in the order of time. An end closes the innermost open begin of its name, so
    that a foreign end does no harm; where no begin of that name is open, the innermost one of all
    if one name starts with the other (writers shorten names, or leave them out of ends). An end
    that stands in front of a begin of its name and time belongs to that one: it took no time.
    """
    phase = columns["phase"]
    timed = (columns["flags"] & np.uint8(Flag.NO_TIMESTAMP)) == 0
    rows = np.flatnonzero((phase == Phase.BEGIN) | (phase == Phase.END))
    if not len(rows):
        return _NONE
    columns["dur_ns"][rows] = 0
    untimed = rows[~timed[rows]]
    rows = rows[timed[rows]]
    thread, start_ns = columns["thread"][rows], columns["start_ns"][rows]
    order = np.lexsort((rows, start_ns, thread))
    begin = phase[rows] == Phase.BEGIN
    name = columns["name"][rows]
    first, until, lost = _match(order, thread, start_ns, name, begin, names)
    columns["dur_ns"][rows[first]] = start_ns[until] - start_ns[first]
    matched = np.zeros(len(phase), bool)
    matched[rows[first]] = True
    begins = rows[begin & ~matched[rows]]
    untimed_begin = phase[untimed] == Phase.BEGIN
    return Unmatched(
        np.sort(np.concatenate((begins, untimed[untimed_begin]))),
        np.sort(np.concatenate((rows[lost], untimed[~untimed_begin]))),
    )


def _match(
    order: NDArray[np.intp],
    thread: NDArray[np.int32],
    start_ns: NDArray[np.int64],
    name: NDArray[np.int32],
    begin: NDArray[np.bool_],
    names: tuple[str, ...],
) -> tuple[list[int], list[int], list[int]]:
    """Returns positions of (begins, their ends, ends without a begin)."""
    first: list[int] = []
    until: list[int] = []
    early: dict[tuple[int, int, int], list[int]] = {}
    stacks: dict[int, list[int]] = {}
    by_name: dict[tuple[int, int], list[int]] = {}
    closed = bytearray(len(thread))  # a begin leaves only one of its two stacks at once
    lanes, times, codes = thread.tolist(), start_ns.tolist(), name.tolist()
    is_begin = begin.tolist()
    for at in order.tolist():
        lane, code = lanes[at], codes[at]
        stack = stacks.setdefault(lane, [])
        same_name = by_name.setdefault((lane, code), [])
        if is_begin[at]:
            waiting = early.get((lane, times[at], code))
            if waiting:
                first.append(at)
                until.append(waiting.pop())
            else:
                stack.append(at)
                same_name.append(at)
            continue
        opened = _last_open(same_name, closed)
        if opened is None:
            opened = _last_open(stack, closed)
            if opened is not None and not _alike(names[codes[opened]], names[code]):
                opened = None
        if opened is None:
            early.setdefault((lane, times[at], code), []).append(at)
        else:
            closed[opened] = 1
            first.append(opened)
            until.append(at)
    return first, until, [at for waiting in early.values() for at in waiting]


def _last_open(stack: list[int], closed: bytearray) -> int | None:
    while stack and closed[stack[-1]]:
        stack.pop()
    return stack[-1] if stack else None


def _alike(name: str, other: str) -> bool:
    return name.startswith(other) or other.startswith(name)
