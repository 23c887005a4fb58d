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

from ptx.profiling.trace.decode import EMPTY_PHASE, REFUSED_PHASE, Args, Event
from ptx.profiling.trace.lenient import EVENT_KEY, NEXT_EVENT, LenientError, LenientParser
from ptx.profiling.trace.split import end_of_indented
from ptx.profiling.trace.timestamps import ExactFloat

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ptx.profiling.trace.split import Layout

_BLANK = " \t\r\n,"
# what follows an element of the list: its end, or the first key of the next one
_GOES_ON = re.compile(r'\s*(\]\s*(\Z|[},])|,\s*\{\s*"[^"\\]*"\s*:)')
_ENDS = re.compile(r"\s*(,|\Z)")
_CUT_WORD = re.compile(r"[\w+\-.\\]{0,12}\Z")  # of a number, a word or an escape
_OTHER_OBJECT = re.compile(r"\s*,\s*\{\s*(?!" + EVENT_KEY + r")\"")
# behind a whole element: more of its members, or the end of a list that lies deeper
_RUNS_ON = re.compile(
    r"\s*(?:[^\s,\]{]"
    r"|\{\s*(?!" + EVENT_KEY + r")\""
    r"|,(?:\s*\"[^\"]{0,200}\"\s*,){0,2}[^\"{}\[\]]{0,200}\"[^\"]{0,200}\"\s*:"
    r"|\]\s*(?:\]|,\s*[{\[]|\}\s*[,}\]]))"
)
_END_OF_FILE = re.compile(r"\}\s*(?=\]\s*\}?\s*\Z)")
# behind the list's last element: its bracket, then the file's next member or its end
_LIST_END = re.compile(r'\s*(\])\s*(?:,\s*"|\}\s*\Z|\Z)')
_WHOLE_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"(?=\s*[,\]])')
_SCALAR = re.compile(r"[^,\]\}\[\{]*")
_BAD_UTF8 = re.compile("[\udc80-\udcff]")  # what surrogateescape makes of it
_TEXT_ON_ROCM = ("stream", "bytes")  # its profiler writes these of a runtime call as text
_FORGET_AFTER = 1 << 13  # characters
_RAN_OUT = -1  # sound up to the end of the text
_LOST = -2  # damaged, and no end of it found
_BROKEN = -3
REFUSED_EVENT = Event(ph=REFUSED_PHASE)
EMPTY_EVENT = Event(ph=EMPTY_PHASE)


@dataclass(slots=True)
class Salvaged:
    """The elements of a stretch of text.

    `used` bytes of the text are dealt with; `ended` says that the list's closing bracket was met
    (then `used` points behind it). `refused` holds (index among the elements, offset in the text,
    length) of what could not be decoded, `foreign` of what is JSON but no event;
    `repairs` the indices of elements by the code of the repair.
    """

    elements: list[object] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    refused: list[tuple[int, int, int]] = field(default_factory=list)
    foreign: list[tuple[int, int, int]] = field(default_factory=list)
    repairs: dict[str, list[int]] = field(default_factory=dict)
    used: int = 0
    ended: bool = False

    def note(self, code: str) -> None:
        """Counts a repair of the element that comes next."""
        self.repairs.setdefault(code, []).append(len(self.elements))

    def forget(self) -> None:
        """Takes back the repairs of the element that comes next."""
        for indices in self.repairs.values():
            if indices and indices[-1] == len(self.elements):
                indices.pop()


class _Refused:
    """Stands for an element that could not be decoded."""


def _refuse(word: str) -> None:
    raise ValueError(word)


_json = json.JSONDecoder(parse_float=ExactFloat)
_sound = json.JSONDecoder(parse_float=ExactFloat, parse_constant=_refuse)


def salvage(text: bytes, layout: Layout, *, last: bool) -> Salvaged:
    """Returns the elements of `text`; `last` says that no more text follows it in the file."""
    out = Salvaged()
    readable = text.decode("utf-8", "surrogateescape")
    if layout.separator is None:
        found = _sequential(readable, out, last=last)
    else:
        found = _indented(readable, layout.separator.decode(), out, last=last)
    for start, value, end in found:
        if isinstance(value, _Refused):
            out.refused.append((len(out.elements), start, end - start))
            out.events.append(REFUSED_EVENT)
            out.elements.append(None)
            continue
        if value is not None and (
            not isinstance(value, dict) or ("ph" not in value and _holds_events(value))
        ):
            out.foreign.append((len(out.elements), start, end - start))
        out.events.append(
            _event_of(value, out) if isinstance(value, dict) and value else EMPTY_EVENT
        )
        out.elements.append(value)
    if len(readable) != len(text):
        out.refused, out.foreign = (
            _in_bytes(readable, out.refused),
            _in_bytes(readable, out.foreign),
        )
        out.used = len(readable[: out.used].encode("utf-8", "surrogateescape"))
    return out


def _holds_events(value: dict[str, object]) -> bool:
    """Returns whether an object has taken in a list of events."""
    args = value.get("args")
    members = [*value.values(), *(args.values() if isinstance(args, dict) else ())]
    return any(
        isinstance(item, dict) and "ph" in item
        for member in members
        if isinstance(member, list)
        for item in member
    )


def _in_bytes(text: str, places: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Returns (index, offset, length) in bytes for ascending ones in characters."""
    found = []
    done = offset = 0
    for index, start, length in places:
        offset += len(text[done:start].encode("utf-8", "surrogateescape"))
        size = len(text[start : start + length].encode("utf-8", "surrogateescape"))
        found.append((index, offset, size))
        done, offset = start + length, offset + size
    return found


def _indented(
    text: str, separator: str, out: Salvaged, *, last: bool
) -> Iterator[tuple[int, object, int]]:
    """Yields (offset, value, end) of each element between exact separators."""
    closing_brace = separator[: separator.index("}") + 1]
    closing = re.compile(end_of_indented(separator.encode()).decode()).search(text)
    limit = closing.end(1) if closing else len(text)
    start = 0
    while start < limit:
        at = text.find(separator, start, limit)
        end = limit if at < 0 else at + len(closing_brace)
        stretch = text[start:end].rstrip(_BLANK)
        cut_off = last and closing is None and at < 0
        elements = _between_separators(stretch, out, cut_off=cut_off, last=last)
        for offset, value, value_end in elements:
            if isinstance(value, _Refused) and cut_off:
                out.used = start + offset  # the file ends inside this element
                return
            yield start + offset, value, start + value_end
        if out.ended:
            out.used += start
            return
        start = limit if at < 0 else at + len(separator) - 1
    out.ended = closing is not None
    out.used = closing.end() if closing else len(text)


def _between_separators(
    text: str, out: Salvaged, *, cut_off: bool, last: bool
) -> Iterator[tuple[int, object, int]]:
    """Yields (offset, value, end) of what stands between two separators.

    That is one element, and those beside it that are no objects or have another layout. Where the
    last of the list has one, what follows the list stands there too: `out.used` then says where.
    """
    start = 0
    while True:
        while start < len(text) and text[start] in _BLANK:
            start += 1
        if start >= len(text):
            return
        if text[start] == "]":
            out.ended, out.used = True, start + 1
            return
        value, end = _element_at(text, start, out, more=False, cut_off=cut_off)
        closing = _LIST_END.match(text, end) if end >= 0 else None
        if closing is not None and (last or closing.end() < len(text)):
            yield start, value, end
            out.ended, out.used = True, closing.end(1)
            return
        if end < 0 or not _ENDS.match(text, end) or _RUNS_ON.match(text, end):
            out.forget()
            value, end = _Refused(), len(text)
        yield start, value, end
        start = end


def _sequential(text: str, out: Salvaged, *, last: bool) -> Iterator[tuple[int, object, int]]:
    """Yields (offset, value, end) of each element, parsed from where the one before it ended."""
    start = 0
    gone = 0
    while True:
        if start > _FORGET_AFTER:  # an error of `json` costs as much as the text in front of it
            text, gone, start = text[start:], gone + start, 0
        while start < len(text) and text[start] in _BLANK:
            start += 1
        out.used = gone + start
        if start >= len(text):
            return
        if text[start] == "]":
            out.ended = True
            out.used = gone + start + 1
            return
        if text[start] in "{[":
            value, end = _element_at(text, start, out, more=not last, cut_off=True)
            if end >= 0 and _RUNS_ON.match(text, end):
                out.forget()
                end = _BROKEN
            if end == _RAN_OUT or (end == _LOST and not last):
                return  # the rest of this element is in the next piece, or the file ends inside it
            if end < 0:
                closing = _END_OF_FILE.search(text, start) if last else None
                end = _next_element(text, start, certain=end == _LOST)
                if end < 0 and closing is not None:
                    end = closing.start() + 1  # the last element of the list is the broken one
                if end < 0:
                    return  # the file ends inside this element
                value = _Refused()
        else:
            match = _WHOLE_TEXT.match(text, start) or _SCALAR.match(text, start)
            stop = max(match.end() if match else 0, start + 1)
            word = text[start:stop]
            value, end = _element_at(word, 0, out, more=False, cut_off=False)
            if end < 0 or word[end:].strip():
                value = _Refused()
            end = stop
        yield gone + start, value, gone + end
        start = end


def _element_at(
    text: str, start: int, out: Salvaged, *, more: bool, cut_off: bool
) -> tuple[object, int]:
    """Returns (value, offset behind it), or _RAN_OUT, _LOST or _BROKEN for the offset.

    `more` says that text follows which is not at hand, `cut_off` that the text may end inside the
    element: what is sound up to there is then no damage to repair.
    """
    try:
        value, end = _sound.raw_decode(text, start)
    except RecursionError:
        return None, _BROKEN
    except ValueError:
        value, end = _damaged_at(text, start, out, more=more, cut_off=cut_off)
    if isinstance(value, dict) and "ph" in value and _holds_events(value):
        return None, _BROKEN  # a list of its own that does not end took in the next events
    if end >= 0 and _BAD_UTF8.search(text, start, end):
        out.note("bad-utf8")
    return value, end


def _damaged_at(
    text: str, start: int, out: Salvaged, *, more: bool, cut_off: bool
) -> tuple[object, int]:
    constants: list[str] = []
    decoder = json.JSONDecoder(
        strict=False, parse_float=ExactFloat, parse_constant=constants.append
    )
    try:
        value, end = decoder.raw_decode(text, start)
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
    return value, end


def _ran_out(error: ValueError, text: str) -> bool:
    """Returns whether all was sound up to the end of the text."""
    return isinstance(error, json.JSONDecodeError) and (
        _CUT_WORD.match(text, error.pos) is not None or error.msg.startswith("Unterminated string")
    )


def _repaired_at(
    text: str, start: int, out: Salvaged, *, more: bool, must_go_on: bool
) -> tuple[object, int]:
    parser = LenientParser(text, more=more)
    try:
        value, end = parser.parse(start)
    except LenientError as error:
        if must_go_on:
            return None, _RAN_OUT
        return None, _LOST if error.ran_out else _BROKEN
    if must_go_on and not _GOES_ON.match(text, end):
        return None, _RAN_OUT
    if "unescaped-quote" in parser.repairs and _OTHER_OBJECT.match(text, end):
        return None, _BROKEN  # taken too far: it ended amid a list of the element's own
    if NEXT_EVENT.search(text, start, end):
        return None, _BROKEN  # a list of its own that does not end took in the next events
    for code in parser.repairs:
        out.note(code)
    return value, end


def _next_element(text: str, start: int, *, certain: bool) -> int:
    """Returns where a broken element ends, -1 if it reaches to the end of the text.

    `} , {` may stand inside it as well, so an event must follow: by its first key, and by its phase
    if it can be read. Where the broken element just ran out of text, it must be readable
    (`certain`).
    """
    for match in NEXT_EVENT.finditer(text, start):
        try:
            value, _ = LenientParser(text).parse(match.end())
        except LenientError as error:
            if not certain:
                return match.start() + 1
            if error.ran_out:
                return -1
            continue
        if isinstance(value, dict) and "ph" in value:
            return match.start() + 1
    return -1


def _event_of(value: dict[str, object], out: Salvaged) -> Event:
    """Returns the typed record of a decoded element, reading odd types where that is possible."""
    # a type of their own keeps the digits of times; msgspec takes plain numbers only
    times = {k: v for k, v in value.items() if k in ("ts", "dur") and type(v) is ExactFloat}
    typed = {k: v for k, v in value.items() if k not in times}
    args = value.get("args")
    fields = args if isinstance(args, dict) else {}
    texts = {k: _to_int(fields[k]) for k in _TEXT_ON_ROCM if isinstance(fields.get(k), str)}
    if texts:
        typed["args"] = {**fields, **texts}
    try:
        event = msgspec.convert(typed, Event)
    except (msgspec.ValidationError, OverflowError):
        out.note("odd-types")
    except UnicodeEncodeError:
        pass  # a lone surrogate where a number can stand; the repair is counted where it was made
    else:
        event.ts, event.dur = times.get("ts", event.ts), times.get("dur", event.dur)
        return event
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
