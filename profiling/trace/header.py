"""What stands outside the event list: devices, versions, flags, rank."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

import orjson

from ptx.profiling.trace.lenient import LenientError, LenientParser

_BOM = b"\xef\xbb\xbf"
_EVENTS_KEY = re.compile(rb'"traceEvents"\s*:')
_json = json.JSONDecoder()
_COLON = re.compile(r"\s*:\s*")
_FOLLOWED = re.compile(r"\s*([,}]|\Z)")
_CLOSED = ('"', "]", "}")
_BETWEEN = ", \t\r\n"


@dataclass(frozen=True, slots=True)
class DeviceProperties:
    """One entry of the header's device list; a field that the file lacks is None."""

    index: int
    name: str | None
    compute_capability: str | None
    sm_count: int | None
    total_memory_bytes: int | None


@dataclass(frozen=True, slots=True)
class Header:
    """The file's own description of itself.

    `raw` holds everything; it can hold secrets (a process environment), so nothing shows it
    unasked.
    """

    raw: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def devices(self) -> tuple[DeviceProperties, ...]:
        """Returns the devices that the header lists, used or not, without repeats."""
        entries = self.raw.get("deviceProperties", self.raw.get("computeProperties"))
        found: dict[int, DeviceProperties] = {}
        for position, entry in enumerate(entries if isinstance(entries, list) else []):
            if isinstance(entry, dict):
                device = _device(entry, position)
                found.setdefault(device.index, device)
        return tuple(found.values())

    @property
    def is_kineto(self) -> bool:
        """Returns whether the header has the marks of PyTorch's own profiler."""
        marks = ("schemaVersion", "deviceProperties", "computeProperties")
        return any(mark in self.raw for mark in marks)

    @property
    def torch_version(self) -> str | None:
        """Returns the version of PyTorch where the file states it."""
        return self._text("pytorch_version") or self._text("torch_version")

    @property
    def rank(self) -> int | None:
        """Returns the rank within a distributed job."""
        return _as_int(self._distributed().get("rank"))

    @property
    def world_size(self) -> int | None:
        """Returns the number of ranks of the job."""
        return _as_int(self._distributed().get("world_size"))

    def flag(self, name: str) -> bool | None:
        """Returns a capture flag (`record_shapes`, `with_stack`, ...), None where not stated.

        The profiler writes a flag only when it is on; files that state no flag at all are of an
        age that wrote none.
        """
        value = self.raw.get(name)
        if isinstance(value, (bool, int)):
            return bool(value)
        return False if any(f in self.raw for f in _FLAGS) else None

    def _text(self, key: str) -> str | None:
        value = self.raw.get(key)
        return value if isinstance(value, str) else None

    def _distributed(self) -> dict[str, Any]:
        value = self.raw.get("distributedInfo")
        return value if isinstance(value, dict) else {}


_FLAGS = ("record_shapes", "with_stack", "profile_memory", "with_modules", "with_flops")


def _device(entry: dict[str, Any], position: int) -> DeviceProperties:
    index = _as_int(entry.get("id"))
    major, minor = _as_int(entry.get("computeMajor")), _as_int(entry.get("computeMinor"))
    name = entry.get("name")
    return DeviceProperties(
        index=position if index is None else index,
        name=name if isinstance(name, str) and name else None,
        compute_capability=None if major is None or minor is None else f"{major}.{minor}",
        sm_count=_as_int(entry.get("numSms")),
        total_memory_bytes=_as_int(entry.get("totalGlobalMem")),
    )


def _as_int(value: object) -> int | None:
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, (int, float, str)):
        try:
            return int(value)
        except (ValueError, OverflowError):
            return None
    return None


@dataclass(slots=True)
class Around:
    """The members outside the event list, and how far their text was sound.

    `cut` says that the file ends inside them, `sound` that all up to there was valid; `lost` holds
    (offset, length) of what could not be read, in bytes from the start of the file's text.
    """

    members: dict[str, Any] = field(default_factory=dict)
    cut: bool = False
    sound: bool = True
    lost: list[tuple[int, int]] = field(default_factory=list)


def parse_around(head: bytes, tail: bytes | None, tail_offset: int) -> Around:
    """Returns the members that stand before and after the event list.

    `head` is the text up to the `"traceEvents"` key, `tail` what follows the list's bracket, None
    where the file ends before it.
    """
    out = Around()
    before = head.removeprefix(_BOM)
    if before.strip().rstrip(b",").strip() not in (b"", b"{"):
        _read_head(out, before, len(head) - len(before))
    if tail is not None:
        _read_tail(out, tail, tail_offset)
    return out


def _read_head(out: Around, text: bytes, offset: int) -> None:
    whole = text.strip().rstrip(b",") + b"}"
    try:
        members = orjson.loads(whole)
    except orjson.JSONDecodeError:
        members = None
    if members is not None and not any(map(_are_events, members.values())):
        out.members.update(members)
    else:
        out.sound = False
        readable = text.decode("utf-8", "surrogateescape")
        end = _read_members(out, readable, readable.find("{") + 1)
        out.cut = False
        if end < len(readable):
            out.lost.append((offset + _size(readable[:end]), _size(readable[end:])))


def _read_tail(out: Around, text: bytes, offset: int) -> None:
    stripped = text.lstrip().removeprefix(b",")
    if stripped.rstrip() == b"}":
        return
    again = _EVENTS_KEY.search(text)
    if again is not None:  # a file written over another: what follows is a list of its own
        out.sound = False
        out.lost.append((offset + again.start(), len(text) - again.start()))
        text = text[: again.start()]
        stripped = text.strip().strip(b",") + b"}"
    try:
        members = orjson.loads(b"{" + stripped)
    except orjson.JSONDecodeError:
        members = None
    if members is not None and not any(map(_are_events, members.values())):
        out.members.update(members)
        return
    readable = text.decode("utf-8", "surrogateescape")
    end = _read_members(out, readable, 0)
    out.cut = again is None and (out.cut or end == len(readable))
    out.sound &= out.cut
    if readable[end : end + 1] == "}":
        end += 1
    lost = readable[end:]
    if lost.strip():
        out.lost.append((offset + _size(readable[:end]), _size(lost)))


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogateescape"))


def _read_members(out: Around, text: str, position: int) -> int:
    """Adds members one by one; returns where that stops: a brace, damage, or the text's end.

    A member that the text's end cuts off is left out, and `cut` says so.
    """
    parser = LenientParser(text)
    while True:
        while position < len(text) and text[position] in _BETWEEN:
            position += 1
        if position == len(text) or text[position] != '"':
            return position
        try:
            members, end = _sound_member(text, position) or parser.member(position)
        except LenientError as error:
            out.cut = error.ran_out
            return position
        if any(map(_are_events, members.values())):
            return position
        position = end
        for name, value in members.items():
            out.members[_readable(name)] = _readable(value)


def _are_events(value: object) -> bool:
    """Returns whether a member is a list of events: a stray bracket ended the real one."""
    return isinstance(value, list) and any(isinstance(v, dict) and "ph" in v for v in value)


def _sound_member(text: str, position: int) -> tuple[dict[str, object], int] | None:
    """Returns (the member whose key starts there, offset behind it), None unless it is sound."""
    try:
        name, end = _json.raw_decode(text, position)
        colon = _COLON.match(text, end)
        value, end = _json.raw_decode(text, colon.end() if colon else len(text))
    except (ValueError, RecursionError):
        return None
    if not _FOLLOWED.match(text, end) or (end == len(text) and not text.endswith(_CLOSED)):
        return None  # a number at the text's end may lack digits
    return {str(name): value}, end


def _readable(value: Any) -> Any:  # noqa: ANN401
    """Returns the value with every text free of lone surrogates."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {_readable(k): _readable(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_readable(item) for item in value]
    return float(value) if isinstance(value, float) else value
