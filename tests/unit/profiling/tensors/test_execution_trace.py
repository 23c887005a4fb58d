from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest
from tests.traces import trace

from ptx.profiling.api import load
from ptx.profiling.errors import TraceFormatError
from ptx.profiling.tensors.effects import effect_of
from ptx.profiling.tensors.execution_trace import beside, read_execution_trace
from ptx.profiling.tensors.inputs import Tensor

if TYPE_CHECKING:
    from pathlib import Path

    from ptx.profiling.tensors.effect import Effect

Item: TypeAlias = Any
X = (1, 10, 0, [4, 6], [6, 1])  # tensor id, storage id, offset, sizes, strides


def side(*tensors: Item) -> dict[str, Any]:
    return {
        "values": [[t[0], t[1], t[2], 24, 4, "cpu"] for t in tensors],
        "shapes": [t[3] for t in tensors],
        "types": ["Tensor(float)"] * len(tensors),
        "strides": [t[4] for t in tensors],
    }


def node(name: str, inputs: dict[str, Any], outputs: dict[str, Any], schema: str) -> dict[str, Any]:
    attributes = [{"name": "rf_id", "value": 5}, {"name": "op_schema", "value": schema}]
    return {"id": 2, "name": name, "inputs": inputs, "outputs": outputs, "attrs": attributes}


def effect(folder: Path, name: str, recorded: dict[str, Any]) -> Effect | None:
    builder = trace().op(name, 0, 5, Record_function_id=5)
    path = builder.write(folder / "x.json")
    (folder / "x.et.json").write_text(json.dumps({"nodes": [recorded]}))
    found = beside(path)
    assert found is not None
    return effect_of(load(path).structure, 0, read_execution_trace(found))


@pytest.mark.parametrize(
    ("name", "schema", "inputs", "output", "kind", "of_input"),
    [
        ("aten::t", "aten::t(Tensor(a) self)", [X], (2, 10, 0, [6, 4], [1, 6]), "view", 0),
        ("aten::to", "aten::to(Tensor(a) self)", [X], X, "no_op", 0),
        ("aten::to", "aten::to(Tensor(a) self)", [X], (2, 11, 0, [4, 6], [6, 1]), "copy", 0),
        ("aten::exp", "aten::exp(Tensor self)", [X], (2, 11, 0, [4, 6], [6, 1]), "new", None),
        ("aten::add_", "aten::add_(Tensor(a!) self, Tensor other)", [X, X], X, "in_place", 0),
        ("aten::sum", "aten::sum.out(Tensor self, int[1] d=[1, 1], *, Tensor(a!) out)",
         [(3, 12, 0, [4], [1]), X, X], X, "in_place", 2),
    ],
)  # fmt: skip
def test_storages_tell_the_class_exactly(
    tmp_path: Path,
    name: str,
    schema: str,
    inputs: list[Any],
    output: Item,
    kind: str,
    of_input: int | None,
) -> None:
    found = effect(tmp_path, name, node(name, side(*inputs), side(output), schema))
    assert found is not None
    assert (found.kind, found.of_input, found.certainty) == (kind, of_input, "exact")
    assert found.after == Tensor("f32", tuple(output[3]), tuple(output[4]))


def test_pieces_and_offsets_come_from_the_lists_of_outputs(tmp_path: Path) -> None:
    outputs = {
        "values": [[[2, 10, 0, 12, 4, "cpu"], [3, 10, 12, 12, 4, "cpu"]]],
        "shapes": [[[2, 6], [2, 6]]],
        "types": ["GenericList[Tensor(float),Tensor(float)]"],
        "strides": [[[6, 1], [6, 1]]],
    }
    found = effect(tmp_path, "aten::split", node("aten::split", side(X), outputs, ""))
    assert found is not None
    assert (found.kind, found.pieces, found.storage_offset, found.shift) == ("view", 2, 0, 0)


def test_tensors_without_elements_share_a_storage_and_no_memory(tmp_path: Path) -> None:
    nothing, other = (1, 9, 0, [0, 4], [4, 1]), (2, 9, 0, [0, 4], [4, 1])
    found = effect(
        tmp_path, "aten::exp", node("aten::exp", side(nothing), side(other), "aten::exp(Tensor s)")
    )
    assert found is not None
    assert found.kind == "new"


def test_another_op_under_the_same_number_is_not_believed(tmp_path: Path) -> None:
    other = node("aten::mul", side(X), side(X), "")
    found = effect(tmp_path, "aten::relu_", other)
    assert found is not None
    assert found.certainty == "by rule"


@pytest.mark.parametrize("part", [{}, {"values": 3}, {"values": [[1]], "shapes": [[2]]}])
def test_a_node_in_an_unknown_form_leaves_the_op_to_the_rules(
    tmp_path: Path, part: dict[str, Any]
) -> None:
    found = effect(tmp_path, "aten::relu_", node("aten::relu_", part, part, ""))
    assert found is not None
    assert found.certainty == "by rule"


@pytest.mark.parametrize("trace_name", ["run.json", "run.json.gz"])
@pytest.mark.parametrize("et_name", ["run.et.json", "run.et.json.gz"])
def test_the_execution_trace_beside_a_trace_is_found_by_name(
    tmp_path: Path, trace_name: str, et_name: str
) -> None:
    text = json.dumps({"nodes": [node("aten::t", side(X), side(X), "")]}).encode()
    path = tmp_path / et_name
    path.write_bytes(gzip.compress(text) if et_name.endswith("gz") else text)
    assert beside(tmp_path / trace_name) == path
    assert len(read_execution_trace(path)) == 1
    assert beside(tmp_path / "other.json") is None


@pytest.mark.parametrize("text", [b"", b"[1]", b'{"nodes": 3}', b"\x1f\x8b\x08 cut", b"{}"])
def test_a_file_that_is_no_execution_trace_is_refused_by_name(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "x.et.json"
    path.write_bytes(text)
    with pytest.raises(TraceFormatError, match=r"x\.et\.json"):
        read_execution_trace(path)


def test_a_missing_file_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(TraceFormatError, match="gone"):
        read_execution_trace(tmp_path / "gone.et.json")
