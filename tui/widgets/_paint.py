"""Pieces of styled text to one line of cells."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from textual.strip import Strip

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.style import Style


ROLE_COLOURS = {
    "normal": "color: $foreground",
    "dim": "color: #9a9a9a",  # 5.9:1 on black; "bright black" is too faint to read
    "strong": "color: $foreground; text-style: bold",
    "alert": "color: $error; text-style: bold",
    "kernel": "color: $success",
    "host": "color: $accent",
    "matmul": "color: $text-primary",
    "attention": "color: $text-secondary",
    "pointwise": "color: $text-success",
    "reduce": "color: $text-accent",
    "copy": "color: $text-warning",
    "memory": "color: $warning",
    "communication": "color: $text-error",
    "other": "color: $foreground",
}
"""How each role of `ptx.tui.state.rows.Role` is drawn, as a declaration of CSS."""


def role_classes(prefix: str) -> set[str]:
    """Returns the component classes of all roles for a widget, such as `lines--dim`."""
    return {f"{prefix}--{role}" for role in ROLE_COLOURS}


def role_css(widget: str, prefix: str) -> str:
    """Returns the rules that colour a widget's roles."""
    return "\n".join(
        f"{widget} > .{prefix}--{role} {{ {colours}; background: $background; }}"
        for role, colours in ROLE_COLOURS.items()
    )


def fit(text: str, width: int, ellipsis: str, *, middle: bool = False) -> str:
    """Returns the text in exactly `width` cells, cut with an ellipsis or filled with spaces."""
    if width <= 0:
        return ""
    if cell_len(text) <= width:
        return set_cell_size(text, width)
    if not middle or width < 8:
        return set_cell_size(text, width - 1) + ellipsis
    tail_width = (width - 1) // 2
    tail = text[-tail_width:]
    while cell_len(tail) > tail_width:
        tail = tail[1:]
    head = set_cell_size(text, width - 1 - cell_len(tail))
    return head + ellipsis + tail


def fit_right(text: str, width: int, ellipsis: str) -> str:
    """Returns the text at the right end of exactly `width` cells."""
    length = cell_len(text)
    if length > width:
        return fit(text, width, ellipsis)
    return " " * (width - length) + text


def strip(parts: Iterable[tuple[str, Style]], width: int, fill: Style) -> Strip:
    """Returns a line of exactly `width` cells; neighbours that look alike become one segment.

    A change of style costs some 40 bytes on the wire, so blanks take that of a neighbour where
    nothing shows it. Every segment has a style: Textual's monochrome filter fails on one without.
    """
    merged: list[tuple[str, Style]] = []
    for text, style in parts:
        if not text:
            continue
        if merged and (merged[-1][1] == style or _blanks_agree(merged[-1], (text, style))):
            before, worn = merged.pop()
            merged.append((before + text, worn if text.isspace() else style))
        else:
            merged.append((text, style))
    segments = [Segment(text, style) for text, style in merged]
    return Strip(segments).adjust_cell_length(width, fill)


def _blanks_agree(one: tuple[str, Style], other: tuple[str, Style]) -> bool:
    """Returns whether one of two texts is blank and looks the same in the other's style."""
    (text, a), (other_text, b) = one, other
    return (
        (text.isspace() or other_text.isspace())
        and a.bgcolor == b.bgcolor
        and (a.reverse, a.underline, a.strike) == (b.reverse, b.underline, b.strike)
    )
