"""Cuts the text of a trace into its head, chunks of whole events, and its tail.

A chunk holds the text of consecutive elements of the event list without the list's brackets. In
indented files (Kineto's own layout) newline + indent + `},` newline + indent + `{` can stand only
between two events, so any hit is a right place to cut; elsewhere `} , {` is a candidate and a
chunk is right exactly if it decodes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_EVENTS_KEY = re.compile(rb'"traceEvents"\s*:\s*\[')
# without any indent the separator can also stand inside an event, between objects of a list
_FIRST_INDENT = re.compile(rb"\s*?(\r?\n)([ \t]+)\{")
CANDIDATE = re.compile(rb"\}\s*,\s*\{")
ARRAY_END = re.compile(rb"\}\s*\]")
_HEAD_LIMIT_BYTES = 256 << 20
_SHOWN_HEAD_BYTES = 1 << 16
_BLANKS = b"\xef\xbb\xbf \t\r\n"
_MAX_GUESSES = 16
_CANDIDATE_WINDOW_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class Layout:
    """How events are set apart: the exact separator of an indented file, or None elsewhere."""

    separator: bytes | None

    @classmethod
    def of(cls, after_bracket: bytes) -> Layout:
        """Returns the layout from the text that follows the event list's opening bracket."""
        match = _FIRST_INDENT.match(after_bracket)
        if match is None:
            return cls(None)
        line = match[1] + match[2]
        separator = line + b"}," + line + b"{"
        return cls(separator if separator in after_bracket else None)


@dataclass(frozen=True, slots=True)
class Head:
    """What precedes the first event: the head's text, and how many bytes up to the first event."""

    text: bytes
    is_list: bool
    events_offset: int


class NoEventsError(ValueError):
    """The text has no event list; `head` is its beginning."""

    def __init__(self, what: str, head: bytes) -> None:
        super().__init__(what)
        self.head = head


def split_head(blocks: Iterator[bytes]) -> tuple[Head, bytes]:
    """Returns the head and the text read after it; reads as many blocks as that takes.

    Raises:
        NoEventsError: there is no `"traceEvents": [` and the text is no list of objects.
    """
    text = b""
    searched = 0
    for block in blocks:
        text += block
        start = text.lstrip(_BLANKS)
        if start.startswith(b"["):
            at = len(text) - len(start) + 1
            return Head(b"", is_list=True, events_offset=at), text[at:]
        if start and not start.startswith(b"{"):
            raise NoEventsError("not JSON", start[:_SHOWN_HEAD_BYTES])
        match = _EVENTS_KEY.search(text, max(0, searched - 64))
        if match is not None:
            head = Head(text[: match.start()], is_list=False, events_offset=match.end())
            return head, text[match.end() :]
        searched = len(text)
        if searched > _HEAD_LIMIT_BYTES:
            break
    raise NoEventsError(
        "a JSON object without a list of events", text.lstrip(_BLANKS)[:_SHOWN_HEAD_BYTES]
    )


@dataclass(frozen=True, slots=True)
class Piece:
    """Text of whole events as far as the splitter knows, at `offset` of the file's text.

    `last` marks the rest of the text, which also holds the list's end and what follows it.
    """

    offset: int
    text: bytes
    last: bool


class Splitter:
    """Cuts blocks of the event list into pieces of whole events."""

    def __init__(self, layout: Layout, offset: int) -> None:
        self._layout = layout
        self._offset = offset
        self._carry: list[bytes] = []
        self._gap = b""  # what stood between the last piece and what is carried

    def feed(self, block: bytes) -> Piece | None:
        """Returns what is whole once `block` is added, None while no event ends in it."""
        cut, skip = _last_cut(block, self._layout)
        if cut < 0:
            self._carry.append(block)
            return None
        text = b"".join((*self._carry, block[:cut]))
        piece = Piece(self._offset, text, last=False)
        self._offset += len(text) + skip
        self._gap = block[cut : cut + skip]
        self._carry = [block[cut + skip :]]
        return piece

    def give_back(self, piece: Piece, used: int) -> None:
        """Puts what follows the first `used` bytes of the last piece in front of the next one."""
        # the gap as it was: the cut may have been inside a string
        self._carry = [piece.text[used:], self._gap, *self._carry]
        self._offset = piece.offset + used

    def rest(self) -> bytes:
        """Returns the text read so far that follows the last piece."""
        return b"".join((self._gap, *self._carry))

    def finish(self) -> Piece:
        """Returns the rest of the text: last events, the list's end, and what follows it."""
        return Piece(self._offset, b"".join(self._carry), last=True)


def _last_cut(block: bytes, layout: Layout) -> tuple[int, int]:
    """Returns (end of the last whole event, bytes from there to the next `{`), or (-1, 0)."""
    if layout.separator is not None:
        at = block.rfind(layout.separator)
        if at < 0:
            return -1, 0
        brace = layout.separator.index(b"}") + 1
        return at + brace, len(layout.separator) - brace - 1
    found = list(CANDIDATE.finditer(block, max(0, len(block) - _CANDIDATE_WINDOW_BYTES)))
    if not found:
        return -1, 0
    last = found[-1]
    return last.start() + 1, len(last[0]) - 2


def end_of_indented(separator: bytes) -> bytes:
    """Returns the pattern of an indented list's last event (group 1) and closing bracket.

    The last element may be one line, as the `{}` that some writers put behind their last comma.
    """
    line = re.escape(separator[: separator.index(b"}")])
    return b"(" + line + rb"(?:\}|(?:\{.*\}|null)(?=[ \t\r]*\n)))\s*\]"


def find_end(text: bytes, layout: Layout) -> Iterator[tuple[int, int]]:
    """Yields where the event list may end: (end of its last event, end of its bracket).

    Exact in an indented file, unless its last event has a layout of its own; elsewhere guesses
    from the text's end backwards, right exactly if what precedes them decodes.
    """
    if layout.separator is not None:
        match = re.compile(end_of_indented(layout.separator)).search(text)
        if match is not None:
            yield match.end(1), match.end()
    end = len(text)
    for _ in range(_MAX_GUESSES):
        at = text.rfind(b"]", 0, end)
        if at < 0:
            return
        body = text[:at].rstrip()
        if body.endswith(b"}"):
            yield len(body), at + 1
        end = at
