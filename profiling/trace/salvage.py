"""A stretch of the event list that does not decode as a whole, taken element by element.

Each element is tried strictly, then with repairs (`ptx.profiling.trace.lenient`); what cannot be
repaired becomes a refused element, so that the numbering of those behind it holds.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from ptx.profiling.trace.decode import REFUSED_PHASE, Args, Event
from ptx.profiling.trace.lenient import LenientError, LenientParser
from ptx.profiling.trace.timestamps import ExactFloat

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ptx.profiling.trace.split import Layout

_BLANK = " \t\r\n,"
_NEXT_ELEMENT = re.compile(r"\}\s*,\s*(?=\{)")
_GOES_ON = re.compile(r"\s*(\]|,\s*\{\s*[\"}])")  # what follows an element of the list
_SCALAR = re.compile(r"[^,\]\}\[\{]*")
_BAD_UTF8 = re.compile("[\udc80-\udcff]")  # what surrogateescape makes of it
_json = json.JSONDecoder(parse_float=ExactFloat)
_RAN_OUT = -1
_BROKEN = -2
REFUSED_EVENT = Event(ph=REFUSED_PHASE)


@dataclass(slots=True)
class Salvaged:
    """The elements of a stretch of text.

    `used` bytes of the text are dealt with; `ended` says that the list's closing bracket was met
    (then `used` points behind it). `refused` holds (index among the elements, offset in the text,
    length) of what could not be decoded, in characters; `repairs` the indices of elements by the
    code of the repair.
    """

    elements: list[object] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    refused: list[tuple[int, int, int]] = field(default_factory=list)
    repairs: dict[str, list[int]] = field(default_factory=dict)
    used: int = 0
    ended: bool = False

    def note(self, code: str) -> None:
        """Counts a repair of the element that comes next."""
        self.repairs.setdefault(code, []).append(len(self.elements))


@dataclass(frozen=True, slots=True)
class _Refused:
    length: int


def salvage(text: bytes, layout: Layout, *, last: bool) -> Salvaged:
    """Returns the elements of `text`; `last` says that no more text follows it in the file."""
    out = Salvaged()
    readable = text.decode("utf-8", "surrogateescape")
    if layout.separator is None:
        found = _sequential(readable, out, last=last)
    else:
        found = _indented(readable, layout.separator.decode(), out, last=last)
    for start, value in found:
        if isinstance(value, _Refused):
            out.refused.append((len(out.elements), start, value.length))
            out.events.append(REFUSED_EVENT)
            out.elements.append(None)
            continue
        out.events.append(_event_of(value, out) if isinstance(value, dict) else Event())
        out.elements.append(value)
    out.used = len(readable[: out.used].encode("utf-8", "surrogateescape"))
    return out


def _indented(
    text: str, separator: str, out: Salvaged, *, last: bool
) -> Iterator[tuple[int, object]]:
    """Yields (offset, value) of each element between exact separators."""
    closing_brace = separator[: separator.index("}") + 1]
    end_of_list = re.compile(re.escape(closing_brace) + r"\s*\]")
    closing = end_of_list.search(text)
    limit = closing.start() + len(closing_brace) if closing else len(text)
    start = 0
    while start < limit:
        at = text.find(separator, start, limit)
        end = limit if at < 0 else at + len(closing_brace)
        stretch = text[start:end].strip(_BLANK)
        if stretch.startswith("]"):
            out.ended = True
            out.used = text.index("]", start) + 1
            return
        if stretch:
            cut_off = last and closing is None and at < 0
            value = _value_or_refused(stretch, end - start, out, cut_off=cut_off)
            if isinstance(value, _Refused) and cut_off:
                out.used = start  # the file ends inside this element
                return
            yield start, value
        start = limit if at < 0 else at + len(separator) - 1
    out.ended = closing is not None
    out.used = closing.end() if closing else len(text)


def _value_or_refused(text: str, length: int, out: Salvaged, *, cut_off: bool = False) -> object:
    value, end = _element_at(text, 0, out, more=False, cut_off=cut_off)
    if end < 0 or text[end:].strip(_BLANK):
        return _Refused(length)
    return value


def _sequential(text: str, out: Salvaged, *, last: bool) -> Iterator[tuple[int, object]]:
    """Yields (offset, value) of each element, parsed from where the one before it ended."""
    start = 0
    while True:
        while start < len(text) and text[start] in _BLANK:
            start += 1
        out.used = start
        if start >= len(text):
            return
        if text[start] == "]":
            out.ended = True
            out.used = start + 1
            return
        if text[start] == "{":
            value, end = _element_at(text, start, out, more=not last, cut_off=True)
            if end == _RAN_OUT and not last:
                return  # the rest of this element is in the next piece
            if end < 0:
                end = _next_element(text, start, certain=end == _RAN_OUT)
                if end < 0:
                    return  # the file ends inside this element
                value = _Refused(end - start)
        else:
            match = _SCALAR.match(text, start)
            end = max(match.end() if match else 0, start + 1)
            value = _value_or_refused(text[start:end], end - start, out)
        yield start, value
        start = end


def _element_at(
    text: str, start: int, out: Salvaged, *, more: bool, cut_off: bool
) -> tuple[object, int]:
    """Returns (value, offset behind it), or _RAN_OUT or _BROKEN for the offset.

    `more` says that text follows which is not at hand, `cut_off` that the text may end inside the
    element: what is sound up to there is then no damage to repair.
    """
    constants: list[str] = []
    decoder = json.JSONDecoder(
        strict=False, parse_float=ExactFloat, parse_constant=constants.append
    )
    try:
        value, end = decoder.raw_decode(text, start)
    except RecursionError:
        return None, _BROKEN
    except ValueError as error:
        ran_out = cut_off and _ran_out(error, text)
        if ran_out and more:
            return None, _RAN_OUT
        return _repaired_at(text, start, out, more=more, must_go_on=ran_out)
    if constants:
        out.note("not-a-number")
    try:
        _json.raw_decode(text, start)
    except ValueError:
        out.note("control-byte")
    if _BAD_UTF8.search(text, start, end):
        out.note("bad-utf8")
    return value, end


def _ran_out(error: ValueError, text: str) -> bool:
    """Returns whether all was sound up to the end of the text."""
    return isinstance(error, json.JSONDecodeError) and (
        error.pos >= len(text) or error.msg.startswith("Unterminated string")
    )


def _repaired_at(
    text: str, start: int, out: Salvaged, *, more: bool, must_go_on: bool
) -> tuple[object, int]:
    parser = LenientParser(text, more=more)
    try:
        value, end = parser.parse(start)
    except LenientError as error:
        return None, _RAN_OUT if error.ran_out else _BROKEN
    if must_go_on and not _GOES_ON.match(text, end):
        return None, _RAN_OUT
    for code in parser.repairs:
        out.note(code)
    return value, end


def _next_element(text: str, start: int, *, certain: bool) -> int:
    """Returns where a broken element ends, -1 if it reaches to the end of the text.

    Where the element just ran out of text, `} , {` may stand inside it: then what follows must
    itself be an element (`certain`).
    """
    for match in _NEXT_ELEMENT.finditer(text, start):
        if not certain:
            return match.start() + 1
        try:
            LenientParser(text).parse(match.end())
        except LenientError as error:
            if error.ran_out:
                return -1
            continue
        return match.start() + 1
    return -1


def _event_of(value: dict[str, object], out: Salvaged) -> Event:
    """Returns the typed record of a decoded element, reading odd types where that is possible."""
    # a type of their own keeps the digits of times; msgspec takes plain numbers only
    times = {k: v for k, v in value.items() if k in ("ts", "dur") and type(v) is ExactFloat}
    try:
        event = msgspec.convert({k: v for k, v in value.items() if k not in times}, Event)
    except (msgspec.ValidationError, OverflowError):
        out.note("odd-types")
    else:
        event.ts, event.dur = times.get("ts", event.ts), times.get("dur", event.dur)
        return event
    args = value.get("args")
    fields = args if isinstance(args, dict) else {}
    numbers: dict[str, object] = {}
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
        ts=_to_time(value.get("ts", float("nan"))),
        dur=_to_time(value.get("dur", float("nan"))),
        id=_to_id(value.get("id")),
        args=Args(**numbers),  # type: ignore[arg-type]
    )


def _to_text(value: object) -> str | None:
    return value if value is None or isinstance(value, str) else str(value)


def _to_id(value: object) -> int | str | None:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if value is None or isinstance(value, (int, str)) else str(value)


def _to_time(value: object) -> int | float | str | None:
    odd = isinstance(value, bool) or not isinstance(value, (int, float, str))
    return None if odd else value  # type: ignore[return-value]


def _to_int(value: object) -> int:
    try:
        return int(value)  # type: ignore[call-overload, no-any-return]
    except (TypeError, ValueError, OverflowError):
        return -1
