from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.tensor_calls import as_input, tensor

from ptx.profiling.tensors.flops import flops_of

if TYPE_CHECKING:
    from ptx.profiling.tensors.inputs import Tensor


def flops(op: str, *arguments: object) -> int | None:
    return flops_of(f"aten::{op}", tuple(map(as_input, arguments)))


@pytest.mark.parametrize(
    ("op", "arguments", "expected"),
    [
        ("mm", (tensor(7, 11), tensor(11, 5)), 2 * 7 * 11 * 5),
        ("addmm", (tensor(5), tensor(7, 11), tensor(11, 5), 1, 1), 2 * 7 * 11 * 5),
        ("addmm_", (tensor(7, 5), tensor(7, 11), tensor(11, 5), 1, 1), 2 * 7 * 11 * 5),
        ("bmm", (tensor(3, 7, 11), tensor(3, 11, 5)), 2 * 3 * 7 * 11 * 5),
        ("baddbmm", (tensor(1, 5), tensor(3, 7, 11), tensor(3, 11, 5)), 2 * 3 * 7 * 11 * 5),
        ("matmul", (tensor(2, 3, 7, 11), tensor(11, 5)), 2 * 2 * 3 * 7 * 11 * 5),
        ("matmul", (tensor(2, 1, 7, 11), tensor(3, 11, 5)), 2 * 2 * 3 * 7 * 11 * 5),
        ("matmul", (tensor(11), tensor(3, 11, 5)), 2 * 3 * 11 * 5),
        ("mv", (tensor(7, 11), tensor(11)), 2 * 7 * 11),
        ("linear", (tensor(2, 7, 11), tensor(5, 11), tensor(5)), 2 * 2 * 7 * 11 * 5),
        ("_scaled_mm", (tensor(16, 32), tensor(32, 8), None, None), 2 * 16 * 32 * 8),
    ],
)
def test_a_matrix_product_counts_two_for_each_multiply_and_add(
    op: str, arguments: tuple[object, ...], expected: int
) -> None:
    assert flops(op, *arguments) == expected


@pytest.mark.parametrize(
    ("op", "arguments"),
    [
        ("mm", (tensor(7, 11), tensor(12, 5))),
        ("matmul", (tensor(2, 7, 11), tensor(3, 11, 5))),
        ("mm", (tensor(7, 11),)),
        ("add", (tensor(7), tensor(7))),
        ("cudnn_convolution", (tensor(1, 2, 8, 8), tensor(4, 2, 3, 3))),
        ("_flash_attention_forward", (tensor(9, 2, 4), tensor(9, 2, 4), tensor(9, 2, 4))),
    ],
)
def test_what_does_not_fit_or_is_not_recorded_is_unknown(
    op: str, arguments: tuple[object, ...]
) -> None:
    assert flops(op, *arguments) is None


def conv(
    x: Tensor, w: Tensor, stride: object, pad: object, dilation: object, groups: int
) -> object:
    flags = (False, False, True)
    return flops("cudnn_convolution", x, w, pad, stride, dilation, groups, *flags)


def test_a_convolution_counts_every_weight_at_every_output_position() -> None:
    # 6 channels to 8 by 3x3, stride 2, padding 1: 16x16 -> 8x8
    wanted = 2 * 4 * 8 * 8 * 8 * (6 * 3 * 3)
    assert conv(tensor(4, 6, 16, 16), tensor(8, 6, 3, 3), [2, 2], [1, 1], [1, 1], 1) == wanted


def test_groups_divide_a_convolution() -> None:
    wanted = 2 * 4 * 8 * 14 * 14 * (2 * 3 * 3)
    assert conv(tensor(4, 6, 16, 16), tensor(8, 2, 3, 3), [1, 1], [0, 0], [1, 1], 3) == wanted


def test_dilation_shrinks_what_a_convolution_leaves() -> None:
    wanted = 2 * 1 * 8 * 12 * 12 * (6 * 3 * 3)
    assert conv(tensor(1, 6, 16, 16), tensor(8, 6, 3, 3), [1, 1], [0, 0], [2, 2], 1) == wanted


def backward(mask: list[bool], groups: int = 1) -> int | None:
    result, source = tensor(4, 8, 14, 14), tensor(4, 6, 16, 16)
    weight = tensor(8, 6 // groups, 3, 3)
    places = ([1, 1], [0, 0], [1, 1], False, [0, 0], groups)
    return flops("convolution_backward", result, source, weight, [0], *places, mask)


@pytest.mark.parametrize("groups", [1, 2, 3])
def test_each_gradient_of_a_convolution_costs_as_much_as_its_forward(groups: int) -> None:
    forward = 2 * 4 * 8 * 14 * 14 * (6 // groups * 3 * 3)
    assert backward([True, False, False], groups) == forward
    assert backward([False, True, True], groups) == forward
    assert backward([True, True, False], groups) == 2 * forward


def test_attention_counts_two_products_forward_and_five_backward() -> None:
    query, key = tensor(2, 3, 100, 64), tensor(2, 3, 70, 64)
    pairs = 2 * 3 * 100 * 70
    flags = (None, None, None, 100, 70, True, 0.0, False, False)
    assert flops("_cudnn_attention_forward", query, key, key, *flags) == pairs * 4 * 64
    rest = (query, tensor(2, 3, 100), None, None, 100, 70, 0.0, False)
    heads_last = tensor(2, 100, 3, 64), tensor(2, 70, 3, 64)
    assert (
        flops("_flash_attention_backward", heads_last[0], *heads_last, heads_last[1], *rest)
        == pairs * 10 * 64
    )


def test_values_of_another_width_count_by_their_own() -> None:
    query, value = tensor(1, 2, 8, 64), tensor(1, 2, 8, 32)
    assert flops("scaled_dot_product_attention", query, query, value) == 2 * 2 * 64 * (64 + 32)


def test_a_causal_mask_leaves_half_of_the_scores_and_the_diagonal() -> None:
    query = tensor(1, 1, 100, 64)
    whole = flops("_scaled_dot_product_flash_attention", query, query, query, 0.0, False)
    causal = flops("_scaled_dot_product_flash_attention", query, query, query, 0.0, True)
    assert whole == 4 * 64 * 100 * 100
    assert causal == 4 * 64 * (100 * 101 // 2)


@pytest.mark.torch
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("groups", [1, 2])
def test_convolutions_agree_with_the_counter_of_torch(
    transposed: bool, dims: int, groups: int
) -> None:
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    def made(*shape: int) -> Any:  # noqa: ANN401
        return torch.randn(*shape, requires_grad=True)

    source = made(2, 4, *(11, 9, 7)[:dims])
    weight = made(4, 6 // groups, *[3] * dims) if transposed else made(6, 4 // groups, *[3] * dims)
    places = ([2] * dims, [1] * dims, [1] * dims, transposed, [0] * dims, groups)
    with FlopCounterMode(display=False) as counter:
        result = torch.convolution(source, weight, None, *places)
    described = [tensor(*t.shape) for t in (result, source, weight)]
    assert flops("convolution", *described[1:], None, *places) == counter.get_total_flops()
    if groups > 1:
        return  # its count of the weight's gradient leaves the groups out
    with FlopCounterMode(display=False) as counter:
        torch.autograd.backward(result.sum())
    mask = [True, True, False]
    found = flops("convolution_backward", *described, None, *places, mask)
    assert found == counter.get_total_flops()
