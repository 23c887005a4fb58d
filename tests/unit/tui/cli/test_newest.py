import os
from pathlib import Path

import pytest

from ptx.tui.cli._newest import newest_lines

NOW_S = 1_700_000_000.0


def place(folder: Path, name: str, age_s: float, size_bytes: int = 1) -> None:
    path = folder / name
    with path.open("wb") as file:
        file.truncate(size_bytes)
    os.utime(path, (NOW_S - age_s, NOW_S - age_s))


def names(folder: Path, limit: int = 5) -> list[str]:
    return [line.split("  ")[0].rstrip() for line in newest_lines(str(folder), NOW_S, limit)]


def test_newest_come_first_up_to_the_limit(tmp_path: Path) -> None:
    for age_s, name in enumerate(["c.json", "a.json.gz", "b.pt.trace.json.zst", "d.json"]):
        place(tmp_path, name, age_s)
    assert names(tmp_path, 3) == ["c.json", "a.json.gz", "b.pt.trace.json.zst"]


def test_only_files_that_may_be_traces_are_named(tmp_path: Path) -> None:
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "gone.json").symlink_to("nowhere")
    for name in ("a.json", "notes.txt", "data.gz", "b.json.bak"):
        place(tmp_path, name, 1)
    assert names(tmp_path) == ["a.json"]


@pytest.mark.parametrize(
    ("age_s", "size_bytes", "text"),
    [
        (0.5, 0, "a.json       0 B     0 s ago"),
        (59, 999, "a.json     999 B    59 s ago"),
        (3_599, 1_500, "a.json    1.5 kB  59 min ago"),
        (7_200, 176_000_000, "a.json  176.0 MB     2 h ago"),
        (200_000, 2_000_000_000, "a.json    2.0 GB     2 d ago"),
        (-5, 1, "a.json       1 B     0 s ago"),
    ],
)
def test_a_line_gives_size_and_age(
    tmp_path: Path, age_s: float, size_bytes: int, text: str
) -> None:
    place(tmp_path, "a.json", age_s, size_bytes)
    assert newest_lines(str(tmp_path), NOW_S) == [text]


def test_a_hostile_file_name_stays_on_its_line(tmp_path: Path) -> None:
    place(tmp_path, "a\n\x1b[2J.json", 1)
    assert names(tmp_path) == ["a␊␛[2J.json"]


def test_a_folder_that_cannot_be_read_offers_nothing(tmp_path: Path) -> None:
    assert newest_lines(str(tmp_path / "missing"), NOW_S) == []
