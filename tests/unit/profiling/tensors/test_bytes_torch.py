"""What a rule says is written against the tensors that torch really returns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.tensor_calls import PASS, POOL, REDUCE, SOFTMAX, call

from ptx.profiling.tensors.bytes import shares_of
from ptx.profiling.tensors.inputs import Tensor

if TYPE_CHECKING:
    from ptx.profiling.tensors.operands import Share

pytestmark = pytest.mark.torch

WORDS = {
    "torch.float32": "f32", "torch.float16": "f16", "torch.bfloat16": "bf16",
    "torch.int64": "i64", "torch.bool": "bool",
}  # fmt: skip


def described(argument: Any) -> Any:  # noqa: ANN401
    """Returns a tensor of torch as a record has it, all else unchanged."""
    if hasattr(argument, "stride"):
        return Tensor(WORDS[str(argument.dtype)], tuple(argument.shape), argument.stride())
    return argument


def outcome(op: str, kernel: str, *arguments: Any) -> tuple[Share, int]:  # noqa: ANN401
    """Returns the modelled share of an op and the bytes of what torch returns for it."""
    import torch

    result = getattr(torch.ops.aten, op)(*arguments)
    results = result if isinstance(result, (tuple, list)) else (result,)
    (share,) = shares_of(call(op, *map(described, arguments), kernels=[kernel]))
    return share, sum(r.numel() * r.element_size() for r in results)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int64", "bool"])
@pytest.mark.parametrize("op", ["add", "mul", "eq", "maximum", "div", "logical_and", "atan2"])
def test_two_operands(op: str, dtype: str) -> None:
    import torch

    wide = torch.ones(6, 1, 5, device="meta").to(getattr(torch, dtype))
    other = torch.ones(4, 5, device="meta").to(torch.float16 if dtype == "bfloat16" else wide.dtype)
    if dtype == "bool" and op == "atan2":
        other = other.to(torch.int64)
    share, written = outcome(op, PASS, wide, other)
    assert share.write_bytes == written
    assert share.read_bytes == wide.nbytes + other.nbytes


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int64"])
@pytest.mark.parametrize("op", ["neg", "exp", "sigmoid", "isnan", "abs", "sqrt", "tril", "square"])
def test_one_operand(op: str, dtype: str) -> None:
    import torch

    source = torch.ones(30, 7, device="meta").to(getattr(torch, dtype))
    share, written = outcome(op, PASS, source)
    assert share.write_bytes == written


@pytest.mark.parametrize(
    ("op", "arguments"),
    [
        ("sum", ([0, 2], True)),
        ("sum", ([], False)),
        ("mean", ([-1], False)),
        ("amax", ([1, 2], False)),
        ("argmin", (2, True)),
        ("min", (0, False)),
        ("all", (1, False)),
        ("var_mean", ([1],)),
        ("std", ([0],)),
        ("linalg_vector_norm", (2, [0, 1], True)),
        ("prod", (1, False)),
    ],
)
def test_reductions(op: str, arguments: tuple[object, ...]) -> None:
    import torch

    share, written = outcome(op, REDUCE, torch.ones(3, 4, 5, device="meta"), *arguments)
    assert share.write_bytes == written
    assert share.read_bytes == 240


@pytest.mark.parametrize("half_to_float", [False])
@pytest.mark.parametrize("op", ["_softmax", "_log_softmax"])
def test_softmax(op: str, half_to_float: bool) -> None:
    import torch

    share, written = outcome(op, SOFTMAX, torch.ones(3, 9, device="meta"), -1, half_to_float)
    assert (share.read_bytes, share.write_bytes) == (written, written)


@pytest.mark.parametrize("ceil", [False, True])
@pytest.mark.parametrize(("size", "step", "pad"), [(2, 2, 0), (3, 2, 1), (3, 1, 1), (5, 3, 2)])
@pytest.mark.parametrize("side", [7, 8, 13, 16])
def test_pooling(side: int, size: int, step: int, pad: int, ceil: bool) -> None:
    import torch

    source = torch.ones(2, 3, side, side + 3)
    places = ([size, size], [step, step], [pad, pad])
    share, written = outcome("max_pool2d_with_indices", POOL, source, *places, [1, 1], ceil)
    assert share.write_bytes == written
    share, written = outcome("avg_pool2d", POOL, source, *places, ceil, True, None)
    assert share.write_bytes == written
