"""Reads the names inside mangled C++ symbols, whose lengths the symbol states.

This is no demangler: it reads the qualified name of the outermost function and the plain ones among
its first template arguments, and stops at whatever needs more.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ptx.profiling.kernels.reading import Token

_LENGTH = re.compile(r"[0-9]{1,4}")
_LITERAL = re.compile(r"L([a-z])(n?[0-9]{1,12})E")
_SUBSTITUTION = re.compile(r"S[0-9A-Z]*_|S[tabsiod]")
_BUILTIN = {
    "f": "float", "d": "double", "i": "int", "j": "unsigned int", "l": "long",
    "m": "unsigned long", "x": "long long", "y": "unsigned long long", "s": "short",
    "t": "unsigned short", "a": "signed char", "h": "unsigned char", "c": "char", "b": "bool",
    "e": "long double",
}  # fmt: skip
_ANONYMOUS = "_GLOBAL__N_"

_MAX_PARTS = 32


class Mangled(NamedTuple):
    """The outermost name of a symbol and the template arguments that can be read plainly.

    Attributes:
        names: the components; an anonymous namespace is ''.
        last: the last component and where it stands.
        arguments: the leading template arguments: names, numbers and plain types as text.
    """

    names: tuple[str, ...]
    last: Token
    arguments: tuple[Token, ...]


def read_mangled(text: str, start: int, end: int) -> Mangled | None:
    """Returns the outermost name of a `_Z...` symbol; None if it cannot be read."""
    for prefix in ("_ZTSN", "_ZTS", "_ZN", "_Z"):
        if text.startswith(prefix, start, end):
            position = start + len(prefix)
            break
    else:
        return None
    nested = prefix.endswith("N")
    names, position, last = _names(text, position, end, nested)
    if last is None:
        return None
    arguments: list[Token] = []
    if position < end and text[position] == "I":
        arguments = _arguments(text, position + 1, end)
    return Mangled(tuple(names), last, tuple(arguments))


def _names(text: str, position: int, end: int, nested: bool) -> tuple[list[str], int, Token | None]:
    names: list[str] = []
    last = None
    for _ in range(_MAX_PARTS):
        if nested and (substitution := _SUBSTITUTION.match(text, position, end)):
            position = substitution.end()
            continue
        length = _LENGTH.match(text, position, end)
        if not length:
            break
        start = length.end()
        stop = start + int(length.group())
        if stop > end or start == stop:
            return names, position, None
        word = text[start:stop]
        last = Token(word, start, stop)
        names.append("" if word.startswith(_ANONYMOUS) else word)
        position = stop
        if not nested:
            break
    return names, position, last


def _arguments(text: str, position: int, end: int) -> list[Token]:
    arguments: list[Token] = []
    while position < end and len(arguments) < _MAX_PARTS:
        head = text[position]
        if literal := _LITERAL.match(text, position, end):
            value = literal.group(2).replace("n", "-")
            arguments.append(Token(value, *literal.span(2)))
            position = literal.end()
        elif head in _BUILTIN:
            arguments.append(Token(_BUILTIN[head], position, position + 1))
            position += 1
        elif text.startswith(("DF16b", "DF16_"), position) and position + 5 <= end:
            kind = "__bf16" if text[position + 4] == "b" else "_Float16"
            arguments.append(Token(kind, position, position + 5))
            position += 5
        elif head == "N" or head.isdigit():
            nested = head == "N"
            _, after, last = _names(text, position + nested, end, nested)
            if last is None:
                break
            arguments.append(last)
            if nested and not text.startswith("E", after, end):
                # The argument has arguments of its own: where it ends takes a demangler.
                break
            position = after + nested
            if position < end and text[position] == "I":
                break
        else:
            break
    return arguments
