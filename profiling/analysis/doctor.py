"""Whether a trace can be trusted, what was repaired in it, and what to record next time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from ptx.profiling.analysis._once import once_per_trace
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
        *("no-events", "no-device-activity", "clock-skew"),
    )
)
_NOTES = frozenset(
    (
        *("unescaped-quote", "backslash", "control-byte", "bad-utf8", "not-a-number"),
        *("empty-value", "bare-word", "odd-types", "crossing-slices", "before-the-trace"),
        *("launches-without-activity", "no-timestamp"),
    )
)
_SAMPLED_OPS = 64


@dataclass(frozen=True, slots=True)
class DoctorProblem:
    """A problem by its stable code, with how often it was met and the first events concerned."""

    code: str
    severity: Severity
    count: int
    message: str
    events: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Missing:
    """A capture flag that was off: what it would show, and the line of code that turns it on."""

    flag: str
    what_it_would_show: str
    how: str


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
    return Diagnosis(find_problems(structure), tuple(_missing(structure)))


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
    """Returns how much a problem of this code matters for the figures."""
    return "error" if code in _ERRORS else "note" if code in _NOTES else "warning"


def _problem(code: str, message: str, events: NDArray[np.integer]) -> DoctorProblem:
    first = tuple(events[:FIRST_POSITIONS].tolist())
    return DoctorProblem(code, severity_of(code), len(events), message, first)


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
        message = "no slice in the file: the profiler window held no step; was prof.step() called?"
        yield DoctorProblem("no-events", severity_of("no-events"), 1, message, ())
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


def _clock_skew(structure: Structure) -> Iterator[DoctorProblem]:
    """Measures by how much activities start before the launch that caused them begins."""
    table, activities = structure.trace.table, structure.activities
    linked = (activities.launch >= 0) & _timed(structure)
    lead_ns = table.start_ns[activities.launch] - table.start_ns[activities.event]
    early = linked & (lead_ns > 0)
    if early.any():
        share = f"{int(early.sum()):,} of {int(linked.sum()):,}"
        yield _problem(
            "clock-skew",
            f"activities start before their launch begins ({share}), by up to "
            f"{int(lead_ns[early].max()):,} ns: the clocks of host and device differ by at least "
            "that, and so do queue delays",
            activities.event[early],
        )


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


def _timed(structure: Structure) -> NDArray[np.bool_]:
    flags = structure.trace.table.flags[structure.activities.event]
    timed: NDArray[np.bool_] = (flags & np.uint8(Flag.NO_TIMESTAMP)) == 0
    return timed


def _missing(structure: Structure) -> Iterator[Missing]:
    """Yields what the profiler could have recorded; a trace without ops is none of PyTorch's."""
    table, flag = structure.trace.table, structure.trace.header.flag
    by_kind = np.bincount(table.kind, minlength=len(Kind))
    ops = table.of_kind(Kind.OP)
    if not len(ops):
        return
    if not len(structure.activities):
        yield Missing(
            "ProfilerActivity.CUDA",
            "the kernels that the ops launched, busy and idle time of the device",
            "profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])",
        )
    if structure.steps.source != "ProfilerStep":
        yield Missing(
            "steps",
            "each step on its own, so that warm-up and outliers stand out",
            "prof.step()  # at the end of each iteration",
        )
    if not _has_shapes(structure, ops):
        yield Missing(
            "record_shapes",
            "shapes, strides and dtypes of every op's inputs",
            "profile(record_shapes=True)",
        )
    if not (by_kind[Kind.FRAME] or by_kind[Kind.MODULE] or flag("with_stack")):
        yield Missing(
            "with_stack", "modules and the source line behind each op", "profile(with_stack=True)"
        )
    if not (by_kind[Kind.MEMORY] or flag("profile_memory")):
        yield Missing(
            "profile_memory", "allocations and the memory curve", "profile(profile_memory=True)"
        )
    if structure.trace.header.torch_version is None:
        yield Missing(
            "torch version",
            "which PyTorch made the trace",
            'prof.add_metadata("pytorch_version", torch.__version__)',
        )


def _has_shapes(structure: Structure, ops: NDArray[np.int32]) -> bool:
    if structure.trace.header.flag("record_shapes"):
        return True
    picks = ops[np.linspace(0, len(ops) - 1, min(_SAMPLED_OPS, len(ops))).astype(np.intp)]
    return any(structure.trace.args.has_shapes(event) for event in picks.tolist())
