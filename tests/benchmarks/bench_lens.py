"""What the rows of a step cost beside opening their file, and keys in the explorer.

The lens of a whole trace is measured as a ratio in CPU time to opening the file; keys are pressed
in the real program with the lens on. Run by `python -m tests.benchmarks.bench_lens`.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

from tests.benchmarks.make_trace import write_trace
from tests.benchmarks.pty_probe import DOWN, PtyProbe

from ptx.profiling.analysis.idle import charge_idle
from ptx.profiling.structure.structure import build_structure
from ptx.profiling.trace.reader import read_trace
from ptx.tui.state.forest import Layers
from ptx.tui.state.lens import build_lens

EVENTS = 200_000
ROUNDS = 3
PRESSES = 15
LENS_SHARE = 0.15
DOWN_BYTES = 1_000
"""Of a key with the panel at rest: it follows only once the keys rest, and is not counted."""


def main() -> int:
    """Prints the figures beside their budgets; 1 if one does not hold."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.json"
        write_trace(path, EVENTS)
        missed = _lens(path) + _keys(path)
    print("budgets hold" if not missed else f"{missed} budgets do not hold")
    return 1 if missed else 0


def _lens(path: Path) -> int:
    opening, folding = [], []
    for _ in range(ROUNDS):
        started = time.process_time()
        structure = build_structure(read_trace(path))
        _ = structure.sums, charge_idle(structure)
        opening.append(time.process_time() - started)
        started = time.process_time()
        lens = build_lens(structure, None, Layers())
        folding.append(time.process_time() - started)
    ratio = statistics.median(folding) / statistics.median(opening)
    took_ms = statistics.median(folding) * 1000
    print(f"lens of {structure.trace.events:,} events: {took_ms:.0f} ms of CPU,")
    print(f"{len(lens)} rows, {ratio:.2f} of opening the file (<= {LENS_SHARE})")
    return int(ratio > LENS_SHARE)


def _keys(path: Path) -> int:
    argv = [sys.executable, "-m", "ptx", "explore", str(path)]
    # the panel follows 80 ms after a key, so a shorter silence ends the reply before it
    with PtyProbe(argv, quiet_s=0.06) as probe:
        probe.wait_for(b"GPU busy")
        probe.press(b"X")
        probe.press(b"e")
        downs = [probe.press(DOWN) for _ in range(PRESSES)]
    most = max(reply.bytes for reply in downs)
    print(f"a row down: {most:,} bytes (<= {DOWN_BYTES:,})")
    return int(most > DOWN_BYTES)


if __name__ == "__main__":
    sys.exit(main())
