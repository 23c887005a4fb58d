"""`ptx tree --json` with an Execution Trace of the same run: given, found beside, or broken."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from ptx.tui.cli import main

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def recorded(shared: Path, tmp_path: Path) -> tuple[Path, Path]:
    """Returns copies of (a trace, its Execution Trace) in folders of their own."""
    trace = shared / "traces" / "captured_cpu" / "views_and_copies.json.gz"
    et = trace.with_name("views_and_copies.et.json.gz")
    if not (trace.exists() and et.exists()):
        pytest.skip("no Execution Trace is beside the shared traces")
    for folder in ("trace", "et"):
        (tmp_path / folder).mkdir()
    copies = (tmp_path / "trace" / "run.json.gz", tmp_path / "et" / "other.json.gz")
    shutil.copyfile(trace, copies[0])
    shutil.copyfile(et, copies[1])
    return copies


def sources(capsysbinary: pytest.CaptureFixture[bytes], *argv: str) -> set[str]:
    assert main(["tree", *argv, "--json"]) == 0
    nodes: list[dict[str, Any]] = json.loads(capsysbinary.readouterr().out)["nodes"]
    return {node["effect"]["source"] for node in nodes if node["effect"]}


def test_answers_are_exact_by_the_file_given_or_beside(
    capsysbinary: pytest.CaptureFixture[bytes], recorded: tuple[Path, Path]
) -> None:
    trace, et = recorded
    assert "exact" not in sources(capsysbinary, str(trace))
    given = sources(capsysbinary, str(trace), "--et", str(et))
    assert "exact" in given
    shutil.copyfile(et, trace.with_name("run.et.json.gz"))
    assert sources(capsysbinary, str(trace)) == given


def test_broken_file_beside_is_left_aside_and_a_broken_one_given_is_an_error(
    capsysbinary: pytest.CaptureFixture[bytes], recorded: tuple[Path, Path]
) -> None:
    trace, et = recorded
    for broken in (et, trace.with_name("run.et.json.gz")):
        broken.write_bytes(b"{")
    assert "exact" not in sources(capsysbinary, str(trace))
    assert main(["tree", str(trace), "--json", "--et", str(et)]) == 2
    assert capsysbinary.readouterr().err.count(b"\n") == 1


def test_text_has_no_use_for_it_and_says_so(
    capsysbinary: pytest.CaptureFixture[bytes], tmp_path: Path
) -> None:
    assert main(["tree", str(tmp_path / "t.json"), "--et", "x"]) == 2
    assert b"add --json" in capsysbinary.readouterr().err
