"""What every op of a trace did with memory: exact, by rule, by allocation or as used later."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ptx.profiling.structure.tree import NodeKind
from ptx.profiling.tensors.allocations import Allocations
from ptx.profiling.tensors.execution_trace import effect_recorded
from ptx.profiling.tensors.inputs import OpInputs, op_inputs
from ptx.profiling.tensors.later import as_used_later
from ptx.profiling.tensors.layouts import layout_of
from ptx.profiling.tensors.ops import Op, ReadInputs
from ptx.profiling.tensors.rules import effect_by_rule

if TYPE_CHECKING:
    from ptx.profiling.structure.structure import Structure
    from ptx.profiling.tensors.effect import Effect
    from ptx.profiling.tensors.execution_trace import ExecutionTrace
    from ptx.profiling.tensors.inputs import Input
    from ptx.profiling.tensors.ops import InputSource

_LARGEST_KEY_NODES = 64


class Effects:
    """The effects of a trace's ops, worked out when asked for.

    Args:
        structure: the trace.
        et: its Execution Trace, which makes the answers exact.
        inputs: all inputs read at once (`op_inputs`), for asking about many ops; without it each
            op is read from the file. Ops alike in all that they record then share one answer.
    """

    def __init__(
        self,
        structure: Structure,
        et: ExecutionTrace | None = None,
        inputs: OpInputs | None = None,
    ) -> None:
        self._structure = structure
        self._et = et
        self._source: InputSource = inputs or ReadInputs(structure)
        self._bulk = inputs
        self._known: dict[bytes, Effect | None] = {}
        self._allocations = Allocations(structure)

    def inputs(self, node: int) -> tuple[Input, ...]:
        """Returns the inputs of a node of the tree."""
        return self._source.at(node)

    def of(self, node: int) -> Effect | None:
        """Returns what the op at a node did, None for other nodes and ops without a tensor."""
        if self._structure.tree.kind[node] != NodeKind.OP:
            return None
        found = self._exact(node)
        if found is not None:
            return found
        found = self._by_rule(node)
        if found is None or found.after is not None or found.failed:
            return found
        if found.kind == "new" and found.written_bytes is None:
            size = self._allocations.left_by(node)
            if size is not None:
                found = replace(found, written_bytes=size, certainty="by allocation")
        return as_used_later(self._structure, self._source, node, found)

    def _exact(self, node: int) -> Effect | None:
        if self._et is None:
            return None
        event = self._structure.trace.args.event(int(self._structure.tree.event[node])) or {}
        args = event.get("args")
        number = args.get("Record function id") if isinstance(args, dict) else None
        recorded = self._et.at(number, str(event.get("name"))) if type(number) is int else None
        return None if recorded is None else effect_recorded(recorded)

    def _by_rule(self, node: int) -> Effect | None:
        key = self._key(node)
        if key is None:
            return effect_by_rule(Op(self._structure, self._source, node))
        if key not in self._known:
            self._known[key] = effect_by_rule(Op(self._structure, self._source, node))
        return self._known[key]

    def _key(self, node: int) -> bytes | None:
        """Returns what the rules read of an op and all inside it, None where that is much."""
        tree = self._structure.tree
        size = int(tree.size[node])
        if self._bulk is None or size > _LARGEST_KEY_NODES:
            return None
        nodes = slice(node, node + size)
        event = tree.event[nodes]
        columns = (
            self._structure.trace.table.name[event],
            self._bulk.records[event],
            tree.size[nodes],
            tree.kind[nodes].astype(np.int32),
        )
        return np.concatenate(columns).tobytes()


def effect_of(structure: Structure, node: int, et: ExecutionTrace | None = None) -> Effect | None:
    """Returns what the op at one node did, None for other nodes and for ops without a tensor.

    Args:
        structure: the trace.
        node: a node of its tree.
        et: the trace's Execution Trace, which makes the answer exact.
    """
    return Effects(structure, et).of(node)


def all_effects(structure: Structure, et: ExecutionTrace | None = None) -> Effects:
    """Returns the effects for asking about many ops: their inputs are read in one pass."""
    return Effects(structure, et, op_inputs(structure))


def tensor_fields(
    structure: Structure, node: int, effects: Effects | None = None
) -> dict[str, Any]:
    """Returns the members `inputs` and `effect` of a node in `ptx.tree/1`.

    Args:
        structure: the trace.
        node: a node of its tree.
        effects: the trace's effects (`all_effects`); give them to ask about many nodes.
    """
    effects = effects or Effects(structure)
    effect = effects.of(node)
    return {
        "inputs": [input_fields(item) for item in effects.inputs(node)],
        "effect": None if effect is None else effect_fields(effect),
    }


def input_fields(item: Input) -> dict[str, Any]:
    """Returns an input as `ptx.tree/1` has it; a list of tensors has lists in each member."""
    one = item.tensor
    if item.kind == "tensor_list":
        return {
            "kind": item.kind,
            "dtype": None,
            "shape": [list(tensor.shape) for tensor in item.tensors],
            "strides": [_listed(tensor.strides) for tensor in item.tensors],
            "layout": [layout_of(tensor) for tensor in item.tensors],
            "value": None,
        }
    return {
        "kind": item.kind,
        "dtype": None if one is None else one.dtype or None,
        "shape": None if one is None else list(one.shape),
        "strides": None if one is None else _listed(one.strides),
        "layout": None if one is None else layout_of(one),
        "value": item.value,
    }


def effect_fields(effect: Effect) -> dict[str, Any]:
    """Returns an effect as `ptx.tree/1` has it."""
    before, after = effect.before, effect.after
    return {
        "class": effect.kind,
        "of_input": effect.of_input,
        "from_strides": None if before is None else _listed(before.strides),
        "to_shape": None if after is None else list(after.shape),
        "to_strides": None if after is None else _listed(after.strides),
        "storage_offset": effect.storage_offset,
        "bytes": effect.written_bytes,
        "source": effect.certainty,
    }


def _listed(numbers: tuple[int, ...] | None) -> list[int] | None:
    return None if numbers is None else list(numbers)
