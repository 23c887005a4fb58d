"""One side of a comparison: the kernels of a step as the units that ops launched."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ptx.profiling.analysis.comparison.calls import Call, Launched
from ptx.profiling.analysis.comparison.steps import comparable_steps
from ptx.profiling.analysis.comparison.vocabulary import base_name
from ptx.profiling.structure.tree import NodeKind
from ptx.profiling.tensors.effects import Effects
from ptx.profiling.tensors.inputs import OpInputs, op_inputs
from ptx.profiling.trace.columns import Kind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ptx.profiling.analysis.comparison.steps import ComparableSteps
    from ptx.profiling.structure.structure import Structure

_BACKWARD = re.compile(r"autograd::engine|CompiledFunctionBackward|\w+Backward\d*\Z")
_BRANCHES = re.compile(r"(Mul|Div|Where)Backward\d+\Z")
_OPTIMIZER = re.compile(r"Optimizer\.step#")
_NAMESPACED = re.compile(r"(?!autograd::|c10d::|torch::)\w+::\w")
_ATEN = re.compile(r"aten::")
_GENERATED_OP = re.compile(r"(?:graph_\d+_)?(?:triton|cpp)_\w")
_GRAPH_LAUNCH = re.compile(r"(cuda|hip|cu)GraphLaunch")
_CONFIGURATION = ("grid", "block", "shared memory", "bytes")
FORWARD, BACKWARD, OPTIMIZER = "forward", "backward", "optimizer"


@dataclass(frozen=True, slots=True)
class Unit:
    """What one op call launched, or one activity that has no op.

    Attributes:
        call: what is known of it.
        places: its activities as places in the step's sequence, ascending.
        node: the op's node in the tree, -1 without op.
        ns: their time in the compared steps, the median of each place, summed.
        branch: the autograd node above it if that computes its outputs apart from each other, as
            that of a product does; -1 for none.
    """

    call: Call
    places: tuple[int, ...]
    node: int
    ns: int
    branch: int


@dataclass(frozen=True, eq=False)
class Program:
    """A side: its trace, its comparable steps, and the units of the representative one.

    `median_ns` is the median duration of each place over the steps (int64).
    """

    structure: Structure
    steps: ComparableSteps
    units: tuple[Unit, ...]
    median_ns: NDArray[np.int64]
    inputs: OpInputs
    effects: Effects

    @property
    def rows(self) -> NDArray[np.int64]:
        """Returns the representative step's activities, as positions in `activities`."""
        rows: NDArray[np.int64] = self.steps.rows[self.steps.representative]
        return rows


def read_program(structure: Structure, *, with_shapes: bool = True) -> Program:
    """Returns a trace as one side of a comparison.

    Args:
        structure: the trace.
        with_shapes: False leaves the recorded shapes out, where the other side has none.
    """
    steps = comparable_steps(structure)
    inputs = op_inputs(structure)
    effects = Effects(structure, None, inputs)
    counted = structure.activities.counted_ns[steps.rows]
    median = (
        np.median(counted, axis=0).astype(np.int64)
        if len(steps.positions)
        else np.zeros(0, np.int64)
    )
    units = _Reader(structure, steps, inputs, effects, with_shapes=with_shapes).units(median)
    return Program(structure, steps, units, median, inputs, effects)


class _Reader:
    """Builds the units of a step; calls that look alike become one object."""

    def __init__(
        self,
        structure: Structure,
        steps: ComparableSteps,
        inputs: OpInputs,
        effects: Effects,
        *,
        with_shapes: bool,
    ) -> None:
        self._structure = structure
        self._rows = steps.rows[steps.representative] if len(steps.rows) else np.zeros(0, np.int64)
        self._inputs = inputs
        self._effects = effects
        self._with_shapes = with_shapes
        self._calls: dict[tuple[object, ...], Call] = {}
        self._is_call = _flags(structure, _NAMESPACED) | _flags(structure, _GENERATED_OP)
        self._is_aten = _flags(structure, _ATEN)
        self._branches = _flags(structure, _BRANCHES)
        self._optimizing = _inside(structure, _OPTIMIZER)
        self._going_back = _inside(structure, _BACKWARD)
        self._owner = structure.owner_op
        self._name_of = structure.trace.table.name[structure.tree.event]
        self._configuration = structure.trace.args.records(
            _CONFIGURATION, len(structure.trace.table)
        )

    def units(self, median_ns: NDArray[np.int64]) -> tuple[Unit, ...]:
        """Returns the units by their first activity."""
        structure = self._structure
        table, tree = structure.trace.table, structure.tree
        events = structure.activities.event[self._rows]
        nodes = tree.node_of[events]
        names = table.name[events].tolist()
        configurations = self._configuration.code[events].tolist()
        devices = np.searchsorted(structure.devices, table.device[events]).tolist()
        phases = np.where(self._going_back[nodes], BACKWARD, FORWARD)
        phases = np.where(self._optimizing[nodes], OPTIMIZER, phases).tolist()
        ns = median_ns.tolist()
        found = []
        for node, places in self._places():
            chain, branch = self._above(node)
            first = places[0]
            key = (
                tuple(names[k] for k in places),
                tuple(configurations[k] for k in places),
                devices[first],
                phases[first],
                chain,
                int(self._inputs.records[tree.event[node]]) if node >= 0 else -1,
            )
            call = self._calls.get(key)
            if call is None:
                call = self._calls[key] = self._new_call(
                    node, chain, events[list(places)], phases[first], devices[first]
                )
            found.append(Unit(call, places, node, sum(ns[k] for k in places), branch))
        return tuple(found)

    def _above(self, node: int) -> tuple[tuple[int, ...], int]:
        """Returns the names of an op and of the ATen ops around it, and the branch above them.

        Names are codes of the trace's table, innermost first. The branch is the node of an
        autograd function that computes its outputs apart, -1 for none.
        """
        if node < 0:
            return (), -1
        owner, name_of = self._owner, self._name_of
        chain = [int(name_of[node])]
        above = int(owner[node])
        while above >= 0 and self._is_aten[name_of[above]]:
            chain.append(int(name_of[above]))
            above = int(owner[above])
        apart = above >= 0 and self._branches[name_of[above]]
        return tuple(chain), above if apart else -1

    def _places(self) -> list[tuple[int, tuple[int, ...]]]:
        """Returns (op node or -1, places) of each unit in order of its first place."""
        structure, rows = self._structure, self._rows
        tree, table = structure.tree, structure.trace.table
        op = structure.activities.op[rows]
        node = np.where(op >= 0, tree.node_of[op], -1)
        node = np.where((node >= 0) & self._is_call[table.name[op]], node, -1)
        groups: dict[int, list[int]] = {}
        for place in np.flatnonzero(node >= 0).tolist():
            groups.setdefault(int(node[place]), []).append(place)
        units = [(at, tuple(places)) for at, places in groups.items()]
        units += [(-1, places) for places in self._without_op(np.flatnonzero(node < 0))]
        return sorted(units, key=lambda unit: unit[1])

    def _without_op(self, places: NDArray[np.intp]) -> list[tuple[int, ...]]:
        """Returns the units of activities without op: each its own.

        Within a graph launch a memset goes with the kernel that it prepares, which is never a
        generated one.
        """
        structure, rows = self._structure, self._rows
        table = structure.trace.table
        launch = structure.activities.launch[rows]
        in_graph = (launch >= 0) & _flags(structure, _GRAPH_LAUNCH)[table.name[launch]]
        clears = in_graph & (table.kind[structure.activities.event[rows]] == Kind.MEMSET)
        found: list[tuple[int, ...]] = []
        waiting: list[int] = []
        for place in places.tolist():
            if waiting and (
                launch[waiting[0]] != launch[place]
                or (not clears[place] and self._is_generated(place))
            ):
                found.append(tuple(waiting))
                waiting = []
            waiting.append(place)
            if not clears[place]:
                found.append(tuple(waiting))
                waiting = []
        return [*found, tuple(waiting)] if waiting else found

    def _is_generated(self, place: int) -> bool:
        name = self._name(place)
        return _GENERATED_OP.match(name) is not None and "fused" in name

    def _name(self, place: int) -> str:
        structure = self._structure
        return structure.trace.table.name_of(int(structure.activities.event[self._rows[place]]))

    def _new_call(
        self,
        node: int,
        chain: tuple[int, ...],
        events: NDArray[np.int32],
        phase: str,
        device: int,
    ) -> Call:
        table = self._structure.trace.table
        kernels = tuple(Launched(table.name_of(e), self._text(e)) for e in events.tolist())
        names = tuple(table.names[code] for code in chain)
        inputs = self._inputs.at(node) if node >= 0 and self._with_shapes else ()
        if names and _GENERATED_OP.match(names[0]):
            return Call((), inputs, kernels, None, phase, device)
        effect = self._effects.of(node) if inputs else None
        output = effect.after if effect is not None else None
        return Call(tuple(map(base_name, names)), inputs, kernels, output, phase, device)

    def _text(self, event: int) -> tuple[bytes, ...]:
        code = int(self._configuration.code[event])
        if code < 0:
            return ()
        return tuple(b"".join(text.split()) for text in self._configuration.texts[code])


def _flags(structure: Structure, pattern: re.Pattern[str]) -> NDArray[np.bool_]:
    """Returns one flag for each of the trace's names: whether the pattern matches its start."""
    names = structure.trace.table.names
    return np.fromiter((pattern.match(n) is not None for n in names), bool, len(names))


def _inside(structure: Structure, pattern: re.Pattern[str]) -> NDArray[np.bool_]:
    """Returns one flag a node: whether it or a host slice around it has such a name."""
    tree, table = structure.tree, structure.trace.table
    found = _flags(structure, pattern)[table.name[tree.event]] & (tree.kind != NodeKind.ACTIVITY)
    nodes = np.flatnonzero(found)
    change = np.zeros(len(tree) + 1, np.int64)
    np.add.at(change, nodes, 1)
    np.add.at(change, nodes + tree.size[nodes], -1)
    inside: NDArray[np.bool_] = np.cumsum(change[:-1]) > 0
    return inside
