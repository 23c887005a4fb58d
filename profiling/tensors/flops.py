"""Floating-point operations of matrix products, convolutions and attention, from their shapes.

A multiply and an add count as two. Where a causal mask is stated for square attention only the
scores that it keeps count: n (n + 1) / 2 of n x n.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from ptx.profiling.tensors.elementwise import broadcast
from ptx.profiling.tensors.gemm import Gemm, gemm_of
from ptx.profiling.tensors.operands import Call, names, per_dim

if TYPE_CHECKING:
    from ptx.profiling.tensors.inputs import Input, Tensor

_ADDS_FIRST = names("addmm _addmm_activation baddbmm addmv")
"""Products whose first argument is what is added to them."""


@dataclass(frozen=True, slots=True)
class Product:
    """A matrix product: its factors, what is added, and its sizes."""

    left: Tensor
    right: Tensor
    added: Tensor | None
    gemm: Gemm

    @property
    def results(self) -> int:
        """Returns the number of elements of the result."""
        return self.gemm.batch * self.gemm.m * self.gemm.n

    @property
    def flops(self) -> int:
        """Returns twice the multiplications; adding a bias counts nothing."""
        return 2 * self.results * self.gemm.k


@dataclass(frozen=True, slots=True)
class Convolution:
    """A convolution: input, weight and output shapes, and which gradients a backward op takes.

    `gradients` is None for a forward op, else (input, weight); then `result` is the output's
    gradient.
    """

    source: Tensor
    weight: Tensor
    result_shape: tuple[int, ...]
    transposed: bool
    gradients: tuple[bool, bool] | None
    result: Tensor | None = None

    @property
    def flops(self) -> int:
        """Returns the operations of one pass: forward, or one of the two gradients.

        Each element of the weight meets every position of the output once (of the input for a
        transposed convolution) in each image; groups are in the weight's shape.
        """
        positions = self.source.shape[2:] if self.transposed else self.result_shape[2:]
        return 2 * self.source.shape[0] * prod(positions) * self.weight.numel


@dataclass(frozen=True, slots=True)
class Attention:
    """Scaled dot-product attention: its tensors with their geometry told apart.

    `scores` is the number of query-key pairs that count, over all heads and images.
    """

    query: Tensor
    key: Tensor
    value: Tensor
    others: tuple[Tensor, ...]
    heads: int
    key_heads: int
    queries: int
    images: int
    scores: int
    backward: bool

    @property
    def flops(self) -> int:
        """Returns the operations: 2 products forward, 5 backward (one recomputes the scores)."""
        width, value_width = self.query.shape[-1], self.value.shape[-1]
        if self.backward:
            return 2 * self.scores * (3 * width + 2 * value_width)
        return 2 * self.scores * (width + value_width)


def flops_of(op_name: str, inputs: tuple[Input, ...]) -> int | None:
    """Returns the floating-point operations of one call, None for an op that is not modelled.

    Args:
        op_name: the op's name, such as `aten::addmm`.
        inputs: its recorded inputs.
    """
    call = Call(op_name.removeprefix("aten::"), inputs, ())
    if product := product_of(call):
        return product.flops
    if convolution := convolution_of(call):
        passes = 1 if convolution.gradients is None else sum(convolution.gradients)
        return passes * convolution.flops
    attention = attention_of(call)
    return attention.flops if attention else None


def product_of(call: Call) -> Product | None:
    """Returns the matrix product that a call is, None if it is none or its shapes do not fit."""
    gemm = gemm_of(call.op, call.inputs)
    if gemm is None:
        return None
    first = int(call.op.removesuffix("_") in _ADDS_FIRST)
    left, right = call.tensor(first), call.tensor(first + 1)
    if left is None or right is None or broadcast((left.shape[:-2], right.shape[:-2])) is None:
        return None
    added = call.tensor(0) if first else call.tensor(2) if call.op == "linear" else None
    return Product(left, right, added, gemm)


_FORWARD = {
    "cudnn_convolution": (3, 2, 4), "cudnn_convolution_relu": (3, 4, 5),
    "cudnn_convolution_add_relu": (5, 6, 7), "miopen_convolution": (4, 3, 5),
    "convolution": (3, 4, 5), "_convolution": (3, 4, 5), "convolution_overrideable": (3, 4, 5),
    "_conv_depthwise2d": (4, 5, 6), "conv_depthwise3d": (4, 5, 6),
}  # fmt: skip
"""The positions of stride, padding and dilation of each forward convolution."""

_TRANSPOSED = {
    "cudnn_convolution_transpose": (4, 2, 5, 3, 6), "miopen_convolution_transpose": (5, 3, 6, 4, 7),
    "convolution": (3, 4, 5, 7, 8), "_convolution": (3, 4, 5, 7, 8),
}  # fmt: skip
"""Those of transposed ones, then of the output's padding and the groups."""

_TRANSPOSED_FLAG_AT = 6
_BACKWARD_TRANSPOSED_AT, _OUTPUT_MASK_AT = 7, 10


def convolution_of(call: Call) -> Convolution | None:
    """Returns the convolution that a call is, None if it is none or its shapes are not told."""
    if call.op in ("convolution_backward", "convolution_backward_overrideable"):
        return _convolution_backward(call)
    source, weight = call.tensor(0), call.tensor(1)
    if source is None or weight is None or not 3 <= len(source.shape) == len(weight.shape) <= 5:
        return None
    flagged = call.op in _FORWARD and call.args.flag(_TRANSPOSED_FLAG_AT) is True
    if call.op in _TRANSPOSED and (flagged or call.op not in _FORWARD):
        shape = _transposed_shape(call, source, weight, _TRANSPOSED[call.op])
    elif call.op in _FORWARD:
        shape = _forward_shape(call, source, weight, _FORWARD[call.op])
    else:
        return None
    if shape is None:
        return None
    transposed = flagged or call.op not in _FORWARD
    return Convolution(source, weight, shape, transposed, None)


def _convolution_backward(call: Call) -> Convolution | None:
    result, source, weight = (call.tensor(i) for i in range(3))
    wanted = _flags(call, _OUTPUT_MASK_AT)
    if result is None or source is None or weight is None or len(wanted) < 2:
        return None
    if not 3 <= len(source.shape) == len(weight.shape) == len(result.shape) <= 5:
        return None
    transposed = call.args.flag(_BACKWARD_TRANSPOSED_AT) is True
    gradients = (wanted[0], wanted[1])
    return Convolution(source, weight, result.shape, transposed, gradients, result)


def _flags(call: Call, index: int) -> tuple[bool, ...]:
    """Returns a recorded list of flags, () for anything else."""
    text = call.inputs[index].value if index < len(call.inputs) else None
    words = (text or "").strip("[]").split(", ")
    known = {"True": True, "False": False}
    return tuple(known[w] for w in words) if all(w in known for w in words) else ()


def _forward_shape(
    call: Call, source: Tensor, weight: Tensor, at: tuple[int, ...]
) -> tuple[int, ...] | None:
    dims = len(source.shape) - 2
    steps, pads, spreads = (per_dim(call.args.one_or_more(i), dims) for i in at)
    if steps is None or pads is None or spreads is None or 0 in steps:
        return None
    sizes = zip(source.shape[2:], weight.shape[2:], steps, pads, spreads, strict=True)
    spatial = ((n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in sizes)
    return (source.shape[0], weight.shape[0], *spatial)


def _transposed_shape(
    call: Call, source: Tensor, weight: Tensor, at: tuple[int, ...]
) -> tuple[int, ...] | None:
    dims = len(source.shape) - 2
    steps, pads, spreads, extra = (per_dim(call.args.one_or_more(i), dims) for i in at[:4])
    groups = call.args.number(at[4])
    if steps is None or pads is None or spreads is None or extra is None or groups is None:
        return None
    sizes = zip(source.shape[2:], weight.shape[2:], steps, pads, spreads, extra, strict=True)
    spatial = ((n - 1) * s - 2 * p + d * (k - 1) + e + 1 for n, k, s, p, d, e in sizes)
    return (source.shape[0], weight.shape[1] * groups, *spatial)


_HEADS_FIRST = 1
_HEADS_LAST = 2
_ATTENTION = {
    "_scaled_dot_product_flash_attention": (0, _HEADS_FIRST, 4),
    "_scaled_dot_product_efficient_attention": (0, _HEADS_FIRST, 6),
    "_scaled_dot_product_cudnn_attention": (0, _HEADS_FIRST, 6),
    "_scaled_dot_product_attention_math": (0, _HEADS_FIRST, 5),
    "scaled_dot_product_attention": (0, _HEADS_FIRST, 5),
    "_cudnn_attention_forward": (0, _HEADS_FIRST, 10),
    "_flash_attention_forward": (0, _HEADS_LAST, 8),
    "_efficient_attention_forward": (0, _HEADS_LAST, None),
    "_scaled_dot_product_flash_attention_backward": (1, _HEADS_FIRST, 11),
    "_scaled_dot_product_efficient_attention_backward": (1, _HEADS_FIRST, 11),
    "_scaled_dot_product_cudnn_attention_backward": (1, _HEADS_FIRST, 14),
    "_cudnn_attention_backward": (1, _HEADS_FIRST, 14),
    "_flash_attention_backward": (1, _HEADS_LAST, 11),
    "_efficient_attention_backward": (1, _HEADS_LAST, None),
}
"""The position of the query (key and value follow), of the heads in it, and of `is_causal`."""

_MASK_TYPE_AT = {"_efficient_attention_forward": 9, "_efficient_attention_backward": 13}
"""Where the memory-efficient kernels have `custom_mask_type`: 1 is causal."""


def attention_of(call: Call) -> Attention | None:
    """Returns the attention that a call is, None if it is none or packs several lengths."""
    known = _ATTENTION.get(call.op)
    if known is None:
        return None
    first, heads_at, causal_at = known
    query, key, value = (call.tensor(first + i) for i in range(3))
    if query is None or key is None or value is None:
        return None
    if not len(query.shape) == len(key.shape) == len(value.shape) == 4:
        return None
    queries, keys = query.shape[3 - heads_at], key.shape[3 - heads_at]
    heads, images = query.shape[heads_at], query.shape[0]
    if causal_at is None:
        causal = call.args.number(_MASK_TYPE_AT[call.op]) == 1
    else:
        causal = call.args.flag(causal_at) is True
    pairs = queries * (queries + 1) // 2 if causal and queries == keys else queries * keys
    others = tuple(t for t in call.tensors if t not in (query, key, value) and t.shape)
    return Attention(
        query, key, value, others, heads, key.shape[heads_at], queries, images,
        images * heads * pairs, first == 1,
    )  # fmt: skip
