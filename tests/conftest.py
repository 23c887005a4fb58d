"""Shared fixtures, and an environment in which every run of the tests is alike."""

from __future__ import annotations

import importlib.util
import os
import shutil
from pathlib import Path

import pytest
from hypothesis import settings

# Before anything imports textual, which reads its settings from the environment when imported.
for _name in list(os.environ):
    if _name in ("NO_COLOR", "FORCE_COLOR") or _name.startswith(("TEXTUAL_", "PTX_")):
        del os.environ[_name]

REPO_ROOT = Path(__file__).resolve().parent.parent

settings.register_profile("local", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--network", action="store_true", help="run the tests that install from the package index"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skips, with the reason, the tests whose tool is not at hand."""
    missing = {}
    if not config.getoption("--network"):
        missing["network"] = "needs the package index (make test-all, or pytest --network)"
    if importlib.util.find_spec("torch") is None:
        missing["torch"] = "torch is not installed (make test-all installs it)"
    if shutil.which("tmux") is None:
        missing["tmux"] = "tmux is not installed"
    for item in items:
        for marker, reason in missing.items():
            if item.get_closest_marker(marker) is not None:
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def repo_root() -> Path:
    """Returns the root of the checkout."""
    return REPO_ROOT


@pytest.fixture(scope="session")
def samples(repo_root: Path) -> Path:
    """Returns the folder of the committed sample traces."""
    return repo_root / "sample_traces"


@pytest.fixture(scope="session")
def shared(repo_root: Path) -> Path:
    """Returns the folder of large shared traces beside the checkout, or skips."""
    folder = repo_root.parent / "shared"
    if not folder.is_dir():
        pytest.skip("the folder of shared traces is not beside this checkout")
    return folder
