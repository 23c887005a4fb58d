"""The full JSON of single events, read from the file again when asked for."""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import orjson

from ptx.profiling.trace.salvage import salvage
from ptx.profiling.trace.split import Layout

if TYPE_CHECKING:
    from ptx.profiling.trace.source import Source

_KEPT_CHUNKS = 4


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

    def _elements(self, chunk: int) -> list[Any]:
        kept = self._kept.get(chunk)
        if kept is None:
            offset, length = self._spans[chunk]
            text = self._source.read(offset, length)
            try:
                kept = orjson.loads(b"[" + text + b"]")
            except orjson.JSONDecodeError:
                kept = salvage(text, self.layout, last=True).elements
            self._kept[chunk] = kept
            while len(self._kept) > _KEPT_CHUNKS:
                self._kept.popitem(last=False)
        self._kept.move_to_end(chunk)
        return kept
