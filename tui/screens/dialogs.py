"""Small screens over another one: help, a choice from a list, one key, a text."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from ptx.tui.keymap import EXPLORE_KEYS
from ptx.tui.state.glyphs import ASCII, UNICODE
from ptx.tui.widgets.row_tree import RowTree

if TYPE_CHECKING:
    from textual import events
    from textual.app import ComposeResult
    from textual.binding import BindingType

    from ptx.tui.keymap import Key
    from ptx.tui.state.glyphs import Glyphs
    from ptx.tui.state.rows import FlatRows

_CLOSE: list[BindingType] = [
    Binding("escape,q", "close", "close", show=False),
    Binding("down,j", "scroll(1)", show=False),
    Binding("up,k", "scroll(-1)", show=False),
    Binding("pagedown,ctrl+d", "scroll(10)", show=False),
    Binding("pageup,ctrl+u", "scroll(-10)", show=False),
]
_ARROW_NAMES = str.maketrans({"↑": "up", "↓": "down", "←": "left", "→": "right"})
_WORDS = (
    ("GPU", "time of the kernels and copies that the row launched; of the step: busy by the clock"),
    ("idle", "time without any kernel or copy, while the host was in this row"),
    ("share", "GPU busy and idle time of the row, of the step's (% changes of what)"),
    ("6x A", "six alike, summed: x lists them"),
    ("9 small", "neighbours of under 1 % each (3 % on few lines), in one row"),
    ("+5", "so many calls, views or frames below this row are not shown (p r v u)"),
    ("a > b", "rows joined into one: each had the next one as its only child"),
    ("G A P R C M X O", "matmul, attention, pointwise, reduce, copy, memcpy, communication, other"),
    ("& C", "a single letter of these filters by it; / finds it"),
)


class TextScreen(ModalScreen[None]):
    """A text to scroll; plain, so that no markup of a trace is obeyed."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *_CLOSE,
        Binding("question_mark,f1", "close", show=False),
    ]
    DEFAULT_CSS = """
    TextScreen { align: center middle; }
    TextScreen > VerticalScroll {
        width: 90%; height: 90%; max-width: 110; border: round $primary; padding: 0 1;
        background: $background; scrollbar-size: 1 1;
    }
    TextScreen.ascii > VerticalScroll { border: ascii $primary; scrollbar-size: 0 0; }
    """

    def __init__(self, text: str, glyphs: Glyphs) -> None:
        super().__init__(classes="ascii" if glyphs is ASCII else None)
        self._text = text

    def compose(self) -> ComposeResult:
        """Makes the scrolling text."""
        with VerticalScroll():
            yield Static(self._text, markup=False)

    def action_close(self) -> None:
        """Closes the screen."""
        self.dismiss(None)

    def action_scroll(self, lines: int) -> None:
        """Scrolls by so many lines."""
        self.query_one(VerticalScroll).scroll_relative(y=lines, animate=False)


def help_text(keys: tuple[Key, ...] = EXPLORE_KEYS, glyphs: Glyphs = UNICODE) -> str:
    """Returns all keys by group, then the words of the screen."""
    if glyphs is ASCII:
        keys = tuple(replace(key, shown=key.shown.translate(_ARROW_NAMES)) for key in keys)
    width = max(len(key.shown) for key in keys)
    lines: list[str] = []
    for group in dict.fromkeys(key.group for key in keys):
        lines += ["", group]
        lines += [f"  {k.shown:<{width}}  {k.does}" for k in keys if k.group == group]
    lines += ["", "words"]
    words = [(word.replace(UNICODE.join, glyphs.join), meaning) for word, meaning in _WORDS]
    lines += [f"  {word:<{width}}  {meaning}" for word, meaning in words]
    return "\n".join(lines).strip("\n")


class ChooseScreen(ModalScreen["int | None"]):
    """A list to choose a row from; gives its number, None when closed."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *_CLOSE,
        Binding("enter", "choose", show=False),
    ]
    DEFAULT_CSS = """
    ChooseScreen { align: center middle; }
    ChooseScreen > Vertical {
        width: 80%; height: 60%; max-width: 90; border: round $primary; background: $background;
    }
    ChooseScreen.ascii > Vertical { border: ascii $primary; }
    """

    def __init__(self, rows: FlatRows, start: int, glyphs: Glyphs, *, mark_cursor: bool) -> None:
        super().__init__(classes="ascii" if glyphs is ASCII else None)
        self._rows = rows
        self._start = start
        self._glyphs = glyphs
        self._mark_cursor = mark_cursor

    def compose(self) -> ComposeResult:
        """Makes the list."""
        with Vertical():
            yield RowTree(glyphs=self._glyphs, mark_cursor=self._mark_cursor)

    def on_mount(self) -> None:
        """Fills the list."""
        tree = self.query_one(RowTree)
        tree.show(self._rows, self._start)
        tree.focus()

    def action_close(self) -> None:
        """Closes without a choice."""
        self.dismiss(None)

    def action_scroll(self, lines: int) -> None:
        """Moves the cursor."""
        self.query_one(RowTree).move(lines)

    def action_choose(self) -> None:
        """Gives the row under the cursor."""
        self.dismiss(self.query_one(RowTree).cursor)


class KeyScreen(ModalScreen["str | None"]):
    """Waits for one character, which it gives; Esc gives None."""

    DEFAULT_CSS = "KeyScreen { background: transparent; }"

    def on_key(self, event: events.Key) -> None:
        """Takes the key."""
        event.stop()
        event.prevent_default()
        character = event.character if event.is_printable else None
        self.dismiss(None if event.key == "escape" else character)
