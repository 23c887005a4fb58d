"""Modelled and measured bytes as text: tables of groups and of single activities."""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING

from ptx.profiling.analysis.categories import CATEGORY_WORDS
from ptx.profiling.analysis.roofline import Bound, modelled, roofline
from ptx.profiling.analysis.traffic import traffic, traffic_by_label
from ptx.profiling.report.table import Column, table
from ptx.profiling.report.units import (
    format_bytes,
    format_count,
    format_flops,
    format_ns,
    format_number,
    format_share,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import numpy as np
    from numpy.typing import NDArray

    from ptx.profiling.analysis.counters import Measured
    from ptx.profiling.analysis.traffic import Traffic
    from ptx.profiling.structure.structure import Structure

_COLUMNS = ("n", "GPU", "%", "read", "written", "GB/s", "FLOPs", "TFLOP/s", "modelled")


def traffic_table(
    rows: Iterable[tuple[str, Traffic]], whole_ns: int, heading: str
) -> Iterator[str]:
    """Yields the lines of a table of groups with their modelled bytes and FLOPs.

    Rates are over the time that is modelled; the last number is its share of the group's time.

    Args:
        rows: the label and the sums of each group.
        whole_ns: 100 % of the GPU time.
        heading: what the labels are.
    """
    yield from table(
        (*map(Column, _COLUMNS), Column(heading, left=True)),
        (
            (
                format_count(row.count),
                format_ns(row.ns),
                format_share(row.ns, whole_ns),
                format_bytes(row.read_bytes),
                format_bytes(row.write_bytes),
                _rate(row.gbps),
                format_flops(row.flops),
                _rate(row.tflops),
                format_share(row.modelled_ns, row.ns),
                label,
            )
            for label, row in rows
        ),
    )


def where_bytes_go(structure: Structure, rows: NDArray[np.intp]) -> Iterator[str]:
    """Yields a line a category of kernels, and how much of the GPU time the bytes stand for."""
    whole = traffic(structure, rows)
    parts = traffic_by_label(structure, rows, "category").items()
    letters = {word: letter for letter, word in CATEGORY_WORDS.items()}
    labelled = [(f"{letters[str(word)]} {word}", part) for word, part in parts]
    labelled.sort(key=lambda pair: -pair[1].ns)
    yield from traffic_table(labelled, whole.ns, "where the bytes go")
    yield modelled_line(whole)


def modelled_line(whole: Traffic) -> str:
    """Returns what share of the GPU time modelled bytes stand for, and how many they are."""
    share = format_share(whole.modelled_ns, whole.ns)
    return f"bytes are modelled for {share} of {format_ns(whole.ns)} GPU time" + (
        f": {format_bytes(whole.moved_bytes)}" if whole.moved_bytes is not None else ""
    )


def activity_traffic_table(
    structure: Structure, rows: NDArray[np.intp], measured: Measured | None = None
) -> Iterator[str]:
    """Yields the lines of a table with one line an activity: bytes, rates and what bounds it.

    Args:
        structure: the trace.
        rows: positions in `structure.activities`.
        measured: bytes by hardware counters, which then stand beside the modelled ones.
    """
    events, activities = structure.trace.table, structure.activities
    bytes_of, against = modelled(structure), roofline(structure)
    sizes = [("read", bytes_of.read_bytes), ("written", bytes_of.write_bytes)]
    if measured is not None:
        sizes += [("read*", measured.read_bytes), ("written*", measured.write_bytes)]
    yield from table(
        (
            *map(Column, ("event", "GPU", *(word for word, _ in sizes), "GB/s", "TFLOP/s")),
            Column("bound", left=True),
            Column("kernel", left=True),
        ),
        (
            (
                str(event := int(activities.event[k])),
                format_ns(int(activities.counted_ns[k])),
                *(format_bytes(_known(int(column[k]))) for _, column in sizes),
                _rate(float(against.gbps[k])),
                _rate(float(against.tflops[k])),
                Bound(int(against.bound[k])).word or "?",
                events.name_of(event),
            )
            for k in rows.tolist()
        ),
    )
    if measured is not None:
        yield "* measured by hardware counters in another run; the others are modelled"


def _rate(value: float | None) -> str:
    """Returns a rate in three digits, `?` for an unknown one (None or nan)."""
    return "?" if value is None or isnan(value) else format_number(value)


def _known(size: int) -> int | None:
    return size if size >= 0 else None
