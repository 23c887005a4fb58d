"""`ptx.profile`, `ptx.step` and `ptx.trace_handler` in a script of the user's."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from tests.capture_scripts import TRAIN, run

from ptx.profiling.structure.structure import build_structure
from ptx.profiling.trace.reader import read_trace

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.torch


def steps_of(path: Path) -> list[str]:
    return list(build_structure(read_trace(path)).steps.names)


def run_script(folder: Path, text: str, **env: str) -> str:
    script = folder / "job.py"
    script.write_text(f"import ptx\n{TRAIN}\n{text}")
    done = run(sys.executable, script, cwd=folder, env=env)
    assert done.code == 0, done.err
    return done.out


def test_a_block_is_recorded_with_its_steps(tmp_path: Path) -> None:
    run_script(
        tmp_path,
        "with ptx.profile('out.json.gz', deep=True) as p:\n    train(3, lambda step: p.step())\n",
    )
    assert steps_of(tmp_path / "out.json.gz") == [f"ProfilerStep#{n}" for n in range(4)]
    assert (tmp_path / "out.et.json.gz").is_file()


def test_a_block_that_raises_is_recorded_too(tmp_path: Path) -> None:
    text = """
try:
    with ptx.profile('out.json'):
        train(1)
        raise ValueError('bad')
except ValueError as error:
    print(error)
"""
    assert run_script(tmp_path, text, RANK="3") == "bad\n"
    assert steps_of(tmp_path / "out.rank3.json") == ["ProfilerStep#0"]


def test_a_step_without_capture_does_nothing(tmp_path: Path) -> None:
    assert run_script(tmp_path, "print(ptx.step())") == "None\n"


def test_each_window_of_torchs_profiler_gets_its_file(tmp_path: Path) -> None:
    text = """
from torch.profiler import profile, schedule
plan = schedule(wait=0, warmup=1, active=2, repeat=2)
with profile(schedule=plan, on_trace_ready=ptx.trace_handler("traces")) as own:
    train(7, lambda step: own.step())
"""
    run_script(tmp_path, text, RANK="1")
    first, second = sorted((tmp_path / "traces").iterdir())
    assert first.name.startswith("job-")
    assert first.name.endswith(".rank1.w0.json.gz")
    assert second.name.endswith(".rank1.w1.json.gz")
    assert steps_of(first) == ["ProfilerStep#1", "ProfilerStep#2"]
