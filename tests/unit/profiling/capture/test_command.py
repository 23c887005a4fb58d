from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ptx.profiling.capture.command import EXIT_NOT_STARTED, environment, resolve
from ptx.profiling.errors import PtxError

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="capture runs on Linux only")


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Returns the only folder on PATH, with a Python and a launcher; the current one has x.py."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("python", "torchrun"):
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.chdir(tmp_path)
    Path("x.py").touch()
    return folder


def test_scripts_and_modules_run_under_the_first_python_on_path(programs: Path) -> None:
    python = str(programs / "python")
    assert resolve(["x.py", "--lr", "3"]).argv == (python, "x.py", "--lr", "3")
    assert resolve(["-m", "pack.mod", "3"]).argv == (python, "-m", "pack.mod", "3")


def test_the_named_python_goes_first(programs: Path) -> None:
    assert resolve(["x.py"], str(programs / "torchrun")).argv[0] == str(programs / "torchrun")


@pytest.mark.parametrize("words", [["python", "-u", "x.py"], ["torchrun", "x.py"]])
def test_other_programs_run_as_given(programs: Path, words: list[str]) -> None:
    assert resolve(words).argv == tuple(words)


@pytest.mark.parametrize(
    ("options", "booted"),
    [
        (["-I"], True),
        (["-X", "dev", "-Eu"], True),
        (["-S"], True),
        (["-u"], False),
        (["-W", "Ignore"], False),
    ],
)
def test_a_python_that_skips_site_or_its_path_gets_the_boot_file(
    programs: Path, options: list[str], booted: bool
) -> None:
    argv = resolve(["python", *options, "x.py", "-I"]).argv
    assert argv[: 1 + len(options)] == ("python", *options)
    assert argv[-2:] == ("x.py", "-I")
    assert [Path(word).name for word in argv[1 + len(options) : -2]] == (
        ["boot.py", "site"] if booted else []
    )


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["x.py", "y.py"], "x"),
        (["-m", "pack.mod"], "mod"),
        (["-m", "pack.__main__"], "pack"),
        (["python", "-u", "x.py"], "x"),
        (["python", "-m", "torch.distributed.run", "-m", "pack.mod"], "mod"),
        (["torchrun", "--nproc-per-node=2", "x.py"], "x"),
        (["torchrun", "--version"], "torchrun"),
    ],
)
def test_traces_are_named_after_the_script(programs: Path, words: list[str], name: str) -> None:
    assert resolve(words).name == name


@pytest.mark.parametrize(
    ("words", "python", "said"),
    [
        (["nowhere.py"], None, "no such script, nowhere.py"),
        (["nothing"], None, "cannot run, nothing: a Python script ends with .py"),
        (["-m"], None, "-m needs the name of a module"),
        (["x.py"], "/nowhere/python", "no Python to run the script with, /nowhere/python"),
    ],
)
def test_what_cannot_start_is_told_from_the_scripts_own_failures(
    programs: Path, words: list[str], python: str | None, said: str
) -> None:
    with pytest.raises(PtxError, match=said) as error:
        resolve(words, python)
    assert error.value.exit_code == EXIT_NOT_STARTED


def test_without_any_python_the_option_is_named(
    programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(PtxError, match="--python PATH"):
        resolve(["x.py"])


@pytest.mark.parametrize(("before", "after"), [(None, []), ("", []), ("/a:/b", ["/a", "/b"])])
def test_the_hook_goes_before_what_the_user_has_on_the_path(
    monkeypatch: pytest.MonkeyPatch, before: str | None, after: list[str]
) -> None:
    if before is None:
        monkeypatch.delenv("PYTHONPATH", raising=False)
    else:
        monkeypatch.setenv("PYTHONPATH", before)
    first, *rest = environment("{}")["PYTHONPATH"].split(":")
    assert {path.name for path in Path(first).glob("*.py")} == {"__init__.py", "sitecustomize.py"}
    assert rest == after
