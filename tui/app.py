"""The Textual application: themes, palette, and which screen stands first."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual.app import App, SystemCommand

from ptx.tui._compat import repaint_on_resume
from ptx.tui.keymap import EXPLORE_KEYS
from ptx.tui.screens.explore import ExploreScreen
from ptx.tui.screens.loading import LoadingScreen
from ptx.tui.state.glyphs import ASCII, UNICODE

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from textual.binding import BindingType
    from textual.screen import Screen

    from ptx.profiling.structure.structure import Structure


class PtxApp(App[None]):
    """Opens one trace; nothing is animated, since each frame crosses the user's line."""

    TITLE = "ptx"
    ENABLE_COMMAND_PALETTE = True
    BINDINGS: ClassVar[list[BindingType]] = []

    def __init__(self, path: Path, *, ascii_only: bool = False) -> None:
        super().__init__(ansi_color=_few_colours())
        self._path = path
        self._ascii = ascii_only
        self._no_colour = bool(os.environ.get("NO_COLOR"))
        self.animation_level = "none"

    def on_mount(self) -> None:
        """Shows the loading screen."""
        if _few_colours():
            self.theme = "ansi-dark"
        repaint_on_resume(self)
        glyphs = ASCII if self._ascii else UNICODE
        self.push_screen(LoadingScreen(self._path, self._loaded, glyphs=glyphs))

    def _loaded(self, structure: Structure) -> None:
        self.switch_screen(
            ExploreScreen(
                structure,
                glyphs=ASCII if self._ascii else UNICODE,
                mark_cursor=self._no_colour or self._ascii,
                letters=self._no_colour or self._ascii,
            )
        )

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Yields an entry for every key of the screen, and what has no key."""
        yield from super().get_system_commands(screen)
        if not isinstance(screen, ExploreScreen):
            return
        for key in EXPLORE_KEYS:
            yield SystemCommand(
                _capital(key.does), f"key {key.shown}", partial(screen.run_action, key.action)
            )
        yield SystemCommand("Step...", "choose a step from a list", screen.choose_step)
        yield SystemCommand(
            "Copy the command that prints this view", "ptx tree ...", screen.copy_command
        )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _few_colours() -> bool:
    """Returns whether the terminal has no more than 16 colours, or the user wants none."""
    if os.environ.get("NO_COLOR"):
        return True
    if os.environ.get("COLORTERM") in ("truecolor", "24bit"):
        return False
    return "256" not in os.environ.get("TERM", "") and not os.environ.get("TEXTUAL_COLOR_SYSTEM")
