"""What reading a kernel name costs, beside splitting it into words with one regular expression.

Run by `python -m tests.benchmarks.bench_decode`. The names are those of the sample traces and of
the labelled set beside the checkout, if there is one; each is read once, past every cache.
"""

from __future__ import annotations

import json
import re
import statistics
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from ptx.profiling.kernels.decode import _decode  # past its cache
from ptx.profiling.kernels.families.inductor import split_operators
from ptx.profiling.trace.columns import ACTIVITY_KINDS
from ptx.profiling.trace.reader import read_trace

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parents[2]
ROUNDS = 30
BUDGET = 5.5
"""Times the cost of splitting: 50 us a name on the machine where splitting takes 9.1 us."""

_WORD = re.compile(r"\w+|\W")


def distinct_names() -> list[str]:
    """Returns every distinct kernel name at hand."""
    names: set[str] = set()
    for path in sorted((ROOT / "sample_traces").glob("*.json.gz")):
        table = read_trace(path).table
        kinds = [int(kind) for kind in ACTIVITY_KINDS]
        names |= {
            table.names[code]
            for code, kind in zip(table.name.tolist(), table.kind.tolist(), strict=True)
            if kind in kinds
        }
    labelled = ROOT.parent / "shared" / "kernel_names" / "dev.jsonl"
    if labelled.is_file():
        names |= {json.loads(line)["name"] for line in labelled.read_text().splitlines()}
    return sorted(names)


def read_all(names: list[str]) -> None:
    """Reads every name as if for the first time."""
    split_operators.cache_clear()
    for name in names:
        _decode(name, None)


def split_all(names: list[str]) -> None:
    """Splits every name into words and signs."""
    for name in names:
        _WORD.findall(name)


def seconds(work: Callable[[list[str]], None], names: list[str]) -> float:
    """Returns how long one pass takes."""
    started = time.perf_counter()
    work(names)
    return time.perf_counter() - started


def main() -> int:
    """Prints both costs and their ratio; 1 if it is over its budget."""
    names = distinct_names()
    # Both in turn, so that other programs slow both.
    pairs = [(seconds(read_all, names), seconds(split_all, names)) for _ in range(ROUNDS)]
    ratio = statistics.median(reading / splitting for reading, splitting in pairs)
    for label, column in (("decode", 0), ("split", 1)):
        best = min(pair[column] for pair in pairs)
        print(f"{label:8}{best / len(names) * 1e6:8.1f} us a name, the best of {ROUNDS} passes")
    print(f"{len(names)} names, ratio {ratio:.2f}, budget {BUDGET}")
    return int(ratio > BUDGET)


if __name__ == "__main__":
    sys.exit(main())
