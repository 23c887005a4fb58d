"""The explorer with a guide: two lines that say what to read, and which key to press next."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from ptx.tui.screens.explore import ExploreScreen
from ptx.tui.state.tour import STOPS
from ptx.tui.widgets.lines import Lines

if TYPE_CHECKING:
    from textual import events
    from textual.app import ComposeResult

_SHOWN = {"question_mark": "?"}
_MOST_LINES = 3


class TourScreen(ExploreScreen):
    """Goes on to the next stop when its key was pressed; all other keys work as ever."""

    stop = 0

    def compose_bottom(self) -> ComposeResult:
        """Makes the guide above the footer."""
        yield Lines(glyphs=self._glyphs, id="guide")
        yield from super().compose_bottom()

    def on_resize(self, event: events.Resize) -> None:
        """Breaks the guide's text anew."""
        super().on_resize(event)
        self._show_stop()

    def on_key(self, event: events.Key) -> None:
        """Goes on when the key of the present stop is pressed; its action comes after this."""
        super().on_key(event)
        if self.stop < len(STOPS) and event.key == STOPS[self.stop].key:
            self.stop = min(self.stop + 1, len(STOPS) - 1)
            self._show_stop()

    def _show_stop(self) -> None:
        stop = STOPS[self.stop]
        width = max(20, self.size.width - 2)
        lines = textwrap.wrap(stop.text, width)[: _MOST_LINES - 1]
        number = f"{self.stop + 1}/{len(STOPS)}"
        key = _SHOWN.get(stop.key, stop.key)
        guide = self.query_one("#guide", Lines)
        guide.styles.height = len(lines) + 1
        guide.show(
            [
                *([(f" {line}", "strong")] for line in lines),
                [(f" {number}  press ", "dim"), (key, "alert"), (f": {stop.does}", "dim")],
            ]
        )

    def _room(self) -> int:
        return super()._room() - _MOST_LINES
