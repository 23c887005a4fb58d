"""`ptx export`: a picture of the real screen, the same each time, or one line of refusal."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

import pytest
from tests.traces import trace

from ptx.tui.cli import main

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def sample(samples: Path) -> str:
    return str(samples / "geglu_eager.json.gz")


def text_of(svg: Path) -> str:
    """Returns the text in a picture, line by line as drawn."""
    found = re.findall(r"<text[^>]*>([^<]*)</text>", svg.read_text(encoding="utf-8"))
    return html.unescape(" ".join(found)).replace("\xa0", " ")


def test_picture_shows_the_explorer(sample: str, tmp_path: Path) -> None:
    out = tmp_path / "e.svg"
    assert main(["export", sample, "-o", str(out)]) == 0
    text = text_of(out)
    assert "GPU busy" in text
    assert "addmm" in text


def test_keys_are_pressed_first(sample: str, tmp_path: Path) -> None:
    out = tmp_path / "e.svg"
    assert main(["export", sample, "-o", str(out), "--keys", "3 tab", "--size", "80x24"]) == 0
    assert "[by op]" in text_of(out)


def test_picture_is_the_same_each_time(sample: str, tmp_path: Path) -> None:
    outs = [tmp_path / f"{k}.svg" for k in range(2)]
    for out in outs:
        assert main(["export", sample, "-o", str(out)]) == 0
    assert outs[0].read_bytes() == outs[1].read_bytes()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["-o", "x.png"], "a picture is .svg"),
        (["-o", "x.svg", "--size", "10x10"], "size of at least 60x15"),
        (["-o", "x.svg", "--size", "wide"], "size of at least 60x15"),
        (["-o", "x.svg", "--keys", "nokey"], "no key is called 'nokey'"),
        (["-o", "x.svg", "--keys", "q"], "end the program"),
    ],
)
def test_what_cannot_be_drawn_is_said_in_one_line(
    options: list[str],
    says: str,
    sample: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["export", sample, *options]) == 2
    message = capsys.readouterr().err
    assert says in message
    assert message.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_hostile_names_are_only_text_in_a_picture(tmp_path: Path) -> None:
    name = "</text><script>alert(1)</script>[red]\x1b[31m"
    path = trace().thread(1).op(name, 0, 500).write(tmp_path / "t.json", "lines")
    out = tmp_path / "e.svg"
    assert main(["export", str(path), "-o", str(out)]) == 0
    svg = out.read_text(encoding="utf-8")
    assert "<script" not in svg
    assert "\x1b" not in svg
    assert "[red]" in text_of(out)
