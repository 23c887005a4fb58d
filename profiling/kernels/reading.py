"""A name while it is being read: the range in question and what was found so far."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from ptx.profiling.kernels.words import UNKNOWN

if TYPE_CHECKING:
    from ptx.profiling.kernels.model import FieldValue

CUT_MARKS = ("...", "…")
CUT_LENGTHS = frozenset((40, 64, 8192))
"""Lengths at which known tools cut a name without a mark."""

MAX_READ = 16384
"""Characters of a name that are looked at; the longest real ones have a few thousand."""

_DELIMITERS = " \t_:<>(){}[],"
_LEADING = re.compile(r"\s*(?:(?:void|static|__global__)\s+)*")
_FIRST_SIGNS = ("void", "static", "__global__", *" \t\n\r\f\v")
_CLONE = re.compile(r"\s*\[clone [^\]]*\]?\s*\Z")


class Token(NamedTuple):
    """A word of a name and where it stands."""

    text: str
    start: int
    end: int


class Reading:
    """Collects what the rules read from one name.

    Attributes:
        name: the whole name.
        start: where the part that is to be read starts.
        end: where it ends; the last word of a cut name lies behind it.
        cut: the name's tail is missing.
    """

    __slots__ = (
        "cut", "end", "family", "fields", "name", "notes", "rule", "spans", "start", "unread",
        "vendor",
    )  # fmt: skip

    def __init__(self, name: str, cut: bool | None) -> None:
        self.name = name
        self.family = UNKNOWN
        self.vendor: str | None = None
        self.rule = ""
        self.fields: dict[str, FieldValue] = {}
        self.spans: dict[str, tuple[int, int]] = {}
        self.notes: list[str] = []
        self.unread: list[str] = []
        self.start, self.end, self.cut = _clean_range(name, cut)

    @property
    def text(self) -> str:
        """Returns the part that is to be read."""
        return self.name[self.start : self.end]

    def be(self, family: str, vendor: str | None, rule: str) -> None:
        """Sets the family, its vendor and the source of the rule."""
        self.family, self.vendor, self.rule = family, vendor, rule

    def put(self, key: str, value: FieldValue, start: int, end: int) -> None:
        """Records a field read from name[start:end]."""
        self.fields[key] = value
        self.spans[key] = (start, end)

    def take(self, key: str, value: FieldValue, token: Token) -> None:
        """Records a field read from a token."""
        self.put(key, value, token.start, token.end)

    def leave_unread(self, text: str) -> None:
        """Records that a part was not understood."""
        if text and len(self.unread) < 12 and text not in self.unread:
            self.unread.append(text[:60])

    def words(self, separator: str = "_") -> list[Token]:
        """Returns the words of the range, split at the separator.

        The word that a cut leaves empty at the end is not one.
        """
        tokens = split(self.name, self.start, self.end, separator)
        if self.cut and tokens and not tokens[-1].text:
            tokens.pop()
        return tokens


def split(name: str, start: int, end: int, separator: str = "_") -> list[Token]:
    """Returns the words of name[start:end], empty ones included."""
    tokens = []
    position = start
    for word in name[start:end].split(separator):
        tokens.append(Token(word, position, position + len(word)))
        position += len(word) + len(separator)
    return tokens


def _clean_range(name: str, cut: bool | None) -> tuple[int, int, bool]:
    end = min(len(name), MAX_READ)
    marked = bool(cut) or end < len(name)
    if not marked and cut is None and len(name) in CUT_LENGTHS:
        marked = True
    stripped = name[:end].rstrip()
    if end == len(name) and stripped.endswith(CUT_MARKS):
        marked = True
        for mark in CUT_MARKS:
            stripped = stripped.removesuffix(mark)
    end = len(stripped)
    if not marked:
        if stripped.endswith("]") and (clone := _CLONE.search(stripped, max(0, end - 200))):
            end = clone.start()
        if name.endswith(".kd", 0, end):
            end -= 3
    start = 0
    if name.startswith(_FIRST_SIGNS) and (leading := _LEADING.match(name, 0, end)):
        start = leading.end()
    if marked:
        end = max(start, *(name.rfind(sign, start, end) + 1 for sign in _DELIMITERS))
    return start, max(start, end), marked
