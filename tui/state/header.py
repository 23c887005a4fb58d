"""The lines above the tree: which file and step, and where the step's time went."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ptx.profiling.analysis.categories import CATEGORY_WORDS
from ptx.profiling.analysis.doctor import find_problems, is_empty
from ptx.profiling.analysis.ranks import rank_of
from ptx.profiling.analysis.summary import device_rows, format_of, step_rows
from ptx.profiling.report.units import format_count, format_ns, format_share
from ptx.profiling.sanitise import clean
from ptx.profiling.structure.intervals import union_by_group
from ptx.profiling.trace.columns import Kind
from ptx.tui.state.names import CATEGORY_ROLES, category_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ptx.profiling.structure.structure import Structure
    from ptx.tui.state.rows import Role

_MUCH_IDLE = 0.4
_CUT = ("truncated", "truncated-archive")


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a line; an alerting one is the only thing on screen in red.

    Where a line is too narrow the pieces with the highest `drop` are left out first; those with 0
    always stay.
    """

    text: str
    role: Role = "normal"
    drop: int = 0


@dataclass(frozen=True, slots=True)
class Band:
    """A stretch of the step's bar: its letter, word and share of devices x duration."""

    letter: str
    word: str
    ns: int
    role: Role


@dataclass(frozen=True, slots=True)
class StepHeader:
    """The header of a step, or of the whole trace."""

    place: tuple[Part, ...]
    equation: tuple[Part, ...]
    bands: tuple[Band, ...]


def make_header(structure: Structure, step: int | None) -> StepHeader:
    """Returns the header; every figure follows the clock and adds up to the duration."""
    return StepHeader(
        place=_place(structure, step),
        equation=_equation(structure, step),
        bands=_bands(structure, step),
    )


def fitting(parts: Sequence[Part], width: int) -> list[Part]:
    """Returns the parts that fit into so many cells, in their order."""
    kept = list(parts)
    while sum(len(part.text) for part in kept) > width:
        least = max(kept, key=lambda part: part.drop, default=None)
        if least is None or least.drop == 0:
            break
        kept.remove(least)
    return kept


def _place(structure: Structure, step: int | None) -> tuple[Part, ...]:
    trace, steps = structure.trace, structure.steps
    device = next((d.name for d in device_rows(structure)[0] if d.name), None)
    parts = [Part(clean(trace.path.name))]
    if device:
        count = len(structure.devices)
        named = f"{count} x {device}" if count > 1 else device
        parts.append(Part(f"  {clean(named)}", drop=2))
    rank = rank_of(trace)
    if rank is not None:
        parts.append(Part(f"  rank {rank}"))
    if step is None:
        parts.append(Part("  whole trace"))
    elif steps.source != "trace":
        parts.append(Part(f"  step {step + 1}/{len(steps)}"))
        if not steps.names[step].startswith("step "):
            parts.append(Part(f" {clean(steps.names[step])}", drop=3))
    notice = _notice(structure)
    if notice:
        parts += [Part(f"   {notice}", "strong"), Part(" (8: doctor)", "strong", drop=1)]
    return tuple(parts)


def _range(structure: Structure, step: int | None) -> tuple[int, int]:
    if step is None:
        return 0, structure.trace.span_ns
    return int(structure.steps.start_ns[step]), int(structure.steps.end_ns[step])


def _busy_ns(structure: Structure, start_ns: int, end_ns: int) -> int:
    return int(structure.clock_busy_ns(np.array([start_ns]), np.array([end_ns]))[0])


def _equation(structure: Structure, step: int | None) -> tuple[Part, ...]:
    start, end = _range(structure, step)
    devices = len(structure.devices)
    if not (devices or len(structure.tree)):
        return (Part(_nothing(structure)),)
    if not devices:
        if not len(structure.trace.table.of_kind(Kind.OP)):
            kind = "" if format_of(structure.trace) == "kineto" else "; no PyTorch profiler trace"
            return (Part(f"{format_ns(end - start)} of host time{kind}"),)
        return (
            Part(f"{format_ns(end - start)} of CPU time; "),
            Part("this trace has no GPU events: add ProfilerActivity.CUDA"),
        )
    whole = (end - start) * devices
    busy = _busy_ns(structure, start, end)
    idle = whole - busy
    mine = _activities_of(structure, step)
    kernels = int(
        (structure.trace.table.kind[structure.activities.event[mine]] == Kind.KERNEL).sum()
    )
    parts = [
        Part(
            f"{format_ns(end - start)} = GPU busy {format_ns(busy)} {format_share(busy, whole)} + "
        ),
        Part(
            f"idle {format_ns(idle)} {format_share(idle, whole)}",
            "alert" if idle > _MUCH_IDLE * whole else "normal",
        ),
    ]
    late = _late_ns(structure, step, end)
    if late > 0:
        parts.append(Part(f"   its kernels ran until +{format_ns(late)}"))
    parts.append(Part(f"   {format_count(kernels)} kernels", drop=1))
    if devices > 1:
        parts[0] = Part(f"{devices} x {parts[0].text}")
    streams = _stream_count(structure, mine)
    total = int(structure.activities.counted_ns[mine].sum())
    if streams > 1 and total != busy:
        parts.append(Part(f"   sum {format_ns(total)} on {streams} streams"))
    return tuple(parts)


def _nothing(structure: Structure) -> str:
    """Returns why there may be no rows at all; lane names and window marks are no events here."""
    if is_empty(structure):
        return "0 events. The profiler window held no step: was prof.step() called?"
    events = format_count(structure.trace.events)
    return f"{events} events, but no op, call or kernel of PyTorch's profiler among them"


def _stream_count(structure: Structure, activities: NDArray[np.intp]) -> int:
    table, events = structure.trace.table, structure.activities.event[activities]
    return len(np.unique(np.stack((table.device[events], table.stream[events])), axis=1)[0])


def _activities_of(structure: Structure, step: int | None) -> NDArray[np.intp]:
    activities = structure.activities
    if step is None:
        return np.arange(len(activities))
    return np.flatnonzero(activities.step == step)


def _late_ns(structure: Structure, step: int | None, end_ns: int) -> int:
    """Returns by how much the step's own activities outlast it; 0 if they do not."""
    if step is None:
        return 0
    row = step_rows(structure)[step]
    return max(0, (row.gpu_end_ns or 0) - end_ns)


def _bands(structure: Structure, step: int | None) -> tuple[Band, ...]:
    """Returns the categories of work, dearest first, then idle: by the clock, adding up.

    Where activities of two categories overlap, the time counts for the dearer one.
    """
    start, end = _range(structure, step)
    devices = len(structure.devices)
    if not devices:
        return ()
    table, activities = structure.trace.table, structure.activities
    begin = table.start_ns[activities.event]
    meanwhile = np.flatnonzero((begin < end) & (begin + activities.counted_ns > start))
    names = table.name[activities.event[meanwhile]]
    by_name = {code: category_of(table.names[code]) for code in np.unique(names).tolist()}
    letters = np.array([by_name[code] for code in names.tolist()])
    total = {
        letter: int(activities.counted_ns[meanwhile[letters == letter]].sum())
        for letter in set(by_name.values())
    }
    order = sorted(total, key=lambda letter: (-total[letter], letter))
    bands, done = [], 0
    for k, letter in enumerate(order):
        so_far = _union_ns(structure, meanwhile[np.isin(letters, order[: k + 1])], start, end)
        bands.append(Band(letter, CATEGORY_WORDS[letter], so_far - done, CATEGORY_ROLES[letter]))
        done = so_far
    return (*bands, Band("", "idle", (end - start) * devices - done, "dim"))


def _union_ns(structure: Structure, rows: NDArray[np.intp], start_ns: int, end_ns: int) -> int:
    """Returns how long any of these activities ran in a stretch of time, added over devices."""
    table, activities = structure.trace.table, structure.activities
    event = activities.event[rows]
    begin = np.maximum(table.start_ns[event], start_ns)
    finish = np.minimum(table.start_ns[event] + activities.counted_ns[rows], end_ns)
    device = np.searchsorted(structure.devices, table.device[event])
    return int(union_by_group(device, begin, finish, len(structure.devices)).sum())


def _notice(structure: Structure) -> str:
    """Returns why the figures may be wrong in a few words, "" for a sound trace."""
    errors = [p.code for p in find_problems(structure) if p.severity == "error"]
    events = format_count(structure.trace.events)
    if any(code in _CUT for code in errors):
        said, rest = f"file ends early: {events} events read", set(errors) - {*_CUT, "no-events"}
    elif "no-device-activity" in errors:
        said = "launches but no kernels: another profiler held the device?"
        rest = set(errors) - {"no-device-activity"}
    else:
        said, rest = "", set(errors) - {"no-events"}  # line 2 says so
    if rest:
        more = " more" if said else ""
        word = "problem" if len(rest) == 1 else "problems"
        said = f"{said}, " if said else "not sound: "
        said += f"{len(rest)}{more} {word}"
    return said
