"""Reads damaged traces without end: `python -m tests.fuzz.mutate --seed S --count N`.

Input number k of a seed is the same on every run and alone (`--only k`). What must hold of it is in
`tests.fuzz.check`; an input that fails is kept in the folder that `--keep` names.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
import traceback
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tests.fuzz.check import check
from tests.fuzz.mutations import LEVELS, mutate
from tests.fuzz.windows import recordings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.fuzz.mutations import Mutant
    from tests.fuzz.windows import Recording, Window

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = (ROOT / "sample_traces",)
SHARED = tuple(ROOT.parent / "shared" / name for name in ("faults", "traces", "traces/h200"))
_BLOCKS = (None, None, 64, 300, 2000)
_SIZES = (2, 5, 12, 30)


@dataclass(frozen=True)
class Failure:
    """An input that broke a rule: its number, what it was, and how it failed."""

    number: int
    what: str
    error: str


@dataclass
class Figures:
    """What a run came to: inputs by level and outcome, failures, and the slowest."""

    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    failures: list[Failure] = field(default_factory=list)
    slowest_s: float = 0.0
    slowest: str = ""

    def text(self) -> str:
        """Returns the figures as a table."""
        lines = ["level      inputs   opened  refused"]
        for level in LEVELS:
            opened, refused = self.outcomes[level, "opened"], self.outcomes[level, "refused"]
            every = sum(n for (name, _), n in self.outcomes.items() if name == level)
            lines.append(f"{level:8} {every:8,} {opened:8,} {refused:8,}")
        lines.append(f"failures {len(self.failures):,}")
        lines.append(f"slowest {self.slowest_s * 1000:.0f} ms: {self.slowest}")
        return "\n".join(lines)


def input_of(
    sources: Sequence[Recording], seed: int, number: int
) -> tuple[Window, Mutant, int | None]:
    """Returns the input of a number: the sound window, its damaged form, and the block size."""
    rng = random.Random(f"{seed}:{number}")
    window = rng.choice(sources).take(rng, rng.choice(_SIZES))
    return window, mutate(window, rng), rng.choice(_BLOCKS)


def run(
    sources: Sequence[Recording],
    seed: int,
    numbers: range,
    *,
    seconds: float = float("inf"),
    keep: Path | None = None,
) -> Figures:
    """Returns what reading the inputs of these numbers came to; stops early after `seconds`."""
    figures = Figures()
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        for number in numbers:
            if time.monotonic() - started > seconds:
                break
            window, mutant, block = input_of(sources, seed, number)
            what = f"{number} {mutant.level}/{mutant.kind} of {window.source}"
            before = time.monotonic()
            try:
                outcome = check(path, window, mutant, block)
            except Exception as error:  # whatever it is, it is the finding
                outcome = "failed"
                frames = traceback.extract_tb(error.__traceback__)
                where = " < ".join(f"{f.name}:{f.lineno}" for f in reversed(frames[-4:]))
                failure = Failure(number, what, f"{type(error).__name__}: {error} [{where}]")
                figures.failures.append(failure)
                print(f"{failure.what}\n  {failure.error}", flush=True)
                if keep is not None:
                    keep.mkdir(parents=True, exist_ok=True)
                    (keep / f"{seed}-{number}").write_bytes(mutant.data)
            took = time.monotonic() - before
            if took > figures.slowest_s:
                figures.slowest_s, figures.slowest = took, what
            figures.outcomes[mutant.level, outcome] += 1
    return figures


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns 1 if an input failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.mutate", description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="number of the first input")
    parser.add_argument("--only", type=int, help="one input, by its number")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after this time")
    parser.add_argument("--keep", type=Path, help="folder for the inputs that fail")
    options = parser.parse_args(arguments)
    numbers = range(options.first, options.first + options.count)
    if options.only is not None:
        numbers = range(options.only, options.only + 1)
    sources = recordings((*SAMPLES, *SHARED))
    print(f"seed {options.seed}, {len(sources)} sources")
    started = time.monotonic()
    figures = run(sources, options.seed, numbers, seconds=options.seconds, keep=options.keep)
    print(figures.text())
    print(f"{time.monotonic() - started:.0f} s")
    return 1 if figures.failures else 0


if __name__ == "__main__":
    sys.exit(main())
