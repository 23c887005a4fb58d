"""Whether a trace can be trusted, what was repaired in it, and what to record next time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from ptx.profiling.analysis._once import once_per_trace
from ptx.profiling.analysis.missing import Missing, missing_flags
from ptx.profiling.structure.launches import enqueues
from ptx.profiling.trace.columns import ABSENT, Flag, Kind, Phase
from ptx.profiling.trace.problems import FIRST_POSITIONS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from ptx.profiling.structure.structure import Structure

Severity = Literal["error", "warning", "note"]

_ERRORS = frozenset(
    (
        *("truncated", "truncated-archive", "changed", "refused"),
        *("no-events", "no-device-activity"),
    )
)
_NOTES = frozenset(
    (
        *("unescaped-quote", "backslash", "control-byte", "bad-utf8", "not-a-number"),
        *("empty-value", "bare-word", "odd-types", "crossing-slices", "before-the-trace"),
        *("launches-without-activity", "no-timestamp", "open-list"),
    )
)
# a launch itself takes a few us: what is less shifts no figure by more than the call it belongs to
_SMALL_SKEW_NS = 10_000
_LARGE_SKEW_NS = 100_000
_HOUR_NS = 3_600 * 10**9
_FAR_NS = 24 * _HOUR_NS
_FAR_TIMES = 10
_RARE_SKEW = 1e-3
_COMMON_SKEW = 1e-2


@dataclass(frozen=True, slots=True)
class DoctorProblem:
    """A problem by its stable code, with how often it was met and the first events concerned."""

    code: str
    severity: Severity
    count: int
    message: str
    events: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The doctor's answer; a trace is sound if no problem is an error."""

    problems: tuple[DoctorProblem, ...]
    missing: tuple[Missing, ...]

    @property
    def sound(self) -> bool:
        """Returns whether every figure of the trace can be trusted."""
        return is_sound(self.problems)


def diagnose(structure: Structure) -> Diagnosis:
    """Returns what is wrong with a trace, worst first, and what it lacks."""
    return Diagnosis(find_problems(structure), tuple(missing_flags(structure)))


@once_per_trace
def find_problems(structure: Structure) -> tuple[DoctorProblem, ...]:
    """Returns what is wrong with a trace, worst first; reads nothing from the file."""
    found = [*_from_reading(structure), *_from_structure(structure)]
    order: tuple[Severity, ...] = ("error", "warning", "note")
    found.sort(key=lambda problem: order.index(problem.severity))
    return tuple(found)


def is_sound(problems: tuple[DoctorProblem, ...]) -> bool:
    """Returns whether none of the problems is an error."""
    return all(problem.severity != "error" for problem in problems)


def is_empty(structure: Structure) -> bool:
    """Returns whether a trace holds no slice but the marks of the profiler's own window."""
    table = structure.trace.table
    marks = [code for code, text in enumerate(table.categories) if text == "Trace"]
    slices = (table.phase == Phase.COMPLETE) | (table.phase == Phase.BEGIN)
    return not (slices & ~np.isin(table.category, marks)).any()


def severity_of(code: str) -> Severity:
    """Returns how much a problem of this code matters for the figures.

    That of `clock-skew` goes by its measure, see `find_problems`.
    """
    return "error" if code in _ERRORS else "note" if code in _NOTES else "warning"


def _problem(
    code: str, message: str, events: NDArray[np.integer], severity: Severity | None = None
) -> DoctorProblem:
    first = tuple(events[:FIRST_POSITIONS].tolist())
    return DoctorProblem(code, severity or severity_of(code), len(events), message, first)


def _from_reading(structure: Structure) -> Iterator[DoctorProblem]:
    behind = len(structure.trace.table)  # where a cut event would stand there is none to show
    for problem in structure.trace.problems:
        message = problem.message
        if problem.dropped_bytes:
            places = ", ".join(f"byte {offset}" for offset, _ in problem.dropped)
            more = ", ..." if problem.count > len(problem.dropped) else ""
            message += f" ({problem.dropped_bytes:,} bytes lost, at {places}{more})"
        yield DoctorProblem(
            problem.code,
            severity_of(problem.code),
            problem.count,
            message,
            tuple(event for event in problem.positions if event < behind),
        )


def _from_structure(structure: Structure) -> Iterator[DoctorProblem]:
    table, activities = structure.trace.table, structure.activities
    if is_empty(structure):
        yield _no_events(structure)
    yield from _time_gap(structure)
    launches = np.flatnonzero(structure.is_launch)
    if len(launches) and not len(activities):
        yield _problem(
            "no-device-activity",
            "launches, but no kernels: another profiler (ncu, nsys, DCGM) held the device, or "
            "ProfilerActivity.CUDA was off",
            launches,
        )
    if activities.overruns.any():
        yield _problem(
            "bad-duration",
            "activities contain the whole next one of their stream; they count up to its start",
            activities.event[activities.overruns],
        )
    yield from _unlinked(structure)
    yield from _repeated_correlations(structure)
    yield from _clock_skew(structure)
    carried = np.zeros(len(table), bool)
    carried[activities.launch[activities.launch >= 0]] = True
    idle_launches = np.flatnonzero(structure.is_launch & ~carried)
    if len(activities) and len(idle_launches):
        yield _problem(
            "launches-without-activity",
            "launches have no activity in the file: captured into a graph, or cut off at its end",
            idle_launches,
        )
    if structure.crossing_slices:
        yield DoctorProblem(
            "crossing-slices",
            severity_of("crossing-slices"),
            structure.crossing_slices,
            "slices cross on a thread; put under the nearest that contains them",
            (),
        )


def _no_events(structure: Structure) -> DoctorProblem:
    table = structure.trace.table
    others = np.isin(table.kind, (Kind.COUNTER, Kind.FLOW)) | (table.phase == Phase.OTHER)
    why = "the profiler window held no step; was prof.step() called?"
    if others.any() and not structure.trace.header.is_kineto:
        why = "counters, arrows or asynchronous events alone, which ptx does not show"
    message = f"no slice in the file: {why}"
    return DoctorProblem("no-events", severity_of("no-events"), 1, message, ())


def _time_gap(structure: Structure) -> Iterator[DoctorProblem]:
    """Finds events that stand absurdly far from all others, such as at time 0 of an epoch."""
    table = structure.trace.table
    timed = (table.flags & np.uint8(Flag.NO_TIMESTAMP)) == 0
    timed &= ~np.isin(table.kind, (Kind.METADATA, Kind.REFUSED)) & (table.phase != Phase.EMPTY)
    events = np.flatnonzero(timed)
    events = events[np.argsort(table.start_ns[events], kind="stable")]
    start = table.start_ns[events]
    if len(events) < 2:
        return
    ends = np.maximum.accumulate(start + table.dur_ns[events])
    gap_ns = start[1:] - ends[:-1]
    widest = int(np.argmax(gap_ns))
    rest_ns = structure.trace.span_ns - int(gap_ns[widest])
    if gap_ns[widest] < _FAR_NS or gap_ns[widest] < _FAR_TIMES * rest_ns:
        return
    before, behind = events[: widest + 1], events[widest + 1 :]
    fewer = before if len(before) <= len(behind) else behind
    hours = gap_ns[widest] / _HOUR_NS
    message = (
        f"events stand {hours:,.0f} hours from all others: what counts in shares or as idle time "
        "of the whole trace means nothing"
    )
    yield _problem("time-gap", message, np.sort(fewer))


def _clock_skew(structure: Structure) -> Iterator[DoctorProblem]:
    """Measures by how much activities start before the launch that caused them begins."""
    table, activities = structure.trace.table, structure.activities
    linked = (activities.launch >= 0) & _timed(structure)
    lead_ns = table.start_ns[activities.launch] - table.start_ns[activities.event]
    early = linked & (lead_ns > 0)
    if early.any():
        whole, leads_ns = int(linked.sum()), lead_ns[early]
        message = (
            f"activities start before their launch begins ({len(leads_ns):,} of {whole:,}), by "
            f"{int(np.median(leads_ns)):,} ns in the middle and up to {int(leads_ns.max()):,} ns: "
            "the clocks of host and device differ by at least that, and so do queue delays"
        )
        events = activities.event[early]
        yield _problem("clock-skew", message, events, _weight_of_skew(leads_ns, whole))


def _weight_of_skew(leads_ns: NDArray[np.int64], linked: int) -> Severity:
    """Returns how much leads weigh by their size and by their share of the linked activities.

    Large ones in number move the activities of one step into another, so figures are wrong. Small
    or rare ones leave every sum as it is and blur some queue delays.
    """

    def share(limit_ns: int) -> float:
        return float((leads_ns > limit_ns).sum()) / linked

    if share(_LARGE_SKEW_NS) >= _COMMON_SKEW:
        return "error"
    return "warning" if share(_SMALL_SKEW_NS) >= _RARE_SKEW else "note"


def _unlinked(structure: Structure) -> Iterator[DoctorProblem]:
    """Tells activities launched before the trace from those whose launch is simply missing.

    A stream works in order: what comes before the first activity whose launch is known was
    launched before it. What comes before any call of the file was so on every stream.
    """
    table, activities = structure.trace.table, structure.activities
    lost = activities.launch == ABSENT
    if not lost.any():
        return
    timed = _timed(structure)
    calls = table.of_kind(Kind.RUNTIME)
    start = table.start_ns[activities.event]
    first_call = int(table.start_ns[calls].min()) if len(calls) else 0
    lanes = np.stack((table.device[activities.event], table.stream[activities.event]))
    _, lane = np.unique(lanes, axis=1, return_inverse=True)
    lane = lane.reshape(-1)
    first_linked = np.full(int(lane.max()) + 1, np.iinfo(np.int64).max)
    np.minimum.at(first_linked, lane[~lost & timed], start[~lost & timed])
    known = first_linked < np.iinfo(np.int64).max
    if known.any():
        first_linked[~known] = first_linked[known].min()
    else:
        first_linked[:] = 0
    before = lost & timed & (start < np.maximum(first_linked[lane], first_call))
    if before.any():
        yield _problem(
            "before-the-trace",
            "activities were launched before the trace began; no op can be named for them",
            activities.event[before],
        )
    if (lost & ~before).any():
        yield _problem(
            "activities-without-launch",
            "activities have no launch in the file; they count in no op and in no step",
            activities.event[lost & ~before],
        )


def _repeated_correlations(structure: Structure) -> Iterator[DoctorProblem]:
    """Finds activities whose correlation several launches carry, so that any could be theirs.

    A driver call inside the runtime call that makes it may carry the same number.
    """
    table, tree, activities = structure.trace.table, structure.tree, structure.activities
    calls = np.flatnonzero(structure.is_launch & enqueues(table.names)[table.name])
    calls = calls[(table.correlation[calls] != ABSENT) & (tree.node_of[calls] >= 0)]
    calls = calls[np.lexsort((tree.node_of[calls], table.correlation[calls]))]
    numbers, node = table.correlation[calls], tree.node_of[calls]
    outer = np.zeros(len(calls), bool)
    outer[:-1] = (numbers[1:] == numbers[:-1]) & (node[1:] < (node + tree.size[node])[:-1])
    ids, times = np.unique(numbers[~outer], return_counts=True)
    doubtful = np.isin(table.correlation[activities.event], ids[times > 1])
    if doubtful.any():
        yield _problem(
            "repeated-correlation",
            "activities carry a correlation that several launches carry (several processes in one "
            "file?); which of them an activity is linked to may be wrong",
            activities.event[doubtful],
        )


def _timed(structure: Structure) -> NDArray[np.bool_]:
    flags = structure.trace.table.flags[structure.activities.event]
    timed: NDArray[np.bool_] = (flags & np.uint8(Flag.NO_TIMESTAMP)) == 0
    return timed
