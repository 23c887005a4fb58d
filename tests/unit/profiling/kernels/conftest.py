from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="session")
def labelled(shared: Path) -> list[dict[str, Any]]:
    """Returns real names with what a person read in them."""
    path = shared / "kernel_names" / "dev.jsonl"
    if not path.is_file():
        pytest.skip("the labelled kernel names are not beside this checkout")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
