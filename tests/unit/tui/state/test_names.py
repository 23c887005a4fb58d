"""Short names: what a row shows of an op's, a frame's or a kernel's name."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptx.profiling.sanitise import clean
from ptx.tui.state.names import short_kernel, short_op


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("aten::addmm", "addmm"),
        ("nn.Module: Linear_3", "Linear_3"),
        ("Optimizer.step#AdamW.step", "Optimizer.step#AdamW.step"),
        ("torch/nn/modules/linear.py(124): forward", "linear.py:124 forward"),
        ("<built-in method apply at 0x7f00aa>", "<built-in method apply>"),
        ("aten::mm\x1b[31m", "mm\u241b[31m"),
    ],
)
def test_op_is_shown_without_what_every_op_shares(name: str, shown: str) -> None:
    assert short_op(name) == shown


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        (
            "void at::native::vectorized_elementwise_kernel<4, "
            "at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >(int)",
            "P add f32 v4",
        ),
        (
            "void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl<"
            "at::native::BinaryFunctor<float, float, float, "
            "at::native::binary_internal::MulFunctor<float> > > >(int)",
            "P mul f32 strided",
        ),
        ("nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_bias_TNT", "G nvjet bf16 256x128x64 tn +bias"),
        ("nvjet_sm90_tst_256x128_64x4_1x2_h_bz_TNT", "G nvjet bf16 256x128x64 tn"),
        ("triton_poi_fused_add_mul_0", "P triton poi #0 add+mul"),
        ("Memcpy HtoD (Pageable -> Device)", "M memcpy HtoD pageable->device"),
        ("Memset (Device)", "M memset device"),
    ],
)
def test_kernel_is_shown_by_category_and_short_form(name: str, shown: str) -> None:
    assert short_kernel(name) == shown


@given(name=st.text(st.characters()))
def test_short_names_are_safe_to_show(name: str) -> None:
    for short in (short_op(name), short_kernel(name)):
        assert short == clean(short)


@pytest.mark.parametrize("name", ["void k<" + "a" * 10**6, "(" * 10**6, "x(1" * 10**6])
def test_a_name_as_long_as_a_file_is_cut_before_it_is_searched(name: str) -> None:
    started = time.process_time()
    assert len(short_op(name)) <= 1000
    assert len(short_kernel(name)) <= 1000
    assert time.process_time() - started < 30  # without the cut it takes hours
