from __future__ import annotations

import importlib.util
import re
from typing import TYPE_CHECKING

from ptx.tui.cli import COMMAND_NAMES

if TYPE_CHECKING:
    from pathlib import Path


def test_key_table_is_the_programs_own(repo_root: Path) -> None:
    spec = importlib.util.spec_from_file_location("readme", repo_root / "scripts" / "readme.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    text = (repo_root / "README.md").read_text(encoding="utf-8")
    assert module.with_keys(text) == text, "run: make readme"


def test_every_command_and_file_that_is_named_exists(repo_root: Path) -> None:
    text = (repo_root / "README.md").read_text(encoding="utf-8")
    for command in re.findall(r"^    ptx (\w+) ", text, re.MULTILINE):
        assert command in COMMAND_NAMES
    for sample in re.findall(r"sample_traces/[\w.]+", text):
        assert (repo_root / sample.rstrip(".")).exists()
    for image in re.findall(r"\]\((docs/[^)]+)\)", text):
        assert (repo_root / image).exists()
