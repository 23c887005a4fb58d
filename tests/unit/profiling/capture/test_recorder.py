from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pytest

from ptx.profiling.capture.inside.recorder import ENDED, Recorder
from ptx.profiling.capture.inside.reports import Report
from ptx.profiling.capture.inside.settings import Plan
from ptx.profiling.capture.outcome import Process, read_processes

if TYPE_CHECKING:
    from pathlib import Path

    from ptx.profiling.capture.inside.windows import Window


class FakeWindow:
    """Keeps what it was told, in order."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.marked: list[int] = []
        self.recording = False
        self.calls: list[str] = []

    def prepare(self) -> None:
        self.calls.append("prepare")

    def start(self) -> None:
        self.recording = True
        self.calls.append("start")

    def mark(self, step: int) -> None:
        self.marked.append(step)

    def stop(self) -> None:
        self.recording = False
        self.calls.append("stop")


class Job:
    """A recorder on fake windows, and a script that reaches boundaries."""

    def __init__(self, folder: Path, *plans: Plan, skip: int = 2) -> None:
        self.folder = folder
        self.windows: list[FakeWindow] = []
        self.saved: list[tuple[list[int], bool]] = []
        self.armed: list[bool] = []
        self.now_s = 0.0
        self.recorder = Recorder(
            plans,
            skip,
            self._open,
            lambda window, cut: self.saved.append((window.marked, cut)),
            Report(str(folder)),
            on_open=lambda: self.armed.append(True),
            on_close=lambda: self.armed.append(False),
            now=lambda: self.now_s,
        )

    def _open(self, plan: Plan) -> Window:
        self.windows.append(FakeWindow(plan))
        return cast("Window", self.windows[-1])

    def run(self, boundaries: int, *, begins: bool = False, step_s: float = 1.0) -> Job:
        for _ in range(boundaries):
            self.now_s += step_s
            self.recorder.boundary(begins=begins)
        return self

    def said(self, event: str) -> dict[str, Any]:
        (process,) = read_processes(self.folder) or [Process()]
        return process.last(event)


PLAN = Plan("", warmup=1, steps=3)


def test_whole_steps_are_recorded_after_skip_and_warm_up(tmp_path: Path) -> None:
    job = Job(tmp_path, PLAN).run(20)
    assert job.saved == [([3, 4, 5], False)]
    assert job.windows[0].calls == ["prepare", "start", "stop"]
    assert job.armed == [True, False]


def test_the_first_begin_ends_no_step(tmp_path: Path) -> None:
    assert Job(tmp_path, PLAN, skip=0).run(20, begins=True).saved == [([1, 2, 3], False)]
    assert Job(tmp_path, PLAN, skip=0).run(20).saved == [([2, 3, 4], False)]


def test_the_next_window_leaves_the_step_out_in_which_the_last_was_written(tmp_path: Path) -> None:
    deep = Plan(".deep", warmup=0, steps=1, deep=True)
    assert Job(tmp_path, PLAN, deep).run(20).saved == [([3, 4, 5], False), ([7], False)]


@pytest.mark.parametrize(
    ("begins", "reason", "saved"),
    [
        (False, ENDED, [([3, 4], True)]),  # the time after the last end is no step
        (True, ENDED, [([3], False)]),
        (False, "SIGTERM", [([3, 4], True)]),
        (True, "SIGTERM", [([3], True)]),
    ],
)
def test_an_early_end_keeps_what_is_whole(
    tmp_path: Path, begins: bool, reason: str, saved: list[tuple[list[int], bool]]
) -> None:
    job = Job(tmp_path, PLAN).run(4, begins=begins)
    job.recorder.finish(reason)
    assert job.saved == saved


def test_an_end_before_the_first_whole_step_saves_nothing_unless_something_failed(
    tmp_path: Path,
) -> None:
    job = Job(tmp_path, PLAN).run(3)
    job.recorder.finish(ENDED)
    assert job.saved == []
    assert job.said("dropped")["opened"]
    failed = Job(tmp_path, PLAN).run(3)
    failed.recorder.finish("the script failed")
    assert failed.saved == [([3], True)]


def test_a_window_makes_way_for_the_scripts_profiler_and_comes_back(tmp_path: Path) -> None:
    job = Job(tmp_path, PLAN).run(3)
    job.recorder.foreign_begins()
    job.run(5)
    assert (job.saved, len(job.windows)) == ([], 1)
    job.recorder.foreign_ends()
    job.run(6)
    assert job.saved == [([10, 11, 12], False)]


def test_a_window_with_a_whole_step_is_kept_when_it_makes_way(tmp_path: Path) -> None:
    job = Job(tmp_path, PLAN).run(5)
    job.recorder.foreign_begins()
    assert job.saved == [([3, 4, 5], True)]


def test_the_cost_compares_recorded_steps_with_those_after(tmp_path: Path) -> None:
    job = Job(tmp_path, PLAN).run(3).run(3, step_s=8.0).run(12, step_s=2.0)
    done = job.said("done")
    assert (done["recorded_ms"], done["plain_ms"]) == (8000.0, 2000.0)
    assert job.recorder.finished
