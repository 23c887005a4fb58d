from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.traces import trace

from ptx.profiling.api import load
from ptx.profiling.structure.tree import NodeKind
from ptx.profiling.tensors.inputs import Input, Tensor, inputs_at, inputs_of, op_inputs
from ptx.profiling.tensors.layouts import layout_of

if TYPE_CHECKING:
    from pathlib import Path

    from ptx.profiling.structure.structure import Structure

SCALAR_KINDS = {"Scalar": "scalar", "value": "scalar", "TensorList": "tensor_list"}


def of_types(*types: str, dims: list[Any], **more: object) -> tuple[Input, ...]:
    return inputs_of({"Input Dims": dims, "Input type": list(types), **more})


def ops_of(structure: Structure) -> list[int]:
    return np.flatnonzero(structure.tree.kind == NodeKind.OP).tolist()


def test_each_input_of_the_fault_with_lists_and_scalars_is_told_apart(shared: Path) -> None:
    name = "18-tensorlist-and-scalar-shapes"
    wanted = json.loads((shared / "faults" / f"{name}.expect.json").read_text())["inputs"]
    structure = load(shared / "faults" / f"{name}.json").structure
    bulk = op_inputs(structure)
    seen = set()
    for node in ops_of(structure):
        op = structure.trace.table.name_of(int(structure.tree.event[node]))
        seen.add(op)
        assert bulk.at(node) == inputs_at(structure, node)
        for item, want in zip(bulk.at(node), wanted[op], strict=True):
            check(item, want)
    assert seen == set(wanted)


def check(item: Input, want: dict[str, Any]) -> None:
    assert item.kind == SCALAR_KINDS.get(want.get("kind", "tensor"), "tensor")
    if item.kind == "scalar":
        assert item.value == want["value"]
    elif item.kind == "tensor_list":
        assert [list(tensor.shape) for tensor in item.tensors] == want["shapes"]
        assert want.get("tensors", len(item.tensors)) == len(item.tensors)
        if "strides" in want:
            assert [list(tensor.strides or ()) for tensor in item.tensors] == want["strides"]
    else:
        assert item.tensor is not None
        check_tensor(item.tensor, want)


def check_tensor(tensor: Tensor, want: dict[str, Any]) -> None:
    assert list(tensor.shape) == want.get("shape", list(tensor.shape))
    assert len(tensor.shape) == want.get("rank", len(tensor.shape))
    assert tensor.numel == want.get("numel", tensor.numel)
    if want.get("stride") == "not recorded":
        assert tensor.strides is None
        assert layout_of(tensor) == "not recorded"
    elif "stride" in want:
        assert list(tensor.strides or ()) == want["stride"]
    if "contiguous" in want:
        assert (layout_of(tensor) == "contiguous") == want["contiguous"]


def test_no_sizes_mean_a_tensor_a_value_or_nothing_by_the_type() -> None:
    assert of_types("float", "Scalar", "", dims=[[], [], []]) == (
        Input("tensor", Tensor("f32", (), ())),
        Input("scalar"),
        Input("absent"),
    )


def test_an_empty_list_of_tensors_is_a_list() -> None:
    assert of_types("TensorList", dims=[[]]) == (Input("tensor_list"),)


def test_lists_that_end_early_leave_the_rest_to_what_is_recorded() -> None:
    (tensor, value) = of_types("float", dims=[[2]], **{"Concrete Inputs": ["", "[4, 2]"]})
    assert tensor.tensor == Tensor("f32", (2,), None)
    assert value == Input("scalar", value="[4, 2]")


@pytest.mark.parametrize("key", ["Input Dims", "Input dims"])
def test_old_spellings_and_quoted_lists_are_read(key: str) -> None:
    assert inputs_of({key: "[[64, 768], []]", "Input type": "['float', 'Scalar']"}) == (
        Input("tensor", Tensor("f32", (64, 768), None)),
        Input("scalar"),
    )
    (untyped, nothing) = inputs_of({key: [[3], []], "Input type": []})
    assert untyped.tensor == Tensor("", (3,), None)
    assert nothing.kind == "absent"


@pytest.mark.parametrize(
    ("type_", "word", "itemsize"),
    [("c10::BFloat16", "bf16", 2), ("__int64", "i64", 8), ("c10::Float8_e4m3fn", "f8e4m3", 1),
     ("c10::complex<double>", "c128", 16), ("my::Type", "my::Type", None)],
)  # fmt: skip
def test_types_have_one_word_and_their_size(type_: str, word: str, itemsize: int | None) -> None:
    (item,) = of_types(type_, dims=[[4]])
    assert item.tensor is not None
    assert (item.tensor.dtype, item.tensor.itemsize) == (word, itemsize)
    assert item.tensor.nbytes == (None if itemsize is None else 4 * itemsize)


@pytest.mark.parametrize(
    ("shape", "strides", "touched"),
    [
        ((4, 8), (8, 1), 128),
        ((4, 8), (0, 1), 32),
        ((4, 8), None, 128),
        ((0, 8), (0, 1), 0),
        ((5, 3), (1, 1), 28),  # windows of unfold: 15 elements on 7 places
        ((), (), 4),
    ],
)
def test_touched_bytes_count_each_place_in_memory_once(
    shape: tuple[int, ...], strides: tuple[int, ...] | None, touched: int
) -> None:
    assert Tensor("f32", shape, strides).touched_bytes == touched


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=12,
)


@given(dims=JSON, strides=JSON, types=JSON, values=JSON)
def test_any_json_gives_an_answer(
    dims: object, strides: object, types: object, values: object
) -> None:
    found = inputs_of(
        {"Input Dims": dims, "Input Strides": strides, "Input type": types,
         "Concrete Inputs": values}
    )  # fmt: skip
    assert all(item.kind in ("tensor", "tensor_list", "scalar", "absent") for item in found)


def test_all_at_once_and_one_by_one_agree(samples: Path) -> None:
    structure = load(samples / "geglu_eager.json.gz").structure
    bulk = op_inputs(structure)
    ops = ops_of(structure)
    assert [bulk.at(node) for node in ops] == [inputs_at(structure, node) for node in ops]
    assert sum(len(bulk.at(node)) for node in ops) > 100


def test_equal_records_are_one_answer(tmp_path: Path) -> None:
    builder = trace()
    for start in range(0, 30, 10):
        builder.op("aten::t", start, 5, Input_Dims=[[2, 3]], Input_type=["float"])
    structure = load(builder.write(tmp_path / "t.json")).structure
    bulk = op_inputs(structure)
    first, second, third = (bulk.at(node) for node in ops_of(structure))
    assert first is second is third


def test_damaged_and_odd_arguments_are_read_around(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    events = [
        {"ph": "X", "cat": "cpu_op", "name": "aten::t", "pid": 1, "tid": 1, "ts": 10 * i, "dur": 5,
         "args": args}
        for i, args in enumerate(
            [{"Input Dims": [[2, 3]], "Input type": ["float"]}, {"Input Dims": 7}, {}]
        )
    ]  # fmt: skip
    path.write_text(json.dumps({"traceEvents": events})[:-2].replace('"aten::t"', '"a"t"', 1))
    structure = load(path).structure
    bulk = op_inputs(structure)
    found = [bulk.at(node) for node in ops_of(structure)]
    assert found == [inputs_at(structure, node) for node in ops_of(structure)]
    assert found[0] == (Input("tensor", Tensor("f32", (2, 3), None)),)
