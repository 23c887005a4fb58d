"""The diagnosis of a trace in sentences, for the terminal and for plain text alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ptx.profiling.analysis.doctor import diagnose
from ptx.profiling.report.units import format_count
from ptx.profiling.sanitise import clean

if TYPE_CHECKING:
    from ptx.profiling.structure.structure import Structure


@dataclass(frozen=True, slots=True)
class Remark:
    """One thing to say of a trace.

    `weight` is `ok`, `note`, `warning`, `error`, or `lack` for what was not recorded; `code` is a
    line of code that records it. `events` are the ids of the first events concerned.
    """

    weight: str
    text: str
    code: str = ""
    events: tuple[int, ...] = ()


def remarks_of(structure: Structure) -> list[Remark]:
    """Returns the links, then problems worst first, then what was not recorded."""
    diagnosis, activities = diagnose(structure), structure.activities
    made = []
    if len(activities):
        linked = int((activities.launch >= 0).sum())
        owned = int((activities.op >= 0).sum())
        made.append(
            Remark(
                "ok" if linked == len(activities) else "note",
                f"{format_count(linked)} of {format_count(len(activities))} activities linked to a "
                f"launch, {format_count(owned)} to an op",
            )
        )
    for problem in diagnosis.problems:
        count = f" ({format_count(problem.count)})" if problem.count > 1 else ""
        text = clean(f"{problem.code}{count}: {problem.message}")
        made.append(Remark(problem.severity, text, events=problem.events))
    for missing in diagnosis.missing:
        text = f"{missing.flag}: would show {missing.what_it_would_show}"
        made.append(Remark("lack", text, code=missing.how))
    return made
