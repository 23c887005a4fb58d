"""Work-arounds for faults of Textual, each with the version that has it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from textual.app import App


def repaint_on_resume(app: App[Any]) -> None:
    """Draws the screen anew when the program returns from the background.

    Textual 8.2.8 leaves it empty after ctrl+z and fg. The other fault that ptx works round, a
    crash under NO_COLOR on a segment without style, is met by `ptx.tui.widgets._paint.strip`,
    which gives every segment one.
    """
    app.app_resume_signal.subscribe(app, lambda _: app.screen.refresh(layout=True))
