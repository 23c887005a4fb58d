"""The panels of the row under the tree's cursor: tabs, and one or two lists below them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import on
from textual.containers import Container, Vertical

from ptx.tui.state.glyphs import ASCII
from ptx.tui.state.panels import PANELS, Choice, Panel, make_panel
from ptx.tui.widgets.lines import Lines, Tabs
from ptx.tui.widgets.row_tree import RowTree

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from ptx.tui.state.explore import ExploreRows
    from ptx.tui.state.glyphs import Glyphs

_IDS = ("panel", "panel-2")
_TAB_NAMES = (*PANELS.values(), "Raw")
_LONGEST_NOTE = 50


class PanelPane(Container):
    """Shows what there is to say of a row; which panels these are follows from row and choice.

    `stacked` puts a second panel below the first one instead of beside it, `two` says whether
    there may be a second one.
    """

    def __init__(self, *, glyphs: Glyphs, mark_cursor: bool, id: str) -> None:
        super().__init__(id=id, classes="ascii" if glyphs is ASCII else None)
        self._glyphs = glyphs
        self._mark_cursor = mark_cursor
        self._choice = Choice()
        self._rows: ExploreRows | None = None
        self._row = -1
        self._names: tuple[str, ...] = ("kernels",)
        self._front = "kernels"
        self._width = 0
        self.two = False
        self.stacked = False

    def compose(self) -> ComposeResult:
        """Makes the widgets."""
        yield Tabs(glyphs=self._glyphs, id="tabs")
        with Container(id="panels"):
            for name in _IDS:
                with Vertical(id=f"{name}-box"):
                    yield Lines(glyphs=self._glyphs, id=f"{name}-heading")
                    yield RowTree(
                        glyphs=self._glyphs,
                        mark_cursor=self._mark_cursor,
                        cursor_when_blurred=False,
                        id=name,
                    )

    @property
    def lists(self) -> list[RowTree]:
        """Returns the lists on screen, in the order in which they are read."""
        return [self.query_one(f"#{name}", RowTree) for name in _IDS[: len(self._names)]]

    @property
    def focused(self) -> RowTree | None:
        """Returns the list that has the focus."""
        return next((found for found in self.lists if found.has_focus), None)

    @property
    def present(self) -> str:
        """Returns the panel that has the focus, else the one in front."""
        for name, found in zip(self._names, self.lists, strict=True):
            if found.has_focus:
                return name
        return self._front

    def show(self, rows: ExploreRows, row: int) -> None:
        """Shows the panels of a row, -1 for none."""
        focused = self.present if self.focused is not None else None
        same = (self._rows, self._row) == (rows, row)
        before = dict(zip(self._names, (found.cursor for found in self.lists), strict=True))
        self._rows, self._row = rows, row
        self._front, self._names = self._choice.shown(rows, row, two=self.two)
        self._arrange()
        for name, found in zip(self._names, self.lists, strict=True):
            panel = make_panel(name, rows, row, self._list_width())
            found.show(panel, before.get(name, panel.start) if same else panel.start)
        if focused is not None:
            self.focus_panel(focused if focused in self._names else self._front)
        self.show_headings()

    def choose(self, name: str) -> None:
        """Puts a panel in front; the focus follows where a panel has it."""
        if self._rows is None:
            return
        self._choice.choose(name, self._rows, self._row)
        inside = self.focused is not None
        self.show(self._rows, self._row)
        if inside:
            self.focus_panel(name)

    def next_to(self, by: int) -> str:
        """Returns the panel so many places behind the present one."""
        names = list(PANELS)
        return names[(names.index(self.present) + by) % len(names)]

    def focus_panel(self, name: str) -> None:
        """Moves the focus to the list of a panel on screen."""
        self.lists[self._names.index(name)].focus()

    def focus_front(self) -> None:
        """Moves the focus to the panel in front."""
        self.focus_panel(self._front)

    def _arrange(self) -> None:
        """Places the lists: one, or two beside or below each other."""
        self.set_class(self.stacked, "stacked")
        self.query_one(f"#{_IDS[1]}-box").display = len(self._names) > 1

    def _list_width(self) -> int:
        """Returns the width of a list after the layout to come."""
        width = self.size.width or self.app.size.width
        return width if self.stacked or len(self._names) < 2 else (width - 1) // 2

    def on_resize(self) -> None:
        """Breaks texts anew for another width."""
        if self.size.width != self._width and self._rows is not None:
            self._width = self.size.width
            self.show(self._rows, self._row)

    @on(RowTree.LaidOut)
    def show_headings(self) -> None:
        """Shows the tabs and the title of each panel."""
        for k, (name, found) in enumerate(zip(self._names, self.lists, strict=True)):
            title = found.heading()
            pieces = [(title, "dim")]
            if self.stacked and k:
                word = f" {PANELS[name]} "
                pieces = [(word, "strong"), (found.heading(room_taken=len(word)), "dim")]
            self.query_one(f"#{_IDS[k]}-heading", Lines).show([pieces])
        present = self.present
        also = next((PANELS[name] for name in self._names if name != present), "")
        note = self._rows.label(self._row) if self._rows is not None and self._row >= 0 else ""
        self.query_one("#tabs", Tabs).show_tabs(
            _TAB_NAMES,
            PANELS[present],
            note if len(note) < _LONGEST_NOTE else "",
            focused=self.focused is not None,
            also=also,
        )

    def on_descendant_focus(self) -> None:
        """Marks the panel that has the focus."""
        self.show_headings()

    def on_descendant_blur(self) -> None:
        """Takes the mark away."""
        self.show_headings()


def panel_of(found: RowTree) -> Panel:
    """Returns what a list of a pane shows."""
    assert isinstance(found.source, Panel)  # a pane shows nothing else
    return found.source
