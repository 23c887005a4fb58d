"""Why elementwise kernels are not vectorised, told from the op's inputs."""

from __future__ import annotations

import pytest

from ptx.profiling.tensors.inputs import Input, Tensor
from ptx.profiling.tensors.vectorised import why_not_vectorised

FUNCTOR = "at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>"
WIDE = f"void at::native::vectorized_elementwise_kernel<4, {FUNCTOR} >(int)"
UNROLLED = f"void at::native::unrolled_elementwise_kernel<{FUNCTOR}, 4>(int)"
STRIDED = f"void at::native::elementwise_kernel<128, 2, {FUNCTOR} >(int)"
DENSE = ("f32", (32, 768), (768, 1))


def tensors(*parts: tuple[str, tuple[int, ...], tuple[int, ...] | None]) -> tuple[Input, ...]:
    return tuple(Input("tensor", Tensor(*part)) for part in parts)


@pytest.mark.parametrize(
    ("inputs", "reason"),
    [
        (tensors(DENSE, ("f32", (32, 768), (1, 32))),
         "in0 and in1 lie in different orders of dimensions"),
        (tensors(DENSE, ("f32", (32, 768), (1536, 1))), "in1 has strides (1536,1)"),
        (tensors(DENSE, ("f32", (768,), (1,))), "in1 of shape (768) is broadcast"),
        (tensors(DENSE, ("f32", (32, 768), (0, 1))), "in1 has strides (0,1)"),
        (tensors(DENSE, ("f32", (), ())), "the inputs are dense, so the output is not"),
        (tensors(DENSE, ("f32", (32, 768), None)),
         "some operand is not contiguous; the strides are not recorded"),
    ],
)  # fmt: skip
def test_a_strided_kernel_is_explained_by_the_inputs(
    inputs: tuple[Input, ...], reason: str
) -> None:
    assert why_not_vectorised(inputs, STRIDED) == reason


def test_an_unrolled_kernel_casts_or_is_misaligned() -> None:
    mixed = why_not_vectorised(tensors(DENSE, ("bf16", (32, 768), (768, 1))), UNROLLED)
    assert mixed == "elements are cast on the way: in0 is f32, in1 is bf16"
    assert "not aligned" in (why_not_vectorised(tensors(DENSE, DENSE), UNROLLED) or "")


def test_dimensions_of_size_one_do_not_make_a_tensor_strided() -> None:
    inputs = tensors(("f32", (32, 1, 8), (8, 77, 1)), ("f32", (32, 1, 8), (8, 8, 1)))
    assert why_not_vectorised(inputs, STRIDED) == "the inputs are dense, so the output is not"


@pytest.mark.parametrize("name", [WIDE, "nvjet_sm90_tst_64x8_64x16_4x1_v_bz_TNN", "my_kernel"])
def test_other_kernels_need_no_excuse(name: str) -> None:
    assert why_not_vectorised(tensors(DENSE), name) is None


def test_an_op_whose_inputs_are_not_the_kernel_s_operands_gets_no_reason() -> None:
    inputs = tensors(("f32", (8, 16, 4), (64, 4, 1)), ("f32", (16,), (1,)))
    assert why_not_vectorised(inputs, STRIDED) is None
