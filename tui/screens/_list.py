"""A screen of one list: header, heading, rows, footer; find goes to names."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from textual import on

from ptx.tui.screens._base import TraceScreen
from ptx.tui.state.header import make_header
from ptx.tui.widgets.lines import HeaderLines, Lines
from ptx.tui.widgets.row_tree import RowTree

if TYPE_CHECKING:
    from textual import events
    from textual.app import ComposeResult

    from ptx.tui.state.rows import FlatRows


class ListScreen(TraceScreen):
    """Shows one list; a screen derives from this and makes its rows."""

    CSS_PATH = "explore.tcss"
    AUTO_FOCUS = "#list"
    found_text = ""

    def compose(self) -> ComposeResult:
        """Makes the widgets."""
        glyphs = self._glyphs
        yield HeaderLines(glyphs=glyphs, letters=self._letters, id="header")
        yield from self.compose_above()
        yield Lines(glyphs=glyphs, id="heading")
        yield RowTree(glyphs=glyphs, mark_cursor=self._mark_cursor, id="list")
        yield from self.compose_below()
        yield from self.compose_bottom()

    def compose_above(self) -> ComposeResult:
        """Makes what stands above the list."""
        yield from ()

    def compose_below(self) -> ComposeResult:
        """Makes what stands below the list."""
        yield from ()

    def make_rows(self) -> FlatRows:
        """Returns the rows of the present step."""
        raise NotImplementedError

    @property
    def list(self) -> RowTree:
        """Returns the list."""
        return self.query_one("#list", RowTree)

    def _focused_list(self) -> RowTree:
        return self.list

    def on_resize(self, event: events.Resize) -> None:
        """Fills the list the first time; later the widgets fit themselves."""
        if not self._is_too_small(event.size) and self.list.source is None:
            self.call_after_refresh(self.show_step)

    def show_step(self) -> None:
        """Shows the rows of the present step."""
        self.query_one("#header", HeaderLines).show_header(make_header(self.structure, self.step))
        self.list.show(self.make_rows(), 0)
        self.show_heading()
        self._show_footer()

    @on(RowTree.LaidOut, "#list")
    def show_heading(self) -> None:
        """Shows the names of the columns."""
        if self.list.source is not None:
            self.query_one("#heading", Lines).show([[(self.list.heading(), "dim")]])

    def action_find(self) -> None:
        """Asks for a text and goes to the next row that has it."""
        self._ask("find", self._find)

    def _find(self, text: str) -> None:
        self.found_text = text
        self.action_again(1)

    def action_again(self, by: int) -> None:
        """Goes to the next or previous row with the text, round at the end."""
        needle = self.found_text.casefold()
        if not needle:
            self._say("nothing was searched yet: / finds a name")
            return
        count = self.list.row_count
        for k in range(1, count + 1):
            row = (self.list.cursor + by * k) % count
            if needle in self.list.text_of(row).casefold():
                self.list.goto(row)
                return
        self._say(f"nothing here is called {self.found_text!r}")

    def action_out(self) -> None:
        """Leaves the prompt, then the list."""
        if self._prompt is not None:
            self._close_prompt()
        else:
            self.action_view("explore")


class DetailScreen(ListScreen):
    """A list with the row under the cursor in full below it."""

    def compose_below(self) -> ComposeResult:
        """Makes the lines of the detail."""
        yield Lines(glyphs=self._glyphs, id="detail")

    def detail(self) -> list[str]:
        """Returns the paragraphs to say of the row under the cursor."""
        raise NotImplementedError

    @on(RowTree.CursorMoved, "#list")
    @on(RowTree.LaidOut, "#list")
    def show_detail(self) -> None:
        """Shows what there is to say of the row under the cursor."""
        width = max(20, self.size.width - 2)
        lines = [
            line
            for text in self.detail()
            for line in textwrap.wrap(text, width, break_on_hyphens=False)
        ]
        self.query_one("#detail", Lines).show([[(f" {line}", "normal")] for line in lines])

    def show_step(self) -> None:
        """Shows the rows of the present step, and the detail of the first."""
        super().show_step()
        self.show_detail()
