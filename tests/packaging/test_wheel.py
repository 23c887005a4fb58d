"""What is built, and that it works where only it is installed."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import venv
import zipfile
from typing import TYPE_CHECKING

import pytest

from ptx import __version__

if TYPE_CHECKING:
    from pathlib import Path


def run(*command: str | Path, cwd: Path) -> str:
    """Returns what a command printed; fails with its output."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def build(kind: str, root: Path, out: Path) -> Path:
    """Builds a distribution from the folder `root` with the installed hatchling."""
    run(sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", out, cwd=root)
    (built,) = out.iterdir()
    return built


@pytest.fixture(scope="module")
def wheel(repo_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("wheel", repo_root, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def sdist(repo_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("sdist", repo_root, tmp_path_factory.mktemp("sdist"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the scripts folder of a new environment with the wheel and nothing else."""
    environment = tmp_path_factory.mktemp("bare")
    venv.create(environment, with_pip=True)
    scripts = environment / ("Scripts" if sys.platform == "win32" else "bin")
    run(scripts / "python", "-m", "pip", "install", "-q", "--no-deps", wheel, cwd=environment)
    return scripts


def contents(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_the_wheel_has_one_top_level_name(wheel: Path) -> None:
    assert {name.partition("/")[0] for name in contents(wheel)} == {
        "ptx",
        f"ptx_explorer-{__version__}.dist-info",
    }


def test_the_wheel_holds_every_source_file_and_nothing_else(wheel: Path, repo_root: Path) -> None:
    expected = {"ptx/__init__.py", "ptx/__main__.py", "ptx/py.typed"}
    expected.add("ptx/sample_traces/geglu_eager.json.gz")  # for ptx tour
    for folder in ("tui", "profiling"):
        for pattern in ("*.py", "*.tcss"):
            files = (repo_root / folder).rglob(pattern)
            expected |= {f"ptx/{path.relative_to(repo_root).as_posix()}" for path in files}

    assert {name for name in contents(wheel) if name.startswith("ptx/")} == expected


def test_a_wheel_from_the_sdist_is_the_same(wheel: Path, sdist: Path, tmp_path: Path) -> None:
    unpacked = tmp_path / "unpacked"
    unpacked.mkdir()
    run("tar", "-xf", sdist, cwd=unpacked)
    (root,) = unpacked.iterdir()

    again = build("wheel", root, tmp_path / "wheel")

    assert contents(again) == contents(wheel)


def test_the_sdist_brings_tests_samples_and_licence(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    wanted = {"LICENSE", "README.md", "CHANGELOG.md", "pyproject.toml", "tests/conftest.py"}
    assert wanted <= names
    assert any(name.startswith("sample_traces/") for name in names)


@pytest.mark.parametrize("call", [["ptx"], ["ptx-explorer"], ["python", "-m", "ptx"]])
def test_the_installed_wheel_answers(installed: Path, call: list[str], tmp_path: Path) -> None:
    program, *rest = call
    shown = run(installed / program, *rest, "--version", cwd=tmp_path)
    assert shown == f"ptx {__version__}\n"


@pytest.mark.network
def test_the_declared_dependencies_are_enough(
    installed: Path, wheel: Path, samples: Path, tmp_path: Path
) -> None:
    run(installed / "python", "-m", "pip", "install", "-q", wheel, cwd=tmp_path)
    sample = samples / "geglu_eager.json.gz"

    # Without a terminal the explorer prints the summary, so this loads both halves.
    shown = run(installed / "ptx", "explore", sample, cwd=tmp_path)

    assert shown == run(installed / "ptx", "summary", sample, cwd=tmp_path)
    run(installed / "python", "-c", "import ptx.tui.app", cwd=tmp_path)
