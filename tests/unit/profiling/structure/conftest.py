"""Fixtures of the structure's tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="session")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a file path that generated examples are written to, one after the other."""
    return tmp_path_factory.mktemp("structure") / "trace.json"
