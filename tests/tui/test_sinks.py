"""What leaves the explorer by other ways than the screen: pager, clipboard, files; and secrets."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING

import pytest
from tests.hostile import HOSTILE, SECRETS, UNSAFE, hostile_trace, secretive_trace
from tests.tui_driver import Explorer, explorer

if TYPE_CHECKING:
    from pathlib import Path

_KEEP_WHAT_IS_PAGED = """
import pathlib, sys
with pathlib.Path(__file__).with_name("paged").open("ab") as out:
    out.write(pathlib.Path(sys.argv[1]).read_bytes())
"""


@pytest.fixture
def paged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Returns the file that collects what the user's pager is given; the rest goes to a folder."""
    script = tmp_path / "pager.py"
    script.write_text(_KEEP_WHAT_IS_PAGED)
    monkeypatch.setenv("PAGER", f"{sys.executable} {script}")
    folder = tmp_path / "written"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return tmp_path / "paged"


async def every_way_out(ptx: Explorer, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Returns all texts that leave the program from each row and its panels."""
    monkeypatch.setattr(ptx.pilot.app, "suspend", nullcontext)
    await ptx.press("X")
    texts = []
    for _ in range(len(ptx.labels)):
        for key in ("I", "y", "Y", "K", "y", "R"):
            await ptx.press(key)
            texts += [ptx.text, ptx.pilot.app.clipboard]
        await ptx.press("j")
    ptx.screen.copy_command()
    return [*texts, ptx.pilot.app.clipboard]


async def test_hostile_names_leave_by_no_way_as_they_are(
    tmp_path: Path, paged: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = hostile_trace().write(tmp_path / f"{HOSTILE[:20].replace('/', '')}.json")
    async with explorer(path, (100, 30)) as ptx:
        texts = await every_way_out(ptx, monkeypatch)
    written = sorted((tmp_path / "written").iterdir())
    assert written
    assert all(name.name.isprintable() for name in written)
    texts += [file.read_text(encoding="utf-8") for file in (*written, paged)]
    for text in texts:
        assert not UNSAFE & set(text)
    assert any("evil" in file.read_text(encoding="utf-8") for file in written)
    assert "evil" in paged.read_text(encoding="utf-8")


async def test_header_secrets_leave_by_no_way(
    tmp_path: Path, paged: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with explorer(secretive_trace().write(tmp_path / "t.json"), (140, 40)) as ptx:
        texts = await every_way_out(ptx, monkeypatch)
    written = sorted((tmp_path / "written").iterdir())
    texts += [file.read_text(encoding="utf-8") for file in (*written, paged)]
    assert any("aten::mm" in text for text in texts)
    for text in texts:
        assert not [secret for secret in SECRETS if secret in text]
