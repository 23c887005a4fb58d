"""Times as the time-line writes them: from the step's start, as exact as a cell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptx.profiling.report.units import format_ns
from ptx.tui.state.timeline.cells import Look, Run

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ptx.tui.state.timeline.window import Window

_SCALE_NS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}
_TICK_CELLS = 20


def format_offset(ns: int, resolution_ns: int) -> str:
    """Returns a distance such as `+66us`, `-1.2345ms`, `0`, told apart from its neighbours.

    Args:
        ns: the distance.
        resolution_ns: how far apart neighbours are; as many digits as needed, at least three.
    """
    if ns == 0:
        return "0"
    sign = "+" if ns > 0 else ""
    plain = format_ns(ns)
    number = plain.rstrip("snmu")
    unit = plain[len(number) :]
    digits = shown = len(number.partition(".")[2])
    while _SCALE_NS[unit] > max(1, resolution_ns) * 10**digits:
        digits += 1
    return sign + (plain if digits == shown else f"{ns / _SCALE_NS[unit]:.{digits}f}{unit}")


def ruler(window: Window, origin_ns: int, cells: int, signs: Mapping[int, str]) -> Sequence[Run]:
    """Returns the line of times above the cells: one every 20 cells, and single signs.

    Args:
        window: the times on screen.
        origin_ns: what the times count from.
        cells: how many cells there are.
        signs: what stands in a cell, such as a mark; a time that would touch it is left out.
    """
    edges = window.edges(cells).tolist()
    line = [" "] * cells
    for at in range(0, cells, _TICK_CELLS):
        text = format_offset(edges[at] - origin_ns, window.span_ns * _TICK_CELLS // cells)
        if at + len(text) <= cells and not any(at <= k < at + len(text) for k in signs):
            line[at : at + len(text)] = text
    runs, done = [], 0
    for k in sorted(signs):
        runs += [
            Run("".join(line[done:k]), k - done, Look("dim")),
            Run(signs[k], 1, Look("strong")),
        ]
        done = k + 1
    return [
        run for run in (*runs, Run("".join(line[done:]), cells - done, Look("dim"))) if run.cells
    ]
