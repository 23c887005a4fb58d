from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest

from ptx.profiling.capture.inside.reports import Report
from ptx.profiling.capture.outcome import read_processes

if TYPE_CHECKING:
    from pathlib import Path


def test_an_error_of_ptx_is_reported_once_and_never_raised(tmp_path: Path) -> None:
    report = Report(str(tmp_path))
    calls = []

    def work() -> None:
        calls.append(1)
        raise ValueError("bad")

    guarded = report.harmless(work)
    guarded()
    guarded()
    assert calls == [1]
    (process,) = read_processes(tmp_path)
    assert [facts["what"] for facts in process.all("failed")] == ["ValueError: bad"]


def test_what_ends_the_script_passes_through(tmp_path: Path) -> None:
    def work() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Report(str(tmp_path)).harmless(work)()


def test_a_report_whose_folder_is_gone_ends_quietly(tmp_path: Path) -> None:
    report = Report(str(tmp_path / "gone"))
    report.say("hooked")
    assert not report.alive


@pytest.mark.skipif(sys.platform == "win32", reason="no fork")
def test_a_forked_child_does_nothing(tmp_path: Path) -> None:
    report = Report(str(tmp_path))
    marked = report.harmless((tmp_path / "ran").touch)
    child = os.fork()
    if child == 0:
        marked()
        os._exit(0)
    os.waitpid(child, 0)
    assert not (tmp_path / "ran").exists()


def test_only_the_first_process_takes_a_name(tmp_path: Path) -> None:
    first, second = Report(str(tmp_path)), Report(str(tmp_path))
    assert first.claim("trace")
    assert first.claim("trace")
    assert not second.claim("trace")


def test_the_line_in_which_a_process_died_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "7.jsonl").write_text('{"event": "open", "step": 6}\n{"event": "tra')
    (process,) = read_processes(tmp_path)
    assert process.lost_step == 6
