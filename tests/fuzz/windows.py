"""Stretches of real traces, small enough that very many damaged forms of them can be tried."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence
    from pathlib import Path

_LARGEST_FILE_BYTES = 200_000
_BLANK = " \t\r\n,"


@dataclass(frozen=True)
class Window:
    """A sound trace: what precedes its elements, their texts, what is between and behind them."""

    source: str
    head: bytes
    elements: tuple[bytes, ...]
    separator: bytes
    tail: bytes

    @property
    def text(self) -> bytes:
        """Returns the file's text."""
        return self.head + self.separator.join(self.elements) + self.tail

    @property
    def spans(self) -> list[tuple[int, int]]:
        """Returns (start, end) of each element in the text."""
        found, at = [], len(self.head)
        for element in self.elements:
            found.append((at, at + len(element)))
            at += len(element) + len(self.separator)
        return found


@dataclass
class Recording:
    """A whole trace file, cut into its elements; `take` gives a window of it."""

    name: str
    head: bytes
    elements: list[bytes]
    separator: bytes
    tail: bytes
    linked: list[list[int]] = field(default_factory=list)

    def take(self, rng: random.Random, size: int) -> Window:
        """Returns a window of about `size` elements in the file's layout or in a compact one.

        Half of it follows each other in the file, half is picked by correlation, so that launches
        keep their activities.
        """
        first = rng.randrange(max(1, len(self.elements) - size))
        picks = set(range(first, min(first + size // 2, len(self.elements))))
        while self.linked and len(picks) < min(size, len(self.elements)):
            picks.update(rng.choice(self.linked))
            picks.add(rng.randrange(len(self.elements)))
        elements = [self.elements[k] for k in sorted(picks)]
        layout = rng.choice(("own", "own", "compact", "lines", "list"))
        if layout == "own":
            return Window(self.name, self.head, tuple(elements), self.separator, self.tail)
        compact = tuple(_compact(text) for text in elements)
        if layout == "list":
            return Window(self.name, b"[", compact, b", ", b"]")
        separator = b"," if layout == "compact" else b",\n"
        head = self.head.rstrip() + (b"" if layout == "compact" else b"\n")
        return Window(self.name, head, compact, separator, self.tail.lstrip())


def _compact(text: bytes) -> bytes:
    return b" ".join(line.strip() for line in text.splitlines())


def recordings(folders: Sequence[Path]) -> list[Recording]:
    """Returns all small sound traces of the folders that are there."""
    paths = [p for folder in folders if folder.is_dir() for p in sorted(folder.glob("*.json*"))]
    found = []
    for path in paths:
        if path.stat().st_size > _LARGEST_FILE_BYTES or ".expect." in path.name:
            continue
        data = path.read_bytes()
        recording = _cut(path.name, gzip.decompress(data) if path.suffix == ".gz" else data)
        if recording is not None:
            found.append(recording)
    return found


def _cut(name: str, data: bytes) -> Recording | None:
    """Returns the recording of a text, None unless it is a sound object with an event list."""
    try:
        text = data.decode()
        members = json.loads(text)
    except ValueError:
        return None
    if not isinstance(members, dict) or not isinstance(members.get("traceEvents"), list):
        return None
    start = text.index("[", text.index('"traceEvents"')) + 1
    decoder = json.JSONDecoder()
    spans: list[tuple[int, int]] = []
    events: list[Any] = []
    at = start
    while True:
        while text[at] in _BLANK:
            at += 1
        if text[at] == "]":
            break
        value, end = decoder.raw_decode(text, at)
        spans.append((at, end))
        events.append(value)
        at = end
    if len(spans) < 2:
        return None
    groups: dict[Any, list[int]] = {}
    for k, event in enumerate(events):
        args = event.get("args") if isinstance(event, dict) else None
        if isinstance(args, dict) and isinstance(args.get("correlation"), int):
            groups.setdefault(args["correlation"], []).append(k)
    return Recording(
        name=name,
        head=text[: spans[0][0]].encode(),
        elements=[text[a:b].encode() for a, b in spans],
        separator=text[spans[0][1] : spans[1][0]].encode(),
        tail=text[spans[-1][1] :].encode(),
        linked=[group for group in groups.values() if len(group) > 1],
    )
