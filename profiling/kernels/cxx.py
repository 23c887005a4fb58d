"""Splits C++ names as compilers and profilers print them, in one pass and without recursion."""

from __future__ import annotations

import re
from typing import NamedTuple

_OUTER = re.compile(
    r"\(anonymous namespace\)|<unnamed>|operator(?:\(\)|<=>|->|<<|>>|<=|>=|<|>)|->|[<({\[,]|::| "
)
# Balanced groups up to two deep, such as `(float)`, `<a<4>, b>` and `{lambda(int)#1}`, count as one
# token. No two parts of the pattern can match the same text, so that it runs in linear time.
_PLAIN = r"[^<>(){}\[\]]*"
_GROUP = rf"(?:<{_PLAIN}>|\({_PLAIN}\)|\{{lambda\({_PLAIN}\)#[0-9]+\}})"
_INNER = re.compile(
    r"operator(?:\(\)|<=>|->|<<|>>|<=|>=|<|>)|->|\{lambda\([^<>(){}\[\]]*\)#[0-9]+\}"
    rf"|\({_PLAIN}(?:{_GROUP}{_PLAIN})*\)|<{_PLAIN}(?:{_GROUP}{_PLAIN})*>|[<>(){{}}\[\],]"
)
_QUALIFIERS = re.compile(r"(?:(?:[A-Za-z_]\w*|\(anonymous namespace\))::)+")
_PAIRS = {">": "<", ")": "(", "}": "{", "]": "["}
_LITERAL = re.compile(r"(?:\([^()]*\)\s*)?(-?[0-9]+)(?:[uU]?[lL]{0,2}|[lL]{1,2}[uU]?)\Z")

MAX_ARGUMENTS = 256
"""Arguments that are kept of a list; no real one is near."""

MAX_DEPTH = 200
"""Brackets within brackets that are followed; real names have a few dozen."""


class Cxx(NamedTuple):
    """A qualified C++ name: `a::b<x, y>` gives the names (a, b) and the arguments of b.

    Attributes:
        names: the components without their template arguments; an anonymous namespace is ''.
        arguments: the ranges of the last component's template arguments; None if it has none.
        owners: the same for each component.
        name_start: where the last component starts.
        name_end: where it ends, without its template arguments.
        end: where reading stopped: at the parameter list or at the end.
        closed: no bracket was left open.
        open_at: where the template argument starts that the end cuts; -1 if none is cut.
    """

    names: tuple[str, ...]
    arguments: tuple[tuple[int, int], ...] | None
    owners: tuple[tuple[tuple[int, int], ...] | None, ...]
    name_start: int
    name_end: int
    end: int
    closed: bool
    open_at: int = -1

    @property
    def name(self) -> str:
        """Returns the last component."""
        return self.names[-1]

    def first_argument(self, end: int) -> tuple[int, int] | None:
        """Returns the range of the first template argument, up to `end` if that cuts it."""
        if self.arguments:
            return self.arguments[0]
        return (self.open_at, end) if self.open_at >= 0 else None

    @property
    def path(self) -> str:
        """Returns the components joined, without anonymous namespaces."""
        return "::".join(filter(None, self.names))


def parse(text: str, start: int, end: int) -> Cxx:
    """Returns the qualified name at text[start:end], read up to its parameter list."""
    names: list[str] = []
    owners: list[tuple[tuple[int, int], ...] | None] = []
    arguments: tuple[tuple[int, int], ...] | None = None
    begin, name_end, position, stop = start, -1, start, end
    if plain := _QUALIFIERS.match(text, start, end):
        words = plain.group()[:-2].split("::")
        names = ["" if word[0] == "(" else word for word in words]
        owners = [None] * len(words)
        begin = position = plain.end()
    open_at = -1
    closed = True
    while closed and (match := _OUTER.search(text, position, end)):
        token, at, position = match.group(), match.start(), match.end()
        if token == "::":
            names.append(_component(text, begin, at if name_end < 0 else name_end))
            owners.append(arguments)
            arguments, name_end, begin = None, -1, position
        elif token == "<":
            if name_end < 0:
                name_end = at
            arguments, position, closed, open_at = _inside(text, position, end, "<")
        elif token == " ":
            if text.startswith(("const", "*", "&", "["), position):
                stop = at
                break
            if text[begin:at] not in ("unsigned", "signed", "long"):
                # What came before was the return type.
                names, owners, arguments, name_end, begin = [], [], None, -1, position
        elif token == "," or (token == "(" and (begin != at or names)):
            stop = at
            break
        elif token in ("(", "{", "["):
            _, position, closed, _ = _inside(text, position, end, token)
    if name_end < 0:
        name_end = stop
    names.append(_component(text, begin, name_end))
    owners.append(arguments)
    return Cxx(tuple(names), arguments, tuple(owners), begin, name_end, stop, closed, open_at)


def _component(text: str, start: int, end: int) -> str:
    word = text[start:end].strip()
    return "" if word[:1] in "(<" and word in ("(anonymous namespace)", "<unnamed>") else word


def _inside(
    text: str, position: int, end: int, opening: str
) -> tuple[tuple[tuple[int, int], ...], int, bool, int]:
    """Returns what stands between brackets, split at commas, where it ends, and if it was closed.

    An item that is cut is left out; the last value is where it starts.
    """
    items: list[tuple[int, int]] = []
    stack = [opening]
    begin = position
    for match in _INNER.finditer(text, position, end):
        token = match.group()
        if token == ",":
            if len(stack) == 1 and len(items) < MAX_ARGUMENTS:
                items.append(_trim(text, begin, match.start()))
                begin = match.end()
        elif len(token) > 1:
            continue
        elif token in "<({[":
            if len(stack) == MAX_DEPTH:
                break
            stack.append(token)
        else:
            partner = _PAIRS[token]
            if stack[-1] == partner:
                stack.pop()
            elif token != ">" and partner in stack:
                # A stray bracket of another kind closes what was opened since its partner.
                while stack.pop() != partner:
                    pass
            if not stack:
                last = _trim(text, begin, match.start())
                if items or last[0] < last[1]:
                    items.append(last)
                return tuple(items), match.end(), True, -1
    return tuple(items), end, False, begin


def literal(text: str) -> int | None:
    """Returns the number of `4`, `4u`, `(int)4`, `4ul`; None if it is none."""
    match = _LITERAL.match(text)
    return int(match.group(1)[:18]) if match else None


def boolean(text: str) -> bool | None:
    """Returns the value of `true`, `(bool)1`, `0`; None if it is neither."""
    if text in ("true", "false"):
        return text == "true"
    number = literal(text)
    return None if number not in (0, 1) else bool(number)


def last_lambda_types(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Returns the range of the parameters of the last lambda in text[start:end]."""
    opening = max(text.rfind("{lambda(", start, end), text.rfind("[lambda(", start, end))
    if opening < 0:
        return None
    begin = opening + len("{lambda(")
    closing = text.find(")", begin, end)
    return None if closing < 0 else (begin, closing)


def _trim(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and text[start] == " ":
        start += 1
    while start < end and text[end - 1] == " ":
        end -= 1
    return start, end
