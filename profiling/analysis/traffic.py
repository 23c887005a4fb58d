"""Modelled bytes and FLOPs summed over activities, and how much of their time is modelled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from ptx.profiling.analysis.kernel_groups import label_of
from ptx.profiling.analysis.roofline import modelled
from ptx.profiling.analysis.tables import kind_word
from ptx.profiling.kernels.decode import decode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ptx.profiling.analysis.kernel_groups import GroupBy
    from ptx.profiling.structure.structure import Structure

Number = TypeVar("Number", bound=np.generic)


@dataclass(frozen=True, slots=True)
class Traffic:
    """What some activities move and compute, as far as it is known.

    Attributes:
        count: how many there are.
        ns: their (counted) time.
        modelled_ns: the time of those whose bytes are known; bytes are of these alone.
        read_bytes: modelled, None if none is known.
        write_bytes: likewise.
        flops: modelled, None if none is known.
        flops_ns: the time of those whose FLOPs are known.
    """

    count: int
    ns: int
    modelled_ns: int
    read_bytes: int | None
    write_bytes: int | None
    flops: int | None
    flops_ns: int

    @property
    def moved_bytes(self) -> int | None:
        """Returns read and written bytes together, None if unknown."""
        if self.read_bytes is None or self.write_bytes is None:
            return None
        return self.read_bytes + self.write_bytes

    @property
    def gbps(self) -> float | None:
        """Returns GB/s (10^9 bytes) over the time whose bytes are known, None for no such time."""
        moved = self.moved_bytes
        return None if moved is None or self.modelled_ns <= 0 else moved / self.modelled_ns

    @property
    def tflops(self) -> float | None:
        """Returns TFLOP/s over the time whose FLOPs are known, None for no such time."""
        if self.flops is None or self.flops_ns <= 0:
            return None
        return self.flops / self.flops_ns / 1e3


def add_up(
    ns: NDArray[np.int64],
    read_bytes: NDArray[np.int64],
    write_bytes: NDArray[np.int64],
    flops: NDArray[np.int64] | None = None,
) -> Traffic:
    """Returns the sums of figures that are -1 where unknown, one of each an activity.

    Bytes count where both sides are known.
    """
    known = (read_bytes >= 0) & (write_bytes >= 0)
    counted = np.zeros(len(ns), bool) if flops is None else flops > 0
    return Traffic(
        len(ns),
        int(ns.sum()),
        int(ns[known].sum()),
        int(read_bytes[known].sum()) if known.any() else None,
        int(write_bytes[known].sum()) if known.any() else None,
        int(flops[counted].sum()) if flops is not None and counted.any() else None,
        int(ns[counted].sum()),
    )


def traffic(structure: Structure, rows: NDArray[np.intp]) -> Traffic:
    """Returns the sums over some activities.

    Args:
        structure: the trace.
        rows: positions in `structure.activities`.
    """
    found = modelled(structure)
    return add_up(
        structure.activities.counted_ns[rows],
        found.read_bytes[rows],
        found.write_bytes[rows],
        found.flops[rows],
    )


def traffic_by_name(structure: Structure, rows: NDArray[np.intp]) -> dict[tuple[str, str], Traffic]:
    """Returns the sums over activities of one name and kind, by (name, kind's word)."""
    table, events = structure.trace.table, structure.activities.event[rows]
    key = np.stack((table.name[events], table.kind[events]), axis=1).astype(np.int64)
    distinct, group = np.unique(key, axis=0, return_inverse=True)
    parts = split_groups(rows, group.ravel())
    return {
        (table.names[name], kind_word(kind)): traffic(structure, part)
        for (name, kind), part in zip(distinct.tolist(), parts, strict=True)
    }


def traffic_by_label(
    structure: Structure, rows: NDArray[np.intp], by: GroupBy
) -> dict[str | None, Traffic]:
    """Returns the sums over activities whose names state the same, by `label_of` that grouping."""
    table, events = structure.trace.table, structure.activities.event[rows]
    codes, slot = np.unique(table.name[events], return_inverse=True)
    labels = [label_of(decode(table.names[code], cut=False), by) for code in codes.tolist()]
    number: dict[str | None, int] = {}
    group = np.array([number.setdefault(label, len(number)) for label in labels], np.intp)[slot]
    parts = split_groups(rows, group)
    return dict(zip(number, (traffic(structure, part) for part in parts), strict=True))


def split_groups(values: NDArray[Number], group: NDArray[np.integer]) -> Sequence[NDArray[Number]]:
    """Returns the values of each group that occurs, by ascending group."""
    if not len(values):
        return []
    order = np.argsort(group, kind="stable")
    return np.split(values[order], np.flatnonzero(np.diff(group[order])) + 1)
