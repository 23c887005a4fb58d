"""The full JSON of single events, read from the file again when asked for."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
import numpy as np
import orjson

from ptx.profiling.trace.columns import ABSENT
from ptx.profiling.trace.intern import Interner
from ptx.profiling.trace.salvage import salvage
from ptx.profiling.trace.split import Layout

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

    from ptx.profiling.trace.source import Source

_KEPT_CHUNKS = 4
_NOTHING = msgspec.Raw(b"")

Texts: TypeAlias = tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Records:
    """Some members of the `args` of all events, as JSON text; equal ones are kept once.

    `code` (one an event) indexes `texts`, `ABSENT` for an event that has none of the members.
    Each of `texts` has one text a member, b"" for a member that is not there.
    """

    code: NDArray[np.int32]
    texts: tuple[Texts, ...]


class ArgsReader:
    """Looks an event up by its id; a chunk of about 1 MB is decoded and kept for its neighbours."""

    def __init__(self, source: Source) -> None:
        self.layout = Layout(None)
        self._source = source
        self._first_events: list[int] = []
        self._spans: list[tuple[int, int]] = []
        self._kept: OrderedDict[int, list[Any]] = OrderedDict()

    def add_chunk(self, offset: int, length: int, first_event: int) -> None:
        """Notes that the text at `offset` holds the events from `first_event` on."""
        self._first_events.append(first_event)
        self._spans.append((offset, length))

    @property
    def spans(self) -> list[tuple[int, int]]:
        """Returns (offset, length) of the stretches of text that hold the events, in order."""
        return list(self._spans)

    def event(self, event: int) -> dict[str, Any] | None:
        """Returns the event as the file has it, None for an element that is no object.

        Costs one read and decode of about 1 MB unless a neighbour was asked for just before. The
        file may have changed since it was indexed; then the answer is None as well.
        """
        chunk = bisect_right(self._first_events, event) - 1
        if chunk < 0:
            return None
        elements = self._elements(chunk)
        index = event - self._first_events[chunk]
        value = elements[index] if index < len(elements) else None
        return value if isinstance(value, dict) else None

    def has_shapes(self, event: int) -> bool:
        """Returns whether the file records the shapes of an op's inputs."""
        found = self.event(event) or {}
        args = found.get("args")
        return isinstance(args, dict) and "Input Dims" in args

    def records(self, members: tuple[str, ...], events: int) -> Records:
        """Returns the text of some members of all events' `args`: one pass over the file.

        Costs less than loading the file did; nothing is kept of the decoded events.

        Args:
            members: the names of the members wanted.
            events: how many events the file had when it was indexed.
        """
        interner: Interner[Texts] = Interner()
        interner[(b"",) * len(members)]  # code 0: none of the members
        decode = _decoder(members)
        code = np.zeros(events, np.int32)
        for first, span in zip(self._first_events, self._spans, strict=True):
            text = self._source.read(*span)
            try:
                rows = list(_typed_texts(decode(b"[" + text + b"]"), len(members)))
            except (msgspec.MsgspecError, RecursionError):
                rows = list(_loose_texts(self._decoded(text), members))
            rows = rows[: max(0, events - first)]  # a file that grew since holds no new events
            code[first : first + len(rows)] = list(map(interner.__getitem__, rows))
        return Records(code + np.int32(ABSENT), tuple(interner)[1:])

    def _decoded(self, text: bytes) -> list[Any]:
        try:
            elements: list[Any] = orjson.loads(b"[" + text + b"]")
        except orjson.JSONDecodeError:
            return salvage(text, self.layout, last=True).elements
        return elements

    def _elements(self, chunk: int) -> list[Any]:
        kept = self._kept.get(chunk)
        if kept is None:
            kept = self._decoded(self._source.read(*self._spans[chunk]))
            self._kept[chunk] = kept
            while len(self._kept) > _KEPT_CHUNKS:
                self._kept.popitem(last=False)
        self._kept.move_to_end(chunk)
        return kept


def _decoder(members: tuple[str, ...]) -> Callable[[bytes], list[Any]]:
    """Returns a decoder of a list of events that builds nothing but the members' texts."""
    slots = [f"m{i}" for i in range(len(members))]
    args = msgspec.defstruct(
        "Args",
        [(slot, msgspec.Raw, _NOTHING) for slot in slots],
        rename=dict(zip(slots, members, strict=True)),
        gc=False,
    )
    event = msgspec.defstruct("Event", [("args", args | None, None)], gc=False)
    return msgspec.json.Decoder(list[event]).decode  # type: ignore[valid-type]


def _typed_texts(events: Iterable[Any], members: int) -> Iterator[Texts]:
    nothing = (b"",) * members
    for event in events:
        args = event.args
        yield nothing if args is None else tuple(map(bytes, msgspec.structs.astuple(args)))


def _loose_texts(elements: Iterable[Any], members: tuple[str, ...]) -> Iterator[Texts]:
    for element in elements:
        args = element.get("args") if isinstance(element, dict) else None
        found = args if isinstance(args, dict) else {}
        yield tuple(_text_of(found[name]) if name in found else b"" for name in members)


def _text_of(value: object) -> bytes:
    try:
        return orjson.dumps(value)
    except TypeError:  # lone surrogates, integers past 64 bits, floats that keep their digits
        return json.dumps(value).encode()
