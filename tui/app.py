"""The Textual application: themes, palette, and which screen stands first."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from textual import on
from textual.app import App, SystemCommand

from ptx.profiling.analysis.execution_traces import execution_trace_of
from ptx.tui._compat import repaint_on_resume
from ptx.tui.screens._base import TraceScreen
from ptx.tui.screens.doctor import DoctorScreen
from ptx.tui.screens.explore import ExploreScreen
from ptx.tui.screens.findings import FindingsScreen
from ptx.tui.screens.loading import LoadingScreen
from ptx.tui.screens.timeline import TimelineScreen
from ptx.tui.screens.top import TopScreen
from ptx.tui.screens.tour import TourScreen
from ptx.tui.state.glyphs import ASCII, UNICODE

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from numpy.typing import NDArray
    from textual.binding import BindingType
    from textual.screen import Screen

    from ptx.profiling.structure.structure import Structure
    from ptx.profiling.tensors.execution_trace import ExecutionTrace


_VIEWS: dict[str, type[TraceScreen]] = {
    "explore": ExploreScreen,
    "timeline": TimelineScreen,
    "top": TopScreen,
    "findings": FindingsScreen,
    "doctor": DoctorScreen,
}


class PtxApp(App[None]):
    """Opens one trace; nothing is animated, since each frame crosses the user's line."""

    TITLE = "ptx"
    ENABLE_COMMAND_PALETTE = True
    BINDINGS: ClassVar[list[BindingType]] = []

    def __init__(
        self,
        path: Path,
        *,
        ascii_only: bool = False,
        few_colours: bool | None = None,
        structure: Structure | None = None,
        execution_trace: ExecutionTrace | None = None,
        tour: bool = False,
    ) -> None:
        """Makes the program.

        Args:
            path: the trace.
            ascii_only: draw with ASCII alone.
            few_colours: whether 16 colours are all there is; None asks the environment.
            structure: the trace if it was read already.
            execution_trace: of the same run; None takes the one beside the trace, if any.
            tour: guide the user.
        """
        self._few_colours = _few_colours() if few_colours is None else few_colours
        super().__init__(ansi_color=self._few_colours)
        self._path = path
        self._ascii = ascii_only
        self._structure = structure
        self._execution_trace = execution_trace
        self._tour = tour
        self._no_colour = bool(os.environ.get("NO_COLOR"))
        self.animation_level = "none"

    def on_mount(self) -> None:
        """Shows the loading screen, or at once the explorer of a trace that was read."""
        if self._few_colours:
            self.theme = "ansi-dark"
        repaint_on_resume(self)
        if self._structure is not None:
            self._install_views(self._structure)
            self.push_screen("explore")
            return
        glyphs = ASCII if self._ascii else UNICODE
        self.push_screen(LoadingScreen(self._path, self._loaded, glyphs=glyphs))

    def _loaded(self, structure: Structure) -> None:
        self._install_views(structure)
        self.switch_screen("explore")

    def _install_views(self, structure: Structure) -> None:
        if self._execution_trace is not None:
            execution_trace_of.keep(structure, self._execution_trace)
        marked = self._no_colour or self._ascii
        glyphs = ASCII if self._ascii else UNICODE
        views = dict(_VIEWS)
        if self._tour:
            views["explore"] = TourScreen
        for name, kind in views.items():
            screen = kind(structure, glyphs=glyphs, mark_cursor=marked, letters=marked)
            self.install_screen(screen, name)

    @on(TraceScreen.ViewChosen)
    def _show_view(self, message: TraceScreen.ViewChosen) -> None:
        """Shows another view of the step that the present one shows."""
        present, wanted = self.screen, self.get_screen(message.view)
        if not (isinstance(present, TraceScreen) and isinstance(wanted, TraceScreen)):
            return
        if wanted is present:
            return
        step_changed = wanted.step != present.step
        wanted.step = present.step
        self.switch_screen(message.view)
        if step_changed and wanted.is_mounted:
            wanted.show_step()
        if isinstance(wanted, TimelineScreen):
            wanted.link(self._nodes_under_cursor(wanted.step))

    @on(TraceScreen.PlacesChosen)
    def _show_places(self, message: TraceScreen.PlacesChosen) -> None:
        """Shows in the tree where something is."""
        explorer = self.get_screen("explore")
        assert isinstance(explorer, ExploreScreen)
        self.switch_screen("explore")
        explorer.show_places(message.step, message.only)

    def _nodes_under_cursor(self, step: int | None) -> NDArray[np.integer]:
        """Returns the top nodes of the tree's row, none where the tree shows another step."""
        explorer = self.get_screen("explore")
        assert isinstance(explorer, ExploreScreen)
        row = explorer.op_tree.cursor if explorer.step == step else -1
        return explorer.rows.lens.top_nodes(row) if row >= 0 else np.zeros(0, np.int32)

    @on(TimelineScreen.NodeChosen)
    def _show_node(self, message: TimelineScreen.NodeChosen) -> None:
        """Shows in the tree the row of a node."""
        explorer = self.get_screen("explore")
        assert isinstance(explorer, ExploreScreen)
        self.switch_screen("explore")
        explorer.show_node(message.step, message.node)

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Yields an entry for every key of the screen, and what has no key."""
        yield from super().get_system_commands(screen)
        if not isinstance(screen, TraceScreen):
            return
        for key in screen.KEYS:
            yield SystemCommand(
                _capital(key.does), f"key {key.shown}", partial(screen.run_action, key.action)
            )
        yield SystemCommand("Step...", "choose a step from a list", screen.choose_step)
        if isinstance(screen, ExploreScreen):
            yield SystemCommand(
                "Jump to the forward or backward op",
                "of the row under the cursor",
                screen.jump_to_partner,
            )
        yield SystemCommand(
            "Copy the command that prints this view", "as plain text", screen.copy_command
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
