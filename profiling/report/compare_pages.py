"""A comparison as Markdown for a pull request, and as one HTML page without scripts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from ptx.profiling.analysis.comparison.changes import Change, changes
from ptx.profiling.analysis.comparison.model import TOTALS, round_ratio
from ptx.profiling.report.units import format_bytes, format_count, format_ns
from ptx.profiling.sanitise import clean

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ptx.profiling.analysis.comparison.model import Comparison, Side

_SPECIAL = re.compile(r"([\\`*_\[\]|~#$!])")
_MOST_ROWS = 200
_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:70em;margin:2em auto;padding:0 1em}"
    "table{border-collapse:collapse;margin:1em 0}td,th{padding:.2em .7em;text-align:left;"
    "border-bottom:1px solid #ccc}.n{text-align:right;font-variant-numeric:tabular-nums}"
    "@media(prefers-color-scheme:dark){body{background:#111;color:#ddd}}"
)


@dataclass(frozen=True, slots=True)
class _Table:
    """A table of plain text; columns from `numbers` on stand to the right."""

    heading: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    first_number: int
    last_number: int


def compare_markdown(found: Comparison) -> Iterator[str]:
    """Yields the lines of a comparison as GitHub's Markdown; names are escaped."""
    a, b = (_file(side) for side in found.sides)
    yield f"**{_markdown(a)} → {_markdown(b)}**: {_markdown(found.verdict)}"
    for table in _tables(found):
        yield ""
        yield _pipes(table.heading)
        yield _pipes(
            "--:" if table.first_number <= k <= table.last_number else "---"
            for k in range(len(table.heading))
        )
        for row in table.rows:
            yield _pipes(map(_markdown, row))
    notes = _notes(found)
    if notes:
        yield ""
    for note in notes:
        yield f"- {_markdown(note)}"


def _pipes(cells: object) -> str:
    return f"| {' | '.join(cells)} |"  # type: ignore[arg-type]


def _markdown(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", escape(clean(text), quote=False))


def compare_html(found: Comparison) -> Iterator[str]:
    """Yields the lines of one self-contained page: no script, no link, all names escaped."""
    a, b = (escape(clean(_file(side))) for side in found.sides)
    yield '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
    yield f"<title>{a} → {b}</title><style>{_STYLE}</style></head><body>"
    yield f"<h1>{a} → {b}</h1><p>{escape(clean(found.verdict))}</p>"
    for table in _tables(found):
        yield (
            "<table><tr>" + "".join(f"<th>{escape(cell)}</th>" for cell in table.heading) + "</tr>"
        )
        for row in table.rows:
            cells = "".join(
                f"<td{_number_class(table, k)}>{escape(clean(cell))}</td>"
                for k, cell in enumerate(row)
            )
            yield f"<tr>{cells}</tr>"
        yield "</table>"
    notes = _notes(found)
    if notes:
        yield "<ul>" + "".join(f"<li>{escape(clean(note))}</li>" for note in notes) + "</ul>"
    yield "</body></html>"


def _number_class(table: _Table, column: int) -> str:
    return ' class="n"' if table.first_number <= column <= table.last_number else ""


def _file(side: Side) -> str:
    return side.structure.trace.path.name


def _notes(found: Comparison) -> list[str]:
    steps = " and ".join(str(len(side.steps)) for side in found.sides)
    return [
        f"figures are those of an average step; {steps} steps are compared",
        *found.notes,
        *filter(None, [found.host.why_not]),
    ]


def _tables(found: Comparison) -> Iterator[_Table]:
    yield _Table(("a step", "A", "B", "B - A"), tuple(_totals(found)), 1, 3)
    rows = changes(found.groups)
    if rows:
        heading = ("what", "places", "A", "B", "B - A", "bytes", "sure")
        yield _Table(heading, tuple(map(_change, rows[:_MOST_ROWS])), 1, 6)


def _totals(found: Comparison) -> Iterator[tuple[str, ...]]:
    for word in TOTALS:
        values = [
            None
            if side.totals[word] is None
            else round_ratio(side.totals[word] or 0, len(side.steps))
            for side in found.sides
            if side.steps
        ]
        delta = found.delta_per_step(word)
        if len(values) == 2 and any(values):
            name = word.removesuffix("_ns").replace("_", " ")
            yield (name, *(_amount(word, value) for value in values), _signed(word, delta))


def _amount(word: str, value: int | None) -> str:
    if value is None:
        return "?"
    if word.endswith("_ns"):
        return format_ns(value)
    return format_bytes(value) if word.endswith("_bytes") else format_count(value)


def _signed(word: str, value: int | None) -> str:
    return ("+" if value is not None and value > 0 else "") + _amount(word, value)


def _change(row: Change) -> tuple[str, ...]:
    details = f" ({'; '.join(row.details)})" if row.details and row.kind != "same*" else ""
    return (
        row.text + details,
        str(row.places),
        format_ns(row.a_ns) if row.a_ns else "",
        format_ns(row.b_ns) if row.b_ns else "",
        _signed("_ns", row.delta_ns),
        _signed("_bytes", row.delta_bytes),
        f"{row.confidence:.2f}",
    )
