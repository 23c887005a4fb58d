"""An op with its recorded inputs and the ops inside it: what every rule about tensors reads."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from ptx.profiling.structure.tree import NodeKind
from ptx.profiling.tensors.inputs import inputs_at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ptx.profiling.structure.structure import Structure
    from ptx.profiling.tensors.inputs import Input, Tensor

_PYTHON_SIDE = ("detach", "detach_")  # recorded a second time, without a namespace


class InputSource(Protocol):
    """Where inputs come from: the file on demand, or all of them read at once."""

    def at(self, node: int) -> tuple[Input, ...]:
        """Returns the inputs of a node of the tree."""


class ReadInputs:
    """Inputs read from the file op by op; right for one op and what stands around it."""

    def __init__(self, structure: Structure) -> None:
        self._structure = structure

    def at(self, node: int) -> tuple[Input, ...]:
        """Returns the inputs of a node of the tree."""
        return inputs_at(self._structure, node)


class Op:
    """One op of a trace. Its `name` has neither `aten::` nor overload, and is "" outside ATen."""

    def __init__(self, structure: Structure, source: InputSource, node: int) -> None:
        self._structure = structure
        self._source = source
        self.node = node
        self.full_name = structure.trace.table.name_of(int(structure.tree.event[node]))
        self.name = base_name(self.full_name)

    @cached_property
    def inputs(self) -> tuple[Input, ...]:
        """The recorded inputs, () for none."""
        return self._source.at(self.node)

    @cached_property
    def children(self) -> tuple[Op, ...]:
        """The ops directly inside this one, in order of time."""
        tree = self._structure.tree
        end = self.node + int(tree.size[self.node])
        found = []
        node = self.node + 1
        while node < end:
            if tree.kind[node] == NodeKind.OP:
                found.append(Op(self._structure, self._source, node))
                node += int(tree.size[node])
            else:
                node += 1
        return tuple(found)

    def inside(self) -> Iterator[Op]:
        """Yields all ops inside this one, in order of time."""
        for child in self.children:
            yield child
            yield from child.inside()

    def tensor(self, index: int) -> Tensor | None:
        """Returns the tensor at a position of the inputs."""
        return self.inputs[index].tensor if index < len(self.inputs) else None

    def first_tensor(self) -> int | None:
        """Returns the position of the first tensor or list of tensors."""
        kinds = (item.kind in ("tensor", "tensor_list") for item in self.inputs)
        return next((index for index, found in enumerate(kinds) if found), None)


def base_name(full_name: str) -> str:
    """Returns an ATen op's name without `aten::` and overload, "" for any other name."""
    if full_name in _PYTHON_SIDE:
        return full_name
    space, _, name = full_name.partition("::")
    return name.partition(".")[0] if space == "aten" else ""
