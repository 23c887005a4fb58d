"""Runs a script eager and compiled, and leaves a folder with both traces: a bundle.

    eager.json.gz           the steps with torch.compile switched off
    eager.stacks.json.gz    one more eager step with Python frames, which the timed ones lack
    compiled.json.gz        the same steps compiled
    compile_log/            what torch.compile says of itself: graphs, breaks, recompilations
    meta.json               schema ptx.bundle/1: command, versions, device, what was recorded

A job of several ranks has `.rankN` before `.json.gz`.
"""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from ptx.profiling.capture.capture import run, settings_for
from ptx.profiling.capture.command import not_started
from ptx.profiling.capture.inside.settings import Plan
from ptx.profiling.capture.messages import capture_lines
from ptx.profiling.capture.output import Output, private_folder
from ptx.profiling.capture.redaction import redacted

if TYPE_CHECKING:
    from ptx.profiling.capture.capture import Captured, Request
    from ptx.profiling.capture.command import Command

_SEED = 0
_BOTH = {"PYTHONHASHSEED": str(_SEED)}
_EAGER = {"TORCH_COMPILE_DISABLE": "1"}
_COMPILED = {
    "INDUCTOR_PROVENANCE": "1",
    # without it, fused loops on a CPU leave no event
    "TORCHINDUCTOR_CPP_ENABLE_KERNEL_PROFILE": "1",
}
_STACKS = Plan(".stacks", warmup=0, steps=1, stacks=True, modules=True)


def capture_pair(request: Request) -> tuple[int, list[str]]:
    """Runs the script twice; returns its exit code and what to tell the user.

    The compiled run is left out when the eager one fails.

    Raises:
        PtxError: ptx failed before the script started.
    """
    command = request.command()
    bundle = _new_bundle(request.output, command.name)
    lines = []
    runs: dict[str, Captured] = {}
    for side in ("eager", "compiled"):
        captured = _run_side(side, request, command, bundle)
        runs[side] = captured
        lines += [f"{side}: {line}" for line in capture_lines(captured, request)]
        if captured.code:
            break
    lines += _compile_lines(runs.get("compiled"))
    (bundle / "meta.json").write_bytes(
        orjson.dumps(_meta(request, command, runs), option=orjson.OPT_INDENT_2)
    )
    lines.append(f"bundle {bundle}")
    paths = [_main_trace(runs.get(side)) for side in ("eager", "compiled")]
    if all(paths):
        lines.append(f"next: ptx compare {paths[0]} {paths[1]}")
    return list(runs.values())[-1].code, lines


def _new_bundle(asked: str | None, name: str) -> Path:
    path = Path(asked or f"{name}-{time.strftime('%Y%m%d-%H%M%S')}.pair")
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise not_started(error.strerror or str(error), where=str(path)) from error
    return path


def _run_side(side: str, request: Request, command: Command, bundle: Path) -> Captured:
    compiled = side == "compiled"
    plans = request.plans if compiled else (*request.plans, _STACKS)
    extra = {**_BOTH, **(_COMPILED if compiled else _EAGER)}
    if compiled:
        extra["TORCH_TRACE"] = str((bundle / "compile_log").resolve())
    with private_folder(bundle) as folder:
        settings = settings_for(request, folder, plans, compile_root=compiled, seed=_SEED)
        return run(command, settings, Output(bundle, side), extra)


def _compile_lines(compiled: Captured | None) -> list[str]:
    """Returns what the user has to know before comparing."""
    if compiled is None:
        return []
    traces = [facts for process in compiled.processes for facts in process.all("trace")]
    lines = []
    if traces and not any(facts["graphs"] for facts in traces):
        lines.append("nothing was compiled: both traces are eager; compile in the script itself")
    if any(facts["graphs"] > facts["graphs_before"] for facts in traces):
        lines.append("torch.compile still compiled while steps were recorded: raise --skip")
    return lines


def _main_trace(captured: Captured | None) -> Path | None:
    """Returns the trace to compare: the lowest rank's, without the extra windows."""
    if captured is None:
        return None
    return next(
        (
            captured.traces[facts["path"]]
            for process in captured.processes
            for facts in process.all("trace")
            if not facts["ending"]
        ),
        None,
    )


def _meta(request: Request, command: Command, runs: dict[str, Captured]) -> dict[str, Any]:
    return {
        "schema": "ptx.bundle/1",
        "command": redacted(request.words),
        "script": command.name,
        "seed": _SEED,
        "skip": request.skip,
        "plan": asdict(request.plans[0]),
        "runs": {side: _meta_of(side, captured) for side, captured in runs.items()},
    }


def _meta_of(side: str, captured: Captured) -> dict[str, Any]:
    traces = [facts for process in captured.processes for facts in process.all("trace")]
    first = next(iter(captured.processes), None)
    return {
        "exit_code": captured.code,
        "environment": {**_BOTH, **(_COMPILED if side == "compiled" else _EAGER)},
        "python": first.last("hooked").get("python") if first else None,
        "torch": first.last("torch").get("version") if first else None,
        "step_source": first.last("steps").get("source") if first else None,
        "traces": [
            {
                "file": captured.traces[facts["path"]].name,
                "steps": facts["steps"],
                "device": facts["device"],
                "graphs": facts["graphs"],
            }
            for facts in traces
        ],
    }
