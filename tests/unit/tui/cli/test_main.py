import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ptx import __version__
from ptx.profiling.errors import PtxError, TraceFormatError
from ptx.tui import cli

Run = Callable[[argparse.Namespace], int]


class FakeCommand:
    def __init__(self, name: str, run: Run) -> None:
        self.name = name
        self.help = f"does {name}"
        self.run = run

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("file")
        parser.add_argument("--depth", type=int)


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Callable[[Run], None]:
    def install_run(run: Run) -> None:
        monkeypatch.setattr(cli, "load_command", lambda name: FakeCommand(name, run))

    install_run(lambda _: 0)
    return install_run


@pytest.fixture
def calls(install: Callable[[Run], None]) -> list[argparse.Namespace]:
    seen: list[argparse.Namespace] = []

    def record(args: argparse.Namespace) -> int:
        seen.append(args)
        return 0

    install(record)
    return seen


def raising(error: BaseException) -> Run:
    def run(_: argparse.Namespace) -> int:
        raise error

    return run


def test_version_goes_to_stdout(
    calls: list[argparse.Namespace], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr() == (f"ptx {__version__}\n", "")


def test_help_names_every_command(
    calls: list[argparse.Namespace], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert all(f"does {name}" in shown for name in cli.COMMAND_NAMES)


def test_a_command_gets_its_arguments(calls: list[argparse.Namespace]) -> None:
    assert cli.main(["tree", "a.json", "--depth", "2"]) == 0
    assert (calls[0].command, calls[0].file, calls[0].depth) == ("tree", "a.json", 2)


def test_the_exit_code_is_the_commands(install: Callable[[Run], None]) -> None:
    install(lambda _: 1)
    assert cli.main(["tree", "a.json"]) == 1


@pytest.mark.parametrize(
    "word", ["a.json", "a.json.gz", "a.json.zst", "rank0.gz", "./a", "dir/a", "-"]
)
def test_a_word_that_looks_like_a_file_is_explored(
    calls: list[argparse.Namespace], word: str
) -> None:
    assert cli.main([word, "--depth", "1"]) == 0
    assert (calls[0].command, calls[0].file, calls[0].depth) == ("explore", word, 1)


def test_a_word_that_is_a_file_is_explored(
    calls: list[argparse.Namespace], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("trace").touch()
    assert cli.main(["trace"]) == 0
    assert calls[0].command == "explore"


def test_a_command_comes_before_a_file_of_its_name(
    calls: list[argparse.Namespace], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("tree").touch()
    assert cli.main(["tree", "a.json"]) == 0
    assert calls[0].command == "tree"


@pytest.mark.parametrize(
    ("argv", "line"),
    [
        (["sumary", "x"], "no command or file is named 'sumary': did you mean summary?"),
        (["xyzzy"], "no command or file is named 'xyzzy': see ptx --help"),
        (["--colour"], "unrecognized arguments: --colour: see ptx --help"),
        (["tree"], "the following arguments are required: file: see ptx tree --help"),
        (["tree", "f", "--dep", "1"], "unrecognized arguments: --dep 1: see ptx --help"),
        (
            ["tree", "f", "--depth", "x\x1b"],
            "argument --depth: invalid int value: 'x\\x1b': see ptx tree --help",
        ),
    ],
)
def test_wrong_usage_is_one_line_and_2(
    calls: list[argparse.Namespace],
    capsys: pytest.CaptureFixture[str],
    argv: list[str],
    line: str,
) -> None:
    assert cli.main(argv) == 2
    assert capsys.readouterr() == ("", f"ptx: {line}\n")
    assert not calls


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (TraceFormatError("a.json", "empty file"), 2, "ptx: empty file, a.json"),
        (PtxError("too many kernels", exit_code=1), 1, "ptx: too many kernels"),
        (PtxError("bad \x1b[31m\nname"), 2, "ptx: bad ␛[31m␊name"),
        (FileNotFoundError(2, "No such file", "a\n.json"), 2, "ptx: No such file, a␊.json"),
        (OSError("odd"), 2, "ptx: odd"),
        (
            ValueError("two\nlines"),
            2,
            "ptx: internal error, ValueError: two␊lines: PTX_DEBUG=1 shows the trace",
        ),
    ],
)
def test_an_error_is_one_clean_line_and_its_exit_code(
    install: Callable[[Run], None],
    capsys: pytest.CaptureFixture[str],
    error: Exception,
    code: int,
    line: str,
) -> None:
    install(raising(error))
    assert cli.main(["tree", "a.json"]) == code
    assert capsys.readouterr() == ("", f"{line}\n")


def test_ptx_debug_shows_the_trace_of_an_unexpected_error(
    install: Callable[[Run], None],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PTX_DEBUG", "1")
    install(raising(ValueError("odd")))
    assert cli.main(["tree", "a.json"]) == 2
    assert "Traceback" in capsys.readouterr().err


def test_an_interrupt_is_silent_and_130(
    install: Callable[[Run], None], capsys: pytest.CaptureFixture[str]
) -> None:
    install(raising(KeyboardInterrupt()))
    assert cli.main(["tree", "a.json"]) == 130
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("words", [1, 100_000])
def test_a_reader_that_went_away_is_silent_and_141(
    install: Callable[[Run], None],
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    words: int,
) -> None:
    def talk(_: argparse.Namespace) -> int:
        print("word " * words)
        return 0

    install(talk)
    read_end, write_end = os.pipe()
    os.close(read_end)
    with os.fdopen(write_end, "w") as pipe:
        monkeypatch.setattr(sys, "stdout", pipe)
        assert cli.main(["tree", "a.json"]) == 141
    assert capfd.readouterr().err == ""


def test_a_full_disk_is_one_line_and_2(
    install: Callable[[Run], None],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    full_disk = Path("/dev/full")
    if not full_disk.exists():
        pytest.skip("this system has no /dev/full")

    def talk(_: argparse.Namespace) -> int:
        print("word")
        return 0

    install(talk)
    with full_disk.open("w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        assert cli.main(["tree", "a.json"]) == 2
    assert capsys.readouterr().err == "ptx: No space left on device\n"


def test_a_character_that_the_terminal_lacks_does_not_end_the_program(
    install: Callable[[Run], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def talk(_: argparse.Namespace) -> int:
        print("größe ␛")
        return 0

    install(talk)
    with (tmp_path / "out").open("w", encoding="ascii") as out:
        monkeypatch.setattr(sys, "stdout", out)
        assert cli.main(["tree", "a.json"]) == 0
    assert (tmp_path / "out").read_text() == "gr\\xf6\\xdfe \\u241b\n"


def test_alone_it_prints_help_and_the_newest_files(
    calls: list[argparse.Namespace],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("step.pt.trace.json").write_text("{}")
    assert cli.main([]) == 0
    shown = capsys.readouterr().out
    assert "does summary" in shown
    assert "step.pt.trace.json" in shown


def test_alone_in_a_folder_without_traces_it_prints_help_only(
    calls: list[argparse.Namespace],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main([]) == 0
    assert "newest" not in capsys.readouterr().out
