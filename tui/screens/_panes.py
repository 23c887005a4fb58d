"""A tree with a panel below or beside it: layout, focus, moving, folding, the present step."""

from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING

from textual import on
from textual.containers import Container, Vertical

from ptx.profiling.analysis.roofline import roofline
from ptx.profiling.sanitise import clean
from ptx.tui.screens._base import TraceScreen
from ptx.tui.screens._panel_pane import PanelPane
from ptx.tui.state.explore import ExploreRows, Only, Place
from ptx.tui.state.forest import Layers
from ptx.tui.state.header import make_header
from ptx.tui.state.lens import FEW_LINES
from ptx.tui.widgets.lines import HeaderLines, Lines
from ptx.tui.widgets.row_tree import RowTree

if TYPE_CHECKING:
    from textual import events
    from textual.app import ComposeResult
    from textual.timer import Timer

    from ptx.profiling.structure.structure import Structure
    from ptx.tui.state.glyphs import Glyphs

_BESIDE_FROM = 100
_BESIDE_AT_START = 160
_TWO_FROM = 120
_TWO_STACKED_FROM = 20  # lines
_FRAME_LINES = 5  # three of the header, the heading and the footer
_LEAST_TREE = 3
_SMALL_PANEL, _PANEL, _TALL_FROM = 7, 12, 32
_PANEL_DELAY_S = 0.08


class TreeAndPanel(TraceScreen):
    """Shows one step of a trace at a time as a tree; the panel follows the cursor."""

    AUTO_FOCUS = "#tree"

    def __init__(
        self,
        structure: Structure,
        *,
        glyphs: Glyphs,
        mark_cursor: bool = False,
        letters: bool = False,
    ) -> None:
        super().__init__(structure, glyphs=glyphs, mark_cursor=mark_cursor, letters=letters)
        self.shown = Layers()
        self._lines = FEW_LINES
        self.rows = self._make_rows()
        self._beside: bool | None = None
        self._timer: Timer | None = None
        self._started = False

    def compose(self) -> ComposeResult:
        """Makes the widgets."""
        glyphs, mark = self._glyphs, self._mark_cursor
        yield HeaderLines(glyphs=glyphs, letters=self._letters, id="header")
        with Container(id="main"):
            with Vertical(id="tree-pane"):
                yield Lines(glyphs=glyphs, id="heading")
                yield RowTree(glyphs=glyphs, mark_cursor=mark, id="tree")
            yield PanelPane(glyphs=glyphs, mark_cursor=mark, id="panel-pane")
        yield from self.compose_bottom()

    def rows_replaced(self) -> None:
        """Called when the rows of another step or layer are about to be shown."""

    @property
    def op_tree(self) -> RowTree:
        """Returns the tree."""
        return self.query_one("#tree", RowTree)

    @property
    def panels(self) -> PanelPane:
        """Returns the panels."""
        return self.query_one("#panel-pane", PanelPane)

    def on_resize(self, event: events.Resize) -> None:
        """Lays the panes out for the new size; the first time it also opens the tree."""
        if self._is_too_small(event.size):
            return
        self._lay_out()
        if not self._started:
            self._started = True
            self._lines = event.size.height
            self.rows.fit(self._lines)
            self.call_after_refresh(self._show_rows)
            # a daemon: leaving the program must not wait for it
            threading.Thread(target=self._work_out_traffic, daemon=True).start()

    def _work_out_traffic(self) -> None:
        """Models the bytes of all kernels, which reads the whole file again; in a thread."""
        then = self._update_panel
        try:
            roofline(self.structure)
        except Exception as error:  # a trace of tomorrow must not end the explorer
            then = partial(self._say, f"bytes are not modelled: {type(error).__name__}")
        if self.is_running:
            self.call_later(then)  # posts a message, which any thread may

    def _is_beside(self) -> bool:
        width = self.size.width
        if self._beside is None:
            return width >= _BESIDE_AT_START
        return self._beside and width >= _BESIDE_FROM

    def _lay_out(self) -> None:
        """Places the panels and gives them their height; what the tree leaves empty is theirs."""
        beside, panels = self._is_beside(), self.panels
        self.query_one("#main").set_class(beside, "beside")
        enough = self.size.height >= _TWO_STACKED_FROM if beside else self.size.width >= _TWO_FROM
        two = enough and not self.has_class("zoom-panel")
        if (panels.two, panels.stacked) != (two, beside):
            panels.two, panels.stacked = two, beside
            self._update_panel()
        unused = self._room() - max(_LEAST_TREE, self.op_tree.row_count)
        panels.styles.height = "100%" if beside else max(self._least_panel(), unused)

    def _room(self) -> int:
        return self.size.height - _FRAME_LINES

    def _least_panel(self) -> int:
        return _SMALL_PANEL if self.size.height < _TALL_FROM else _PANEL

    def _make_rows(self) -> ExploreRows:
        return ExploreRows(self.structure, self.step, self.shown, self._glyphs, self._lines)

    def show_step(self, place: int | Place | None = None) -> None:
        """Builds the rows of the present step; the cursor goes to a place or the costliest."""
        rows = self._make_rows()
        rows.share = self.rows.share
        rows.arrange(self.rows.order, self.rows.only)
        self.rows = rows
        self.rows_replaced()
        self._show_rows(place)

    def _show_rows(self, place: int | Place | None = None) -> None:
        """Shows the present rows from their start state, with the header of their step."""
        rows = self.rows
        if not rows.only:
            rows.open_heaviest(self._tree_room())
        cursor = self._reveal(place)
        if cursor < 0:
            cursor = rows.costliest()
        self.query_one("#header", HeaderLines).show_header(make_header(self.structure, self.step))
        self.op_tree.show(rows, max(0, cursor))
        self._lay_out()
        self._show_heading()
        self._update_panel()
        self._show_footer()

    def _tree_room(self) -> int:
        """Returns how many rows the tree can show at the start."""
        return self._room() - (0 if self._is_beside() else self._least_panel())

    def _reveal(self, place: int | Place | None) -> int:
        """Opens what is closed above a place and returns its row, -1 if it has none."""
        row = -1
        if isinstance(place, Place):
            row = self.rows.row_at(place)
        elif place is not None:
            row = self.rows.lens.row_of_node(self.structure, place)
        if row >= 0:
            self.rows.index.reveal(row)
        return row

    def _show_heading(self) -> None:
        top = self.op_tree.scroll_offset.y
        title = None
        if top > 0 and self.op_tree.row_count:
            node = int(self.rows.index.rows[min(top, self.op_tree.row_count - 1)])
            above = self.rows.index.ancestors(node)
            path = [self.rows.label(k) for k in above]
            if path:
                title = f"{self._glyphs.ellipsis} " + f" {self._glyphs.join} ".join(path[-3:])
                if self.rows.is_listed(above[-1]):
                    title = f"{path[-1]}: {self.rows.spread(above[-1])}"
        only = self.rows.only
        if only and title is None:
            what = "places of" if only.nodes is not None else "rows with"
            title = f"only {what} {clean(only.text)!r}"
        self.query_one("#heading", Lines).show([[(self.op_tree.heading(title), "dim")]])

    @on(RowTree.CursorMoved, "#tree")
    def _tree_moved(self) -> None:
        """Lets the panel follow once the keys rest: a row is cheap to send, the panel is not."""
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(_PANEL_DELAY_S, self._follow_now)

    @on(RowTree.LaidOut, "#tree")
    @on(RowTree.TopChanged, "#tree")
    def _heading_changed(self) -> None:
        self._show_heading()

    def _update_panel(self) -> None:
        if self.op_tree.source is not None:
            self.panels.show(self.rows, self.op_tree.cursor)

    def _cursor_place(self) -> Place | None:
        """Returns where the cursor is, in words that outlast another layer or fold."""
        row = self.op_tree.cursor
        return self.rows.place_of(row) if row >= 0 else None

    def _focused_list(self) -> RowTree:
        return self.panels.focused or self.op_tree

    def action_inward(self) -> None:
        """Opens or enters a row; in the panel shows the next panel."""
        if self.panels.focused is not None:
            self.action_panel(self.panels.next_to(1))
        else:
            self.op_tree.open_or_enter()
            self._lay_out()

    def action_outward(self) -> None:
        """Closes or leaves a row; in the panel shows the previous panel."""
        if self.panels.focused is not None:
            self.action_panel(self.panels.next_to(-1))
        else:
            self.op_tree.close_or_leave()
            self._lay_out()

    def action_fold(self) -> None:
        """Folds or unfolds the row."""
        self.op_tree.toggle()
        self._lay_out()

    def action_open_below(self) -> None:
        """Opens everything below the row."""
        if self.op_tree.cursor >= 0:
            self.rows.index.set_open_below(self.op_tree.cursor, True)
            self.op_tree.rows_changed()
            self._lay_out()

    def action_instances(self) -> None:
        """Lists what the row under the cursor stands for, or folds it again."""
        row, rows = self.op_tree.cursor, self.rows
        while row >= 0 and rows.lens.count(row) < 2:  # on an instance: the row that holds it
            row = int(rows.index.parent[row])
        if row < 0:
            self._say("this row stands for itself alone")
            return
        self._list_instances(row, not rows.is_listed(row))

    def action_all_instances(self) -> None:
        """Lists the instances of all rows, or folds all of them again."""
        self._list_instances(None, not self.rows.lists_all)

    def _list_instances(self, row: int | None, listed: bool) -> None:
        place = self.rows.place_of(row) if row is not None else self._cursor_place()
        self.rows.list_instances(row, listed)
        self.rows_replaced()
        self.op_tree.show(self.rows, max(0, self._reveal(place)))
        self._lay_out()
        self._show_heading()
        self._update_panel()

    def action_start_state(self) -> None:
        """Opens and closes rows as at the start."""
        self.rows.open_heaviest(self._tree_room())
        self.op_tree.rows_changed()
        self._lay_out()

    def action_next_pane(self, by: int) -> None:
        """Moves the focus to the next or previous pane; a zoom ends."""
        self._end_zoom()
        panes = [self.op_tree, *self.panels.lists]
        panes[(panes.index(self._focused_list()) + by) % len(panes)].focus()

    def action_panel(self, name: str) -> None:
        """Shows a panel."""
        self._follow_now()
        self.panels.choose(name)

    def _follow_now(self) -> None:
        """Lets the panels show the row under the cursor without waiting for the keys to rest."""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
            self._update_panel()

    def action_layout(self) -> None:
        """Puts the panel beside the tree or below it."""
        if self.size.width < _BESIDE_FROM:
            self._say(f"side by side needs {_BESIDE_FROM} columns")
            return
        self._beside = not self._is_beside()
        self._lay_out()

    def action_zoom(self) -> None:
        """Gives the focused pane the whole screen, or takes it back."""
        if not self._end_zoom():
            if self.panels.focused is None:
                self.add_class("zoom-tree")
            else:
                self.panels.choose(self.panels.present)
                self.add_class("zoom-panel")
            self._lay_out()

    def _end_zoom(self) -> bool:
        """Takes the whole screen back from a pane; returns whether one had it."""
        if not (self.has_class("zoom-panel") or self.has_class("zoom-tree")):
            return False
        self.remove_class("zoom-panel", "zoom-tree")
        self._lay_out()
        return True

    def _arrange(self, order: str, only: Only) -> None:
        place = self._cursor_place()
        self.rows.arrange(order, only)
        if not only:
            self.rows.open_heaviest(self._tree_room())
        row = self._reveal(place)
        self.op_tree.show(self.rows, max(0, row))
        self._lay_out()
        self._show_heading()
        self._update_panel()
