"""What the hooked processes reported: which traces there are, what they cost, what went wrong."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@dataclass
class Process:
    """One hooked process: what it reported, by event, in order."""

    events: list[dict[str, Any]] = field(default_factory=list)

    def all(self, event: str) -> list[dict[str, Any]]:
        """Returns the reports of one kind."""
        return [facts for facts in self.events if facts.get("event") == event]

    def last(self, event: str) -> dict[str, Any]:
        """Returns the newest report of one kind, an empty one where there is none."""
        found = self.all(event)
        return found[-1] if found else {}

    @property
    def lost_step(self) -> int | None:
        """Returns the first step of a window that was open when the process was killed."""
        closed = len(self.all("trace")) + len([f for f in self.all("dropped") if f.get("opened")])
        opened = self.all("open")
        return opened[-1].get("step") if len(opened) > closed else None


def read_processes(folder: Path) -> list[Process]:
    """Returns the processes that left a report in a folder, those with traces first."""
    found = [Process(list(_events(path))) for path in sorted(folder.glob("*.jsonl"))]
    return sorted(found, key=lambda process: not process.all("trace"))


def _events(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_bytes().splitlines():
        try:
            facts = orjson.loads(line)
        except orjson.JSONDecodeError:
            continue  # the line in which a process was killed
        if isinstance(facts, dict):
            yield facts
