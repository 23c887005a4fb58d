"""Bytes and FLOPs of the kernels of matrix products, convolutions and attention.

One op may launch several kernels: conversions of layout around a convolution, the sum over the
parts of a split K, the passes of an attention's gradient. Each gets what its own function moves;
what depends on a library's choice of workspace is unknown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptx.profiling.tensors.flops import attention_of, convolution_of, product_of
from ptx.profiling.tensors.operands import (
    UNKNOWN,
    Share,
    by_blocks,
    dense_bytes,
    names,
    sized,
    total,
    touched_bytes,
)

if TYPE_CHECKING:
    from ptx.profiling.tensors.flops import Attention, Convolution, Product
    from ptx.profiling.tensors.inputs import Tensor
    from ptx.profiling.tensors.operands import Call, Launch, Rule

_PASSES = frozenset(("aten_elementwise", "aten_copy"))


def _is_split_sum(launch: Launch) -> bool:
    return launch.name.fields.get("op") == "splitk_reduce"


def _is_main(launch: Launch) -> bool:
    return launch.name.category == "G" and not _is_split_sum(launch)


def _unknown(call: Call) -> list[Share]:
    return [UNKNOWN] * len(call.launches)


def _product(call: Call) -> list[Share]:
    product = product_of(call)
    if product is None:
        return _unknown(call)
    output = dense_bytes((product.results,), _product_type(call, product))
    mains = sum(map(_is_main, call.launches))
    is_split = any(map(_is_split_sum, call.launches))
    copies = call.copies_first or any(k.name.family in _PASSES for k in call.launches)
    added = output if copies else touched_bytes(product.added)
    read = total((touched_bytes(product.left), touched_bytes(product.right), added))

    def share(launch: Launch) -> Share:
        if _is_split_sum(launch):
            return Share(None, output)
        if launch.name.family in _PASSES:
            return Share(touched_bytes(product.added), output)
        if _is_main(launch) and mains == 1:
            return Share(read, None if is_split else output, product.flops)
        return UNKNOWN

    return call.each(share)


def _product_type(call: Call, product: Product) -> str:
    if call.op == "_int_mm":
        return "i32"
    if call.op == "_scaled_mm":
        return call.args.dtype(6) or product.left.dtype
    return product.left.dtype


_MULTI_KERNEL_WORDS = ("winograd", "fft", "im2col", "explicit", "batched_gemm")
_DIRECTIONS = ("fprop", "dgrad", "wgrad")


def _convolution(call: Call) -> list[Share]:
    """Returns the shares of a convolution's kernels, gradient by gradient.

    The kernels of one gradient stand together: conversions of its operands, the product, the
    conversion of its result. The input's gradient comes before the weight's.
    """
    convolution = convolution_of(call)
    launches = call.launches
    mains = [i for i, launch in enumerate(launches) if _is_convolution_kernel(launch)]
    if convolution is None or not mains or _has_several_steps(call):
        return _unknown(call)
    directions = _directions(convolution, [launches[i] for i in mains])
    if directions is None:
        return _unknown(call)
    shares = _unknown(call)
    for turn, (main, direction) in enumerate(zip(mains, directions, strict=True)):
        before = mains[turn - 1] + 1 if turn else 0
        after = mains[turn + 1] if turn + 1 < len(mains) else len(launches)
        operands, result = _roles(convolution, direction)
        is_split = any(_sums_parts(k) for k in launches[main + 1 : after])
        write = dense_bytes(result, convolution.source.dtype)
        shares[main] = Share(
            total(map(touched_bytes, operands)), None if is_split else write, convolution.flops
        )
        _share_conversions(call, range(before, main), "nchwToNhwc", operands, shares)
        for i in range(main + 1, after):
            if "nhwcToNchw" in launches[i].function:
                shares[i] = Share(write, write)
    return shares


def _is_convolution_kernel(launch: Launch) -> bool:
    return _is_main(launch) or launch.function.startswith("conv_depthwise")


def _sums_parts(launch: Launch) -> bool:
    return _is_split_sum(launch) or "reduce" in launch.function


def _has_several_steps(call: Call) -> bool:
    """Returns whether an algorithm of several kernels is at work, such as Winograd's."""
    names = (launch.name.name for launch in call.launches)
    return any(word in name for name in names for word in _MULTI_KERNEL_WORDS)


def _directions(convolution: Convolution, mains: list[Launch]) -> list[str] | None:
    """Returns what each product kernel computes, None where that cannot be told."""
    if convolution.gradients is None:
        return ["fprop"] if len(mains) == 1 else None
    wanted = [
        word for word, is_taken in zip(_DIRECTIONS[1:], convolution.gradients, strict=True)
        if is_taken
    ]  # fmt: skip
    if len(wanted) != len(mains):
        return None
    stated = [launch.name.fields.get("op") for launch in mains]
    if convolution.transposed or any(word not in _DIRECTIONS for word in stated):
        return wanted
    return [str(word) for word in stated] if sorted(map(str, stated)) == wanted else wanted


def _roles(
    convolution: Convolution, direction: str
) -> tuple[tuple[Tensor, Tensor], tuple[int, ...]]:
    """Returns the operands of a pass and the shape of its result."""
    source, weight = convolution.source, convolution.weight
    if direction == "fprop":
        return (source, weight), convolution.result_shape
    if convolution.result is None:
        raise ValueError("a gradient needs the output's gradient")
    if direction == "dgrad":
        return (convolution.result, weight), source.shape
    return (convolution.result, source), weight.shape


def _share_conversions(
    call: Call, span: range, word: str, operands: tuple[Tensor, Tensor], shares: list[Share]
) -> None:
    """Gives each conversion of layout its operand, by size, where their number fits."""
    kernels = [i for i in span if word in call.launches[i].function]
    candidates = [t for t in operands if not _is_channels_last(t)]
    if len(kernels) != len(candidates):
        return
    kernels.sort(key=lambda i: call.launches[i].blocks)
    for i, tensor in zip(kernels, sorted(candidates, key=lambda t: t.numel), strict=True):
        shares[i] = Share(touched_bytes(tensor), sized(tensor))


def _is_channels_last(tensor: Tensor) -> bool:
    """Returns whether channels lie closest together; either order fits if a size is 1."""
    if tensor.strides is None:
        return False
    order = [0, *range(2, len(tensor.shape)), 1]
    expected = 1
    for axis in reversed(order):
        if tensor.shape[axis] != 1 and tensor.strides[axis] != expected:
            return False
        expected *= tensor.shape[axis]
    return True


def _attention(call: Call) -> list[Share]:
    attention = attention_of(call)
    if attention is None:
        return _unknown(call)
    mains = [k for k in call.launches if _is_attention_kernel(k)]
    if len(mains) != 1:
        return _unknown(call)
    if attention.backward:
        return call.each(lambda launch: _attention_gradient(call, attention, launch))
    return call.each(
        lambda launch: _attention_forward(attention) if launch is mains[0] else UNKNOWN
    )


_HELPERS = ("dot_do_o", "convert_dq", "combine", "_preprocess", "fmha_reduce_head")


def _is_attention_kernel(launch: Launch) -> bool:
    return launch.name.category == "A" and not any(word in launch.name.name for word in _HELPERS)


def _rows_bytes(attention: Attention) -> int:
    """Returns the bytes of one f32 for each query and head: the sums of exponentials."""
    return 4 * attention.images * attention.heads * attention.queries


def _attention_forward(attention: Attention) -> Share:
    query, value = attention.query, attention.value
    operands = (query, attention.key, value, *attention.others)
    output = dense_bytes(
        (attention.images, attention.heads, attention.queries, value.shape[-1]), query.dtype
    )
    return Share(
        total(map(touched_bytes, operands)),
        total((output, _rows_bytes(attention))),
        attention.flops,
    )


def _attention_gradient(call: Call, attention: Attention, launch: Launch) -> Share:
    name = launch.name.name
    query, rows = attention.query, _rows_bytes(attention)
    collected = 4 * query.numel
    sums_apart = any("convert_dq" in other.name.name for other in call.launches)
    if "dot_do_o" in name:
        twice = touched_bytes(call.tensor(0))
        return Share(None if twice is None else 2 * twice, rows)
    if "convert_dq" in name:
        return Share(collected, sized(query))
    gradients = total((sized(attention.key), sized(attention.value)))
    reduces = [k for k in call.launches if "fmha_reduce_head" in k.name.name]
    by_head = None
    if gradients is not None and (reduces or attention.heads == attention.key_heads):
        # grouped heads: the main kernel writes a gradient for each query head, another adds them
        by_head = gradients * attention.heads // max(1, attention.key_heads)
    if "fmha_reduce_head" in name:
        whole = Share(by_head, gradients)
        return whole if len(reduces) == 1 else by_blocks(reduces, whole)[reduces.index(launch)]
    if not _is_attention_kernel(launch):
        return UNKNOWN
    read = total(
        (*map(touched_bytes, (call.tensor(0), query, attention.key, attention.value)), 2 * rows)
    )
    return Share(read, total((by_head, collected if sums_apart else sized(query))), attention.flops)


_PRODUCT_OPS = names(
    "mm bmm matmul mv _int_mm _scaled_mm addmm addmm_ _addmm_activation baddbmm baddbmm_",
    "addmv addmv_ linear",
)
_CONVOLUTION_OPS = names(
    "cudnn_convolution cudnn_convolution_relu cudnn_convolution_add_relu miopen_convolution",
    "cudnn_convolution_transpose miopen_convolution_transpose convolution _convolution",
    "convolution_overrideable convolution_backward convolution_backward_overrideable",
    "_conv_depthwise2d conv_depthwise3d",
)
_ATTENTION_OPS = names(
    "_scaled_dot_product_flash_attention _scaled_dot_product_flash_attention_backward",
    "_scaled_dot_product_efficient_attention _scaled_dot_product_efficient_attention_backward",
    "_scaled_dot_product_cudnn_attention _scaled_dot_product_cudnn_attention_backward",
    "_flash_attention_forward _flash_attention_backward _cudnn_attention_forward",
    "_cudnn_attention_backward _efficient_attention_forward _efficient_attention_backward",
)

RULES: dict[str, Rule] = {
    **dict.fromkeys(_PRODUCT_OPS, _product),
    **dict.fromkeys(_CONVOLUTION_OPS, _convolution),
    **dict.fromkeys(_ATTENTION_OPS, _attention),
}
"""The rules of this family by op name without `aten::`."""
