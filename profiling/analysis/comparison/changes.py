"""The changes of a comparison by what happened: repeated layers count together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ptx.profiling.analysis.comparison.model import Group


@dataclass(frozen=True, slots=True)
class Change:
    """Groups with one text: how many, and their sums per step; bytes are None if one is unknown."""

    kind: str
    text: str
    places: int
    a_ns: int
    b_ns: int
    delta_ns: int
    delta_bytes: int | None
    confidence: float
    details: tuple[str, ...]


def changes(groups: Sequence[Group]) -> list[Change]:
    """Returns what happened, the largest change of time first; equal kernels are one entry."""
    found: dict[tuple[str, str], list[Group]] = {}
    for group in groups:
        same = group.kind in ("same", "moved")
        key = ("same", "the same kernels") if same else (group.kind, group.text)
        found.setdefault(key, []).append(group)
    rows = [_change(kind, text, mine) for (kind, text), mine in found.items()]
    return sorted(rows, key=lambda row: (row.kind == "same", -abs(row.delta_ns), row.text))


def _change(kind: str, text: str, groups: Sequence[Group]) -> Change:
    sizes = [group.delta_bytes for group in groups if group.delta_bytes is not None]
    return Change(
        kind,
        text,
        len(groups),
        sum(group.per_step_ns(0) for group in groups),
        sum(group.per_step_ns(1) for group in groups),
        sum(group.delta_ns for group in groups),
        sum(sizes) if len(sizes) == len(groups) else None,
        min(group.confidence for group in groups),
        groups[0].details,
    )
