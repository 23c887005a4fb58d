"""The explorer: the op tree of a step, with the kernels that each row launched."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from textual import on

from ptx.profiling.errors import UsageError
from ptx.profiling.sanitise import clean
from ptx.tui.keymap import EXPLORE_KEYS
from ptx.tui.screens._base import bindings_of
from ptx.tui.screens._pager import page_json
from ptx.tui.screens._panel_pane import panel_of
from ptx.tui.screens._panes import TreeAndPanel
from ptx.tui.screens.dialogs import KeyScreen, TextScreen
from ptx.tui.state.explore import ORDERS, SHARES, Only
from ptx.tui.state.goto import find_place
from ptx.tui.state.panels import Subject, nodes_of_activities, partner_of, raw_events
from ptx.tui.state.source_file import SourceMissingError, lines_around
from ptx.tui.widgets.row_tree import RowTree

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from textual.binding import BindingType

    from ptx.profiling.structure.structure import Structure
    from ptx.tui.state.explore import Place
    from ptx.tui.state.glyphs import Glyphs
    from ptx.tui.state.source_file import FileLine


_ORDER_WORDS = {
    "start": "by time, many alike by cost",
    "cost": "by cost",
    "time": "in order of time",
}


@dataclass(slots=True)
class _Found:
    """What n and N step through: rows with a name, or nodes that a line of a panel is about."""

    what: Literal["rows", "nodes"]
    places: NDArray[np.integer]
    at: int = 0


class ExploreScreen(TreeAndPanel):
    """Shows a trace step by step."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_of(EXPLORE_KEYS)
    CSS_PATH = "explore.tcss"
    KEYS = EXPLORE_KEYS

    def __init__(
        self,
        structure: Structure,
        *,
        glyphs: Glyphs,
        mark_cursor: bool = False,
        letters: bool = False,
    ) -> None:
        super().__init__(structure, glyphs=glyphs, mark_cursor=mark_cursor, letters=letters)
        self._jumps: list[tuple[int | None, int | Place | None]] = []
        self._marks: dict[str, tuple[int | None, int | Place | None]] = {}
        self._found: _Found | None = None

    def rows_replaced(self) -> None:
        """Forgets what was found among rows that are gone."""
        self._found = None

    @on(RowTree.Activated)
    def _panel_chosen(self, message: RowTree.Activated) -> None:
        """Goes to what a line of a panel is about: a source file, or the first of its nodes."""
        if message.tree is self.op_tree:
            return
        line = panel_of(message.tree).lines[message.node]
        if line.file is not None:
            self._show_file(line.file)
        elif len(line.nodes):
            self._jump(int(line.nodes[0]))
            self._found = _Found("nodes", line.nodes)
            self.op_tree.focus()
        else:
            self._say("this line leads nowhere")

    def _show_file(self, place: FileLine) -> None:
        name = clean(f"{place.path}:{place.line}")
        folders = (Path.cwd(), self.structure.trace.path.parent)
        try:
            text = lines_around(place, folders)
        except SourceMissingError as error:
            self._say(f"{name} {error}")
        else:
            self.app.push_screen(TextScreen(f"{name}\n\n{text}", self._glyphs))

    def action_copy_row(self) -> None:
        """Copies the row under the cursor as text; of a frame its file and line."""
        panel = self.panels.focused
        copied = panel_of(panel).lines[panel.cursor].copied if panel and panel.row >= 0 else ""
        if copied:
            self._copy(copied)
        else:
            super().action_copy_row()

    def _jump(self, node: int) -> None:
        """Moves to the row of a tree node, in its own step; ctrl+o returns."""
        self._jumps.append((self.step, self._cursor_place()))
        self._go(node)

    def _go(self, node: int) -> None:
        step = int(self.structure.step_of_nodes()[node]) if self.step is not None else None
        if step is not None and step >= 0 and step != self.step:
            self.step = step
            self.show_step(node)
            return
        self._go_here(node)

    def _go_here(self, place: int | Place | None) -> None:
        """Moves to a place of the present step."""
        row = self._reveal(place)
        if row < 0:
            self._say("that has no row here: a layer (p r v u) or the filter (&) hides it")
            return
        self.op_tree.rows_changed()
        self.op_tree.goto(row, center=True)

    def action_costliest(self) -> None:
        """Moves down the costliest path to its leaf."""
        if self.op_tree.cursor < 0:
            return
        self._jumps.append((self.step, self._cursor_place()))
        leaf = self.rows.costliest_leaf(self.op_tree.cursor)
        self.rows.index.reveal(leaf)
        self.op_tree.rows_changed()
        self.op_tree.goto(leaf, center=True)
        self._lay_out()

    def action_layer(self, name: str) -> None:
        """Shows or hides a layer."""
        place = self._cursor_place()
        shown = not getattr(self.shown, name)
        self.shown = replace(self.shown, **{name: shown})
        self.show_step(place)
        words = {"frames": "Python frames", "calls": "runtime calls", "views": "views"}
        self._say(f"{words.get(name, 'rows without GPU work')} {'shown' if shown else 'hidden'}")

    def action_order(self) -> None:
        """Orders siblings by time or by cost."""
        order = ORDERS[(ORDERS.index(self.rows.order) + 1) % len(ORDERS)]
        self._arrange(order, self.rows.only)
        self._say(_ORDER_WORDS[order])

    def action_share(self) -> None:
        """Changes what 100 % is."""
        self.rows.share = SHARES[(SHARES.index(self.rows.share) + 1) % len(SHARES)]
        self.op_tree.refresh()
        self._say(f"share of the {self.rows.share}")

    def action_find(self) -> None:
        """Asks for a name and goes to the next row that has it."""
        self._ask("find", self._find)

    def _find(self, text: str) -> None:
        if not text:
            return
        hits = self.rows.hits(text)
        if len(hits) == 0:
            self._say(f"nothing here is called {text!r}")
            return
        self._found = _Found("rows", hits)
        self.action_again(1)

    def action_again(self, by: int) -> None:
        """Goes to the next or previous hit, round at the end."""
        found = self._found
        if found is None:
            self._say("nothing was searched yet: / finds a name")
            return
        count = len(found.places)
        if found.what == "nodes":
            found.at = (found.at + by) % count
            self._jump(int(found.places[found.at]))
            self._found = found
        else:
            hit = self.rows.index.next_hit(found.places.astype("int32"), self.op_tree.cursor, by)
            if hit is None:
                return
            found.at = found.places.tolist().index(hit)
            self.rows.index.reveal(hit)
            self.op_tree.rows_changed()
            self.op_tree.goto(hit, center=True)
        self._say(f"{found.at + 1} of {count}")

    def action_filter(self) -> None:
        """Asks for a name and leaves only rows that have it."""
        self._ask("only rows with (empty: all)", self._filter)

    def _filter(self, text: str) -> None:
        self._found = None
        self._arrange(self.rows.order, Only(text))
        if text and not self.op_tree.row_count:
            self._arrange(self.rows.order, Only())
            self._say(f"nothing here is called {text!r}")

    def action_go_to(self) -> None:
        """Asks where to go."""
        self._ask("go to (12.5ms, step 3, trace, ev 1234, corr 77)", self._go_to)

    def _go_to(self, text: str) -> None:
        if not text:
            return
        try:
            place = find_place(self.structure, self.step, text)
        except UsageError as error:
            self._say(str(error))
            return
        if place.everything:
            self.step = None
            self.show_step()
        elif place.node is not None:
            self._jump(place.node)
        elif self.structure.steps.source != "trace":
            self.step = place.step
            self.show_step()

    def action_neighbour(self, by: int) -> None:
        """Goes to the row of the next or previous kernel in time."""
        order = self.rows.kernels_in_time()
        node = self.op_tree.cursor
        if len(order) == 0 or node < 0:
            self._say("no kernels here")
            return
        k = self.rows.neighbour(order, node, by)
        if k is None:
            self._say("no further kernel")
        else:
            self._jump(int(nodes_of_activities(self.structure, np.array([k]))[0]))

    def action_mark(self) -> None:
        """Marks the row with the letter that comes next."""
        place = (self.step, self._cursor_place())

        def named(letter: str | None) -> None:
            if letter:
                self._marks[letter] = place
                self._say(f"mark {clean(letter)} set")

        self._say("mark with which letter?")
        self.app.push_screen(KeyScreen(), named)

    def action_to_mark(self) -> None:
        """Goes to the mark of the letter that comes next."""

        def named(letter: str | None) -> None:
            place = self._marks.get(letter or "")
            if place is None:
                self._say(f"no mark {clean(letter or '')}")
            else:
                self._jumps.append((self.step, self._cursor_place()))
                self._return_to(place)

        self._say("to which mark?")
        self.app.push_screen(KeyScreen(), named)

    def action_jump_back(self) -> None:
        """Returns to before the last jump."""
        if self._jumps:
            self._return_to(self._jumps.pop())
        else:
            self._say("no jump to return from")

    def _return_to(self, place: tuple[int | None, int | Place | None]) -> None:
        step, where = place
        if step != self.step:
            self.step = step
            self.show_step(where)
        else:
            self._go_here(where)

    def action_inspect(self) -> None:
        """Goes into the panel in front; there, to what the line under the cursor is about."""
        panel = self.panels.focused
        if panel is not None:
            panel.activate()
        elif not self.has_class("zoom-tree"):
            self._follow_now()
            self.panels.focus_front()

    def action_raw(self) -> None:
        """Shows the JSON of the row's op, launches and kernels in the pager."""
        found = raw_events(self.rows, self.op_tree.cursor)
        if not found:
            self._say("this row groups others and is no event itself")
            return
        page_json(self.app, found, self._glyphs)

    def jump_to_partner(self) -> None:
        """Jumps from a backward op to its forward op, or the other way round."""
        row = self.op_tree.cursor
        node = partner_of(Subject(self.rows, row)) if row >= 0 else -1
        if node < 0:
            self._say("no forward or backward op is known of this row")
        else:
            self._jump(node)

    def twin(self) -> list[str]:
        """Returns the command that prints this view."""
        only = self.rows.only
        named = ["--filter", only.text] if only and only.nodes is None else []
        return ["tree", *self._step_words(), *named]

    def show_places(self, step: int | None, only: Only) -> None:
        """Shows only the rows of some nodes, in a step; ctrl+o returns, q shows all rows."""
        self._jumps.append((self.step, self._cursor_place()))
        if step != self.step:
            self.step = step
            self.show_step()
        self._arrange(self.rows.order, only)
        if only.nodes is not None:
            hits = self.rows.rows_of(only.nodes)
            self._found = _Found("rows", hits)
            if len(hits):
                self.op_tree.goto(int(hits[0]), center=True)
                self._say(f"1 of {len(hits)}; n goes on, q shows all rows")

    def show_node(self, step: int | None, node: int) -> None:
        """Moves to the row of a tree node, in a step; ctrl+o returns."""
        self._jumps.append((self.step, self._cursor_place()))
        if step != self.step:
            self.step = step
            self.show_step()
        self._go_here(node)

    def action_out(self) -> None:
        """Leaves the prompt, the zoom, the panel, the filter, and at last the program."""
        if self._prompt is not None:
            self._close_prompt()
        elif self._end_zoom():
            pass
        elif self.panels.focused is not None:
            self.op_tree.focus()
        elif self.rows.only:
            self._arrange(self.rows.order, Only())
        else:
            self.app.exit()
