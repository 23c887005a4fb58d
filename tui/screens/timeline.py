"""The step over time: what the host did, what each stream ran, and how much was waiting."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from threading import Thread
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from textual.message import Message

from ptx.profiling.sanitise import clean
from ptx.tui.keymap import TIMELINE_KEYS
from ptx.tui.screens._base import TraceScreen, bindings_of
from ptx.tui.screens.dialogs import KeyScreen
from ptx.tui.state.header import make_header
from ptx.tui.state.timeline.counters import counter_lanes, has_counters
from ptx.tui.state.timeline.drawing import cells_in, describe, draw_lanes, draw_ruler
from ptx.tui.state.timeline.timeline import Timeline
from ptx.tui.widgets.lines import HeaderLines, Lines
from ptx.tui.widgets.timeline import TimelineLanes

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from textual import events
    from textual.app import App, ComposeResult
    from textual.binding import BindingType

    from ptx.profiling.structure.structure import Structure
    from ptx.tui.state.glyphs import Glyphs
    from ptx.tui.state.timeline.lanes import CurveLane

_NO_NODES = np.zeros(0, np.int32)


class TimelineScreen(TraceScreen):
    """Shows lanes over time; Enter shows the slice under the cursor in the tree."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_of(TIMELINE_KEYS)
    KEYS = TIMELINE_KEYS
    AUTO_FOCUS = "#lanes"
    CSS_PATH = "explore.tcss"
    DEFAULT_CSS = """
    TimelineScreen { layout: vertical; background: $background; }
    TimelineScreen > #ruler { height: 1; }
    """

    def __init__(
        self, structure: Structure, *, glyphs: Glyphs, mark_cursor: bool, letters: bool
    ) -> None:
        super().__init__(structure, glyphs=glyphs, mark_cursor=mark_cursor, letters=letters)
        self.timeline = Timeline(structure, letters=letters)
        self._row_nodes: NDArray[np.integer] = _NO_NODES
        self._started = False

    @dataclass
    class NodeChosen(Message):
        """The tree is to show a node, in a step (None: the whole trace)."""

        step: int | None
        node: int

    def compose(self) -> ComposeResult:
        """Makes the widgets."""
        glyphs, mark = self._glyphs, self._mark_cursor
        yield HeaderLines(glyphs=glyphs, letters=self._letters, id="header")
        yield TimelineLanes(glyphs=glyphs, mark_cursor=False, id="ruler")
        yield TimelineLanes(glyphs=glyphs, mark_cursor=mark, id="lanes")
        yield Lines(glyphs=glyphs, id="subject")
        yield from self.compose_bottom()

    @property
    def _lanes(self) -> TimelineLanes:
        return self.query_one("#lanes", TimelineLanes)

    def link(self, nodes: NDArray[np.integer]) -> None:
        """Underlines what nodes of the tree (ascending) cover, from now on."""
        if not np.array_equal(nodes, self._row_nodes):
            self._row_nodes = nodes
            if self._started:
                self.timeline.link(nodes)
                self._draw()

    def on_resize(self, event: events.Resize) -> None:
        """Fits the lanes to the new size; the first time it also shows the step."""
        if self._is_too_small(event.size):
            return
        self.call_after_refresh(self._fit if self._started else self._start)

    def _start(self) -> None:
        self._started = True
        self._fit()
        nodes = self._row_nodes
        self.show_step()
        self.link(nodes)
        if has_counters(self.structure):
            self._say("reading what the trace records over time...")
            # not a worker: the program would wait for its end before it quits
            Thread(target=self._read_counters, args=(self.app,), daemon=True).start()

    def _read_counters(self, app: App[object]) -> None:
        lanes = counter_lanes(self.structure)
        with suppress(RuntimeError):  # the program has ended meanwhile
            app.call_from_thread(self._add_counters, lanes)

    def _add_counters(self, lanes: tuple[CurveLane, ...]) -> None:
        self.timeline.show_counters(lanes)
        self._draw()
        self._show_footer()

    def _fit(self) -> None:
        self.timeline.resize(self._lanes.size.height, self.size.height)
        self._draw()

    def show_step(self) -> None:
        """Shows the present step whole."""
        self.query_one("#header", HeaderLines).show_header(make_header(self.structure, self.step))
        self._row_nodes = _NO_NODES
        self.timeline.show_step(self.step)
        self._draw()
        self._show_footer()

    def _draw(self) -> None:
        width, timeline = self._lanes.size.width, self.timeline
        ruler = self.query_one("#ruler", TimelineLanes)
        ruler.show([draw_ruler(timeline, width, self._glyphs)])
        self._lanes.show(draw_lanes(timeline, width, self._glyphs))
        name, facts = describe(timeline, cells_in(width))
        room = max(8, width - len(facts) - 2)
        if len(name) > room:
            name = name[: room - 1] + self._glyphs.ellipsis
        self.query_one("#subject", Lines).show([[(" ", "dim"), (name + facts, "normal")]])

    # --- keys ---------------------------------------------------------------------------------

    def action_move(self, rows: int) -> None:
        """Moves the cursor to another lane."""
        self.timeline.move(rows)
        self._draw()

    def action_page(self, pages: float) -> None:
        """Moves the cursor by pages of lanes."""
        self.timeline.page(pages)
        self._draw()

    def action_home(self) -> None:
        """Moves the cursor to the first lane."""
        self.action_move(-len(self.timeline.lines))

    def action_end(self) -> None:
        """Moves the cursor to the last lane."""
        self.action_move(len(self.timeline.lines))

    def action_neighbour(self, by: int) -> None:
        """Moves the cursor to the next or previous slice of its lane."""
        if self.timeline.beside(by):
            self._draw()
        else:
            self._say(
                "no further slice in this lane" if by > 0 else "no earlier slice in this lane"
            )

    def action_zoom_time(self, factor: float) -> None:
        """Shows less time, or more, about the cursor."""
        self.timeline.zoom(factor)
        self._draw()

    def action_pan(self, share: float) -> None:
        """Moves the window by a share of its length."""
        self.timeline.pan(share)
        self._draw()

    def action_fit(self) -> None:
        """Shows the tree's row as large as it fits, then the slice under the cursor."""
        if self.timeline.fit():
            self._draw()
        else:
            self._say("nothing to fit to: ] chooses a slice")

    def action_whole_step(self) -> None:
        """Shows the whole step."""
        self.timeline.show_home()
        self._draw()

    def action_mark(self) -> None:
        """Marks the cursor's time with the letter that comes next."""

        def named(letter: str | None) -> None:
            if letter:
                self.timeline.mark(letter)
                self._draw()
                self._say(f"mark {clean(letter)} set")

        self._say("mark with which letter?")
        self.app.push_screen(KeyScreen(), named)

    def action_to_mark(self) -> None:
        """Moves the cursor to the mark of the letter that comes next."""

        def named(letter: str | None) -> None:
            if letter and self.timeline.go_to_mark(letter):
                self._draw()
                self._show_footer()
            else:
                self._say(f"no mark {clean(letter or '')}")

        self._say("to which mark?")
        self.app.push_screen(KeyScreen(), named)

    def action_copy_row(self) -> None:
        """Copies what the cursor is on as text."""
        subject = "".join(describe(self.timeline, cells_in(self._lanes.size.width)))
        self.app.copy_to_clipboard(subject)
        self._say("copied by OSC 52 (in tmux: set -g set-clipboard on)")

    def _visible_text(self) -> str:
        """Returns the times and the lanes on screen as text."""
        return f"{self.query_one('#ruler', TimelineLanes).as_text()}\n{self._lanes.as_text()}"

    def twin(self) -> list[str]:
        """Returns the command that prints the step in words."""
        return ["summary", *self._step_words()]

    def action_inspect(self) -> None:
        """Shows the slice under the cursor in the tree."""
        node = self.timeline.node
        if node < 0:
            self._say("no slice under the cursor: ] goes to the next one")
            return
        step = self.step
        if step is not None:
            found = int(self.structure.step_of_nodes()[node])
            step = found if found >= 0 else step
        self.post_message(self.NodeChosen(step, node))

    def action_out(self) -> None:
        """Returns to the tree."""
        self.action_view("explore")
