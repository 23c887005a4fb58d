"""JSON through the user's pager."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
from textual.app import SuspendNotSupported

from ptx.profiling.sanitise import clean_multiline
from ptx.tui.screens.dialogs import TextScreen

if TYPE_CHECKING:
    from textual.app import App

    from ptx.tui.state.glyphs import Glyphs


def page_json(app: App[Any], values: list[dict[str, object]], glyphs: Glyphs) -> None:
    """Shows values as indented JSON in `$PAGER`, on a screen of ptx where that cannot be."""
    text = "\n".join(_pretty(value) for value in values)
    pager = shlex.split(os.environ.get("PAGER") or "less")
    with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        try:
            with app.suspend():
                subprocess.run([*pager, Path(file.name)], check=False)
        except (SuspendNotSupported, OSError):
            app.push_screen(TextScreen(text, glyphs))


def _pretty(value: dict[str, object]) -> str:
    try:
        text = orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
    except TypeError:  # lone surrogates or integers past 64 bits
        text = repr(value)
    return clean_multiline(text)
