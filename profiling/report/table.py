"""Plain-text tables: columns as wide as their cells, numbers to the right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ptx.profiling.sanitise import clean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


@dataclass(frozen=True, slots=True)
class Column:
    """A column's heading; `left` for words, else its cells stand to the right."""

    heading: str
    left: bool = False


def table(columns: Sequence[Column], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yields the lines of a table, heading first; cells are sanitised, the last may be long."""
    cells = [[clean(cell) for cell in row] for row in rows]
    widths = [
        max(len(column.heading), *(len(row[k]) for row in cells), 0)
        for k, column in enumerate(columns)
    ]
    for row in [[column.heading for column in columns], *cells]:
        line = "  ".join(
            cell.ljust(width) if column.left else cell.rjust(width)
            for cell, width, column in zip(row, widths, columns, strict=True)
        )
        yield line.rstrip()
