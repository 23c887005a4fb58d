"""What nesting a million slices costs beside one plain Python pass with a stack.

Run by `python -m tests.benchmarks.bench_tree`.
"""

from __future__ import annotations

import statistics
import sys
import time
from typing import TYPE_CHECKING

import numpy as np

from ptx.profiling.structure.nesting import nest

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

NODES = 1_000_000
ROUNDS = 3
BUDGET = 1.0


def make_slices(n: int, seed: int = 0) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Returns (start, duration) of n properly nested slices of one thread, in order of start."""
    rng = np.random.default_rng(seed)
    gap = rng.integers(1, 20, n).tolist()
    leave = rng.random(n).tolist()
    start, end = [0] * n, [0] * n
    open_slices: list[int] = []
    now = 0
    for i in range(n):
        now += gap[i]
        start[i] = now
        # shallow and deep stretches in turn, as modules, ops and frames give them
        while open_slices and (leave[i] < 0.5 or len(open_slices) > 28):
            now += 1
            end[open_slices.pop()] = now
            leave[i] += 0.2
        now += 1
        start[i] = now
        open_slices.append(i)
    while open_slices:
        now += 1
        end[open_slices.pop()] = now
    starts = np.array(start)
    return starts, np.array(end) - starts


def plain_parents(start: list[int], end: list[int]) -> list[int]:
    """Returns the parents by the usual loop with a stack."""
    parent: list[int] = []
    stack: list[int] = []
    for i, (begin, finish) in enumerate(zip(start, end, strict=True)):
        while stack and end[stack[-1]] < finish:
            stack.pop()
        while stack and end[stack[-1]] <= begin:
            stack.pop()
        parent.append(stack[-1] if stack else -1)
        stack.append(i)
    return parent


def cpu_s(work: Callable[[], object]) -> float:
    """Returns the CPU time of one call."""
    started = time.process_time()
    work()
    return time.process_time() - started


def main() -> int:
    """Prints both times and their ratio; 1 if the budget does not hold."""
    start, dur = make_slices(NODES)
    lane = np.zeros(NODES, np.int32)
    no_index = np.full(NODES, -1, np.int32)
    starts, ends = start.tolist(), (start + dur).tolist()
    if nest(lane, start, dur, no_index).parent.tolist() != plain_parents(starts, ends):
        print("the two disagree")
        return 1
    ours, plain = [], []
    for _ in range(ROUNDS):
        ours.append(cpu_s(lambda: nest(lane, start, dur, no_index)))
        plain.append(cpu_s(lambda: plain_parents(starts, ends)))
    ratio = statistics.median(ours) / statistics.median(plain)
    print(f"nest {NODES:,} slices: {statistics.median(ours):.2f} s of CPU time,")
    print(f"plain parents only:   {statistics.median(plain):.2f} s, ratio {ratio:.2f}")
    print("budget holds" if ratio <= BUDGET else f"budget {BUDGET} does not hold")
    return 0 if ratio <= BUDGET else 1


if __name__ == "__main__":
    sys.exit(main())
