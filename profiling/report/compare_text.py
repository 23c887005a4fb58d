"""A comparison as plain text: totals, the verdict, and the changes as a diff of kernels."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from ptx.profiling.analysis.comparison.folding import fold
from ptx.profiling.report.units import format_bytes, format_ns
from ptx.profiling.sanitise import clean

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ptx.profiling.analysis.comparison.model import Comparison, Group, Place, Side

MARKS = {
    "same": "=",
    "same*": "=",
    "moved": "=",
    "fused": "~",
    "replaced": "~",
    "removed": "-",
    "added": "+",
}
"""The sign of each kind of group."""

_TIME_WIDTH = 9
_LISTED_OPS = 6
_LONGEST_OP = 40
_LEAST_SURE = 0.8


def compare_text(
    found: Comparison, width: int = 80, *, hide_same: bool = False, ascii_only: bool = False
) -> Iterator[str]:
    """Yields the lines of a comparison.

    Args:
        found: the comparison.
        width: columns; prose is wrapped and kernel names are cut in the middle.
        hide_same: leave out what runs the same kernels on the same operands.
        ascii_only: no arrows or ellipses.
    """
    for line in _lines(found, width, hide_same=hide_same):
        yield _plain(line) if ascii_only else line


def _plain(line: str) -> str:
    for sign, letters in (("→", "->"), ("…", "~"), ("Δ", "d")):
        line = line.replace(sign, letters)
    return line


def _lines(found: Comparison, width: int, *, hide_same: bool) -> Iterator[str]:
    yield from _heading(found, width)
    yield from textwrap.wrap(clean(found.verdict), width, break_on_hyphens=False)
    for note in (*found.notes, *filter(None, [found.host.why_not])):
        yield from textwrap.wrap(
            f"note: {clean(note)}", width, subsequent_indent="      ", break_on_hyphens=False
        )
    if found.groups:
        yield ""
        yield from _table(found, width, hide_same=hide_same)
    yield from _host_lines(found, width)


def _heading(found: Comparison, width: int) -> Iterator[str]:
    names = [clean(side.structure.trace.path.name.partition(".json")[0]) for side in found.sides]
    steps = [len(side.steps) for side in found.sides]
    counts = (
        f"{steps[0]} steps of each" if steps[0] == steps[1] else f"{steps[0]}, {steps[1]} steps"
    )
    if steps == [1, 1]:
        counts = "one step of each"
    devices = list(dict.fromkeys(clean(d) for side in found.sides for d in side.devices))
    yield f"A {names[0]}  →  B {names[1]}   {counts}   {', '.join(devices) or 'no GPU'}"
    for word, side in zip("AB", found.sides, strict=True):
        if side.steps:
            yield f"{word} {_side_line(side, width - 2)}"


def _side_line(side: Side, width: int) -> str:
    """Returns medians over the steps: time, GPU, idle and counts, as many as fit."""
    figures = side.per_step
    parts = [
        f"step {format_ns(side.typical_step_ns)}",
        f"GPU {format_ns(figures['gpu_busy_ns'].median)}",
        "" if side.idle_ns is None else f"idle {format_ns(side.typical_idle_ns)}",
        *(f"{word} {figures[word].median}" for word in ("kernels", "launches", "ops", "views")),
    ]
    size = figures["modelled_bytes"].median
    if size is not None:
        parts.append(f"moves {format_bytes(size)} (modelled)")
    line = ""
    for part in filter(None, parts):
        longer = f"{line}  {part}" if line else part
        if len(longer) > width:
            break
        line = longer
    return line


def _table(found: Comparison, width: int, *, hide_same: bool) -> Iterator[str]:
    name_width = width - 3 * _TIME_WIDTH - 2
    yield _row("  kernels", ("A", "B", "Δ"), name_width)
    for block in fold(found.groups):
        rows = [row for row in block.rows if not (hide_same and row[0].kind in ("same", "moved"))]
        if not rows:
            continue
        if block.repeats > 1 and len(block.rows) > 1:
            yield f"{block.repeats}x the next {len(rows)} groups (times are sums)"
        for row in rows:
            yield from _group_lines(row, name_width)
    yield _row(
        "  all kernels",
        (
            *(_per_step(side.totals["gpu_sum_ns"], len(side.steps)) for side in found.sides),
            _signed(found.delta_per_step("gpu_sum_ns") or 0),
        ),
        name_width,
    )


def _per_step(total: int | None, steps: int) -> str:
    return "?" if total is None else format_ns(round(total / max(1, steps)))


def _group_lines(row: Sequence[Group], width: int) -> Iterator[str]:
    """Yields the lines of one row: one for equal kernels, else one for each kernel too."""
    first = row[0]
    times = f"{len(row)}x " if len(row) > 1 else ""
    doubt = "?" if min(group.confidence for group in row) < _LEAST_SURE else ""
    delta = sum(group.delta_ns for group in row)
    a, b = (sum(group.per_step_ns(side) for group in row) for side in (0, 1))
    mark = MARKS[first.kind]
    if first.kind in ("same", "same*", "moved", "removed", "added"):
        places = first.a or first.b
        star = {"same*": " *", "moved": " (moved)"}.get(first.kind, "")
        name = f"{mark}{doubt} {times}{_main(places)}{star}"
        yield _row(name, (_time(a, first.a), _time(b, first.b), _signed(delta)), width)
        yield from _detail_lines(first, width)
        return
    title = f"{mark}{doubt} {times}{first.kind} {len(first.a)}→{len(first.b)}"
    yield _row(title, (format_ns(a), format_ns(b), _signed(delta)), width)
    for sign, side in (("-", 0), ("+", 1)):
        for name, ns in _by_name(row, side):
            cells = ("", format_ns(ns)) if side else (format_ns(ns),)
            yield _row(f"    {sign} {name}", cells, width)
    yield from _detail_lines(first, width)


def _detail_lines(group: Group, width: int) -> Iterator[str]:
    for detail in group.details[:3]:
        yield from textwrap.wrap(
            clean(detail),
            width + 2 * _TIME_WIDTH,
            initial_indent="    * ",
            subsequent_indent="      ",
            break_on_hyphens=False,
        )


def _by_name(row: Sequence[Group], side: int) -> list[tuple[str, int]]:
    """Returns (name with its count, ns per step) of the kernels of one side, in order."""
    sums: dict[str, list[int]] = {}
    for group in row:
        for place in (group.a, group.b)[side]:
            found = sums.setdefault(place.short, [0, 0])
            found[0] += 1
            found[1] += round(place.ns / place.count)
    return [(f"{n}x {name}" if n > 1 else name, ns) for name, (n, ns) in sums.items()]


def _main(places: Sequence[Place]) -> str:
    """Returns the name of the longest kernel, and how many more there are."""
    longest = max(places, key=lambda place: (place.ns, place.short))
    more = f" +{len(places) - 1}" if len(places) > 1 else ""
    return longest.short + more


def _time(ns: int, places: Sequence[Place]) -> str:
    return format_ns(ns) if places else ""


def _signed(ns: int) -> str:
    return f"+{format_ns(ns)}" if ns > 0 else format_ns(ns)


def _row(name: str, cells: Sequence[str], width: int) -> str:
    columns = "".join(f"{cell:>{_TIME_WIDTH}}" for cell in cells)
    return f"{_cut(clean(name), width):<{width}}{columns}".rstrip()


def _cut(text: str, width: int) -> str:
    """Returns text cut in the middle, since both its ends tell most."""
    if len(text) <= width:
        return text
    tail = (width - 1) // 2
    return text[: width - 1 - tail] + "…" + text[-tail:]


def _host_lines(found: Comparison, width: int) -> Iterator[str]:
    host = found.host
    for word, ops in (("only in A", host.removed_ops), ("only in B", host.added_ops)):
        if ops:
            listed = [
                f"{n}x {_cut(name, _LONGEST_OP)}" for name, n in list(ops.items())[:_LISTED_OPS]
            ]
            more = f", {len(ops) - _LISTED_OPS} more names" if len(ops) > _LISTED_OPS else ""
            yield ""
            yield from textwrap.wrap(
                f"ops {word}, a step: {clean(', '.join(listed))}{more}",
                width,
                subsequent_indent="  ",
                break_on_hyphens=False,
            )
    if host.dispatch_ns is not None:
        before, after = map(format_ns, host.dispatch_ns)
        yield f"CPU time in ops and regions, a step: {before} → {after} (under the profiler)"
    if host.layer_ns:
        parts = [f"{word} {format_ns(b)}" for word, (_, b) in host.layer_ns.items() if b]
        if parts:
            yield from textwrap.wrap(
                f"of that torch.compile's own layers in B: {', '.join(parts)}",
                width,
                subsequent_indent="  ",
                break_on_hyphens=False,
            )
