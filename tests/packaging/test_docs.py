"""Pages that show what the program knows show what it knows now."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def test_codes_of_reading_are_the_programs_own(repo_root: Path) -> None:
    path = repo_root / "scripts" / "robustness.py"
    spec = importlib.util.spec_from_file_location("robustness", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    text = (repo_root / "docs" / "robustness.md").read_text(encoding="utf-8")
    assert module.with_table(text) == text, "run: make readme"
