"""What the findings look at: some steps of one device, and the time that none has claimed yet."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ptx.profiling.analysis.accounting.buckets import BUCKETS
from ptx.profiling.analysis.idle import names_like
from ptx.profiling.structure.intervals import contains, covered, distinct, merge
from ptx.profiling.structure.tree import NodeKind
from ptx.profiling.trace.columns import Kind

if TYPE_CHECKING:
    from typing import TypeAlias

    from numpy.typing import NDArray

    from ptx.profiling.analysis.accounting.buckets import DeviceBuckets
    from ptx.profiling.structure.structure import Structure

    Times: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64]]

_STALL = 20
"""How many times the median time between launches makes a stall of it."""
_COMPILES = re.compile(r"entire_frame_compile|compile_attempt|.*\(dynamo_timed\)")


@dataclass(frozen=True, slots=True, eq=False)
class Claim:
    """Time that a finding explains: disjoint `times`, and how much a step (int64[steps])."""

    times: Times
    step_ns: NDArray[np.int64]

    @property
    def ns_per_step(self) -> int:
        """Returns the mean over the steps."""
        return int(self.step_ns.sum()) // len(self.step_ns)


class Case:
    """Steps of a trace on one device.

    Attributes:
        structure: the trace.
        device: the buckets of the device.
        steps: positions of the steps, ascending.
        start_ns: where each starts.
        end_ns: where it ends.
    """

    def __init__(
        self, structure: Structure, device: DeviceBuckets, steps: NDArray[np.intp]
    ) -> None:
        self.structure = structure
        self.device = device
        self.steps = steps
        self.start_ns = structure.steps.start_ns[steps]
        self.end_ns = structure.steps.end_ns[steps]
        self._free: Times = merge(self.start_ns, self.end_ns)

    @property
    def step_ns(self) -> int:
        """Returns the median length of the steps."""
        return int(np.median(self.end_ns - self.start_ns))

    @cached_property
    def activities(self) -> NDArray[np.intp]:
        """The positions of the activities of this device that the steps launched."""
        activities = self.structure.activities
        mine = self.structure.trace.table.device[activities.event] == self.device.device
        return np.flatnonzero(mine & np.isin(activities.step, self.steps))

    @cached_property
    def calls(self) -> NDArray[np.intp]:
        """The launches and runtime calls of the steps, by start, on threads that launch."""
        structure = self.structure
        table, tree = structure.trace.table, structure.tree
        launch = structure.activities.launch
        threads = np.unique(table.thread[launch[launch >= 0]])
        keep = (tree.kind == NodeKind.LAUNCH) | (tree.kind == NodeKind.RUNTIME)
        keep &= np.isin(table.thread[tree.event], threads)
        keep &= contains(self.start_ns, self.end_ns, table.start_ns[tree.event])
        nodes = np.flatnonzero(keep)
        return nodes[np.argsort(table.start_ns[tree.event[nodes]], kind="stable")]

    @cached_property
    def launches(self) -> NDArray[np.intp]:
        """Those of `calls` that are launches."""
        is_launch: NDArray[np.bool_] = self.structure.tree.kind[self.calls] == NodeKind.LAUNCH
        return self.calls[is_launch]

    @cached_property
    def stalls(self) -> Times:
        """When the host launched nothing for far longer than it usually takes from one to the next.

        The host was then not busy launching: it read data, computed, waited or started up.
        """
        table, tree = self.structure.trace.table, self.structure.tree
        start = table.start_ns[tree.event[self.launches]]
        if len(start) < 2:
            return self.start_ns, self.end_ns
        edges = distinct(start, self.start_ns, self.end_ns)
        is_stall = np.diff(edges) > _STALL * np.median(np.diff(start))
        return merge(edges[:-1][is_stall], edges[1:][is_stall])

    def named(self, pattern: re.Pattern[str]) -> NDArray[np.bool_]:
        """Returns one flag per event name of the trace: whether it matches from its start."""
        return names_like(self.structure.trace.table, pattern)

    def pieces(self, *buckets: str) -> NDArray[np.bool_]:
        """Returns which pieces of the device are in one of some buckets and in the steps."""
        codes = [BUCKETS.index(bucket) for bucket in buckets]
        inside = contains(self.start_ns, self.end_ns, self.device.begin_ns)
        return np.isin(self.device.bucket, codes) & inside

    def times_of(self, pieces: NDArray[np.bool_]) -> Times:
        """Returns when the device was in some of its pieces."""
        return merge(self.device.begin_ns[pieces], self.device.end_ns[pieces])

    def costliest_nodes(self, pieces: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Returns the host nodes of some idle pieces, those with most idle time first."""
        has_node = pieces & (self.device.node >= 0)
        nodes, slot = np.unique(self.device.node[has_node], return_inverse=True)
        idle = np.zeros(len(nodes), np.int64)
        np.add.at(idle, slot, (self.device.end_ns - self.device.begin_ns)[has_node])
        return nodes[np.argsort(-idle, kind="stable")]

    def length_ns(self, pieces: NDArray[np.bool_]) -> int:
        """Returns how long some pieces of the device are together."""
        return int((self.device.end_ns - self.device.begin_ns)[pieces].sum())

    def offer(self, times: Times) -> Claim:
        """Returns what of some disjoint times no finding has claimed."""
        free = intersect(times, self._free)
        return Claim(free, covered(*free, self.end_ns) - covered(*free, self.start_ns))

    def take(self, claim: Claim) -> None:
        """Marks the times of a claim as explained."""
        edges = distinct(*self._free, *claim.times)
        left, right = edges[:-1], edges[1:]
        keep = contains(*self._free, left) & ~contains(*claim.times, left)
        self._free = merge(left[keep], right[keep])

    def is_worth(self, claim: Claim, share: float) -> bool:
        """Returns whether a claim takes a share of the steps, in the mean and in half of them."""
        wanted = max(1.0, share * self.step_ns)  # a step without time has nothing to explain
        return claim.ns_per_step >= wanted and float(np.median(claim.step_ns)) >= wanted


def intersect(first: Times, second: Times) -> Times:
    """Returns the times that are in both."""
    edges = distinct(*first, *second)
    left, right = edges[:-1], edges[1:]
    both = contains(*first, left) & contains(*second, left)
    return left[both], right[both]


def steady_steps(structure: Structure) -> NDArray[np.intp]:
    """Returns the positions of the steps with time in which nothing was compiled."""
    table, steps = structure.trace.table, structure.steps
    compiles = names_like(table, _COMPILES)
    events = table.of_kind(Kind.OP, Kind.ANNOTATION)
    events = events[compiles[table.name[events]]]
    steady = steps.end_ns > steps.start_ns
    begin, end = table.start_ns[events], table.start_ns[events] + table.dur_ns[events]
    compiled = covered(*merge(begin, end), steps.end_ns) - covered(
        *merge(begin, end), steps.start_ns
    )
    return np.flatnonzero(steady & (compiled == 0))
