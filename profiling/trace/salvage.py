"""A stretch of the event list that does not decode as a whole, taken element by element.

Each element is tried with orjson, then with `json` (which takes NaN and infinities); what neither
takes becomes a refused element, so that the numbering of those behind it holds.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec
import orjson

from ptx.profiling.trace.decode import REFUSED_PHASE, Args, Event
from ptx.profiling.trace.split import ARRAY_END, CANDIDATE, Layout
from ptx.profiling.trace.timestamps import EXACT_US

if TYPE_CHECKING:
    from collections.abc import Iterator

_BLANK = b" \t\r\n,"
_SCALAR = re.compile(rb"[^,\]\}\[\{]*")
_MAX_TRIES = 64
_NEEDS_MORE = -1
_BROKEN = -2


@dataclass(slots=True)
class Salvaged:
    """The elements of a stretch of text.

    `used` bytes of the text are dealt with; `ended` says that the list's closing bracket was met
    (then `used` points behind it). `refused` holds (index among the elements, offset in the text,
    length) of what could not be decoded, `lenient` how many values were read from another type
    than the field's own.
    """

    elements: list[Any] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    refused: list[tuple[int, int, int]] = field(default_factory=list)
    lenient: int = 0
    used: int = 0
    ended: bool = False


def salvage(text: bytes, layout: Layout, *, last: bool) -> Salvaged:
    """Returns the elements of `text`; `last` says that no more text follows it in the file."""
    out = Salvaged()
    spans = _indented(text, layout, out) if layout.separator else _sequential(text, out, last=last)
    for start, value in spans:
        index = len(out.elements)
        if isinstance(value, _Refused):
            out.refused.append((index, start, value.length))
            out.elements.append(None)
            out.events.append(REFUSED_EVENT)
        else:
            out.elements.append(value)
            out.events.append(_event_of(value, out) if isinstance(value, dict) else Event())
    return out


REFUSED_EVENT = Event(ph=REFUSED_PHASE)


@dataclass(frozen=True, slots=True)
class _Refused:
    length: int


class ExactFloat(float):
    """A float that keeps the text it was read from."""

    text: str

    def __new__(cls, text: str) -> ExactFloat:
        """Returns the number that `text` states."""
        self = super().__new__(cls, text)
        self.text = text
        return self


def decode_element(text: bytes) -> object:
    """Returns the JSON value of one element, with the text of times that a float64 would round.

    Raises:
        ValueError: it is not JSON, also not with NaN, infinities or raw control bytes allowed.
    """
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return json.loads(
            text.decode("utf-8", "surrogateescape"), strict=False, parse_float=ExactFloat
        )
    if isinstance(value, dict):
        for key in ("ts", "dur"):
            time = value.get(key)
            if isinstance(time, float) and abs(time) > EXACT_US:
                return json.loads(text, parse_float=ExactFloat)
    return value


def _indented(text: bytes, layout: Layout, out: Salvaged) -> Iterator[tuple[int, object]]:
    """Yields (offset, value) of each element between exact separators."""
    separator = layout.separator or b""
    indent = separator[: separator.index(b"}") + 1]
    end_of_list = re.compile(re.escape(indent) + rb"\s*\]")
    start = 0
    while start < len(text):
        at = text.find(separator, start)
        end = len(text) if at < 0 else at + len(indent)
        closing = end_of_list.search(text, start, end + len(separator))
        if closing is not None and closing.start() < end:
            end = closing.start() + len(indent)
            out.ended = True
        stretch = text[start:end].strip(_BLANK)
        if stretch.startswith(b"]"):
            out.ended = True
            out.used = text.index(b"]", start) + 1
            return
        if stretch:
            yield start, _value_or_refused(text[start:end])
        if out.ended:
            out.used = closing.end() if closing is not None else end
            return
        start = len(text) if at < 0 else at + len(separator) - 1
    out.used = len(text)


def _value_or_refused(text: bytes) -> object:
    try:
        return decode_element(text.strip(_BLANK))
    except ValueError:
        return _Refused(len(text))


def _sequential(text: bytes, out: Salvaged, *, last: bool) -> Iterator[tuple[int, object]]:
    """Yields (offset, value) of each element, its end being the first place where it decodes."""
    start = 0
    while True:
        while start < len(text) and text[start] in _BLANK:
            start += 1
        out.used = start
        if start >= len(text):
            return
        if text[start] == ord("]"):
            out.ended = True
            out.used = start + 1
            return
        if text[start] != ord("{"):
            end = _end_of_scalar(text, start)
            yield start, _value_or_refused(text[start:end])
            start = max(end, start + 1)
            continue
        end, value = _first_that_decodes(text, start)
        if end == _NEEDS_MORE and not last:
            return  # the rest of this element is in the next piece
        if end < 0:
            skipped = CANDIDATE.search(text, start)
            if skipped is None:
                return  # the file ends inside this element
            end = skipped.start() + 1
            value = _Refused(end - start)
        yield start, value
        start = end


def _end_of_scalar(text: bytes, start: int) -> int:
    match = _SCALAR.match(text, start)
    return match.end() if match is not None else start + 1


def _first_that_decodes(text: bytes, start: int) -> tuple[int, object]:
    """Returns (end, value) of the element at `start`.

    Without a fitting end: (_NEEDS_MORE, None) if the text ran out, (_BROKEN, None) if it did not.
    """
    tries = 0
    position = start
    while tries < _MAX_TRIES:
        between = CANDIDATE.search(text, position)
        closing = ARRAY_END.search(text, position, between.end() if between else len(text))
        match = closing or between
        end = match.start() + 1 if match else len(text)
        try:
            return end, decode_element(text[start:end])
        except ValueError:
            tries += 1
        if match is None:
            return _NEEDS_MORE, None
        position = match.start() + 1
    return _BROKEN, None


def _event_of(value: dict[str, Any], out: Salvaged) -> Event:
    """Returns the typed record of a decoded element, reading odd types where that is possible."""
    try:
        return msgspec.convert(value, Event)
    except msgspec.ValidationError:
        out.lenient += 1
    args = value.get("args")
    fields = args if isinstance(args, dict) else {}
    numbers: dict[str, Any] = {}
    for info in msgspec.structs.fields(Args):
        if info.encode_name not in fields:
            continue
        raw = fields[info.encode_name]
        numbers[info.name] = raw if info.name in ("name", "labels") else _to_int(raw)
    return Event(
        ph=_to_text(value.get("ph")) or "",
        cat=_to_text(value.get("cat")),
        name=_to_text(value.get("name")),
        pid=_to_id(value.get("pid")),
        tid=_to_id(value.get("tid")),
        ts=value.get("ts", float("nan")),
        dur=value.get("dur", float("nan")),
        id=_to_id(value.get("id")),
        args=Args(**numbers),
    )


def _to_text(value: object) -> str | None:
    return value if value is None or isinstance(value, str) else str(value)


def _to_id(value: object) -> int | str | None:
    return value if value is None or isinstance(value, (int, str)) else str(value)


def _to_int(value: object) -> int:
    try:
        return int(value)  # type: ignore[call-overload, no-any-return]
    except (TypeError, ValueError, OverflowError):
        return -1
