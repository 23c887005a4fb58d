"""What `ptx capture` says at its end, in lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ptx.profiling.capture.capture import Captured, Request
    from ptx.profiling.capture.outcome import Process

_SOURCES = {
    "script": "as the script marks them",
    "function": "by the calls of --step-fn",
    "optimizer": "by the optimizer",
    "forward": "by the outermost module's forward",
    "loader": "by the DataLoader",
    "clock": "by the clock",
}


def capture_lines(captured: Captured, request: Request) -> Iterator[str]:
    """Yields what was written and what it cost, or why nothing was."""
    for process in captured.processes:
        for facts in process.all("trace"):
            yield _trace_line(facts, process, captured)
        yield from _troubles(process)
    first = next((p for p in captured.processes if p.all("trace")), None)
    if first is None:
        yield f"no trace: {_why_none(captured.processes, request)}"
        return
    yield from _cost(first, request)


def _trace_line(facts: dict[str, Any], process: Process, captured: Captured) -> str:
    path = captured.traces[facts["path"]]
    steps = facts["steps"]
    span = f"step {steps[0]}" if len(steps) == 1 else f"steps {steps[0]} to {steps[-1]}"
    source = _SOURCES.get(process.last("steps").get("source", ""), "")
    cut = ", the last one cut short" if facts["cut"] else ""
    return f"wrote {path}: {span}, {source}{cut}"


def _troubles(process: Process) -> Iterator[str]:
    for facts in process.all("paused"):
        yield f"the script profiles itself: ptx made way in step {facts['step']}"
    if process.lost_step is not None:
        yield f"the process ended without a word while step {process.lost_step} and on was recorded"
    if process.all("trace"):
        for facts in process.all("failed"):
            yield f"ptx failed inside the script, which went on: {facts['what']}"


def _cost(process: Process, request: Request) -> Iterator[str]:
    done = process.last("done")
    plain, recorded = done.get("plain_ms"), done.get("recorded_ms")
    if not plain or not recorded:
        return
    plan = request.plans[0]
    names = [name for name in ("shapes", "stacks", "memory", "modules") if getattr(plan, name)]
    flags = f" with {', '.join(names)}" if names else ""
    ratio = f" (x{recorded / plain:.1f})" if recorded > plain else ""
    yield f"a step took {recorded:.3g} ms while recorded{flags}, {plain:.3g} ms otherwise{ratio}"


def _why_none(processes: list[Process], request: Request) -> str:
    for process in processes:
        for facts in process.all("failed"):
            return f"ptx failed inside the script, which went on: {facts['what']}"
    if any(process.lost_step is not None for process in processes):
        return "the open window is lost"
    with_torch = [process for process in processes if process.all("torch")]
    if with_torch:
        return _why_no_window(with_torch, request)
    for process in processes:
        for facts in process.all("no torch"):
            return f"{facts['executable']} has no torch: name the script's own with --python PATH"
    if processes:
        return "the script did not import torch"
    return "no Python took ptx's hook: it needs Python 3.10, and a process of the command"


def _why_no_window(processes: list[Process], request: Request) -> str:
    if any(process.last("done").get("own_profiler") for process in processes):
        return "its own profiler was on: open what it wrote"
    steps = max(process.last("done").get("steps", 0) for process in processes)
    if not any(process.all("steps") for process in processes):
        return (
            "no steps seen: name the function whose calls are the steps with "
            "--step-fn module:function, call ptx.step() after each, or take slices of time: "
            "--slice 0.5"
        )
    needed = request.skip + request.plans[0].warmup + 1
    return f"the script ended after {steps} steps and {needed} are needed: lower --skip"
