from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pytest
from tests.traces import TraceBuilder, trace

from ptx.profiling.api import load
from ptx.profiling.structure.tree import NodeKind
from ptx.profiling.tensors.effects import all_effects, effect_of, tensor_fields
from ptx.profiling.tensors.inputs import Tensor

if TYPE_CHECKING:
    from pathlib import Path

    from ptx.profiling.structure.structure import Structure
    from ptx.profiling.tensors.effect import Effect


Item: TypeAlias = Any  # a tensor as (sizes, strides[, type]), or the text of a value


class Calls:
    """A trace under construction: ops one behind another, each with its inputs and inner ops."""

    def __init__(self) -> None:
        self.builder = trace()
        self._now = 0

    def op(self, name: str, *inputs: Item, inner: tuple[tuple[Any, ...], ...] = ()) -> Calls:
        start = self._now
        self._now += 1
        for inside in inner:
            self.op(*inside)
        self._now += 1
        self.builder.op(name, start, self._now - start, **recorded(inputs))
        self._now += 1
        return self

    def load(self, folder: Path) -> Structure:
        return load(self.builder.write(folder / "t.json")).structure


def recorded(inputs: tuple[Any, ...]) -> dict[str, object]:
    """Returns the args of an op; a tensor is (sizes, strides[, type]), a value is a string."""
    dims, strides, types, values = [], [], [], []
    for item in inputs:
        tensor = isinstance(item, tuple)
        dims.append(item[0] if tensor else [])
        strides.append(item[1] if tensor else [])
        is_value = item not in (None, "")
        kind = "ScalarList" if is_value and str(item).startswith("[") else "Scalar"
        types.append((item[2:] or ("float",))[0] if tensor else kind if is_value else "")
        values.append("" if tensor or item is None else item)
    return {
        "Input_Dims": dims,
        "Input_Strides": strides,
        "Input_type": types,
        "Concrete_Inputs": values,
    }


def first_op(structure: Structure, name: str) -> int:
    tree, table = structure.tree, structure.trace.table
    ops = np.flatnonzero(tree.kind == NodeKind.OP).tolist()
    return next(node for node in ops if table.name_of(int(tree.event[node])) == name)


def effect(folder: Path, name: str, *inputs: Item, inner: tuple[Any, ...] = ()) -> Effect | None:
    structure = Calls().op(name, *inputs, inner=inner).load(folder)
    return effect_of(structure, first_op(structure, name))


def text(folder: Path, name: str, *inputs: Item, inner: tuple[Any, ...] = ()) -> str:
    found = effect(folder, name, *inputs, inner=inner)
    assert found is not None
    return found.text()


X = ([64, 32], [32, 1])


@pytest.mark.parametrize(
    ("name", "inputs", "said"),
    [
        ("aten::t", (X,), "view of input 0 (no kernel): (64,32) [32,1] -> [1,32] offset 0"),
        (
            "aten::transpose.int",
            (X, "0", "1"),
            "view of input 0 (no kernel): (64,32) [32,1] -> [1,32] offset 0",
        ),
        (
            "aten::select",
            (X, "0", "3"),
            "view of input 0 (no kernel): (64,32) [32,1] -> (32) [1] offset 96",
        ),
        (
            "aten::split",
            (X, "16", "0"),
            "view of input 0 (no kernel): (64,32) [32,1] -> (16,32) [32,1] and 3 more offset 0",
        ),
        (
            "aten::as_strided",
            (X, "[2, 2]", "[1, 1]", "7"),
            "view of input 0 (no kernel): (64,32) [32,1] -> (2,2) [1,1] storage offset 7",
        ),
        ("aten::view", (X, "[-1, 7]"), "failed view of input 0: torch refused the call"),
        ("aten::add_", (X, X, "1"), "writes 8192 B to input 0 in place"),
        (
            "aten::t_",
            (X,),
            "changes input 0 in place (no kernel): (64,32) [32,1] -> [1,32] offset 0",
        ),
        (
            "aten::copy_",
            (X, ([64, 32], [1, 64], "c10::BFloat16"), "False"),
            "copies 8192 B into input 0 (1,64 -> 32,1, bf16 -> f32)",
        ),
        ("aten::clone", (X, "0"), "copies 8192 B (32,1 -> 32,1)"),
        ("aten::add", (X, X, "1"), "new tensor f32 (64,32) [32,1], 8192 B"),
        ("aten::add", (X, X, "1", X), "writes 8192 B to input 3 in place"),
        ("aten::contiguous", (X, "0"), "returns input 0 itself (no kernel)"),
        ("aten::some_new_op", (X,), "new tensor"),
        ("mine::norm", (X,), "not known"),
        ("mine::norm_", (X,), "writes 8192 B to input 0 in place"),
        ("aten::set_", (([0], [1]), X), "changes input 1 in place (no kernel): (64,32) [32,1]"
         " -> [32,1]"),
        ("aten::mul_", (), "writes an unknown number of bytes to input 0 in place"),
    ],
)  # fmt: skip
def test_an_effect_is_said_in_one_line(
    tmp_path: Path, name: str, inputs: tuple[Any, ...], said: str
) -> None:
    assert text(tmp_path, name, *inputs) == said


@pytest.mark.parametrize(
    "name", ["aten::item", "autograd::engine::evaluate_function: MulBackward0", "MulBackward0"]
)
def test_ops_without_a_tensor_of_their_own_have_no_effect(tmp_path: Path, name: str) -> None:
    assert effect(tmp_path, name, X) is None


def test_what_ran_inside_tells_a_copy_from_a_view(tmp_path: Path) -> None:
    transposed = ([64, 32], [1, 64])
    copied = effect(
        tmp_path,
        "aten::reshape",
        transposed,
        "[2048]",
        inner=(
            ("aten::clone", transposed, "0"),
            ("aten::_unsafe_view", X, "[2048]"),
        ),
    )
    assert copied is not None
    assert (copied.kind, copied.written_bytes) == ("copy", 8192)
    assert copied.after == Tensor("f32", (2048,), (1,))
    assert text(tmp_path, "aten::reshape", X, "[2048]", inner=(("aten::view", X, "[2048]"),)) == (
        "view of input 0 (no kernel): (64,32) [32,1] -> (2048) [1] offset 0"
    )


def test_a_tensor_that_must_grow_gets_new_memory(tmp_path: Path) -> None:
    empty = ([0], [1])
    grown = effect(tmp_path, "aten::resize_", empty, "[2, 8, 4, 4]", "2")
    assert grown is not None
    assert grown.kind == "new"
    assert grown.after == Tensor("f32", (2, 8, 4, 4), (128, 1, 32, 8))
    kept = effect(tmp_path, "aten::resize_", X, "[32, 64]", "")
    assert kept is not None
    assert kept.kind == "in_place"
    out = effect(
        tmp_path, "aten::arange", "0", "5", "1", empty, inner=(("aten::resize_", empty, "[5]", ""),)
    )
    assert out is not None
    assert (out.kind, out.after) == ("new", Tensor("f32", (5,), (1,)))


def test_the_offset_of_a_slice_is_that_of_the_as_strided_inside(tmp_path: Path) -> None:
    found = effect(
        tmp_path,
        "aten::slice",
        ([16, 32], [32, 1]),
        "0",
        "2",
        "16",
        "1",
        inner=(("aten::as_strided", ([16, 32], [32, 1]), "[14, 32]", "[32, 1]", "192"),),
    )
    assert found is not None
    assert (found.shift, found.storage_offset) == (64, 192)


def test_without_recorded_strides_the_sizes_of_a_view_are_told(tmp_path: Path) -> None:
    args: dict[str, object] = {"Input_Dims": [[4, 6], []], "Input_type": ["float", "ScalarList"]}
    builder = trace().op("aten::permute", 0, 5, **args, Concrete_Inputs=["", "[1, 0]"])
    found = effect_of(load(builder.write(tmp_path / "t.json")).structure, 0)
    assert found is not None
    assert found.after == Tensor("f32", (6, 4), None)
    assert found.shift is None


def test_without_recorded_values_a_view_takes_its_sizes_from_a_later_op(tmp_path: Path) -> None:
    later: dict[str, object] = {"Input_Dims": [[6, 4]], "Input_type": ["float"]}
    args: dict[str, object] = {"Input_Dims": [[4, 6], []], "Input_type": ["float", "ScalarList"]}
    builder = trace().op("aten::permute", 0, 5, **args).op("aten::exp", 10, 5, **later)
    found = effect_of(load(builder.write(tmp_path / "t.json")).structure, 0)
    assert found is not None
    assert (found.after, found.certainty) == (Tensor("f32", (6, 4), None), "as used later")


def memory(builder: TraceBuilder, start: int, size: int, address: int) -> None:
    builder.add(
        {"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1, "tid": 1,
         "ts": start, "args": {"Bytes": size, "Addr": address, "Device Id": 0}}
    )  # fmt: skip


def test_memory_that_an_op_kept_sizes_its_output(tmp_path: Path) -> None:
    calls = Calls().op("aten::_mystery", X, inner=(("aten::empty",),) * 4)
    memory(calls.builder, 1, 4096, 1)
    memory(calls.builder, 3, 8192, 2)
    memory(calls.builder, 5, -4096, 1)
    memory(calls.builder, 90, 512, 3)
    alone = calls.load(tmp_path)
    found = effect_of(alone, first_op(alone, "aten::_mystery"))
    assert found is not None
    assert (found.written_bytes, found.certainty) == (8192, "by allocation")
    assert found.after is None
    calls.op("aten::relu", ([2], [1])).op("aten::relu", ([2048], [1]))
    followed = calls.load(tmp_path)
    found = effect_of(followed, first_op(followed, "aten::_mystery"))
    assert found is not None
    assert (found.after, found.certainty) == (Tensor("f32", (2048,), (1,)), "as used later")


def test_the_fields_of_a_node_are_those_of_the_contract(tmp_path: Path) -> None:
    structure = Calls().op("aten::transpose", X, "0", "1").load(tmp_path)
    assert tensor_fields(structure, 0) == {
        "inputs": [
            {"kind": "tensor", "dtype": "f32", "shape": [64, 32], "strides": [32, 1],
             "layout": "contiguous", "value": None},
            {"kind": "scalar", "dtype": None, "shape": None, "strides": None,
             "layout": None, "value": "0"},
            {"kind": "scalar", "dtype": None, "shape": None, "strides": None,
             "layout": None, "value": "1"},
        ],
        "effect": {
            "class": "view", "of_input": 0, "from_strides": [32, 1], "to_shape": [32, 64],
            "to_strides": [1, 32], "storage_offset": None, "bytes": 0, "source": "by rule",
        },
    }  # fmt: skip


def test_lists_of_tensors_have_lists_in_their_fields(tmp_path: Path) -> None:
    listed: dict[str, object] = {"Input_Dims": [[[2], [3]]], "Input_type": ["TensorList"]}
    builder = trace().op("aten::cat", 0, 5, **listed, Input_Strides=[[[1], [1]]])
    structure = load(builder.write(tmp_path / "t.json")).structure
    (fields,) = tensor_fields(structure, 0, all_effects(structure))["inputs"]
    assert (fields["kind"], fields["shape"]) == ("tensor_list", [[2], [3]])
    assert fields["layout"] == ["contiguous", "contiguous"]


def test_nodes_that_are_no_ops_have_no_effect(tmp_path: Path) -> None:
    builder = trace().annotation("step", 0, 5)
    structure = load(builder.write(tmp_path / "t.json")).structure
    assert tensor_fields(structure, 0) == {"inputs": [], "effect": None}
