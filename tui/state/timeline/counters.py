"""What a trace itself records over time: its counters, and the memory that torch holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ptx.profiling.analysis.accounting.memory import memory_curves
from ptx.profiling.sanitise import clean
from ptx.profiling.trace.columns import Kind
from ptx.tui.state.timeline.busy import Curve
from ptx.tui.state.timeline.lanes import CurveLane

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from ptx.profiling.structure.structure import Structure

_ESCAPED = frozenset('"\\')  # in JSON; names that hold them cannot be looked up
_MOST_ASKED, _MOST_MEMBERS = 16, 8


def has_counters(structure: Structure) -> bool:
    """Returns whether a trace records anything over time."""
    return len(structure.trace.table.of_kind(Kind.COUNTER, Kind.MEMORY)) > 0


def counter_lanes(structure: Structure) -> tuple[CurveLane, ...]:
    """Returns a lane for each counter and for the memory of each device.

    Reads the whole file once more, which may take seconds: what was recorded is in the arguments
    of the events.
    """
    return (*_of_counters(structure), *_of_memory(structure))


class _Numbers:
    """The numbers among some members of the events' arguments."""

    def __init__(self, structure: Structure, members: tuple[str, ...]) -> None:
        self._start_ns = structure.trace.table.start_ns
        records = structure.trace.args.records(members, len(self._start_ns))
        self._code = records.code
        self._values = {
            member: np.array([*(_number(texts[k]) for texts in records.texts), np.nan])
            for k, member in enumerate(members)
        }

    def curve(self, events: NDArray[np.int32], member: str) -> Curve | None:
        """Returns the values over time of events in order of time, None if there are none."""
        values = self._values[member][self._code[events]]  # the last, for code -1, is NaN
        known = np.isfinite(values)
        return Curve(self._start_ns[events[known]], values[known]) if known.any() else None


def _number(text: bytes) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


def _members(structure: Structure, counters: NDArray[np.int32]) -> tuple[str, ...]:
    """Returns the names of values as the first event of each of the first counters has them."""
    _, first = np.unique(structure.trace.table.name[counters], return_index=True)
    found: dict[str, None] = {}
    for event in counters[first[:_MOST_ASKED]].tolist():
        args = (structure.trace.args.event(event) or {}).get("args")
        found |= dict.fromkeys(args if isinstance(args, dict) else ())
    plain = [name for name in found if name.isprintable() and not set(name) & _ESCAPED]
    return tuple(plain)[:_MOST_MEMBERS]


def _of_counters(structure: Structure) -> Iterator[CurveLane]:
    table = structure.trace.table
    counters = table.of_kind(Kind.COUNTER)
    members = _members(structure, counters)
    if not members:
        return
    counters = counters[np.argsort(table.start_ns[counters], kind="stable")]
    numbers = _Numbers(structure, members)
    key = table.thread[counters].astype(np.int64) * (len(table.names) + 1) + table.name[counters]
    for code in np.unique(key).tolist():
        mine = counters[key == code]
        name = clean(table.name_of(int(mine[0])))
        for member in members:
            curve = numbers.curve(mine, member)
            if curve is not None:
                title = f"{name} {clean(member)}" if len(members) > 1 else name
                yield CurveLane(title, title, curve)


def _of_memory(structure: Structure) -> Iterator[CurveLane]:
    for found in memory_curves(structure):
        title = "memory CPU" if found.device is None else f"memory GPU {found.device}"
        yield CurveLane(title, title, Curve(found.at_ns, found.allocated_bytes), "bytes")
