"""The CPU side of a comparison: counts, dispatch time, what torch.compile's own run time adds."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from ptx.profiling.analysis.comparison.model import CompileFacts, HostChange
from ptx.profiling.structure.tree import NodeKind
from ptx.profiling.tensors.op_names import ALWAYS_VIEWS, MAY_ALIAS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from numpy.typing import NDArray

    from ptx.profiling.analysis.comparison.model import Pair
    from ptx.profiling.analysis.comparison.steps import ComparableSteps
    from ptx.profiling.structure.structure import Structure

LAYERS = {
    "cache lookup": re.compile(r"TorchDynamo Cache Lookup"),
    "region": re.compile(r"Torch-Compiled Region"),
    "prologue": re.compile(r"AOTDispatcher .*Prologue|AOTDispatcher"),
    "bytecode": re.compile(r"Pregraph bytecode"),
    "autograd function": re.compile(r"CompiledFunction"),
    "generated code": re.compile(r"## Call CompiledFxGraph"),
}
"""The marks that torch.compile's run time leaves, by what they stand for."""

_REGION = re.compile(r"Torch-Compiled Region: (\d+)/(\d+)")
_GRAPH = re.compile(r"## Call CompiledFxGraph (\w+)")
_GRAPH_LAUNCH = re.compile(r"(cuda|hip|cu)GraphLaunch")
_FLAGS = ("with_stack", "with_modules", "profile_memory", "record_shapes", "with_flops")
_COSTLY_FLAGS = ("with_stack", "with_modules", "profile_memory", "with_flops")
_FIRST_IS_SLOW = 3


def typical_steps(steps: ComparableSteps) -> tuple[int, ...]:
    """Returns which of the compared steps stand for the host's time, as their positions.

    The first recorded one of three or more does not: it lasts longer.
    """
    count = len(steps.positions)
    skipped = count >= _FIRST_IS_SLOW and steps.positions[0] == 0
    return tuple(range(int(skipped), count))


class HostSide:
    """The host events of the compared steps of one side, by step."""

    def __init__(self, structure: Structure, steps: ComparableSteps) -> None:
        self._structure = structure
        tree, table = structure.tree, structure.trace.table
        self._table = table
        step = structure.steps.at(table.start_ns[tree.event])
        row = np.full(len(structure.steps) + 1, -1, np.int64)
        row[list(steps.positions)] = np.arange(len(steps.positions))
        self._row = np.where(tree.kind == NodeKind.ACTIVITY, -1, row[step])
        self._count = len(steps.positions)
        self._is_op = tree.kind == NodeKind.OP
        self.typical = typical_steps(steps)

    def _named(self, wanted: Callable[[str], bool]) -> NDArray[np.bool_]:
        names = self._table.names
        flags = np.fromiter(map(wanted, names), bool, len(names))
        found: NDArray[np.bool_] = flags[self._table.name[self._structure.tree.event]]
        return found

    def _per_step(
        self, keep: NDArray[np.bool_], values: NDArray[np.int64] | None = None
    ) -> NDArray[np.int64]:
        """Returns the count of the kept nodes in each compared step, or the sum of `values`."""
        keep = keep & (self._row >= 0)
        total = np.zeros(self._count, np.int64)
        np.add.at(total, self._row[keep], 1 if values is None else values[keep])
        return total

    def figures(self) -> dict[str, NDArray[np.int64]]:
        """Returns figures of each compared step by the names of `model.TOTALS`."""
        layer = self._named(lambda n: any(p.match(n) for p in LAYERS.values()))
        sums = self._structure.sums
        views = self._named(lambda n: n.removeprefix("aten::") in ALWAYS_VIEWS)
        # what may copy did not where it launched nothing; without an op inside it did nothing
        may_view = self._named(lambda n: n.removeprefix("aten::") in MAY_ALIAS)
        views |= may_view & (sums.activities == 0) & (sums.ops > 1)
        launches = self._structure.tree.kind == NodeKind.LAUNCH
        return {
            "launches": self._per_step(launches),
            "ops": self._per_step(self._is_op),
            "compile_layer_ops": self._per_step(self._is_op & layer),
            "views": self._per_step(self._is_op & views),
            "cpu_op_self_ns": self._per_step(self._is_op, sums.self_ns),
        }

    def ops(self) -> dict[str, int]:
        """Returns how often each op runs in a step, the median over the compared steps."""
        tree, table = self._structure.tree, self._table
        keep = self._is_op & (self._row >= 0)
        names = table.name[tree.event[keep]].astype(np.int64)
        codes, member = np.unique(names, return_inverse=True)
        counts = np.zeros((len(codes), max(1, self._count)), np.int64)
        np.add.at(counts, (member, self._row[keep]), 1)
        medians = np.median(counts, axis=1)
        return {
            table.names[code]: int(count)
            for code, count in zip(codes.tolist(), medians.tolist(), strict=True)
            if count >= 1
        }

    def dispatch_ns(self) -> int:
        """Returns the time in outermost ops and compiled regions of a typical step."""
        tree = self._structure.tree
        outermost = self._is_op & (self._structure.owner_op < 0)
        return self._typical_of(self._per_step(outermost, self._table.dur_ns[tree.event]))

    def layers_ns(self) -> dict[str, int]:
        """Returns the self time of each of `LAYERS` in a typical step."""
        self_ns = self._structure.sums.self_ns
        return {
            word: self._typical_of(self._per_step(self._named(_matches(pattern)), self_ns))
            for word, pattern in LAYERS.items()
        }

    def _typical_of(self, by_step: NDArray[np.int64]) -> int:
        return int(np.median(by_step[list(self.typical)])) if self.typical else 0

    def names_in_steps(self, pattern: re.Pattern[str]) -> Counter[tuple[str, ...]]:
        """Returns the groups of a pattern in the names of host events of the compared steps."""
        tree, table = self._structure.tree, self._table
        nodes = np.flatnonzero((self._row >= 0) & self._named(_matches(pattern)))
        found: Counter[tuple[str, ...]] = Counter()
        for name in table.name[tree.event[nodes]].tolist():
            match = pattern.match(table.names[name])
            if match is not None:
                found[match.groups()] += 1
        return found

    def nested_frames(self) -> int:
        """Returns how many compiled frames run inside another one: where a graph broke."""
        tree, table = self._structure.tree, self._table
        is_region = self._named(_matches(_REGION)) & (self._row >= 0)
        inside = np.zeros(len(tree) + 1, np.int64)
        nodes = np.flatnonzero(is_region)
        np.add.at(inside, nodes + 1, 1)
        np.add.at(inside, nodes + tree.size[nodes], -1)
        nested = nodes[np.cumsum(inside[:-1])[nodes] > 0]
        frames = {
            match.group(1)
            for name in np.unique(table.name[tree.event[nested]]).tolist()
            if (match := _REGION.match(table.names[name])) is not None
        }
        return len(frames)


def _matches(pattern: re.Pattern[str]) -> Callable[[str], bool]:
    return lambda name: pattern.match(name) is not None


def host_change(a: HostSide, b: HostSide, structures: tuple[Structure, Structure]) -> HostChange:
    """Returns what changed on the CPU; times only where both were recorded with equal flags."""
    before, after = a.ops(), b.ops()
    why_not = _different_flags(*structures)
    layers_a, layers_b = a.layers_ns(), b.layers_ns()
    return HostChange(
        removed_ops=_more(before, after),
        added_ops=_more(after, before),
        dispatch_ns=None if why_not else (a.dispatch_ns(), b.dispatch_ns()),
        layer_ns={
            word: (layers_a[word], layers_b[word])
            for word in LAYERS
            if layers_a[word] or layers_b[word]
        },
        why_not=why_not,
    )


def _more(counts: Mapping[str, int], others: Mapping[str, int]) -> dict[str, int]:
    """Returns by how much each name is more frequent, the most first."""
    more = {name: count - others.get(name, 0) for name, count in counts.items()}
    return {name: n for name, n in sorted(more.items(), key=lambda x: (-x[1], x[0])) if n > 0}


def _different_flags(a: Structure, b: Structure) -> str | None:
    on = [{flag for flag in _COSTLY_FLAGS if side.trace.header.flag(flag)} for side in (a, b)]
    if on[0] == on[1]:
        return None
    only = [", ".join(sorted(on[k] - on[1 - k])) for k in (0, 1)]
    said = [f"only {name} has {flags}" for name, flags in zip("AB", only, strict=True) if flags]
    return f"CPU times are not compared: {', '.join(said)}, which slows the host down"


def compile_facts(
    a: HostSide,
    b: HostSide,
    structures: tuple[Structure, Structure],
    steps: tuple[ComparableSteps, ComparableSteps],
) -> CompileFacts:
    """Returns what torch.compile did on both sides."""
    sides = (a, b)
    return CompileFacts(
        graphs=_pair(len(s.names_in_steps(_GRAPH)) for s in sides),
        graph_breaks=_pair(s.nested_frames() for s in sides),
        recompiles=_pair(
            recompiles(structure, bool(side.cold))
            for structure, side in zip(structures, steps, strict=True)
        ),
        regions=_pair(len(s.names_in_steps(_REGION)) for s in sides),
        graph_launches=_pair(sum(s.names_in_steps(_GRAPH_LAUNCH).values()) for s in sides),
        cold_steps=_pair(len(s.cold) for s in steps),
    )


def recompiles(structure: Structure, compiled_in_window: bool) -> int:
    """Returns how many compiled variants beyond a frame's first came up within the trace.

    A variant seen in a trace that compiles nothing was compiled before it began.
    """
    if not compiled_in_window:
        return 0
    found = {
        match.groups()
        for name in structure.trace.table.names
        if (match := _REGION.match(name)) is not None and match.group(2) != "0"
    }
    return len(found)


def _pair(values: Iterable[int]) -> Pair:
    left, right = values
    return left, right


def flags_on(structure: Structure) -> tuple[str, ...]:
    """Returns the capture flags that were on."""
    return tuple(flag for flag in _FLAGS if structure.trace.header.flag(flag))
