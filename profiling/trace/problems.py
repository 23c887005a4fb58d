"""What was repaired, skipped or flagged while reading: stable codes with counts and positions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

FIRST_POSITIONS = 8
"""How many positions of a problem are kept; its count is always complete."""


@dataclass(slots=True)
class Problem:
    """A kind of problem: its stable code, what it means to a user, and where it was seen first.

    `positions` are the ids of the first events, `dropped` the first stretches of text (byte offset,
    length) of which nothing is left, `dropped_bytes` the length of all of them.
    """

    code: str
    message: str
    count: int = 0
    positions: list[int] = field(default_factory=list)
    dropped: list[tuple[int, int]] = field(default_factory=list)
    dropped_bytes: int = 0


MESSAGES = {
    "truncated": "the file ends early; everything before the cut is shown",
    "truncated-archive": "the archive ends early or is damaged; everything before that is shown",
    "open-list": "the list of events has no closing bracket, which its format allows; the writer "
    "may have been stopped between two events",
    "changed": "the file changed while it was read; it may still be written",
    "refused": "events that are no valid JSON were left out",
    "not-an-event": "elements of the event list are no events; they count for nothing",
    "odd-types": "events hold another type than their fields should; read as far as possible",
    "unescaped-quote": "names hold quotes that the writer did not escape; put right",
    "backslash": "names hold a backslash that the writer did not escape; taken as it stands",
    "control-byte": "texts hold raw control bytes; shown as visible characters",
    "bad-utf8": "texts hold bytes that are not UTF-8; shown as a replacement character",
    "not-a-number": "numbers are NaN or infinite; taken as absent",
    "empty-value": "fields have no value; taken as absent",
    "bare-word": "values are words without quotes; taken as text",
    "comma": "commas are missing or too many; read as if they were right",
    "bad-header": "the part outside the event list is no valid JSON; left out as far as needed",
    "no-timestamp": "events have no time; they count for nothing",
    "no-duration": "events have no duration; they count 0 ns",
    "unfinished": "events were still running when the profiler stopped; they count 0 ns",
    "unmatched-begin": "begin events have no end; they count 0 ns",
    "unmatched-end": "end events have no begin; left out",
    "negative-duration": "events have a negative duration; they count 0 ns",
}


class Problems:
    """The problems of one file, by code, in the order of first sight."""

    def __init__(self) -> None:
        self._by_code: dict[str, Problem] = {}

    def add(self, code: str, count: int = 1, positions: list[int] | None = None) -> None:
        """Counts `count` more problems of a code; a count of 0 changes nothing."""
        if count <= 0:
            return
        problem = self._by_code.get(code)
        if problem is None:
            problem = self._by_code[code] = Problem(code, MESSAGES[code])
        problem.count += count
        room = FIRST_POSITIONS - len(problem.positions)
        problem.positions.extend((positions or [])[:room])

    def drop(self, code: str, offset: int, length: int) -> None:
        """Notes a stretch of text that a problem already counted has cost."""
        problem = self._by_code[code]
        problem.dropped_bytes += length
        if len(problem.dropped) < FIRST_POSITIONS:
            problem.dropped.append((offset, length))

    def __iter__(self) -> Iterator[Problem]:
        return iter(self._by_code.values())

    def __len__(self) -> int:
        return len(self._by_code)

    def get(self, code: str) -> Problem | None:
        """Returns the problem of a code, None if it was not met."""
        return self._by_code.get(code)
