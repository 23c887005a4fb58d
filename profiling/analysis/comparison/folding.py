"""Repeated layers of a comparison, folded into one block with sums."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from ptx.profiling.kernels.decode import decode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ptx.profiling.analysis.comparison.model import Group

_LONGEST_PERIOD = 40
_Signature: TypeAlias = "tuple[object, ...]"


@dataclass(frozen=True, slots=True)
class Block:
    """Groups that follow each other `repeats` times; each of `rows` has one group a repeat."""

    repeats: int
    rows: tuple[tuple[Group, ...], ...]


def fold(groups: Sequence[Group]) -> list[Block]:
    """Returns the groups in order with repeats of at most 40 groups folded; linear in groups.

    A's kernels must agree by name and B's by category: names of generated kernels differ from
    layer to layer.
    """
    codes = _codes(groups)
    runs = {
        period: _run_lengths(codes[:-period] == codes[period:])
        for period in range(1, min(_LONGEST_PERIOD, len(codes) // 2) + 1)
    }
    blocks: list[Block] = []
    at = 0
    while at < len(groups):
        period, repeats = 1, 1
        for length, run in runs.items():
            found = int(run[at]) // length + 1 if at < len(run) else 1
            if found > 1 and (found - 1) * length > (repeats - 1) * period:
                period, repeats = length, found
        rows = tuple(
            tuple(groups[at + row + k * period] for k in range(repeats)) for row in range(period)
        )
        blocks.append(Block(repeats, rows))
        at += period * repeats
    return blocks


def _codes(groups: Sequence[Group]) -> NDArray[np.int64]:
    known: dict[_Signature, int] = {}
    return np.array([known.setdefault(_signature(g), len(known)) for g in groups], np.int64)


def _signature(group: Group) -> _Signature:
    return (
        group.kind,
        tuple(place.short for place in group.a),
        tuple(decode(place.name, cut=False).category for place in group.b),
    )


def _run_lengths(equal: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Returns for each position how many flags from it on are set without a gap."""
    n = len(equal)
    stops = np.where(equal, n, np.arange(n))
    lengths: NDArray[np.int64] = np.minimum.accumulate(stops[::-1])[::-1] - np.arange(n)
    return lengths
