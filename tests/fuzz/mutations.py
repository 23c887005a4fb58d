"""Damage to a trace at the level of bytes, tokens, events and packing, by a seeded generator."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from tests.fuzz.packings import GZIP, ZSTD, damaged

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from tests.fuzz.windows import Window

Level: TypeAlias = Literal["byte", "token", "event", "gzip", "zstd"]
LEVELS: tuple[Level, ...] = ("byte", "token", "event", "gzip", "zstd")
Edit: TypeAlias = "tuple[int, int, bytes]"
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[-+\w.]+|[{}\[\],:]')
_STRING = re.compile(rb'"((?:[^"\\]|\\.)*)"')
_NUMBER = re.compile(rb"(?<=[:,\[ ])-?\d+(?:\.\d+)?(?=[,\s\]}])")
_MOST_EDITS = 3
_LITTLE = 200
_VALUES = (
    *(b"NaN", b"nan", b"-nan", b"Infinity", b"-Infinity", b"inf", b"1e999", b"-1e400", b"null"),
    *(b"true", b"false", b'""', b'"x"', b"[]", b"{}", b"[[]]", b'{"a": 1}', b"-0", b"0", b"-1"),
    *(b"9007199254740993", b"9223372036854775807", b"9223372036854775808", b"-9223372036854775809"),
    *(b"18446744073709551616", b"1" + b"0" * 30, b"7" * 400, b"1.5e308", b"0.1e-400", b'"12.5"'),
    *(b'"-1"', b'"0x1f"', b"01", b"+1", b".5", b"5.", b"1_000", b"0x10", b"1e", b"--1", b"None"),
    *(
        b'"1e3"',
        b'"NaN"',
        b'" 7 "',
        b"2147483648",
        b"-2147483649",
        b"4294967296",
        b"1e18",
        b"-1e18",
    ),
)
_TEXTS = (
    *(b'a"b', b'"', b"C:\\new\\table", b"\\", b"\\x", b"\\u12", b"\\ud800", b"\x00", b"\x1b[31m"),
    *(
        b"\n",
        b"\xff\xfe",
        b"\xc3",
        b"\xe2\x80\xae",
        b'"}, {"',
        b'"},{"ph":"X',
        b"}]",
        b'", "',
        b'":',
    ),
    *(
        b"a" * 70_000,
        b"{",
        b"]",
        b"</script>",
        "\U0001f600".encode(),
        b'\\"',
        b'\\\\"',
        b"/*",
        b"//",
    ),
)
_BYTES = b'"\\{}[],: \n\x00\xff0-e.u'


@dataclass(frozen=True)
class Mutant:
    """A damaged file: its bytes, its text, and which elements of the sound one it still holds.

    `intact` maps an element's number in the window to its place in the damaged text. `events` is
    the exact list of events where the damage left the file sound JSON.
    """

    level: Level
    kind: str
    data: bytes
    text: bytes
    intact: dict[int, tuple[int, int]]
    events: list[Any] | None = None
    edits: list[Edit] = field(default_factory=list)


def mutate(window: Window, rng: random.Random) -> Mutant:
    """Returns a damaged form of a window."""
    level = rng.choices(LEVELS, (8, 8, 6, 1, 1))[0]
    if level in ("gzip", "zstd"):
        return _packed(window, level, rng)
    if level == "event":
        return _events(window, rng)
    table = _BYTE_KINDS if level == "byte" else _TOKEN_KINDS
    kind = rng.choice(sorted(table))
    edits: list[Edit] = []
    for _ in range(rng.choice((1, 1, 1, 2, _MOST_EDITS))):
        with suppress(_NoTokenError):
            edits.extend(table[kind](window.text, rng))
    return edited(window, "byte" if level == "byte" else "token", kind, edits)


def edited(window: Window, level: Level, kind: str, edits: list[Edit]) -> Mutant:
    """Returns the window with stretches of its text replaced; those that overlap are left out."""
    text = window.text
    out: list[bytes] = []
    done: list[Edit] = []
    at = 0
    for start, end, new in sorted(edits):
        if start < at:
            continue
        out += [text[at:start], new]
        done.append((start, end, new))
        at = end
    out.append(text[at:])
    intact: dict[int, tuple[int, int]] = {}
    for number, (start, end) in enumerate(window.spans):
        if any(a < end and (b > start or start < a) for a, b, _ in done):
            continue
        shift = sum(len(new) - (b - a) for a, b, new in done if b <= start)
        intact[number] = (start + shift, end + shift)
    data = b"".join(out)
    return Mutant(level, kind, data, data, intact, edits=done)


def _somewhere(text: bytes, rng: random.Random) -> int:
    return rng.randrange(len(text))


def _flip(text: bytes, rng: random.Random) -> list[Edit]:
    at = _somewhere(text, rng)
    return [(at, at + 1, bytes((text[at] ^ (1 << rng.randrange(8)),)))]


def _set(text: bytes, rng: random.Random) -> list[Edit]:
    at = _somewhere(text, rng)
    return [(at, at + 1, bytes((rng.choice(_BYTES),)))]


def _insert(text: bytes, rng: random.Random) -> list[Edit]:
    at = _somewhere(text, rng)
    return [(at, at, bytes(rng.choice(_BYTES) for _ in range(rng.randint(1, 3))))]


def _delete(text: bytes, rng: random.Random) -> list[Edit]:
    at = _somewhere(text, rng)
    return [(at, min(len(text), at + rng.choice((1, 1, 2, 8, _LITTLE))), b"")]


def _zeros(text: bytes, rng: random.Random) -> list[Edit]:
    at = _somewhere(text, rng)
    end = min(len(text), at + rng.choice((1, 16, 512)))
    return [(at, end, bytes(end - at))]


def _noise(text: bytes, rng: random.Random) -> list[Edit]:
    at = _somewhere(text, rng)
    end = min(len(text), at + rng.choice((4, 64)))
    return [(at, end, rng.randbytes(end - at))]


def _cut_end(text: bytes, rng: random.Random) -> list[Edit]:
    return [(_somewhere(text, rng), len(text), b"")]


def _cut_start(text: bytes, rng: random.Random) -> list[Edit]:
    return [(0, rng.randrange(min(len(text), 2000)), b"")]


def _double(text: bytes, rng: random.Random) -> list[Edit]:
    at = _somewhere(text, rng)
    stretch = text[at : at + rng.choice((1, 5, 60, 2000))]
    to = _somewhere(text, rng)
    return [(to, to, stretch)]


def _match(pattern: re.Pattern[bytes], text: bytes, rng: random.Random) -> re.Match[bytes]:
    found = pattern.search(text, _somewhere(text, rng)) or pattern.search(text)
    if found is None:
        raise _NoTokenError
    return found


def _drop_token(text: bytes, rng: random.Random) -> list[Edit]:
    token = _match(_TOKEN, text, rng)
    return [(token.start(), token.end(), b"")]


def _double_token(text: bytes, rng: random.Random) -> list[Edit]:
    token = _match(_TOKEN, text, rng)
    return [(token.end(), token.end(), token[0])]


def _swap_tokens(text: bytes, rng: random.Random) -> list[Edit]:
    one, other = _match(_TOKEN, text, rng), _match(_TOKEN, text, rng)
    if one.start() == other.start():
        return [(one.start(), one.end(), b"")]
    return [(one.start(), one.end(), other[0]), (other.start(), other.end(), one[0])]


def _insert_token(text: bytes, rng: random.Random) -> list[Edit]:
    at = _match(_TOKEN, text, rng).end()
    word = rng.choice((*b'{}[],:"', *_VALUES))
    return [(at, at, word if isinstance(word, bytes) else bytes((word,)))]


def _number(text: bytes, rng: random.Random) -> list[Edit]:
    number = _match(_NUMBER, text, rng)
    return [(number.start(), number.end(), rng.choice(_VALUES))]


def _text(text: bytes, rng: random.Random) -> list[Edit]:
    string = _match(_STRING, text, rng)
    at = rng.randint(string.start(1), string.end(1))
    return [(at, at, rng.choice(_TEXTS))]


def _whole_text(text: bytes, rng: random.Random) -> list[Edit]:
    string = _match(_STRING, text, rng)
    return [(string.start(), string.end(), rng.choice(_VALUES))]


def _unescape(text: bytes, rng: random.Random) -> list[Edit]:
    """Puts quotes and backslashes into names as a writer does that escapes nothing."""
    at = _match(re.compile(rb'"name"\s*:\s*"'), text, rng).end()
    new = rng.choice((b'say "hi" ', b"C:\\Users\\new\\", b'a "', b'"b" ', b"\\t\\q", b'x = "\\n"'))
    return [(at, at, new)]


class _NoTokenError(ValueError):
    """The window holds nothing of the kind that is to be damaged."""


_Cutter: TypeAlias = "Callable[[bytes, random.Random], list[Edit]]"
_BYTE_KINDS: dict[str, _Cutter] = {
    "flip": _flip,
    "set": _set,
    "insert": _insert,
    "delete": _delete,
    "zeros": _zeros,
    "noise": _noise,
    "cut-end": _cut_end,
    "cut-start": _cut_start,
    "double": _double,
}
_TOKEN_KINDS: dict[str, _Cutter] = {
    "drop": _drop_token,
    "double": _double_token,
    "swap": _swap_tokens,
    "insert": _insert_token,
    "number": _number,
    "text": _text,
    "whole-text": _whole_text,
    "unescape": _unescape,
}


def _events(window: Window, rng: random.Random) -> Mutant:
    """Damages the list as values: the file stays sound JSON, its content does not make sense."""
    values = [json.loads(text) for text in window.elements]
    numbers: list[int | None] = list(range(len(values)))
    kind = rng.choice(_EVENT_KINDS)
    for _ in range(rng.choice((1, 1, 2, 5))):
        _damage(kind, values, numbers, rng)
    parts = [
        window.elements[number] if number is not None else json.dumps(value).encode()
        for value, number in zip(values, numbers, strict=True)
    ]
    intact: dict[int, tuple[int, int]] = {}
    at = len(window.head)
    for part, number in zip(parts, numbers, strict=True):
        if number is not None:
            intact[number] = (at, at + len(part))
        at += len(part) + len(window.separator)
    data = window.head + window.separator.join(parts) + window.tail
    return Mutant("event", kind, data, data, intact, events=values)


_EVENT_KINDS = (
    *("drop", "double", "shuffle", "swap", "drop-field", "odd-value", "odd-time", "odd-arg"),
    *("odd-element", "nest", "swap-fields", "same-id", "unknown-keys", "phase"),
)
_ODD: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1.5, "", "x", "7", [], {}, [1], {"a": 1}, 2**31, 2**53 + 1, 2**63),
    *(-(2**63) - 1, 2**64, 10**30, -0.0, 1e308, -1e18, "1e5", "nan", "a\tb", "\x1b[0m", "\ud800"),
    *([[[[]]]], ["a", None], {"": {}}, " 12 ", "0x10"),
)
_FIELDS = ("ph", "cat", "name", "pid", "tid", "ts", "dur", "id", "args")
_ARGS = (
    *("External id", "correlation", "Ev Idx", "stream", "device", "Sequence number", "bytes"),
    *("Fwd thread id", "Python id", "Python parent id", "Python module id", "Input Dims", "name"),
)


def _damage(kind: str, values: list[Any], numbers: list[int | None], rng: random.Random) -> None:
    if not values:
        return
    k = rng.randrange(len(values))
    if kind == "drop":
        del values[k], numbers[k]
        return
    if kind == "double":
        at = rng.randint(0, len(values))
        values.insert(at, values[k])
        numbers.insert(at, None)
        return
    if kind == "shuffle":
        order = list(range(len(values)))
        rng.shuffle(order)
        values[:] = [values[i] for i in order]
        numbers[:] = [numbers[i] for i in order]
        return
    if kind == "swap":
        j = rng.randrange(len(values))
        values[k], values[j] = values[j], values[k]
        numbers[k], numbers[j] = numbers[j], numbers[k]
        return
    numbers[k] = None
    if kind == "odd-element" or not isinstance(values[k], dict):
        values[k] = rng.choice(_ODD)
        return
    values[k] = event = json.loads(json.dumps(values[k]))
    present = sorted(event)
    args = event["args"] if isinstance(event.get("args"), dict) else {}
    if kind == "drop-field" and present:
        del event[rng.choice(present)]
    elif kind == "odd-value":
        event[rng.choice(_FIELDS)] = rng.choice(_ODD)
    elif kind == "odd-time":
        event[rng.choice(("ts", "dur"))] = rng.choice(_ODD)
    elif kind == "odd-arg":
        event["args"] = {**args, rng.choice(_ARGS): rng.choice(_ODD)}
    elif kind == "nest":
        values[k] = rng.choice(([event], {"traceEvents": [event]}, {"args": event}))
    elif kind == "swap-fields":
        one, other = rng.choice(_FIELDS), rng.choice(_FIELDS)
        event[one], event[other] = event.get(other), event.get(one)
    elif kind == "same-id":
        event["args"] = {**args, "correlation": 1, "External id": 1, "Ev Idx": 0}
    elif kind == "unknown-keys":
        values[k] = {f"x{name}": value for name, value in event.items()}
    elif kind == "phase":
        event["ph"] = rng.choice("XBEMstfiICPNDOvRabnec")


def _packed(window: Window, level: Level, rng: random.Random) -> Mutant:
    """Damages an archive; `text` is what its bytes hold up to the damage, read byte by byte."""
    if level == "zstd" and ZSTD is None:
        level = "gzip"
    packing = GZIP if level == "gzip" or ZSTD is None else ZSTD
    kind, data = damaged(window.text, packing, rng)
    held = packing.unpack(data) if packing.is_packed(data) else data
    intact = {
        number: (start, end)
        for number, (start, end) in enumerate(window.spans)
        if held[:end] == window.text[:end]
    }
    return Mutant(level, kind, data, held, intact)
