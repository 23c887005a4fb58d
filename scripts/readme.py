"""Writes the README's key table from the program's own."""

from __future__ import annotations

import re
from pathlib import Path

from ptx.tui.keymap import EXPLORE_KEYS

README = Path(__file__).resolve().parents[1] / "README.md"
_PLACE = re.compile(r"(<!-- keys: .*? -->\n).*?(<!-- /keys -->)", re.DOTALL)


def key_table() -> str:
    """Returns the keys as a Markdown table."""
    lines = ["| keys | does |", "| --- | --- |"]
    lines += [f"| {_code(key.shown)} | {key.does} |" for key in EXPLORE_KEYS]
    return "\n".join(lines) + "\n"


def _code(shown: str) -> str:
    return " ".join(f"`{sign}`".replace("|", "\\|") for sign in shown.split())


def with_keys(text: str) -> str:
    """Returns the README's text with the present key table."""
    return _PLACE.sub(lambda m: m[1] + "\n" + key_table() + "\n" + m[2], text)


if __name__ == "__main__":
    README.write_text(with_keys(README.read_text(encoding="utf-8")), encoding="utf-8")
