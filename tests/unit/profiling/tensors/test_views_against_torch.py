from __future__ import annotations

import random
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.unit.profiling.tensors.view_cases import TorchTensor, cases, random_tensor

from ptx.profiling.api import load
from ptx.profiling.structure.tree import NodeKind
from ptx.profiling.tensors.arguments import SCALAR_TYPES
from ptx.profiling.tensors.effects import effect_of
from ptx.profiling.tensors.inputs import Tensor
from ptx.profiling.tensors.op_names import ALWAYS_VIEWS, MAY_ALIAS
from ptx.profiling.tensors.ops import base_name

if TYPE_CHECKING:
    from pathlib import Path

    from ptx.profiling.structure.structure import Structure
    from ptx.profiling.tensors.effect import Effect

pytestmark = pytest.mark.torch
CALLS_EACH = 40
# What the page "Tensor Views" of torch's documentation lists, under the profiler's names.
DOCUMENTED = {
    "adjoint", "as_strided", "detach", "diagonal", "expand", "expand_as", "movedim", "narrow",
    "permute", "select", "squeeze", "transpose", "t", "numpy_T", "mT", "mH", "real", "imag",
    "view_as_real", "unflatten", "unfold", "unsqueeze", "view", "view_as", "unbind", "split",
    "hsplit", "vsplit", "tensor_split", "split_with_sizes", "swapaxes", "swapdims", "chunk",
    "slice", "contiguous", "reshape", "flatten",
}  # fmt: skip
# Words of refusals that no trace explains: offset and size of a storage are not recorded.
UNRECORDED = ("storage_offset", "out of bounds for storage")
# Aliases in schemas of no tensor, of remote references, and of ops that only autograd calls.
NOT_OF_TENSORS = {
    "__getitem__", "_unwrap_optional", "get", "keys", "local_value", "pop", "setdefault", "to_here",
    "_test_autograd_multiple_dispatch_view",
}  # fmt: skip


@dataclass(frozen=True)
class Truth:
    """What torch did: the class, and the first output; or the `error` with which it refused."""

    kind: str
    after: Tensor | None
    offset: int | None
    shift: int | None
    pieces: int
    error: str = ""


def truth_of(x: TorchTensor, result: TorchTensor) -> Truth:
    pieces = result if isinstance(result, (list, tuple)) else [result]
    if not pieces:
        return Truth("view", None, None, None, 0)
    first = pieces[0]
    if first is x:
        kind = "no_op"
    elif first.untyped_storage().data_ptr() == x.untyped_storage().data_ptr():
        kind = "view"
    else:
        kind = "copy"
    dtype = SCALAR_TYPES[_number_of(first.dtype)]
    after = Tensor(dtype, tuple(first.shape), tuple(first.stride()))
    same_type = first.dtype == x.dtype
    shift = first.storage_offset() - x.storage_offset() if same_type else None
    return Truth(kind, after, first.storage_offset(), shift, len(pieces))


def _number_of(dtype: TorchTensor) -> int:
    import torch

    table = {
        torch.int8: 1, torch.int16: 2, torch.int64: 4, torch.float32: 6, torch.float64: 7,
        torch.complex64: 9, torch.bool: 11, torch.bfloat16: 15,
    }  # fmt: skip
    return table[dtype]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Structure, list[Any]]:
    """Returns a trace of all calls, and (name, truth) of each in order."""
    torch = pytest.importorskip("torch")
    rng = random.Random(20)
    planned = []
    for name, case in cases(torch).items():
        for _ in range(CALLS_EACH):
            x = random_tensor(torch, rng)
            planned.append((name, x, case(x, rng)))
    truths: list[tuple[str, Truth]] = []
    path: Path = tmp_path_factory.mktemp("views") / "views.json"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with torch.profiler.profile(record_shapes=True) as profile:
            for number, (name, x, call) in enumerate(planned):
                with torch.profiler.record_function(f"call {number}"):
                    try:
                        truths.append((name, truth_of(x, call())))
                    except (RuntimeError, IndexError, ValueError) as error:
                        truths.append((name, Truth("view", None, None, None, 0, str(error))))
        profile.export_chrome_trace(str(path))
    return load(path).structure, truths


def calls_of(structure: Structure) -> dict[int, list[int]]:
    """Returns the op nodes directly below each numbered annotation."""
    tree, table = structure.tree, structure.trace.table
    found: dict[int, list[int]] = {}
    for node in np.flatnonzero(tree.kind == NodeKind.ANNOTATION).tolist():
        word, _, number = table.name_of(int(tree.event[node])).partition(" ")
        if word == "call":
            below = np.flatnonzero(tree.parent == node).tolist()
            found[int(number)] = [n for n in below if tree.kind[n] == NodeKind.OP]
    return found


def difference(effect: Effect | None, truth: Truth) -> str | None:
    """Returns what of an answer is wrong, None if nothing is."""
    if effect is None:
        return "no answer"
    if truth.error:
        return None if effect.failed else "torch refused, ptx does not say so"
    if effect.failed:
        return "torch did it, ptx says that it failed"
    if effect.kind != truth.kind:
        return f"class {effect.kind}, truly {truth.kind}"
    if effect.after != truth.after:
        return f"output {effect.after}, truly {truth.after}"
    if truth.kind == "view" and effect.pieces != truth.pieces:
        return f"{effect.pieces} outputs, truly {truth.pieces}"
    if effect.storage_offset not in (None, truth.offset):
        return f"offset {effect.storage_offset}, truly {truth.offset}"
    if truth.kind == "view" and None not in (effect.shift, truth.shift):
        return None if effect.shift == truth.shift else f"shift {effect.shift}: {truth.shift}"
    return None


def test_every_view_op_on_random_tensors_gets_the_answer_that_torch_gives(
    recorded: tuple[Structure, list[tuple[str, Truth]]],
) -> None:
    structure, truths = recorded
    below = calls_of(structure)
    wrong: list[str] = []
    judged: dict[str, int] = {}
    for number, (name, truth) in enumerate(truths):
        nodes = below.get(number, [])
        events = [int(structure.tree.event[node]) for node in nodes]
        names = [base_name(structure.trace.table.name_of(event)) for event in events]
        nothing = truth.pieces == 0 and not truth.error
        if name not in names or nothing:
            continue  # refused before the op ran, or nothing came out
        node = nodes[names.index(name)]
        if any(word in truth.error for word in UNRECORDED):
            continue
        found = difference(effect_of(structure, node), truth)
        judged[name] = judged.get(name, 0) + 1
        if found is not None:
            wrong.append(f"{name}: {found} of {effect_of(structure, node)}")
    print("\n".join(wrong))
    assert not wrong, f"{len(wrong)} of {sum(judged.values())}"
    assert {name for name, count in judged.items() if count < CALLS_EACH // 8} == set()


def test_every_documented_view_op_is_among_the_calls() -> None:
    torch = pytest.importorskip("torch")
    assert DOCUMENTED - set(cases(torch)) == set()


def test_every_op_whose_schema_says_that_it_may_alias_is_known() -> None:
    torch = pytest.importorskip("torch")
    aliasing = set()
    for schema in torch._C._jit_get_all_schemas():
        marks = [r.alias_info for r in schema.returns if r.alias_info is not None]
        if schema.name.startswith("aten::") and marks and not any(m.is_write for m in marks):
            aliasing.add(schema.name.removeprefix("aten::"))
    assert aliasing - NOT_OF_TENSORS - ALWAYS_VIEWS - MAY_ALIAS == set()
