"""Exact answers from an Execution Trace: outputs with their strides, and which storage they use.

PyTorch's ExecutionTraceObserver writes one node an op with the storage of every tensor. A node
belongs to the op of the profiler's trace whose `Record function id` is its `rf_id`.
"""

from __future__ import annotations

import gzip
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from ptx.profiling.errors import TraceFormatError
from ptx.profiling.tensors.effect import Effect, EffectKind
from ptx.profiling.tensors.inputs import DTYPES, Tensor
from ptx.profiling.tensors.op_names import COPYING
from ptx.profiling.tensors.ops import base_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

_WRITTEN = re.compile(r"^[^(]*\((.*?)Tensor\([^)]*!\)")
_COMMA = re.compile(r", (?![^\[]*\])")  # not those inside a default such as [1, 1]
_ENDINGS = (".json.gz", ".json")


@dataclass(frozen=True, slots=True)
class Stored:
    """A tensor with its identity: `tensor_id`, its storage and where it starts there (elements)."""

    tensor_id: int
    storage_id: int
    offset: int
    tensor: Tensor


@dataclass(frozen=True, slots=True)
class Recorded:
    """One node: the op's name, its schema, and (position, tensor) of all inputs and outputs."""

    name: str
    schema: str
    inputs: tuple[tuple[int, Stored], ...]
    outputs: tuple[tuple[int, Stored], ...]


class ExecutionTrace:
    """The nodes of an Execution Trace by their record function id."""

    def __init__(self, nodes: Iterable[dict[str, Any]]) -> None:
        self._nodes = {}
        for node in nodes:
            number = _attributes(node).get("rf_id")
            if isinstance(number, int) and number > 0:
                self._nodes[number] = node

    def __len__(self) -> int:
        """Returns the number of ops recorded."""
        return len(self._nodes)

    def at(self, record_id: int, name: str) -> Recorded | None:
        """Returns the node of an op, None where the id or the name does not match."""
        node = self._nodes.get(record_id)
        if node is None or base_name(str(node.get("name"))) != base_name(name):
            return None
        try:
            return Recorded(
                name,
                str(_attributes(node).get("op_schema") or ""),
                tuple(_stored(node["inputs"])),
                tuple(_stored(node["outputs"])),
            )
        except (KeyError, TypeError, ValueError, IndexError):
            return None  # another schema version: the op is judged by rule


def read_execution_trace(path: Path) -> ExecutionTrace:
    """Returns an Execution Trace, plain or gzip.

    Raises:
        TraceFormatError: the file cannot be read or is no Execution Trace.
    """
    try:
        text = path.read_bytes()
        document = orjson.loads(gzip.decompress(text) if text[:2] == b"\x1f\x8b" else text)
        nodes = document["nodes"]
        return ExecutionTrace(node for node in nodes if isinstance(node, dict))
    except OSError as error:
        raise TraceFormatError(path, error.strerror or str(error)) from error
    except (EOFError, ValueError, KeyError, TypeError) as error:
        raise TraceFormatError(path, "not an Execution Trace") from error


def beside(trace: Path) -> Path | None:
    """Returns the Execution Trace that lies beside a trace by name: X.et.json for X.json."""
    for ending in _ENDINGS:
        if trace.name.endswith(ending):
            stem = trace.name[: -len(ending)]
            found = (trace.with_name(f"{stem}.et{end}") for end in _ENDINGS)
            return next((path for path in found if path.is_file()), None)
    return None


def effect_recorded(op: Recorded) -> Effect | None:
    """Returns what an op did, from the storages of its tensors; None if it returned no tensor.

    An output in an input's storage is a view of it, or the input itself; where the schema marks
    an argument as written (`!`) the op wrote in place.
    """
    writes = "!" in op.schema
    if not op.outputs:
        return _writes_only(op) if writes else None
    out = op.outputs[0][1]
    position = _shared_input(op, out)
    before = next((s.tensor for at, s in op.inputs if at == (position or 0)), None)
    kind = _kind(op, out, position, writes)
    return Effect(
        kind,
        0 if kind == "copy" else position,
        before if kind != "new" else None,
        out.tensor,
        out.offset,
        _shift(op, out, position),
        0 if kind in ("view", "no_op") else out.tensor.touched_bytes,
        "exact",
        len(op.outputs),
    )


def _kind(op: Recorded, out: Stored, position: int | None, writes: bool) -> EffectKind:
    if position is None:
        return "copy" if base_name(op.name) in COPYING else "new"
    if writes:
        return "in_place"
    same = any(out.tensor_id == stored.tensor_id for _, stored in op.inputs)
    return "no_op" if same else "view"


def _writes_only(op: Recorded) -> Effect | None:
    """Returns the effect of an op that returns nothing and writes to what it was given."""
    if not op.inputs:
        return None
    position, first = op.inputs[0]
    return Effect("in_place", position, first.tensor, first.tensor, first.offset, certainty="exact")


def _shared_input(op: Recorded, out: Stored) -> int | None:
    """Returns the position of the input whose memory an output uses: itself before its storage."""
    written = _WRITTEN.search(op.schema)
    if written is not None:
        position = len(_COMMA.findall(written.group(1).replace("*, ", "")))
        if any(at == position and s.storage_id == out.storage_id for at, s in op.inputs):
            return position
    if out.tensor.numel == 0 and "(a" not in op.schema:
        return None  # all tensors without elements share one storage
    own = [at for at, s in op.inputs if s.tensor_id == out.tensor_id]
    shared = [at for at, s in op.inputs if s.storage_id == out.storage_id]
    return next((at for at in (*own, *shared) if at in shared), None)


def _shift(op: Recorded, out: Stored, position: int | None) -> int | None:
    starts = [stored.offset for at, stored in op.inputs if at == position]
    return out.offset - starts[0] if starts else None


def _attributes(node: dict[str, Any]) -> dict[str, Any]:
    attributes = node.get("attrs")
    if not isinstance(attributes, list):
        return {}
    return {a["name"]: a.get("value") for a in attributes if isinstance(a, dict) and "name" in a}


def _stored(side: dict[str, Any]) -> Iterator[tuple[int, Stored]]:
    strides = side.get("strides") or [None] * len(side["values"])
    columns = zip(side["values"], side["shapes"], side["types"], strides, strict=False)
    for position, (value, shape, type_, stride) in enumerate(columns):
        words = type_.removeprefix("GenericList[").removesuffix("]").split(",")
        if type_.startswith("GenericList["):
            entries = zip(value, shape, words, stride or [None] * len(value), strict=False)
        else:
            entries = zip([value], [shape], [type_], [stride], strict=True)
        for item, sizes, word, steps in entries:
            if word.startswith("Tensor("):
                dtype = word.removeprefix("Tensor(").removesuffix(")")
                yield (
                    position,
                    Stored(
                        item[0],
                        item[1],
                        item[2],
                        Tensor(
                            DTYPES.get(dtype, dtype),
                            tuple(sizes),
                            None if steps is None else tuple(steps),
                        ),
                    ),
                )
