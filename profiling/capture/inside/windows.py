"""A window: one profile object that records whole steps, each under its own mark."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import ModuleType

    from ptx.profiling.capture.inside.settings import Plan

_own_calls = 0


def calls_torch() -> bool:
    """Returns whether ptx itself is in a call of the profiler now: its guard lets that pass."""
    return _own_calls > 0


class Window:
    """Records steps with a profile object of its own.

    `prepare`, then `start` and `mark` at each step's begin, then `stop` and `save`. The low-level
    profile object serves instead of a schedule, so that marks carry the script's step numbers and
    a window can start and end at any boundary.

    Args:
        torch: the imported package.
        plan: what to record.
        path: the path of its files without `.json`; an Execution Trace ends with `.et.json`.
        graphs_before: how many graphs torch.compile had made when the window opened.
    """

    def __init__(self, torch: ModuleType, plan: Plan, path: str, graphs_before: int = 0) -> None:
        self.plan = plan
        self.path = f"{path}.json"
        self.graphs_before = graphs_before
        self.marked: list[int] = []
        self.recording = False
        self.stop_ns = 0
        self.save_ns = 0
        self._torch = torch
        self._mark: Any = None
        observer = None
        if plan.deep:
            observer = torch.profiler.ExecutionTraceObserver()
            observer.register_callback(f"{path}.et.json")
        self._profile = torch.profiler._KinetoProfile(
            activities=_activities(torch),
            record_shapes=plan.shapes,
            with_stack=plan.stacks,
            profile_memory=plan.memory,
            with_modules=plan.modules,
            execution_trace_observer=observer,
        )

    def prepare(self) -> None:
        """Turns the profiler on; its events are thrown away until `start`."""
        with _OwnCall():
            self._profile.prepare_trace()

    def start(self) -> None:
        """Starts to record; `prepare` comes before it."""
        with _OwnCall():
            self._profile.start_trace()
        self.recording = True
        # the header's key that readers know; torch itself writes none on a CPU
        self._profile.add_metadata("pytorch_version", str(self._torch.__version__))

    def mark(self, step: int) -> None:
        """Ends the mark of the step before, and begins the one of this step."""
        self._end_mark()
        self._mark = self._torch.autograd.profiler.record_function(f"ProfilerStep#{step}")
        self._mark.__enter__()
        self.marked.append(step)

    def stop(self) -> None:
        """Ends the last mark and the recording; one that never started is started for it."""
        self._end_mark()
        if not self.recording:
            self.start()  # the profiler knows no other way out of its warm-up
        began = time.perf_counter_ns()
        with _OwnCall():
            self._profile.stop_trace()
        self.recording = False
        self.stop_ns = time.perf_counter_ns() - began

    def save(self) -> None:
        """Writes the trace to `path`."""
        began = time.perf_counter_ns()
        self._profile.export_chrome_trace(self.path)
        self.save_ns = time.perf_counter_ns() - began

    def _end_mark(self) -> None:
        if self._mark is not None:
            self._mark.__exit__(None, None, None)
            self._mark = None


class _OwnCall:
    def __enter__(self) -> None:
        global _own_calls
        _own_calls += 1

    def __exit__(self, *exc_info: object) -> None:
        global _own_calls
        _own_calls -= 1


def _activities(torch: ModuleType) -> set[Any]:
    """Returns what to record: without a GPU its activities only give a warning."""
    found = set(torch.profiler.supported_activities())
    for name, device in (("CUDA", "cuda"), ("XPU", "xpu")):
        activity = getattr(torch.profiler.ProfilerActivity, name, None)
        if activity in found and not getattr(torch, device).is_available():
            found.discard(activity)
    return found


def graphs() -> int:
    """Returns how many graphs Dynamo has compiled in this process, without importing it."""
    dynamo = sys.modules.get("torch._dynamo.utils")
    return 0 if dynamo is None else int(dynamo.counters["stats"].get("unique_graphs", 0))
