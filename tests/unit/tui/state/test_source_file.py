"""Reading a source file that a trace names: what is shown, and what is not opened."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from ptx.tui.state.source_file import FileLine, SourceMissingError, lines_around

if TYPE_CHECKING:
    from pathlib import Path


def numbered(path: Path, count: int) -> Path:
    path.write_text("".join(f"line {k}\n" for k in range(1, count + 1)))
    return path


def shown(path: str, line: int, *folders: Path) -> list[str]:
    return lines_around(FileLine(path, line), folders).splitlines()


def test_eight_lines_stand_on_either_side_and_the_line_is_marked(tmp_path: Path) -> None:
    numbered(tmp_path / "a.py", 30)
    lines = shown("a.py", 20, tmp_path)
    assert len(lines) == 17
    assert lines[0] == "  12  line 12"
    assert lines[8] == "> 20  line 20"
    assert lines[-1] == "  28  line 28"


def test_the_ends_of_a_file_cut_what_is_shown(tmp_path: Path) -> None:
    numbered(tmp_path / "a.py", 5)
    assert shown("a.py", 1, tmp_path)[0] == "> 1  line 1"
    assert shown("a.py", 5, tmp_path)[-1] == "> 5  line 5"


def test_the_first_folder_that_has_it_counts_and_an_absolute_path_needs_none(
    tmp_path: Path,
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        folder.mkdir()
    numbered(second / "a.py", 1)
    assert shown("a.py", 1, first, second) == ["> 1  line 1"]
    (first / "a.py").write_text("other\n")
    assert shown("a.py", 1, first, second) == ["> 1  other"]
    assert shown(str(second / "a.py"), 1, first) == ["> 1  line 1"]


def test_controls_in_a_file_are_made_visible(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"x = 1 \x1b[31m\xff\n\ty\n")
    text = lines_around(FileLine("a.py", 1), [tmp_path])
    assert "\x1b" not in text
    assert "\ufffd" in text
    assert "  2      y" in text


@pytest.mark.parametrize("line", [0, 6, 10**9])
def test_a_line_outside_the_file_is_refused(tmp_path: Path, line: int) -> None:
    numbered(tmp_path / "a.py", 5)
    with pytest.raises(SourceMissingError, match="has 5 lines here"):
        shown("a.py", line, tmp_path)


@pytest.mark.parametrize(
    "name", ["missing.py", "folder.py", "secret.txt", "/dev/zero", "nul\0.py", "n" * 5000 + ".py"]
)
def test_only_python_files_that_are_here_are_opened(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder.py").mkdir()
    (tmp_path / "secret.txt").write_text("secret\n")
    with pytest.raises(SourceMissingError, match="is not on this machine"):
        shown(name, 1, tmp_path)


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    with pytest.raises(SourceMissingError, match="is not on this machine"):
        shown("pipe.py", 1, tmp_path)


def test_a_huge_file_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "a.py").open("wb") as file:
        file.truncate(4_000_001)
    with pytest.raises(SourceMissingError, match="too large"):
        shown("a.py", 1, tmp_path)
