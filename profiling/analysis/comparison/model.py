"""The answer of a comparison: what became of every kernel, and what it was worth."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ptx.profiling.structure.structure import Structure

Kind: TypeAlias = Literal["same", "same*", "fused", "replaced", "removed", "added", "moved"]
Pair: TypeAlias = "tuple[int, int]"
MaybePair: TypeAlias = "tuple[int | None, int | None]"

TOTALS = (
    "gpu_sum_ns",
    "gpu_busy_ns",
    "kernels",
    "activities",
    "launches",
    "ops",
    "compile_layer_ops",
    "views",
    "cpu_op_self_ns",
    "modelled_bytes",
)
"""The figures that are compared in total, in the order of the JSON."""


@dataclass(frozen=True, slots=True)
class Place:
    """One activity's place in the step, over all compared steps.

    `event` is the activity in the representative step, `ns` the sum and `median_ns` the median of
    its durations over `count` steps.
    """

    event: int
    name: str
    short: str
    ns: int
    median_ns: int
    count: int


@dataclass(frozen=True, slots=True)
class Group:
    """One place in the program on both sides.

    `delta_ns` (B less A, per step) and `delta_bytes` (modelled, None if unknown) are negative for
    a gain. `text` says what happened in one line; `details` what differs, one fact each.
    """

    kind: Kind
    a: tuple[Place, ...]
    b: tuple[Place, ...]
    delta_ns: int
    delta_bytes: int | None
    confidence: float
    how: str
    phase: str
    text: str
    details: tuple[str, ...]

    def per_step_ns(self, side: int) -> int:
        """Returns the time of one side in an average step, rounded to ns."""
        places = (self.a, self.b)[side]
        return round_ratio(sum(p.ns for p in places), places[0].count) if places else 0


@dataclass(frozen=True, slots=True)
class Spread:
    """A figure over the compared steps; None where it is unknown."""

    median: int | None
    min: int | None
    max: int | None


@dataclass(frozen=True, eq=False)
class Side:
    """One trace: the names of its compared steps, its totals over them, and per step.

    `step_ns` and `idle_ns` are per compared step (device idle by the clock, None without device);
    `idle_by` is what the host did meanwhile in a typical step. The first recorded step lasts
    longer on the host than the others, so that of three or more it is no typical one.
    """

    structure: Structure
    steps: tuple[str, ...]
    left_out: tuple[tuple[str, str], ...]
    totals: Mapping[str, int | None]
    per_step: Mapping[str, Spread]
    step_ns: tuple[int, ...]
    idle_ns: tuple[int, ...] | None
    idle_by: Mapping[str, int]
    unmatched_ns: int
    devices: tuple[str, ...]
    typical: tuple[int, ...]

    @property
    def typical_step_ns(self) -> int:
        """Returns the median duration of the typical steps."""
        return round(median([self.step_ns[k] for k in self.typical] or [0]))

    @property
    def typical_idle_ns(self) -> int | None:
        """Returns the median idle time of the typical steps, None without device."""
        if self.idle_ns is None:
            return None
        return round(median([self.idle_ns[k] for k in self.typical]))


@dataclass(frozen=True, slots=True)
class HostChange:
    """What the CPU side gained and lost: ops by name and their count per step.

    `dispatch_ns` is the time in outermost ops and compiled regions per step, None where the
    capture flags of both sides differ; `why_not` says so.
    """

    removed_ops: Mapping[str, int]
    added_ops: Mapping[str, int]
    dispatch_ns: Pair | None
    layer_ns: Mapping[str, Pair]
    why_not: str | None


@dataclass(frozen=True, slots=True)
class CompileFacts:
    """What torch.compile did on each side, within the compared steps but for `recompiles`."""

    graphs: Pair
    graph_breaks: Pair
    recompiles: Pair
    regions: Pair
    graph_launches: Pair
    cold_steps: Pair


@dataclass(frozen=True, eq=False)
class Comparison:
    """Two traces compared.

    `similar` is False where they are not one program: then no kernels are matched and only totals
    mean something.
    """

    a: Side
    b: Side
    similar: bool
    matched_share: tuple[float, float]
    other_shapes: bool
    groups: tuple[Group, ...]
    host: HostChange
    compiled: CompileFacts
    verdict: str
    notes: tuple[str, ...]

    @property
    def sides(self) -> tuple[Side, Side]:
        """Returns both sides."""
        return self.a, self.b

    def delta_per_step(self, figure: str) -> int | None:
        """Returns B less A of one of `TOTALS` in an average step, None where unknown."""
        left, right = self.a.totals[figure], self.b.totals[figure]
        if left is None or right is None:
            return None
        return difference(left, len(self.a.steps), right, len(self.b.steps))


def difference(a_sum: int, a_steps: int, b_sum: int, b_steps: int) -> int:
    """Returns b/steps - a/steps as a whole number; swapping the sides negates it exactly."""
    a_steps, b_steps = max(1, a_steps), max(1, b_steps)
    return round_ratio(b_sum * a_steps - a_sum * b_steps, a_steps * b_steps)


def round_ratio(top: int, bottom: int) -> int:
    """Returns top / bottom to the nearest whole number, halves away from zero."""
    size = (2 * abs(top) + bottom) // (2 * bottom)
    return -size if top < 0 else size
