"""Gates: how much worse the second trace may be before a build fails."""

from __future__ import annotations

import re
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from ptx.profiling.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ptx.profiling.analysis.comparison.model import Comparison, Side

_GATE = re.compile(r"\s*(\w+)\s*<=\s*([+-]?\d+(?:\.\d+)?)\s*(%|ns|us|ms|s)?\s*")
_UNITS = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}


def _total(name: str) -> Callable[[Side], float | None]:
    return lambda side: side.per_step[name].median


def _step(side: Side) -> float | None:
    return median(side.step_ns) if side.step_ns else None


def _idle(side: Side) -> float | None:
    return median(side.idle_ns) if side.idle_ns else None


FIGURES: Mapping[str, tuple[Callable[[Side], float | None], bool]] = {
    "gpu_busy": (_total("gpu_busy_ns"), True),
    "gpu_sum": (_total("gpu_sum_ns"), True),
    "step": (_step, True),
    "idle": (_idle, True),
    "cpu_op_self": (_total("cpu_op_self_ns"), True),
    "kernels": (_total("kernels"), False),
    "activities": (_total("activities"), False),
    "launches": (_total("launches"), False),
    "ops": (_total("ops"), False),
    "views": (_total("views"), False),
    "modelled_bytes": (_total("modelled_bytes"), False),
}
"""The figures of a step that a gate may name, the median over the steps; True for times."""


@dataclass(frozen=True, slots=True)
class Gate:
    """B's figure may exceed A's by `allowed`: a share of A's if `relative`, else an amount."""

    text: str
    figure: str
    allowed: float
    relative: bool


@dataclass(frozen=True, slots=True)
class GateResult:
    """A gate with both figures, None where one is unknown; that counts as failed."""

    gate: Gate
    a: float | None
    b: float | None

    @property
    def passed(self) -> bool:
        """Returns whether B stays within what the gate allows."""
        if self.a is None or self.b is None:
            return False
        allowed = self.gate.allowed * self.a if self.gate.relative else self.gate.allowed
        return self.b <= self.a + allowed


def parse_gate(text: str) -> Gate:
    """Returns the gate of a text such as `gpu_busy<=+3%`, `idle<=+50us`, `kernels<=0`.

    Raises:
        UsageError: it is no gate, names no figure, or has a unit that the figure has not.
    """
    found = _GATE.fullmatch(text)
    if found is None:
        raise UsageError(f"{text!r} is no gate", hint="such as 'gpu_busy<=+3%' or 'kernels<=0'")
    name, number, unit = found.groups()
    figure = name.removesuffix("_ns")
    if figure not in FIGURES:
        raise UsageError(f"no figure is called {name!r}", hint=f"one of {', '.join(FIGURES)}")
    is_time = FIGURES[figure][1]
    if unit == "%":
        return Gate(text, figure, float(number) / 100, relative=True)
    if is_time != (unit is not None) and float(number):
        raise UsageError(f"{text!r}: {'a time needs' if is_time else 'a count has no'} unit")
    return Gate(text, figure, float(number) * _UNITS.get(unit or "ns", 1), relative=False)


def check(gate: Gate, found: Comparison) -> GateResult:
    """Returns the result of a gate for a comparison."""
    figure = FIGURES[gate.figure][0]
    return GateResult(gate, figure(found.a), figure(found.b))
