"""What matching two traces costs beside opening them, and that it grows in line with their size.

Both sides are a step of the sample pair repeated until it has enough kernels. Budgets are in CPU
time. Run by `python -m tests.benchmarks.bench_compare`; two paths compare another pair.
"""

from __future__ import annotations

import gzip
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from ptx.profiling.analysis.comparison.compare import compare
from ptx.profiling.structure.structure import build_structure
from ptx.profiling.trace.reader import read_trace

SAMPLES = Path(__file__).resolve().parents[2] / "sample_traces"
PAIR = (SAMPLES / "geglu_eager.json.gz", SAMPLES / "geglu_compile.json.gz")
BUDGETS_S = {10_000: 2.0, 100_000: 20.0}
"""CPU seconds for so many kernels on the larger side."""

MOST_GROWTH = 15
"""Ten times the kernels may cost so many times the time."""

_MARK = "ProfilerStep#"
_ACTIVITIES = ("kernel", "gpu_memcpy", "gpu_memset")
_LEFT_OUT = ("python_function", "ac2g", "Trace")
_IDS = ("correlation", "External id", "Ev Idx")


def main(argv: list[str]) -> int:
    """Prints the figures beside their budgets; 1 if one does not hold."""
    pair = (Path(argv[0]), Path(argv[1])) if len(argv) == 2 else PAIR
    took = []
    missed = 0
    for kernels, budget_s in BUDGETS_S.items():
        seconds = _measured(pair, kernels)
        took.append(seconds)
        missed += seconds > budget_s
        print(f"{kernels:,} kernels: {seconds:.2f} s of CPU (<= {budget_s:.0f} s)")
    growth = took[1] / took[0]
    print(f"ten times the kernels: {growth:.1f} times the time (<= {MOST_GROWTH})")
    missed += growth > MOST_GROWTH
    print("budgets hold" if not missed else f"{missed} budgets do not hold")
    return 1 if missed else 0


def _measured(pair: tuple[Path, Path], kernels: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        steps = [_last_step(path) for path in pair]
        copies = -(
            -kernels // max(len([e for e in s if e.get("cat") in _ACTIVITIES]) for s in steps)
        )
        paths = [Path(folder) / f"{k}.json" for k in range(2)]
        for path, step in zip(paths, steps, strict=True):
            path.write_text(json.dumps(repeated(step, copies)), encoding="utf-8")
        sides = [build_structure(read_trace(path)) for path in paths]
        started = time.process_time()
        compare(*sides)
        return time.process_time() - started


def _last_step(path: Path) -> list[dict[str, Any]]:
    """Returns the events of a trace's last step: the host's within it, and what they launched."""
    events = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
    whole = [e for e in events if e.get("ph") == "X" and e.get("cat") not in _LEFT_OUT]
    mark = max((e for e in whole if e["name"].startswith(_MARK)), key=lambda e: float(e["ts"]))
    begin, end = float(mark["ts"]), float(mark["ts"]) + float(mark["dur"])
    host = [
        e
        for e in whole
        if e.get("cat") not in _ACTIVITIES
        and begin <= float(e["ts"]) < end
        and not e["name"].startswith(_MARK)
        and "gpu" not in e.get("cat", "")
    ]
    launched = {e["args"]["correlation"] for e in host if "correlation" in e.get("args", {})}
    device = [
        e for e in whole if e.get("cat") in _ACTIVITIES and e["args"].get("correlation") in launched
    ]
    return [mark, *host, *device]


def repeated(step: list[dict[str, Any]], copies: int) -> dict[str, Any]:
    """Returns a trace of one step that runs the given one so many times in a row."""
    mark, *inner = step
    length = 2 * max(float(e["ts"]) + float(e["dur"]) for e in step) - 2 * float(mark["ts"])
    events: list[dict[str, Any]] = [{**mark, "dur": length * copies}]
    most = 1 + max(
        (e["args"][key] for e in inner for key in _IDS if key in e.get("args", {})), default=0
    )
    for copy in range(copies):
        for event in inner:
            args = dict(event.get("args", {}))
            for key in _IDS:
                if key in args:
                    args[key] += copy * most
            events.append({**event, "ts": float(event["ts"]) + copy * length, "args": args})
    return {"schemaVersion": 1, "record_shapes": 1, "traceEvents": events}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
