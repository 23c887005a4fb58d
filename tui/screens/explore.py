"""The explorer: the op tree of a step, with the kernels that each row launched."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Literal

from textual import on

from ptx.profiling.errors import UsageError
from ptx.profiling.sanitise import clean
from ptx.tui.keymap import EXPLORE_KEYS
from ptx.tui.screens._base import bindings_of
from ptx.tui.screens._pager import page_json
from ptx.tui.screens._panes import TreeAndPanel
from ptx.tui.screens.dialogs import KeyScreen
from ptx.tui.state.explore import ORDERS, SHARES, Only
from ptx.tui.state.goto import find_place
from ptx.tui.state.panels import KernelPanel, raw_events
from ptx.tui.widgets.row_tree import RowTree

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from textual.binding import BindingType

    from ptx.profiling.structure.structure import Structure
    from ptx.tui.state.explore import Place
    from ptx.tui.state.glyphs import Glyphs


_ORDER_WORDS = {
    "start": "by time, many alike by cost",
    "cost": "by cost",
    "time": "in order of time",
}


@dataclass(slots=True)
class _Found:
    """What n and N step through: rows with a name, or the activities of one kernel."""

    what: Literal["rows", "activities"]
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

    @on(RowTree.Activated, "#panel")
    def _panel_chosen(self, message: RowTree.Activated) -> None:
        panel = self.panel_list.source
        if isinstance(panel, KernelPanel):
            places = panel.kinds[message.node].activities
            self._jump_to_activity(int(places[0]))
            self._found = _Found("activities", places)
            self.op_tree.focus()
            self._show_tabs()

    def _jump_to_activity(self, k: int) -> None:
        activities = self.structure.activities
        launch = int(activities.launch[k])
        event = launch if launch >= 0 else int(activities.event[k])
        self._jump(int(self.structure.tree.node_of[event]))

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
        if found.what == "activities":
            found.at = (found.at + by) % count
            self._jump_to_activity(int(found.places[found.at]))
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
            self._jump_to_activity(k)

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
        """Goes into the panel; on a kernel there, to the row that launched it."""
        if self.panel_list.has_focus:
            self.panel_list.activate()
        else:
            self.action_next_pane()

    def action_raw(self) -> None:
        """Shows the JSON of the row's op, launches and kernels in the pager."""
        found = raw_events(self.rows, self.op_tree.cursor)
        if not found:
            self._say("this row groups others and is no event itself")
            return
        page_json(self.app, found, self._glyphs)

    def copy_command(self) -> None:
        """Copies the command that prints this view."""
        words = ["ptx", "tree", str(self.structure.trace.path)]
        if self.step is not None:
            words += ["--step", str(self.step + 1)]
        if self.rows.only.text:
            words += ["--filter", self.rows.only.text]
        command = clean(shlex.join(words))
        self.app.copy_to_clipboard(command)
        self._say(f"copied: {command}")

    def action_out(self) -> None:
        """Leaves the prompt, the zoom, the panel, the filter, and at last the program."""
        if self._prompt is not None:
            self._close_prompt()
        elif self.has_class("zoom-panel") or self.has_class("zoom-tree"):
            self.remove_class("zoom-panel", "zoom-tree")
        elif self.panel_list.has_focus:
            self.action_next_pane()
        elif self.rows.only:
            self._arrange(self.rows.order, Only())
        else:
            self.app.exit()
