from __future__ import annotations

import pytest
from tests.tensor_calls import COPY, FPROP, GEMM, SPLIT_SUM, as_input, call, tensor

from ptx.profiling.tensors.bytes import shares_of
from ptx.profiling.tensors.bytes_triton import works_in_place
from ptx.profiling.tensors.operands import UNKNOWN, Share

TO_NHWC = "void cudnn::engines_precompiled::nchwToNhwcKernel<float, float, float, false>(T)"
TO_NCHW = "void cudnn::engines_precompiled::nhwcToNchwKernel<float, float, float, true>(T)"
DGRAD, WGRAD = FPROP.replace("fprop", "dgrad"), FPROP.replace("fprop", "wgrad")
FLASH = "void pytorch_flash::{}<Flash_kernel_traits<64, 128, 128, 4>, false, true>(T)"


def test_a_product_reads_its_factors_and_writes_its_result() -> None:
    left, right = tensor(16, 64, dtype="bf16"), tensor(64, 32, dtype="bf16")
    assert shares_of(call("mm", left, right, kernels=[GEMM])) == [
        Share(2048 + 4096, 1024, 2 * 16 * 64 * 32)
    ]


def test_a_bias_counts_once_unless_the_output_was_filled_with_it() -> None:
    bias, left, right = tensor(32), tensor(16, 64), tensor(64, 32)
    operands = 4096 + 8192
    arguments = (bias, left, right, 1, 1)
    (fused,) = shares_of(call("addmm", *arguments, kernels=[GEMM]))
    assert fused.read_bytes == operands + 128
    (added,) = shares_of(call("addmm", *arguments, kernels=[GEMM], copies_first=True))
    assert added.read_bytes == operands + 2048
    copy, product = shares_of(call("addmm", *arguments, kernels=[COPY, GEMM]))
    assert copy == Share(128, 2048)
    assert product.read_bytes == operands + 2048


def test_the_parts_of_a_split_sum_are_unknown_but_not_what_goes_in_and_comes_out() -> None:
    left, right = tensor(16, 64), tensor(64, 32)
    product, total = shares_of(call("mm", left, right, kernels=[GEMM, SPLIT_SUM]))
    assert product == Share(4096 + 8192, None, 2 * 16 * 64 * 32)
    assert total == Share(None, 2048)


def test_a_batch_that_is_broadcast_is_read_once() -> None:
    left, right = tensor(8, 16, 64), tensor(8, 64, 32, strides=(0, 32, 1))
    (share,) = shares_of(call("bmm", left, right, kernels=[GEMM]))
    assert share.read_bytes == 8 * 4096 + 8192


def convolution(*kernels: object, channels_last: bool = False, weight_size: int = 3) -> list[Share]:
    k = weight_size
    x_strides = (4 * 256, 1, 64, 4) if channels_last else None
    w_strides = (4 * k * k, 1, 4 * k, 4) if channels_last else None
    source = tensor(2, 4, 16, 16, strides=x_strides)
    weight = tensor(8, 4, k, k, strides=w_strides)
    pad = [k // 2, k // 2]
    arguments = (source, weight, pad, [1, 1], [1, 1], 1, False, False, True)
    return shares_of(call("cudnn_convolution", *arguments, kernels=kernels))  # type: ignore[arg-type]


X, W, Y = 2 * 4 * 256 * 4, 8 * 4 * 9 * 4, 2 * 8 * 256 * 4


def test_conversions_of_layout_move_the_tensor_that_they_convert() -> None:
    shares = convolution((TO_NHWC, (9, 1, 1)), (TO_NHWC, (2, 1, 1)), FPROP, TO_NCHW)
    assert shares == [
        Share(X, X),
        Share(W, W),
        Share(X + W, Y, 2 * 2 * 8 * 256 * 36),
        Share(Y, Y),
    ]


def test_a_convolution_in_the_layout_of_its_kernel_has_nothing_to_convert() -> None:
    assert convolution(FPROP, channels_last=True) == [Share(X + W, Y, 2 * 2 * 8 * 256 * 36)]
    assert convolution(TO_NHWC, FPROP)[0] == UNKNOWN, "which of the two, nobody says"
    # a 1x1 weight lies the same way in both layouts
    assert convolution(TO_NHWC, FPROP, weight_size=1)[0] == Share(X, X)


def test_the_steps_of_an_algorithm_of_several_kernels_are_unknown() -> None:
    step = "void cudnn::winograd::generateWinogradTilesKernel<0, float, float>(T)"
    assert convolution(step, FPROP) == [UNKNOWN, UNKNOWN]


def backward(*kernels: str, mask: tuple[bool, ...] = (True, True, False)) -> list[Share]:
    result, source = tensor(2, 8, 16, 16), tensor(2, 4, 16, 16)
    places = ([1, 1], [1, 1], [1, 1], False, [0, 0], 1, list(mask))
    arguments = (result, source, tensor(8, 4, 3, 3), [0], *places)
    return shares_of(call("convolution_backward", *arguments, kernels=kernels))


def test_each_gradient_of_a_convolution_has_its_own_operands() -> None:
    flops = 2 * 2 * 8 * 256 * 36
    of_input, of_weight = Share(Y + W, X, flops), Share(Y + X, W, flops)
    assert backward(DGRAD, WGRAD) == [of_input, of_weight]
    assert backward(WGRAD, DGRAD) == [of_weight, of_input], "the names tell"
    assert backward(GEMM, GEMM) == [of_input, of_weight], "else the order"
    assert backward(GEMM, mask=(False, True, False)) == [of_weight]
    assert backward(GEMM) == [UNKNOWN], "one kernel for two gradients"


def test_conversions_of_a_gradient_belong_to_the_kernel_that_follows() -> None:
    shares = backward(TO_NHWC, TO_NHWC, DGRAD, TO_NCHW, TO_NHWC, TO_NHWC, WGRAD, TO_NCHW)
    assert {s.read_bytes for s in shares[:2]} == {Y, W}
    assert shares[3] == Share(X, X)
    assert {s.read_bytes for s in shares[4:6]} == {X, Y}
    assert shares[7] == Share(W, W)


def test_attention_reads_its_operands_and_writes_output_and_sums() -> None:
    query, key = (tensor(2, n, 4, 64, dtype="bf16") for n in (100, 70))
    kernel = FLASH.format("flash_fwd_kernel")
    flags = (None, None, 100, 70, 0.0, False, False)
    (share,) = shares_of(
        call("_flash_attention_forward", query, key, key, *flags, kernels=[kernel])
    )
    q, k = 2 * 100 * 4 * 64 * 2, 2 * 70 * 4 * 64 * 2
    assert share == Share(q + 2 * k, q + 4 * 2 * 4 * 100, 4 * 64 * 2 * 4 * 100 * 70)


def gradient(key_heads: int, *kernels: str) -> list[Share]:
    query = tensor(2, 100, 4, 64, dtype="bf16")
    key = tensor(2, 70, key_heads, 64, dtype="bf16")
    rest = (query, tensor(2, 4, 100), None, None, 100, 70, 0.0, False)
    return shares_of(
        call("_flash_attention_backward", query, query, key, key, *rest, kernels=kernels)
    )


def test_the_passes_of_an_attention_gradient_move_different_things() -> None:
    names = ("flash_bwd_dot_do_o_kernel", "flash_bwd_kernel", "flash_bwd_convert_dq_kernel")
    first, main, last = gradient(4, *map(FLASH.format, names))
    q, k, rows = 2 * 100 * 4 * 64 * 2, 2 * 70 * 4 * 64 * 2, 4 * 2 * 4 * 100
    assert first == Share(2 * q, rows)
    assert main == Share(2 * q + 2 * k + 2 * rows, 2 * k + 2 * q, 10 * 64 * 2 * 4 * 100 * 70)
    assert last == Share(2 * q, q), "from f32"


def test_grouped_heads_without_a_kernel_that_adds_them_leave_the_writes_unknown() -> None:
    (share,) = gradient(2, FLASH.format("flash_bwd_kernel"))
    assert share.read_bytes is not None
    assert share.write_bytes is None


POINTWISE = "triton_poi_fused_gelu_mul_view_0"
T = 8192 * 64 * 2


def big(*shape: int) -> object:
    return tensor(*shape, dtype="bf16")


def launch(*pointers: object, name: str = POINTWISE, in_place: bool = False) -> Share:
    (share,) = shares_of(call(name, *pointers, 4096, kernels=[name], in_place=in_place))
    return share


def test_a_generated_kernel_reads_its_first_pointers_and_writes_its_last() -> None:
    x = big(8192, 64)
    assert launch(x, x, x) == Share(2 * T, T)
    assert launch(x) == Share(0, T), "one pointer is an output"


def test_a_kernel_in_place_reads_and_writes_its_first_pointer() -> None:
    assert launch(big(128, 64, 64), big(8192, 64), in_place=True) == Share(2 * T, T)


def test_a_table_counts_no_more_than_what_is_taken_of_it() -> None:
    name = "triton_red_fused_add_embedding_mean_0"
    index, table = tensor(4, 16, dtype="i64"), big(32_000, 64)
    share = launch(index, table, big(4, 16, 64), name=name)
    assert share == Share(512 + 8192, 8192)
    assert launch(table, big(4, 16, 64)).read_bytes == 32_000 * 128, "no op takes rows"


@pytest.mark.parametrize(
    ("products", "pointers", "expected"), [(2, 2, True), (1, 2, False), (2, 3, False)]
)
def test_a_kernel_works_in_place_if_all_its_pointers_exist_already(
    products: int, pointers: int, expected: bool
) -> None:
    product = ("aten::mm", tuple(map(as_input, (big(8192, 8), big(8, 64)))))
    kernel = (POINTWISE, tuple(map(as_input, [big(8192, 64)] * pointers)))
    assert works_in_place([product] * products + [kernel])[-1] is expected
    assert works_in_place([product] * products)[0] is False


def test_a_buffer_that_was_used_is_none_to_work_in() -> None:
    product = ("aten::mm", tuple(map(as_input, (big(8192, 8), big(8, 64)))))
    reader = ("aten::mm", tuple(map(as_input, (big(8192, 64), big(64, 8)))))
    kernel = (POINTWISE, tuple(map(as_input, [big(8192, 64)] * 2)))
    assert works_in_place([product, product, kernel])[-1] is True
    assert works_in_place([product, reader, product, kernel])[-1] is False
