"""What opening a trace costs beside the plain JSON readers, as ratios within one run.

Run all benchmarks by `make bench`, this one by `python -m tests.benchmarks.bench_load [FILE]`.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from pathlib import Path

from tests.benchmarks._measure import READERS, Load, load
from tests.benchmarks.make_trace import write_trace

ROUNDS = 3
EVENTS = 300_000
BUDGETS = {"cpu / orjson_gc_off": 0.90, "peak memory / file": 0.40}


def measure(path: Path) -> dict[str, Load]:
    """Returns the median load of each reader; rounds are interleaved, so that noise is shared."""
    rounds = [{name: load(name, path) for name in READERS} for _ in range(ROUNDS)]
    return {
        name: Load(
            statistics.median(r[name].cpu_s for r in rounds),
            int(statistics.median(r[name].peak_bytes for r in rounds)),
            int(statistics.median(r[name].rest_bytes for r in rounds)),
        )
        for name in READERS
    }


def report(path: Path) -> list[str]:
    """Prints the table for a file and returns the budgets that do not hold."""
    loads = measure(path)
    size = path.stat().st_size
    base = loads["orjson_gc_off"]
    print(f"{path.name}  {size / 1e6:.0f} MB, medians of {ROUNDS}")
    print(
        f"{'reader':<16}{'CPU s':>8}{'of orjson, gc off':>20}{'peak / file':>14}{'rest / file':>14}"
    )
    for name, found in loads.items():
        print(
            f"{name:<16}{found.cpu_s:>8.2f}{found.cpu_s / base.cpu_s:>20.2f}"
            f"{found.peak_bytes / size:>14.2f}{found.rest_bytes / size:>14.2f}"
        )
    figures = {
        "cpu / orjson_gc_off": loads["ptx"].cpu_s / base.cpu_s,
        "peak memory / file": loads["ptx"].peak_bytes / size,
    }
    return [
        f"{path.name}: {name} {figures[name]:.2f}, budget {limit:.2f}"
        for name, limit in BUDGETS.items()
        if figures[name] > limit
    ]


def main(argv: list[str]) -> int:
    """Measures the files named, or one written for the purpose; 1 if a budget does not hold."""
    if argv:
        broken = [line for name in argv for line in report(Path(name))]
    else:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "made.json"
            write_trace(path, EVENTS)
            broken = report(path)
    print("\n".join(broken) or "budgets hold")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
