"""Reads one JSON value that a strict parser refuses, and says what was wrong with it.

The damage met in real traces: quotes and backslashes that the writer did not escape (names of
`record_function`, Windows paths), raw control bytes, numbers as C++ prints them (`nan`, `-inf`),
fields without a value, commas too many. A string ends at the first quote behind which the text
goes on as JSON must go on there; that is how a quote inside a name is told from its end.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ptx.profiling.trace.timestamps import ExactFloat

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_STRING = 1 << 16
_MAX_DEPTH = 64
_MAX_DIGITS = 400  # what a float64 can hold; Python refuses to read integers of some thousands
_BLANK = re.compile(r"[ \t\r\n]*")
_BARE = re.compile(r"[^,\]\}\[\{\"\s]+")
_NUMBER = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?\Z")
_NOT_A_NUMBER = re.compile(r"[+-]?(nan|inf|1\.#)[\w().#]*\Z", re.IGNORECASE)
_WORDS = {"true": True, "false": False, "null": None, "True": True, "False": False, "None": None}
_CONTROL = re.compile(r"[\x00-\x1f]")
# what must follow a string's closing quote, by where the string stands
_AFTER_KEY = re.compile(r"\s*:")
_AFTER_MEMBER = re.compile(r"\s*(,\s*\"[^\"]{0,200}\"\s*:|,?\s*\})")
_AFTER_ITEM = re.compile(r"\s*(,\s*[\"\[\{\-\d\w]|,?\s*\])")
EVENT_KEY = r"\"(?:ph|cat|name|pid|tid|ts|dur|id|args|s|bp)\"\s*:"
NEXT_EVENT = re.compile(r"\}\s*,\s*(?=\{\s*" + EVENT_KEY + ")")
# the start of an event, or more of its own members than a text would quote
_EVENT_START = re.compile(
    r"[,\[]\s*\{\s*" + EVENT_KEY + r"|,\s*\"(?:ph|cat|pid|tid|ts|dur|args)\"\s*:"
)
_NEXT_MEMBER = re.compile(r"\s*,\s*\"[^\"\\]{0,200}\"\s*:")
_ESCAPES = re.compile(r"[^\\]*(?:\\(?:[\"\\/bfnrt]|u[0-9a-fA-F]{4})[^\\]*)*\Z")


class LenientError(ValueError):
    """The text is no JSON even so; `ran_out` says that it ended before the value did."""

    def __init__(self, *, ran_out: bool) -> None:
        super().__init__("the text ends inside a value" if ran_out else "no JSON")
        self.ran_out = ran_out


@dataclass(slots=True)
class LenientParser:
    """Parses a value at an offset of `text`; `repairs` collects the codes of what was repaired.

    `more` says that the text goes on behind what is at hand: then its end proves nothing.
    """

    text: str
    more: bool = False
    repairs: set[str] = field(default_factory=set)

    def parse(self, position: int) -> tuple[object, int]:
        """Returns (value, offset behind it).

        Raises:
            LenientError: no value can be read there.
        """
        return self._value(position, _AFTER_ITEM, 0)

    def member(self, position: int, depth: int = 1) -> tuple[dict[str, object], int]:
        """Returns (the member of an object whose key starts there, offset behind it).

        Raises:
            LenientError: no member can be read there.
        """
        key, position = self._string(position, _AFTER_KEY)
        position = self._skip(position)
        if self.text[position] != ":":
            raise LenientError(ran_out=False)
        value, position = self._value(position + 1, _AFTER_MEMBER, depth)
        return {key: value}, position

    def _value(self, position: int, after: re.Pattern[str], depth: int) -> tuple[object, int]:
        if depth > _MAX_DEPTH:
            raise LenientError(ran_out=False)
        position = self._skip(position)
        letter = self.text[position]
        if letter == "{":
            return self._object(position + 1, depth)
        if letter == "[":
            return self._array(position + 1, depth)
        if letter == '"':
            return self._string(position, after)
        if letter in ",}]":
            self.repairs.add("empty-value")
            return None, position
        match = _BARE.match(self.text, position)
        if match is None:
            raise LenientError(ran_out=False)
        if match.end() == len(self.text):
            raise LenientError(ran_out=True)
        return self._bare(match[0]), match.end()

    def _bare(self, word: str) -> object:
        if _NUMBER.match(word) and len(word) < _MAX_DIGITS:
            return ExactFloat(word) if set(word) & set(".eE") else int(word)
        if word in _WORDS:
            return _WORDS[word]
        if _NOT_A_NUMBER.match(word) or _NUMBER.match(word):
            self.repairs.add("not-a-number")
            return None
        self.repairs.add("bare-word")
        return word

    def _object(self, position: int, depth: int) -> tuple[dict[str, object], int]:
        members: dict[str, object] = {}

        def take(position: int) -> int:
            if self.text[position] != '"':
                raise LenientError(ran_out=False)
            member, end = self.member(position, depth + 1)
            if "unescaped-quote" in self.repairs and not members.keys().isdisjoint(member):
                raise LenientError(ran_out=False)  # a text took in the start of the next event
            members.update(member)
            return end

        return members, self._up_to("}", position, take)

    def _array(self, position: int, depth: int) -> tuple[list[object], int]:
        items: list[object] = []

        def take(position: int) -> int:
            if self.text[position] == "}":
                raise LenientError(ran_out=False)
            item, end = self._value(position, _AFTER_ITEM, depth + 1)
            items.append(item)
            return end

        return items, self._up_to("]", position, take)

    def _up_to(self, closing: str, position: int, take: Callable[[int], int]) -> int:
        """Takes what commas set apart up to a bracket; returns the offset behind that."""
        commas = 1  # none is due in front of the first
        is_first = True
        while True:
            position = self._skip(position)
            letter = self.text[position]
            if letter == closing:
                self._check_commas(commas - is_first, 0)
                return position + 1
            if letter == ",":
                commas += 1
                position += 1
                continue
            self._check_commas(commas, 1)
            position = take(position)
            commas, is_first = 0, False

    def _check_commas(self, found: int, due: int) -> None:
        if found != due:
            self.repairs.add("comma")

    def _string(self, position: int, after: re.Pattern[str]) -> tuple[str, int]:
        start = position + 1
        limit = start + MAX_STRING
        end = start
        inner_quotes = False
        while True:
            end = self.text.find('"', end, limit)
            if end < 0:
                raise LenientError(ran_out=len(self.text) <= limit)
            ends = after.match(self.text, end + 1)
            if ends and not self._is_escaped(start, end, after):
                if self.more and ends.end() == len(self.text):
                    raise LenientError(ran_out=True)
                break
            inner_quotes |= not self._is_escaped(start, end, after)
            end += 1
        raw = self.text[start:end]
        if inner_quotes:
            # no text with quotes in it, but one without an end
            if _EVENT_START.search(raw) or (after is _AFTER_KEY and "{" in raw):
                raise LenientError(ran_out=False)
            self.repairs.add("unescaped-quote")
        return self._content(raw), end + 1

    def _is_escaped(self, start: int, end: int, after: re.Pattern[str]) -> bool:
        """Returns whether a backslash escapes the quote at `end`.

        A Windows folder may end in a backslash that escapes nothing: if no other quote can end
        the string before the line does, this one ends it.
        """
        slashes = 0
        while end - slashes > start and self.text[end - slashes - 1] == "\\":
            slashes += 1
        if slashes % 2 == 0:
            return False
        if after is _AFTER_MEMBER and _NEXT_MEMBER.match(self.text, end + 1):
            return False  # behind an escaped quote the next bare one would end the string
        line_end = self.text.find("\n", end)
        if self.more and line_end < 0:
            raise LenientError(ran_out=True)
        following = self.text.find('"', end + 1, line_end if line_end >= 0 else len(self.text))
        while following >= 0:
            if after.match(self.text, following + 1):
                return True
            following = self.text.find('"', following + 1)
        return False

    def _content(self, raw: str) -> str:
        if _CONTROL.search(raw):
            self.repairs.add("control-byte")
        if "\\" not in raw:
            return raw
        if not _ESCAPES.match(raw):
            # one that is no escape shows that this writer escapes none: all of them are literal
            self.repairs.add("backslash")
            return raw.replace('\\"', '"')
        quoted = re.sub(r'(?<!\\)((?:\\\\)*)"', r'\1\\"', raw)
        return str(json.loads(f'"{quoted}"', strict=False))

    def _skip(self, position: int) -> int:
        match = _BLANK.match(self.text, position)
        position = match.end() if match else position
        if position >= len(self.text):
            raise LenientError(ran_out=True)
        return position
