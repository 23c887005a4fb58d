"""The explorer: the op tree of a step, with the kernels that each row launched."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.binding import Binding
from textual.containers import Container, Vertical
from textual.screen import Screen
from textual.widgets import Input

from ptx.profiling.errors import UsageError
from ptx.profiling.sanitise import clean
from ptx.tui.keymap import EXPLORE_KEYS, footer
from ptx.tui.screens._pager import page_json
from ptx.tui.screens.dialogs import ChooseScreen, KeyScreen, TextScreen, help_text
from ptx.tui.state.explore import SHARES, ExploreRows
from ptx.tui.state.goto import find_place
from ptx.tui.state.header import make_header
from ptx.tui.state.lens import Layers
from ptx.tui.state.panels import InfoPanel, KernelPanel, raw_events, step_choices
from ptx.tui.widgets.lines import Footer, HeaderLines, Lines, Tabs
from ptx.tui.widgets.row_tree import RowTree

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual import events
    from textual.app import ComposeResult
    from textual.binding import BindingType
    from textual.timer import Timer

    from ptx.profiling.structure.structure import Structure
    from ptx.tui.state.glyphs import Glyphs
    from ptx.tui.state.rows import FlatRows

MIN_WIDTH, MIN_HEIGHT = 60, 15
_BESIDE_FROM = 100
_BESIDE_AT_START = 160
_PANEL_DELAY_S = 0.08
_PANELS = {"kernels": "Kernels", "info": "Info"}


class ExploreScreen(Screen[None]):
    """Shows a trace step by step; `command` is the file as it was given."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(",".join(key.keys), key.action, key.does, show=False) for key in EXPLORE_KEYS
    ]
    CSS_PATH = "explore.tcss"

    def __init__(
        self,
        structure: Structure,
        *,
        glyphs: Glyphs,
        mark_cursor: bool = False,
        letters: bool = False,
    ) -> None:
        super().__init__()
        self.structure = structure
        self._glyphs = glyphs
        self._mark_cursor = mark_cursor
        self._letters = letters
        steps = structure.steps
        self.step: int | None = None if steps.source == "trace" else len(steps) - 1
        self.shown = Layers()
        self.rows = ExploreRows(structure, self.step, self.shown, glyphs)
        self.panel = "kernels"
        self._beside: bool | None = None
        self._jumps: list[tuple[int | None, int]] = []
        self._marks: dict[str, tuple[int | None, int]] = {}
        self._found: tuple[str, object] | None = None
        self._place = 0
        self._prompt: Callable[[str], None] | None = None
        self._timer: Timer | None = None
        self._started = False

    # --- parts --------------------------------------------------------------------------------

    def compose(self) -> ComposeResult:
        """Makes the widgets."""
        glyphs, mark = self._glyphs, self._mark_cursor
        yield HeaderLines(glyphs=glyphs, letters=self._letters, id="header")
        with Container(id="main"):
            with Vertical(id="tree-pane"):
                yield Lines(glyphs=glyphs, id="heading")
                yield RowTree(glyphs=glyphs, mark_cursor=mark, id="tree")
            with Vertical(id="panel-pane"):
                yield Tabs(glyphs=glyphs, id="tabs")
                yield RowTree(glyphs=glyphs, mark_cursor=mark, id="panel")
        yield Footer(glyphs=glyphs, id="footer")
        yield Input(id="prompt")
        yield Lines(glyphs=glyphs, id="small")

    @property
    def op_tree(self) -> RowTree:
        """Returns the tree."""
        return self.query_one("#tree", RowTree)

    @property
    def panel_list(self) -> RowTree:
        """Returns the list in the panel."""
        return self.query_one("#panel", RowTree)

    def on_mount(self) -> None:
        """Shows the first step."""
        self.query_one("#prompt", Input).display = False
        self.op_tree.focus()

    def on_resize(self, event: events.Resize) -> None:
        """Lays the panes out for the new size; the first time it also opens the tree."""
        width, height = event.size
        too_small = width < MIN_WIDTH or height < MIN_HEIGHT
        self.set_class(too_small, "too-small")
        if too_small:
            text = f"{MIN_WIDTH}x{MIN_HEIGHT} needed, this is {width}x{height}"
            self.query_one("#small", Lines).show([[(text, "normal")]])
            return
        self._lay_out()
        if not self._started:
            self._started = True
            self.call_after_refresh(self._show_step)

    def _is_beside(self) -> bool:
        width = self.size.width
        if self._beside is None:
            return width >= _BESIDE_AT_START
        return self._beside and width >= _BESIDE_FROM

    def _lay_out(self) -> None:
        beside = self._is_beside()
        self.query_one("#main").set_class(beside, "beside")
        pane = self.query_one("#panel-pane")
        if beside:
            pane.styles.height = "100%"
            return
        room = self.size.height - 5  # three header lines, the heading and the footer
        least = 7 if self.size.height < 32 else 12
        pane.styles.height = max(least, room - max(3, self.op_tree.row_count))

    # --- showing a step -----------------------------------------------------------------------

    def _show_step(self, node: int | None = None) -> None:
        """Builds the rows of the present step; the cursor goes to a tree node or the costliest."""
        rows = ExploreRows(self.structure, self.step, self.shown, self._glyphs)
        rows.share = self.rows.share
        rows.arrange(by_cost=self.rows.by_cost, filter_text=self.rows.filter_text)
        self.rows = rows
        self._found = None
        if not rows.filter_text:
            rows.open_heaviest(self._tree_room())
        cursor = rows.costliest() if node is None else self._reveal(node)
        self.query_one("#header", HeaderLines).show_header(make_header(self.structure, self.step))
        self.op_tree.show(rows, max(0, cursor))
        self._lay_out()
        self._show_heading()
        self._update_panel()
        self._show_footer()

    def _tree_room(self) -> int:
        if self._is_beside():
            return self.size.height - 5
        return self.size.height - 5 - (7 if self.size.height < 32 else 12)

    def _reveal(self, node: int) -> int:
        row = self.rows.lens.row_of_node(self.structure, node)
        if row >= 0:
            self.rows.index.reveal(row)
        return row

    def _show_heading(self) -> None:
        top = self.op_tree.scroll_offset.y
        title = None
        if top > 0 and self.op_tree.row_count:
            node = int(self.rows.index.rows[min(top, self.op_tree.row_count - 1)])
            path = [self.rows.label(k) for k in self.rows.index.ancestors(node)]
            if path:
                title = f"{self._glyphs.ellipsis} " + f" {self._glyphs.join} ".join(path[-3:])
        if self.rows.filter_text and title is None:
            title = f"only rows with {clean(self.rows.filter_text)!r}"
        self.query_one("#heading", Lines).show([[(self.op_tree.heading(title), "dim")]])

    def _show_footer(self) -> None:
        shown = {"Enter": "↵"} if not self._letters else {}
        self.query_one("#footer", Footer).show_keys(footer(EXPLORE_KEYS, shown))

    def _say(self, text: str) -> None:
        self.query_one("#footer", Footer).show_text(text)

    # --- the panel ----------------------------------------------------------------------------

    @on(RowTree.CursorMoved, "#tree")
    def _tree_moved(self) -> None:
        """Lets the panel follow once the keys rest: a row is cheap to send, the panel is not."""
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(_PANEL_DELAY_S, self._update_panel)

    @on(RowTree.TopChanged, "#tree")
    def _top_changed(self) -> None:
        self._show_heading()

    def _update_panel(self) -> None:
        node = self.op_tree.cursor
        made: FlatRows
        if self.panel == "kernels":
            made = KernelPanel(self.rows, node)
        else:
            made = InfoPanel(self.rows, node)
        self.panel_list.show(made)
        self._show_tabs()

    def _show_tabs(self) -> None:
        node = self.op_tree.cursor
        note = self.rows.label(node) if node >= 0 else ""
        self.query_one("#tabs", Tabs).show_tabs(
            list(_PANELS.values()),
            _PANELS[self.panel],
            note if len(note) < 50 else "",
            focused=self.panel_list.has_focus,
        )

    @on(RowTree.Activated, "#panel")
    def _panel_chosen(self, message: RowTree.Activated) -> None:
        panel = self.panel_list.source
        if isinstance(panel, KernelPanel):
            self._found = ("kernel", panel.kinds[message.node].activities)
            self._place = 0
            self._jump_to_activity(int(panel.kinds[message.node].activities[0]))
            self.op_tree.focus()
            self._show_tabs()

    def _jump_to_activity(self, k: int) -> None:
        activities = self.structure.activities
        launch = int(activities.launch[k])
        event = launch if launch >= 0 else int(activities.event[k])
        self._jump(int(self.structure.tree.node_of[event]))

    def _jump(self, node: int) -> None:
        """Moves to the row of a tree node, in its own step; ctrl+o returns."""
        self._jumps.append((self.step, self._cursor_node()))
        self._go(node)

    def _go(self, node: int) -> None:
        step = int(self.structure.step_of_nodes()[node]) if self.step is not None else None
        if step is not None and step >= 0 and step != self.step:
            self.step = step
            self._show_step(node)
            return
        row = self._reveal(node)
        if row < 0:
            self._say("that has no row here: a layer (p r v u) or the filter (&) hides it")
            return
        self.op_tree.rows_changed()
        self.op_tree.goto(row, center=True)

    def _cursor_node(self) -> int:
        return int(self.rows.lens.outer[self.op_tree.cursor]) if self.op_tree.cursor >= 0 else -1

    # --- keys: moving and folding -------------------------------------------------------------

    def _focused_list(self) -> RowTree:
        return self.panel_list if self.panel_list.has_focus else self.op_tree

    def action_move(self, rows: int) -> None:
        """Moves the cursor of the focused pane."""
        self._focused_list().move(rows)

    def action_page(self, pages: float) -> None:
        """Moves by pages."""
        self._focused_list().page(pages)

    def action_home(self) -> None:
        """Moves to the first row."""
        self._focused_list().home()

    def action_end(self) -> None:
        """Moves to the last row."""
        self._focused_list().end()

    def action_inward(self) -> None:
        """Opens or enters a row; in the panel shows the next panel."""
        if self.panel_list.has_focus:
            self.action_panel(self._other_panel())
        else:
            self.op_tree.open_or_enter()
            self._lay_out()

    def action_outward(self) -> None:
        """Closes or leaves a row; in the panel shows the previous panel."""
        if self.panel_list.has_focus:
            self.action_panel(self._other_panel())
        else:
            self.op_tree.close_or_leave()
            self._lay_out()

    def _other_panel(self) -> str:
        return next(name for name in _PANELS if name != self.panel)

    def action_fold(self) -> None:
        """Folds or unfolds the row."""
        self.op_tree.toggle()
        self._lay_out()

    def action_costliest(self) -> None:
        """Moves down the costliest path to its leaf."""
        if self.op_tree.cursor < 0:
            return
        self._jumps.append((self.step, self._cursor_node()))
        leaf = self.rows.costliest_leaf(self.op_tree.cursor)
        self.rows.index.reveal(leaf)
        self.op_tree.rows_changed()
        self.op_tree.goto(leaf, center=True)
        self._lay_out()

    def action_open_below(self) -> None:
        """Opens everything below the row."""
        if self.op_tree.cursor >= 0:
            self.rows.index.set_open_below(self.op_tree.cursor, True)
            self.op_tree.rows_changed()
            self._lay_out()

    def action_open_all(self) -> None:
        """Opens everything."""
        self.rows.index.set_open_below(-1, True)
        self.op_tree.rows_changed()
        self._lay_out()

    def action_start_state(self) -> None:
        """Opens and closes rows as at the start."""
        self.rows.open_heaviest(self._tree_room())
        self.op_tree.rows_changed()
        self._lay_out()

    # --- keys: what is shown ------------------------------------------------------------------

    def action_layer(self, name: str) -> None:
        """Shows or hides a layer."""
        node = self._cursor_node()
        shown = not getattr(self.shown, name)
        self.shown = replace(self.shown, **{name: shown})
        self._show_step(node if node >= 0 else None)
        words = {"frames": "Python frames", "calls": "runtime calls", "views": "views"}
        self._say(f"{words.get(name, 'rows without GPU work')} {'shown' if shown else 'hidden'}")

    def action_order(self) -> None:
        """Orders siblings by time or by cost."""
        self._arrange(by_cost=not self.rows.by_cost, filter_text=self.rows.filter_text)
        self._say("by cost" if self.rows.by_cost else "in order of time")

    def _arrange(self, *, by_cost: bool, filter_text: str) -> None:
        node = self._cursor_node()
        self.rows.arrange(by_cost=by_cost, filter_text=filter_text)
        if not filter_text:
            self.rows.open_heaviest(self._tree_room())
        row = self._reveal(node) if node >= 0 else -1
        self.op_tree.show(self.rows, max(0, row))
        self._lay_out()
        self._show_heading()
        self._update_panel()

    def action_share(self) -> None:
        """Changes what 100 % is."""
        self.rows.share = SHARES[(SHARES.index(self.rows.share) + 1) % len(SHARES)]
        self.op_tree.refresh()
        self._say(f"share of the {self.rows.share}")

    def action_layout(self) -> None:
        """Puts the panel beside the tree or below it."""
        if self.size.width < _BESIDE_FROM:
            self._say(f"side by side needs {_BESIDE_FROM} columns")
            return
        self._beside = not self._is_beside()
        self._lay_out()

    def action_zoom(self) -> None:
        """Gives the focused pane the whole screen, or takes it back."""
        name = "zoom-panel" if self.panel_list.has_focus else "zoom-tree"
        zoomed = self.has_class("zoom-panel") or self.has_class("zoom-tree")
        self.remove_class("zoom-panel", "zoom-tree")
        self.set_class(not zoomed, name)

    def action_step(self, by: int) -> None:
        """Shows the next or previous step."""
        if self.step is None:
            self._say("this trace has no steps: record with prof.step()")
            return
        step = self.step + by
        if 0 <= step < len(self.structure.steps):
            self.step = step
            self._show_step()
        else:
            self._say("no further step")

    def choose_step(self) -> None:
        """Shows the list of steps to choose from."""
        rows = step_choices(self.structure)

        def chosen(step: int | None) -> None:
            if step is not None and self.structure.steps.source != "trace":
                self.step = step
                self._show_step()

        screen = ChooseScreen(rows, self.step or 0, self._glyphs, mark_cursor=self._mark_cursor)
        self.app.push_screen(screen, chosen)

    # --- keys: finding ------------------------------------------------------------------------

    def action_find(self) -> None:
        """Asks for a name and goes to the next row that has it."""
        self._ask("find", self._find)

    def _find(self, text: str) -> None:
        hits = self.rows.hits(text) if text else None
        if hits is None or len(hits) == 0:
            self._say(f"nothing here is called {text!r}" if text else "")
            return
        self._found = ("name", hits)
        self.action_again(1)

    def action_again(self, by: int) -> None:
        """Goes to the next or previous hit."""
        if self._found is None:
            self._say("nothing was searched yet: / finds a name")
            return
        what, places = self._found
        count = len(places)  # type: ignore[arg-type]
        if what == "kernel":
            self._place = (self._place + by) % count
            self._jump_to_activity(int(places[self._place]))  # type: ignore[index]
            self._say(f"{self._place + 1} of {count}")
            return
        hit = self.rows.index.next_hit(places, self.op_tree.cursor, by)  # type: ignore[arg-type]
        if hit is not None:
            self.rows.index.reveal(hit)
            self.op_tree.rows_changed()
            self.op_tree.goto(hit, center=True)
            position = places.tolist().index(hit)  # type: ignore[attr-defined]
            self._say(f"{position + 1} of {count}")

    def action_filter(self) -> None:
        """Asks for a name and leaves only rows that have it."""
        self._ask("only rows with (empty: all)", self._filter)

    def _filter(self, text: str) -> None:
        self._found = None
        self._arrange(by_cost=self.rows.by_cost, filter_text=text)
        if text and not self.op_tree.row_count:
            self._arrange(by_cost=self.rows.by_cost, filter_text="")
            self._say(f"nothing here is called {text!r}")

    def action_go_to(self) -> None:
        """Asks where to go."""
        self._ask("go to (12.5ms, step 3, ev 1234, corr 77)", self._go_to)

    def _go_to(self, text: str) -> None:
        if not text:
            return
        try:
            place = find_place(self.structure, self.step, text)
        except UsageError as error:
            self._say(str(error))
            return
        if place.node is not None:
            self._jump(place.node)
        elif self.structure.steps.source != "trace":
            self.step = place.step
            self._show_step()

    def _ask(self, label: str, then: Callable[[str], None]) -> None:
        prompt = self.query_one("#prompt", Input)
        prompt.value = ""
        prompt.placeholder = label
        prompt.display = True
        self.query_one("#footer").display = False
        self._prompt = then
        prompt.focus()

    @on(Input.Submitted, "#prompt")
    def _answered(self, message: Input.Submitted) -> None:
        then = self._prompt
        self._close_prompt()
        if then is not None:
            then(message.value)

    def _close_prompt(self) -> None:
        self._prompt = None
        self.query_one("#prompt", Input).display = False
        self.query_one("#footer").display = True
        self.op_tree.focus()

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
        place = (self.step, self._cursor_node())

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
                self._jumps.append((self.step, self._cursor_node()))
                self._return_to(place)

        self._say("to which mark?")
        self.app.push_screen(KeyScreen(), named)

    def action_jump_back(self) -> None:
        """Returns to before the last jump."""
        if self._jumps:
            self._return_to(self._jumps.pop())
        else:
            self._say("no jump to return from")

    def _return_to(self, place: tuple[int | None, int]) -> None:
        step, node = place
        if step != self.step:
            self.step = step
            self._show_step(node if node >= 0 else None)
        elif node >= 0:
            self._go(node)

    # --- keys: panes, copies, the rest ----------------------------------------------------------

    def action_next_pane(self) -> None:
        """Moves the focus to the other pane."""
        (self.op_tree if self.panel_list.has_focus else self.panel_list).focus()
        self.call_after_refresh(self._show_tabs)

    def action_inspect(self) -> None:
        """Goes into the panel; on a kernel there, to the row that launched it."""
        if self.panel_list.has_focus:
            self.panel_list.activate()
        else:
            self.action_next_pane()

    def action_panel(self, name: str) -> None:
        """Shows a panel."""
        self.panel = name
        self._update_panel()

    def action_raw(self) -> None:
        """Shows the JSON of the row's op, launches and kernels in the pager."""
        found = raw_events(self.rows, self.op_tree.cursor)
        if not found:
            self._say("this row groups others and is no event itself")
            return
        page_json(self.app, found)

    def action_copy_row(self) -> None:
        """Copies the row under the cursor as text."""
        pane = self._focused_list()
        self.app.copy_to_clipboard(pane.text_of(pane.cursor))
        self._say("copied by OSC 52 (in tmux: set -g set-clipboard on); Y writes to a file")

    def action_write_file(self) -> None:
        """Writes the visible rows of the focused pane to a file in the current folder."""
        pane = self._focused_list()
        stem = clean(self.structure.trace.path.name).partition(".")[0]
        path = _free_name(Path.cwd(), f"ptx-{stem}")
        try:
            path.write_text(pane.as_text() + "\n", encoding="utf-8")
        except OSError as error:
            self._say(f"not written, {path.name}: {error.strerror}")
        else:
            self._say(f"written to {path.name}")

    def copy_command(self) -> None:
        """Copies the command that prints this view."""
        words = ["ptx", "tree", str(self.structure.trace.path)]
        if self.step is not None:
            words += ["--step", str(self.step + 1)]
        if self.rows.filter_text:
            words += ["--filter", self.rows.filter_text]
        command = clean(shlex.join(words))
        self.app.copy_to_clipboard(command)
        self._say(f"copied: {command}")

    def action_show_help(self) -> None:
        """Shows all keys."""
        self.app.push_screen(TextScreen(help_text()))

    def action_redraw(self) -> None:
        """Draws everything anew."""
        self.refresh(layout=True)
        self.app.refresh(layout=True)

    def action_out(self) -> None:
        """Leaves the prompt, the zoom, the panel, the filter, and at last the program."""
        if self._prompt is not None:
            self._close_prompt()
        elif self.has_class("zoom-panel") or self.has_class("zoom-tree"):
            self.remove_class("zoom-panel", "zoom-tree")
        elif self.panel_list.has_focus:
            self.action_next_pane()
        elif self.rows.filter_text:
            self._arrange(by_cost=self.rows.by_cost, filter_text="")
        else:
            self.app.exit()


def _free_name(folder: Path, stem: str) -> Path:
    """Returns a path that does not exist yet."""
    number = 1
    while (path := folder / f"{stem}-{number}.txt").exists():
        number += 1
    return path
