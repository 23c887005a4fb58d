"""The pictures of the README show what the program draws now."""

from __future__ import annotations

import html
import importlib.util
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]


def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("shots", ROOT / "scripts" / "screenshots.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def lines_of(svg: str) -> list[str]:
    """Returns what stands in a picture, by the height at which it is drawn."""
    rows: dict[float, str] = {}
    for y, text in re.findall(r'<text[^>]* y="([\d.]+)"[^>]*>([^<]*)</text>', svg):
        rows[float(y)] = rows.get(float(y), "") + html.unescape(text)
    return [rows[y] for y in sorted(rows)]


@pytest.mark.parametrize("name", list(script().PICTURES))
def test_picture_is_what_the_program_draws(name: str) -> None:
    committed = (ROOT / "docs" / "images" / f"{name}.svg").read_text(encoding="utf-8")
    assert lines_of(script().svg_of(name)) == lines_of(committed), "run: make pictures"


def test_every_picture_is_in_the_readme() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert all(f"docs/images/{name}.svg" in text for name in script().PICTURES)
