"""How two calls of one op differ: sizes, layouts, types and values, position by position."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ptx.profiling.analysis.comparison.calls import Call
    from ptx.profiling.tensors.inputs import Input, Tensor

_NAMED = {
    "_scaled_dot_product_cudnn_attention": {6: "is_causal"},
    "_cudnn_attention_forward": {10: "is_causal"},
    "_scaled_dot_product_flash_attention": {4: "is_causal"},
    "_scaled_dot_product_efficient_attention": {6: "is_causal"},
}
"""What some positions mean (pytorch aten/src/ATen/native/native_functions.yaml)."""

_OPERANDS = {"attention": ("q", "k", "v", "mask"), "convolution": ("input", "weight", "bias")}


def differences(a: Call, b: Call) -> tuple[str, ...]:
    """Returns what differs between the operands of two calls, () where nothing is known to.

    An output that is handed in (`out=`) is no operand. Of matrix products only sizes, types and
    layouts count: `bmm` of one matrix is `mm`.
    """
    if a.gemm is not None and b.gemm is not None:
        return tuple(_products(a, b))
    if not a.has_sizes or not b.has_sizes:
        return ()
    return tuple(_positions(a, b))


def launch_differences(a: Call, b: Call) -> tuple[str, ...]:
    """Returns how the launches of two calls differ that run kernels of the same names."""
    words = ("grid", "block", "shared memory", "bytes")
    found = []
    for one, other in zip(a.kernels, b.kernels, strict=True):
        for word, left, right in zip(words, one.configuration, other.configuration, strict=False):
            if left != right and left and right:
                found.append(f"{word} {left.decode()} -> {right.decode()}")
    return tuple(dict.fromkeys(found))


def _products(a: Call, b: Call) -> Iterator[str]:
    one, other = a.gemm, b.gemm
    assert one is not None
    assert other is not None
    left, right = ((g.batch, g.m, g.k, g.n) for g in (one, other))
    if left != right:
        yield f"batch x M x K x N {_by(left)} -> {_by(right)}"
    if one.dtype != other.dtype:
        yield f"type {one.dtype} -> {other.dtype}"
    if one.layouts and other.layouts and not one.layouts & other.layouts:
        yield f"layout {' or '.join(sorted(one.layouts))} -> {' or '.join(sorted(other.layouts))}"


def _by(sizes: Sequence[int]) -> str:
    return "x".join(map(str, sizes))


def _positions(a: Call, b: Call) -> Iterator[str]:
    values = any(item.value is not None for call in (a, b) for item in call.inputs)
    for position, (one, other) in enumerate(zip_longest(a.inputs, b.inputs)):
        if one == other:
            continue
        if one is None or other is None:
            extra = other if one is None else one
            if extra.tensor is not None and position == max(len(a.inputs), len(b.inputs)) - 1:
                continue  # the output, handed in
        if _is_value(one) and _is_value(other) and (not values or _changes_by_step(a, one, other)):
            continue
        yield f"{_word(a, position)} {_change(one, other)}"


def _changes_by_step(call: Call, one: Input | None, other: Input | None) -> bool:
    """Returns whether two values are real numbers of an optimizer: rates that follow the step."""
    texts = [item.value or "" if item is not None else "" for item in (one, other)]
    return call.phase == "optimizer" and all("." in text or "e-" in text for text in texts)


def _change(one: Input | None, other: Input | None) -> str:
    """Returns what an operand was and is: sizes where they differ, else strides, else types."""
    before = one.tensor if one is not None else None
    after = other.tensor if other is not None else None
    if before is None or after is None:
        return f"{_text(one)} -> {_text(other)}"
    if before.shape != after.shape:
        return f"{_numbers(before.shape)} -> {_numbers(after.shape)}"
    if before.dtype != after.dtype:
        return f"{before.dtype} -> {after.dtype}"
    return f"{_numbers(before.shape)} strides {_strides(before)} -> {_strides(after)}"


def _numbers(values: Sequence[int]) -> str:
    return f"({','.join(map(str, values))})"


def _strides(tensor: Tensor) -> str:
    return "unknown" if tensor.strides is None else _numbers(tensor.strides)


def _is_value(item: Input | None) -> bool:
    return item is None or item.kind in ("scalar", "absent")


def _word(call: Call, position: int) -> str:
    named = _NAMED.get(call.leaf, {}).get(position)
    if named is None:
        words = _OPERANDS.get(call.kind.removesuffix("_backward"), ())
        named = words[position] if position < len(words) else f"input {position}"
    return named


def _text(item: Input | None) -> str:
    if item is None or item.kind == "absent":
        return "none"
    if item.tensor is not None:
        return f"{item.tensor.dtype} {_numbers(item.tensor.shape)}"
    if item.kind == "tensor_list":
        return f"{len(item.tensors)} tensors of {sum(t.numel for t in item.tensors)} elements"
    return item.value or "?"
