"""Whether a trace can be trusted, what was repaired in it, and what to record next time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from ptx.profiling.trace.columns import ABSENT, Kind
from ptx.profiling.trace.problems import FIRST_POSITIONS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from ptx.profiling.structure.structure import Structure

Severity = Literal["error", "warning", "note"]

_ERRORS = frozenset(
    ("truncated", "truncated-archive", "changed", "refused", "no-device-activity", "clock-skew")
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
class Finding:
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

    problems: tuple[Finding, ...]
    missing: tuple[Missing, ...]

    @property
    def sound(self) -> bool:
        """Returns whether every figure of the trace can be trusted."""
        return all(problem.severity != "error" for problem in self.problems)


def diagnose(structure: Structure) -> Diagnosis:
    """Returns what is wrong with a trace, worst first, and what it lacks."""
    found = [*_from_reading(structure), *_from_structure(structure)]
    order: tuple[Severity, ...] = ("error", "warning", "note")
    found.sort(key=lambda problem: order.index(problem.severity))
    return Diagnosis(tuple(found), tuple(_missing(structure)))


def severity_of(code: str) -> Severity:
    """Returns how much a problem of this code matters for the figures."""
    return "error" if code in _ERRORS else "note" if code in _NOTES else "warning"


def _finding(code: str, message: str, events: NDArray[np.integer]) -> Finding:
    first = tuple(events[:FIRST_POSITIONS].tolist())
    return Finding(code, severity_of(code), len(events), message, first)


def _from_reading(structure: Structure) -> Iterator[Finding]:
    for problem in structure.trace.problems:
        message = problem.message
        if problem.dropped_bytes:
            places = ", ".join(f"byte {offset}" for offset, _ in problem.dropped)
            message += f" ({problem.dropped_bytes:,} bytes lost, at {places})"
        yield Finding(
            problem.code,
            severity_of(problem.code),
            problem.count,
            message,
            tuple(problem.positions),
        )


def _from_structure(structure: Structure) -> Iterator[Finding]:
    table, activities = structure.trace.table, structure.activities
    launches = np.flatnonzero(structure.is_launch)
    if len(launches) and not len(activities):
        yield _finding(
            "no-device-activity",
            "launches but no kernels: another profiler held the device, or ProfilerActivity.CUDA "
            "was off",
            launches,
        )
    if activities.overruns.any():
        yield _finding(
            "bad-duration",
            "activities contain the whole next one of their stream; they count up to its start",
            activities.event[activities.overruns],
        )
    yield from _unlinked(structure)
    early = table.start_ns[activities.event] - table.start_ns[activities.launch]
    skewed = (activities.launch >= 0) & (early < 0)
    if skewed.any():
        worst = int(-early[skewed].min())
        yield _finding(
            "clock-skew",
            f"activities start before their launch, by up to {worst:,} ns: the clocks of host and "
            "device differ by at least that",
            activities.event[skewed],
        )
    carried = np.zeros(len(table), bool)
    carried[activities.launch[activities.launch >= 0]] = True
    idle_launches = np.flatnonzero(structure.is_launch & ~carried)
    if len(activities) and len(idle_launches):
        yield _finding(
            "launches-without-activity",
            "launches have no activity in the file: captured into a graph, or cut off at its end",
            idle_launches,
        )
    if structure.crossing_slices:
        yield Finding(
            "crossing-slices",
            "note",
            structure.crossing_slices,
            "slices cross on a thread; put under the nearest that contains them",
            (),
        )


def _unlinked(structure: Structure) -> Iterator[Finding]:
    """Tells activities launched before the trace from those whose launch is simply missing."""
    table, activities = structure.trace.table, structure.activities
    lost = activities.launch == ABSENT
    if not lost.any():
        return
    calls = table.of_kind(Kind.RUNTIME)
    first_call = int(table.start_ns[calls].min()) if len(calls) else 0
    linked = activities.event[~lost]
    first_linked = int(table.start_ns[linked].min()) if len(linked) else 0
    before = lost & (table.start_ns[activities.event] < max(first_call, first_linked))
    if before.any():
        yield _finding(
            "before-the-trace",
            "activities were launched before the trace began; no op can be named for them",
            activities.event[before],
        )
    if (lost & ~before).any():
        yield _finding(
            "activities-without-launch",
            "activities have no launch in the file",
            activities.event[lost & ~before],
        )


def _missing(structure: Structure) -> Iterator[Missing]:
    table = structure.trace.table
    by_kind = np.bincount(table.kind, minlength=len(Kind))
    ops = table.of_kind(Kind.OP)
    if len(ops) and not len(structure.activities):
        yield Missing(
            "ProfilerActivity.CUDA",
            "the kernels that the ops launched, busy and idle time of the device",
            "profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])",
        )
    if len(ops) and structure.steps.source != "ProfilerStep":
        yield Missing(
            "steps",
            "figures per step",
            "prof.step()  # at the end of each iteration, inside `with profile(...) as prof:`",
        )
    if len(ops) and not _has_shapes(structure, ops):
        yield Missing(
            "record_shapes",
            "shapes, strides and dtypes of every op's inputs",
            "profile(record_shapes=True)",
        )
    if len(ops) and not by_kind[Kind.FRAME] and not by_kind[Kind.MODULE]:
        yield Missing(
            "with_stack", "modules and the source line behind each op", "profile(with_stack=True)"
        )
    if len(ops) and not by_kind[Kind.MEMORY]:
        yield Missing(
            "profile_memory", "allocations and the memory curve", "profile(profile_memory=True)"
        )
    if len(ops) and structure.trace.header.torch_version is None:
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
