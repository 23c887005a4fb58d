"""Lanes over time: draws the lines that the state made and sends those that changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.style import Style
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from ptx.tui.widgets._paint import fit, role_classes, role_css, strip

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ptx.tui.state.glyphs import Glyphs
    from ptx.tui.state.timeline.cells import Look, Run
    from ptx.tui.state.timeline.drawing import DrawnLine

_DIM, _LINKED = Style(dim=True), Style(underline=True)


class TimelineLanes(Widget, can_focus=True, inherit_bindings=False):
    """Draws labels and cells; keys are the screen's business."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        *role_classes("timeline"),
        "timeline--chosen",
    }
    DEFAULT_CSS = f"""
    TimelineLanes {{ height: 1fr; }}
    {role_css("TimelineLanes", "timeline")}
    TimelineLanes > .timeline--chosen {{ background: $primary-muted; }}
    """

    def __init__(self, *, glyphs: Glyphs, mark_cursor: bool, id: str) -> None:
        super().__init__(id=id)
        self._glyphs = glyphs
        self._mark_cursor = mark_cursor
        self._lines: list[DrawnLine] = []

    def show(self, lines: Sequence[DrawnLine]) -> None:
        """Shows other lines; of a line only the cells that changed are sent."""
        before, self._lines = self._lines, list(lines)
        width = self.size.width
        if len(before) != len(self._lines):
            self.refresh()
            return
        for y, (old, new) in enumerate(zip(before, self._lines, strict=True)):
            if (old.label, old.is_current) != (new.label, new.is_current):
                self.refresh(Region(0, y, new.label_cells + 1, 1))
            if old.label_cells != new.label_cells:
                self.refresh(Region(0, y, width, 1))
            elif old.runs != new.runs:
                left, right = _same_cells(old.runs, new.runs)
                first = new.label_cells + 1 + left
                self.refresh(Region(first, y, max(0, width - first - right), 1))

    def as_text(self) -> str:
        """Returns what is on screen as text."""
        return "\n".join(self.render_line(y).text.rstrip() for y in range(len(self._lines)))

    def render_line(self, y: int) -> Strip:
        """Returns one line."""
        width, normal = self.size.width, self._style("normal")
        if y >= len(self._lines):
            return Strip.blank(width, normal)
        line = self._lines[y]
        sign = ">" if line.is_current and self._mark_cursor else " "
        label = sign + fit(line.label, line.label_cells - 1, self._glyphs.ellipsis, middle=True)
        role = "strong" if line.is_current else "dim"
        pieces = [(label + " ", self._style(role))]
        pieces += [(self._text(run), self._look(run.look)) for run in line.runs]
        return strip(pieces, width, normal)

    def _text(self, run: Run) -> str:
        """Returns the text of a run in exactly its cells."""
        text = fit(run.text, run.cells, self._glyphs.ellipsis)
        if run.fill == " ":
            return text
        kept = text.rstrip()
        return kept + (" " + run.fill * run.cells)[: len(text) - len(kept)]

    def _look(self, look: Look) -> Style:
        style = self._style(look.role)
        if look.is_chosen:
            chosen = self.get_component_rich_style("timeline--chosen")
            style += Style(bgcolor=chosen.bgcolor)
        if look.is_dim:
            style += _DIM
        return style + _LINKED if look.is_linked else style

    def _style(self, role: str) -> Style:
        return self.get_component_rich_style(f"timeline--{role}")


def _same_cells(old: Sequence[Run], new: Sequence[Run]) -> tuple[int, int]:
    """Returns how many cells two different lines share at the left and at the right."""
    pairs = list(zip(old, new, strict=False))
    left = next((k for k, (a, b) in enumerate(pairs) if a != b), len(pairs))
    back = list(zip(reversed(old[left:]), reversed(new[left:]), strict=False))
    right = next((k for k, (a, b) in enumerate(back) if a != b), len(back))
    return sum(run.cells for run in new[:left]), sum(run.cells for run in new[len(new) - right :])
