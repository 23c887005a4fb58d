"""JSON text that any terminal can show and any parser can read."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# DEL, C1 and bidirectional controls as UTF-8: legal in JSON strings, harmful on a terminal
_CONTROLS = re.compile(
    rb"\x7f|\xc2[\x80-\x9f]|\xd8\x9c|\xe2\x80[\x8e\x8f\xa8-\xae]|\xe2\x81[\xa6-\xa9]"
)


def encode(value: object) -> bytes:
    """Returns compact JSON with every control character escaped; the value reads back the same."""
    try:
        text = orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS)
    except (TypeError, orjson.JSONEncodeError):  # lone surrogates, integers past 64 bits
        text = json.dumps(value, separators=(",", ":")).encode()
    if _CONTROLS.search(text) is not None:
        text = _CONTROLS.sub(lambda m: f"\\u{ord(m[0].decode()):04x}".encode(), text)
    return text


def encode_stream(head: dict[str, Any], key: str, rows: Iterable[object]) -> Iterator[bytes]:
    """Yields the JSON of `{**head, key: [rows]}` in pieces, one row a line."""
    yield encode(head)[:-1] + (b"," if head else b"") + encode(key) + b":["
    first = True
    for row in rows:
        yield (b"\n" if first else b",\n") + encode(row)
        first = False
    yield b"]}\n" if first else b"\n]}\n"
