"""What a list or tree widget draws: rows of a label and cells, by the id of a node."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np

from ptx.tui.state.tree_index import TreeIndex

if TYPE_CHECKING:
    from collections.abc import Sequence

Role = Literal[
    "normal",
    "dim",
    "strong",
    "alert",
    "kernel",
    "host",
    "matmul",
    "attention",
    "pointwise",
    "reduce",
    "copy",
    "memory",
    "communication",
    "other",
]


@dataclass(frozen=True, slots=True)
class Column:
    """A column of fixed width right of the labels; `cut` says where a long text gives way."""

    heading: str
    width: int
    left: bool = False
    cut: Literal["end", "middle"] = "end"


@dataclass(frozen=True, slots=True)
class Cell:
    """A text with the role that decides its colour."""

    text: str
    role: Role = "normal"


@dataclass(frozen=True, slots=True)
class Row:
    """One line: the label is cut to fit (in its middle if so said), its `tail` stays whole.

    Where the label is too long, `brief` stands in its place if there is one.
    """

    label: str
    cells: tuple[Cell, ...] = ()
    tail: str = ""
    role: Role = "normal"
    middle: bool = False
    brief: str = ""


class RowSource(Protocol):
    """Gives a widget its rows; asked only for those on screen."""

    @property
    def index(self) -> TreeIndex:
        """Returns which nodes are visible."""

    def title(self) -> str:
        """Returns the heading of the labels."""

    def columns(self, width: int) -> Sequence[Column]:
        """Returns the columns for a widget of this many cells."""

    def row(self, node: int, columns: Sequence[Column]) -> Row:
        """Returns the row of a node, with one cell a column."""


class FlatRows:
    """A list of ready rows as a source without depth."""

    def __init__(self, title: str, columns: Sequence[Column], rows: Sequence[Row]) -> None:
        self.index = TreeIndex(np.full(len(rows), -1, np.int32))
        self._title = title
        self._columns = columns
        self._rows = rows

    def title(self) -> str:
        """Returns the heading of the labels."""
        return self._title

    def columns(self, width: int) -> Sequence[Column]:
        """Returns the columns that leave the labels a third of the width, from the left."""
        kept: list[Column] = []
        for column in self._columns:
            if sum(c.width + 1 for c in kept) + column.width + 1 > width * 2 // 3:
                break
            kept.append(column)
        return kept

    def row(self, node: int, columns: Sequence[Column]) -> Row:
        """Returns the row of a node, with one cell a column."""
        found = self._rows[node]
        return replace(found, cells=found.cells[: len(columns)])
