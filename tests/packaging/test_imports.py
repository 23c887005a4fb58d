"""What a start of ptx loads, and what it does not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = {"msgspec", "numpy", "orjson", "rich", "textual", "torch"}


def loaded_by(code: str) -> set[str]:
    """Returns the names of all modules loaded after running the code in a new interpreter."""
    report = "import sys; print('\\nLOADED', *sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{report}"], capture_output=True, text=True, check=True
    )
    return set(done.stdout.rpartition("LOADED")[2].split())


def run_main(*argv: str) -> str:
    return f"from ptx.tui.cli import main; assert main({list(argv)!r}) == 0"


@pytest.mark.parametrize("argv", [["--help"], ["--version"], ["summary", "--help"]])
def test_help_and_version_load_no_library(argv: list[str]) -> None:
    assert loaded_by(run_main(*argv)).isdisjoint(HEAVY)


def test_bare_ptx_loads_no_library(tmp_path: Path) -> None:
    code = f"import os; os.chdir({str(tmp_path)!r}); {run_main()}"
    assert loaded_by(code).isdisjoint(HEAVY)


def test_reading_a_trace_loads_no_user_interface_and_no_torch() -> None:
    loaded = loaded_by("import ptx.profiling.api")
    assert loaded.isdisjoint({"rich", "textual", "torch"})
    assert not any(name.startswith("ptx.tui") for name in loaded)


def test_public_names_load_on_first_use() -> None:
    assert "ptx.profiling.api" not in loaded_by("import ptx; ptx.__version__; dir(ptx)")
    assert "ptx.profiling.api" in loaded_by("from ptx import Trace, load")


def test_public_names_are_listed_and_others_refused() -> None:
    import ptx
    from ptx.profiling import api

    assert set(ptx.__all__) <= set(dir(ptx))
    assert ptx.load is api.load
    assert ptx.Trace is api.Trace
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        ptx.__getattr__("nonsense")


def test_every_way_to_call_ptx_gives_the_same_version() -> None:
    scripts = Path(sys.executable).parent
    calls: list[list[str | Path]] = [
        [scripts / "ptx"],
        [scripts / "ptx-explorer"],
        [sys.executable, "-m", "ptx"],
    ]
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    shown = {
        subprocess.run(
            [*call, "--version"], capture_output=True, text=True, check=True, env=environment
        ).stdout
        for call in calls
    }
    assert len(shown) == 1
    assert shown.pop().startswith("ptx ")
