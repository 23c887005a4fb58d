"""What all screens of a trace share: keys, footer, messages, a line to type in, the step."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.binding import Binding
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Input

from ptx.profiling.sanitise import clean
from ptx.tui.keymap import footer
from ptx.tui.screens.dialogs import ChooseScreen, TextScreen, help_text
from ptx.tui.state.panels import step_choices
from ptx.tui.widgets.lines import Footer, Lines

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual import events
    from textual.app import ComposeResult
    from textual.binding import BindingType
    from textual.geometry import Size

    from ptx.profiling.structure.structure import Structure
    from ptx.tui.keymap import Key
    from ptx.tui.state.explore import Only
    from ptx.tui.state.glyphs import Glyphs
    from ptx.tui.widgets.row_tree import RowTree

_PROMPTS = ("find", "filter", "go_to")


def bindings_of(keys: tuple[Key, ...]) -> list[BindingType]:
    """Returns the bindings of a table of keys."""
    return [
        Binding(
            ",".join(key.keys),
            key.action,
            key.does,
            show=False,
            # at once, so that what is typed right behind the key finds the prompt
            priority=key.action in _PROMPTS,
        )
        for key in keys
    ]


MIN_WIDTH, MIN_HEIGHT = 60, 15


class TraceScreen(Screen[None]):
    """A screen of one step of a trace, with a footer and a line in which the user types.

    A screen derives from this, names its keys in `KEYS` and binds them to the actions.
    """

    KEYS: ClassVar[tuple[Key, ...]] = ()

    def __init__(
        self, structure: Structure, *, glyphs: Glyphs, mark_cursor: bool, letters: bool
    ) -> None:
        super().__init__()
        self.structure = structure
        self._glyphs = glyphs
        self._mark_cursor = mark_cursor
        self._letters = letters
        steps = structure.steps
        self.step: int | None = None if steps.source == "trace" else len(steps) - 1
        self._prompt: Callable[[str], None] | None = None
        self._said = False

    def show_step(self) -> None:
        """Shows `step`, which has changed."""
        raise NotImplementedError

    def _focused_list(self) -> RowTree:
        """Returns the list that the keys move in."""
        raise NotImplementedError

    def _is_too_small(self, size: Size) -> bool:
        """Says so instead of drawing anything, where a terminal is too small."""
        width, height = size
        too_small = width < MIN_WIDTH or height < MIN_HEIGHT
        self.set_class(too_small, "too-small")
        if too_small:
            text = f"{MIN_WIDTH}x{MIN_HEIGHT} needed, this is {width}x{height}"
            self.query_one("#small", Lines).show([[(text, "normal")]])
        return too_small

    @dataclass
    class ViewChosen(Message):
        """Another view of the same step is wanted."""

        view: str

    @dataclass
    class PlacesChosen(Message):
        """The tree is to show where something is, in a step (None: the whole trace)."""

        step: int | None
        only: Only

    def action_view(self, view: str) -> None:
        """Shows another view."""
        self.post_message(self.ViewChosen(view))

    # --- moving -------------------------------------------------------------------------------

    def action_move(self, rows: int) -> None:
        """Moves the cursor of the focused list."""
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

    # --- footer and messages ------------------------------------------------------------------

    def _show_footer(self) -> None:
        self._said = False
        shown = {"Enter": "↵"} if not self._letters else {}
        self.query_one("#footer", Footer).show_keys(footer(self.KEYS, shown))

    def _say(self, text: str) -> None:
        """Shows a message in the footer until the next key."""
        self._said = True
        self.query_one("#footer", Footer).show_text(text)

    def on_key(self, event: events.Key) -> None:
        """Takes the message away; the key's own action comes after this."""
        if self._said:
            self._show_footer()

    # --- a line to type in --------------------------------------------------------------------

    def compose_bottom(self) -> ComposeResult:
        """Makes the footer, the line in which the user types, and what a small terminal shows."""
        prompt = Input(id="prompt")
        prompt.display = False
        yield Footer(glyphs=self._glyphs, id="footer")
        yield prompt
        yield Lines(glyphs=self._glyphs, id="small")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Returns False for keys that are only text while the prompt is open."""
        return not (action in _PROMPTS and self._prompt is not None)

    def _ask(self, label: str, then: Callable[[str], None]) -> None:
        prompt = self.query_one("#prompt", Input)
        prompt.value = ""
        prompt.placeholder = label
        prompt.display = True
        self.query_one("#footer").display = False
        self._prompt = then
        self.set_focus(prompt)

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
        self.set_focus(self._focused_list())

    # --- step ---------------------------------------------------------------------------------

    def action_step(self, by: int) -> None:
        """Shows the next or previous step."""
        if self.structure.steps.source == "trace":
            self._say("this trace has no steps: record with prof.step()")
            return
        if self.step is None:
            self.step = 0 if by > 0 else len(self.structure.steps)
            by = 0 if by > 0 else -1
        step = self.step + by
        if 0 <= step < len(self.structure.steps):
            self.step = step
            self.show_step()
        else:
            self._say("no further step" if by > 0 else "no earlier step (: trace shows all of it)")

    def choose_step(self) -> None:
        """Shows the list of steps to choose from."""
        rows = step_choices(self.structure)

        def chosen(step: int | None) -> None:
            if step is not None and self.structure.steps.source != "trace":
                self.step = step
                self.show_step()

        screen = ChooseScreen(rows, self.step or 0, self._glyphs, mark_cursor=self._mark_cursor)
        self.app.push_screen(screen, chosen)

    # --- out of the program -------------------------------------------------------------------

    def action_copy_row(self) -> None:
        """Copies the row under the cursor as text."""
        pane = self._focused_list()
        self._copy(pane.text_of(pane.cursor))

    def _copy(self, text: str) -> None:
        self.app.copy_to_clipboard(text)
        self._say("copied by OSC 52 (in tmux: set -g set-clipboard on); Y writes to a file")

    def action_write_file(self) -> None:
        """Writes the visible rows of the focused pane to a file in the current folder."""
        stem = clean(self.structure.trace.path.name).partition(".")[0]
        path = _free_name(Path.cwd(), f"ptx-{stem}")
        try:
            path.write_text(self._visible_text() + "\n", encoding="utf-8")
        except OSError as error:
            self._say(f"not written, {path.name}: {error.strerror}")
        else:
            self._say(f"written to {path.name}")

    def _visible_text(self) -> str:
        """Returns the visible rows of the focused pane as text."""
        return self._focused_list().as_text()

    def twin(self) -> list[str]:
        """Returns the words of the command that prints this view, but for `ptx` and the file."""
        raise NotImplementedError

    def _step_words(self) -> list[str]:
        return [] if self.step is None else ["--step", str(self.step + 1)]

    def copy_command(self) -> None:
        """Copies the command that prints this view."""
        name, *options = self.twin()
        words = ["ptx", name, str(self.structure.trace.path), *options]
        command = clean(shlex.join(words))
        self.app.copy_to_clipboard(command)
        self._say(f"copied: {command}")

    def action_show_help(self) -> None:
        """Shows all keys."""
        self.app.push_screen(TextScreen(help_text(self.KEYS, self._glyphs), self._glyphs))

    def action_redraw(self) -> None:
        """Draws everything anew."""
        self.refresh(layout=True)
        self.app.refresh(layout=True)


def _free_name(folder: Path, stem: str) -> Path:
    """Returns a path that does not exist yet."""
    number = 1
    while (path := folder / f"{stem}-{number}.txt").exists():
        number += 1
    return path
