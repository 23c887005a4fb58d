"""Every ns of a device in one bucket: work by its kind, idle time by what the host did.

Where activities overlap in time, compute goes before communication, and that before copies.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ptx.profiling.analysis._once import once_per_trace
from ptx.profiling.analysis.accounting.idle_pieces import IDLE_BUCKETS, idle_pieces
from ptx.profiling.analysis.categories import CATEGORY_LETTERS, categories_of
from ptx.profiling.structure.intervals import contains, covered, distinct, merge
from ptx.profiling.trace.columns import ABSENT, Flag, Kind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from ptx.profiling.structure.structure import Structure

BUSY_BUCKETS = ("compute", "communication_exposed", "memory_copy")
BUCKETS = (*BUSY_BUCKETS, *IDLE_BUCKETS)
"""All buckets, in the order of their codes."""

_COMPUTE, _COMMUNICATION, _COPY = range(len(BUSY_BUCKETS))


@dataclass(frozen=True, slots=True)
class Buckets:
    """The time of one device, or of several added up, over a stretch of time.

    `ns` holds one figure for each of `BUCKETS` in that order; they sum to `span_ns`, which is the
    stretch times the devices. `communication_overlapped_ns` is the communication that ran under
    compute; it is in the bucket of the compute.
    """

    span_ns: int
    ns: tuple[int, ...]
    communication_overlapped_ns: int

    @property
    def by_name(self) -> dict[str, int]:
        """Returns the figures by the names of `BUCKETS`."""
        return dict(zip(BUCKETS, self.ns, strict=True))


@dataclass(frozen=True, slots=True, eq=False)
class DeviceBuckets:
    """One device's span in pieces of one bucket each, and their sums.

    Attributes:
        device: its index.
        begin_ns: where each piece begins, ascending; none crosses the edge of a step.
        end_ns: where it ends; the next one begins there.
        bucket: its code of `BUCKETS`.
        node: of an idle piece the node of the op tree that the host was in; -1 for none.
        whole: the sums over the span.
        step_ns: the sums of each step by the clock (int64[steps, buckets]).
        step_overlapped_ns: the overlapped communication of each step (int64[steps]).
    """

    device: int
    begin_ns: NDArray[np.int64]
    end_ns: NDArray[np.int64]
    bucket: NDArray[np.uint8]
    node: NDArray[np.int64]
    whole: Buckets
    step_ns: NDArray[np.int64]
    step_overlapped_ns: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Account:
    """The buckets of all devices with activity; `whole` adds them up."""

    devices: tuple[DeviceBuckets, ...]
    whole: Buckets

    def of_step(self, step: int) -> Buckets:
        """Returns the buckets of a step (its position) by the clock, added over the devices."""
        sums = np.stack([device.step_ns[step] for device in self.devices]).sum(axis=0)
        overlapped = sum(int(device.step_overlapped_ns[step]) for device in self.devices)
        return Buckets(int(sums.sum()), tuple(sums.tolist()), overlapped)


@once_per_trace
def account(structure: Structure) -> Account | None:
    """Returns where the time of every device went; None for a trace without device activity."""
    if not len(structure.activities):
        return None
    kind = work_kinds(structure)
    devices = tuple(_device(structure, index, kind) for index in structure.devices.tolist())
    return Account(devices, _added(device.whole for device in devices))


def work_kinds(structure: Structure) -> NDArray[np.uint8]:
    """Returns the code of `BUSY_BUCKETS` that each activity's time counts for."""
    letter = categories_of(structure)
    kind = structure.trace.table.kind[structure.activities.event]
    work = np.full(len(letter), _COMPUTE, np.uint8)
    moves = (kind == Kind.MEMCPY) | (kind == Kind.MEMSET)
    work[moves | (letter == CATEGORY_LETTERS.index("M"))] = _COPY
    work[letter == CATEGORY_LETTERS.index("X")] = _COMMUNICATION
    return work


def _added(parts: Iterable[Buckets]) -> Buckets:
    rows = [(part.span_ns, part.communication_overlapped_ns, *part.ns) for part in parts]
    span, overlapped, *ns = (sum(column) for column in zip(*rows, strict=True))
    return Buckets(span, tuple(ns), overlapped)


def _device(structure: Structure, index: int, work: NDArray[np.uint8]) -> DeviceBuckets:
    span, steps = structure.trace.span_ns, structure.steps
    unions = _unions(structure, index, work)
    bounds = np.array([0, span], np.int64)
    step_edges = np.clip(np.concatenate((steps.start_ns, steps.end_ns)), 0, span)
    edges = distinct(bounds, step_edges, *(edge for union in unions for edge in union))
    left, right = edges[:-1], edges[1:]
    busy = np.full(len(left), len(BUSY_BUCKETS), np.uint8)
    for code in reversed(range(len(BUSY_BUCKETS))):
        busy[contains(*unions[code], left)] = code
    is_idle = busy == len(BUSY_BUCKETS)
    begin, end, reason, node = idle_pieces(structure, left[is_idle], right[is_idle])
    begin = np.concatenate((left[~is_idle], begin))
    end = np.concatenate((right[~is_idle], end))
    bucket = np.concatenate((busy[~is_idle], reason + np.uint8(len(BUSY_BUCKETS))))
    node = np.concatenate((np.full(int((~is_idle).sum()), ABSENT, np.int64), node))
    order = np.argsort(begin, kind="stable")
    begin, end, bucket, node = begin[order], end[order], bucket[order], node[order]
    overlap = _overlap(unions[_COMPUTE], unions[_COMMUNICATION])
    step_overlap = covered(*overlap, steps.end_ns) - covered(*overlap, steps.start_ns)
    whole = np.zeros(len(BUCKETS), np.int64)
    np.add.at(whole, bucket, end - begin)
    return DeviceBuckets(
        device=index,
        begin_ns=begin,
        end_ns=end,
        bucket=bucket,
        node=node,
        whole=Buckets(span, tuple(whole.tolist()), int((overlap[1] - overlap[0]).sum())),
        step_ns=_by_step(structure, begin, end, bucket),
        step_overlapped_ns=step_overlap,
    )


def _unions(
    structure: Structure, index: int, work: NDArray[np.uint8]
) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Returns when a device did each kind of work, as disjoint ascending (starts, ends)."""
    table, activities, span = structure.trace.table, structure.activities, structure.trace.span_ns
    event = activities.event
    mine = (table.device[event] == index) & (
        (table.flags[event] & np.uint8(Flag.NO_TIMESTAMP)) == 0
    )
    start = table.start_ns[event]
    end = np.clip(start + activities.counted_ns, 0, span)
    start = np.clip(start, 0, span)
    of_kind = [mine & (work == code) for code in range(len(BUSY_BUCKETS))]
    return [merge(start[rows], end[rows]) for rows in of_kind]


def _overlap(
    first: tuple[NDArray[np.int64], NDArray[np.int64]],
    second: tuple[NDArray[np.int64], NDArray[np.int64]],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Returns the intersection of two unions as disjoint ascending (starts, ends)."""
    edges = distinct(*first, *second)
    left, right = edges[:-1], edges[1:]
    both = contains(*first, left) & contains(*second, left)
    return left[both], right[both]


def _by_step(
    structure: Structure,
    begin: NDArray[np.int64],
    end: NDArray[np.int64],
    bucket: NDArray[np.uint8],
) -> NDArray[np.int64]:
    """Returns the sums of the pieces of each step (int64[steps, buckets])."""
    step = structure.steps.at(begin)
    sums = np.zeros((len(structure.steps), len(BUCKETS)), np.int64)
    inside = step >= 0
    np.add.at(sums, (step[inside], bucket[inside]), (end - begin)[inside])
    return sums
