"""The costliest kernels, ops, modules, categories and shapes of a step, as one list."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from ptx.profiling.sanitise import clean
from ptx.tui.keymap import TOP_KEYS
from ptx.tui.screens._base import bindings_of
from ptx.tui.screens._list import ListScreen
from ptx.tui.state.explore import Only
from ptx.tui.state.top import GROUPINGS, TopRows
from ptx.tui.widgets.lines import Tabs

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType

    from ptx.profiling.analysis.tops import Grouping, TopSort


class TopScreen(ListScreen):
    """Ranks the groups of a step; Enter shows where a group's instances are in the tree."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_of(TOP_KEYS)
    KEYS = TOP_KEYS

    grouping: Grouping = GROUPINGS[0]
    text = ""
    sort: TopSort | None = None

    def compose_above(self) -> ComposeResult:
        """Makes the names of the groupings."""
        yield Tabs(glyphs=self._glyphs, id="tabs")

    def make_rows(self) -> TopRows:
        """Returns the groups of the present step."""
        return TopRows(
            self.structure,
            self.grouping,
            step=self.step,
            glyphs=self._glyphs,
            text=self.text,
            sort=self.sort,
        )

    @property
    def rows(self) -> TopRows:
        """Returns the groups on screen."""
        rows = self.list.source
        assert isinstance(rows, TopRows)
        return rows

    def show_heading(self) -> None:
        """Shows the present grouping and the names of the columns."""
        super().show_heading()
        note = f"only with {clean(self.text)!r}" if self.text else ""
        names = [f"by {name}" for name in GROUPINGS]
        self.query_one("#tabs", Tabs).show_tabs(names, f"by {self.grouping}", note, focused=False)

    def action_grouping(self, by: int) -> None:
        """Groups by the next or previous kind."""
        at = GROUPINGS.index(self.grouping) + by
        self.grouping = GROUPINGS[at % len(GROUPINGS)]
        self.show_step()

    def action_order(self) -> None:
        """Sorts by the next column."""
        sorts = self.rows.sorts
        self.sort = sorts[(sorts.index(self.rows.sort) + 1) % len(sorts)]
        self.show_step()
        self._say(self.rows.title())

    def action_filter(self) -> None:
        """Asks for a name and leaves only groups that have it."""
        self._ask("only names with (empty: all)", self._filter)

    def _filter(self, text: str) -> None:
        before, self.text = self.text, text
        self.show_step()
        if text and not self.rows.groups:
            self.text = before
            self.show_step()
            self._say(f"nothing here is called {text!r}")

    def twin(self) -> list[str]:
        """Returns the command that prints this view."""
        by = ["kernels"] if self.grouping == "kernel" else ["ops", "--by", self.grouping]
        named = ["--filter", self.text] if self.text else []
        return [*by, *self._step_words(), *named]

    def action_inspect(self) -> None:
        """Shows where the group's instances are in the tree."""
        row = self.list.cursor
        if row >= 0:
            found = Only(self.rows.label(row), self.rows.nodes(row))
            self.post_message(self.PlacesChosen(self.step, found))

    def action_out(self) -> None:
        """Leaves the prompt, the filter, and at last the list."""
        if self._prompt is None and self.text:
            self._filter("")
        else:
            super().action_out()
