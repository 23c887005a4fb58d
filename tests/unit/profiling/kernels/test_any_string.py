"""Any string gets an answer: never an exception, never more reading than is bounded."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptx.profiling.kernels.cxx import MAX_ARGUMENTS, parse
from ptx.profiling.kernels.decode import decode
from ptx.profiling.kernels.explain import parts_of
from ptx.profiling.kernels.reading import MAX_READ
from ptx.profiling.kernels.words import SHORT_COLUMNS

PIECES = [
    "nvjet_", "tst_", "256x128_", "64x4_", "TNT", "sm80_xmma_gemm_", "bf16f32_", "tilesize",
    "cutlass_80_tensorop_", "cutlass3x_sm90_", "void ", "cutlass::Kernel2<", "at::native::",
    "elementwise_kernel<128, 4, ", "(anonymous namespace)::", "{lambda(float)#1}", "operator()",
    "<", ">", "(", ")", "{", "]", ",", "::", "_", " ", "_ZN5aiter", "9", "Li4E", "add_mul_",
    "triton_poi_fused_", "Cijk_Ailk_Bljk_", "BBS_BH_", "MT64x64x64_", "MI16x16x1_", "SN_", "nccl",
    "DevKernel_", "AllReduce_Sum_f32_RING_LL", "Memcpy HtoD (", "aclnnAdd_", "fmha_cutlassF_",
    "flash::", "...", "é", "_ZN2at6native", "volta_", "s884cudnn_", "gemm_", "[SIMD32 ",
]  # fmt: skip
NAMES = st.one_of(
    st.text(max_size=300), st.lists(st.sampled_from(PIECES), max_size=40).map("".join)
)


@given(NAMES, st.sampled_from([None, True, False]))
def test_any_string_is_answered(name: str, cut: bool | None) -> None:
    kernel = decode(name, cut)
    assert kernel.name == name
    assert len(kernel.short) <= SHORT_COLUMNS
    assert kernel.short.isprintable()
    assert kernel.category in "GAPRCMXO"
    assert kernel.text.endswith(".")
    assert all(0 <= a <= b <= len(name) for a, b in kernel.spans.values())
    assert [part.text for part in parts_of(kernel)] == [
        name[part.start : part.end] for part in parts_of(kernel)
    ]
    assert not (kernel.complete and cut)


@given(NAMES)
def test_splitting_any_text_stays_inside_it(text: str) -> None:
    cxx = parse(text, 0, len(text))
    assert all(0 <= a <= b <= len(text) for a, b in cxx.arguments or ())
    assert len(cxx.names) == len(cxx.owners)


@pytest.mark.parametrize(
    "start", ["", "nvjet_", "void at::native::foo<", "_ZN", "triton_poi_fused_"]
)
@pytest.mark.parametrize("filling", ["a", "_", "<", "<(", "add_", "::", ", ", "1x"])
def test_a_huge_name_is_read_in_part_and_said_to_be(start: str, filling: str) -> None:
    kernel = decode(start + filling * (200_000 // len(filling)))
    assert not kernel.complete
    assert any(str(MAX_READ) in note for note in kernel.notes)
    assert all(end <= MAX_READ for _, end in kernel.spans.values())


def test_an_endless_list_of_arguments_is_bounded() -> None:
    text = f"f<{'1, ' * 5000}1>"
    assert len(parse(text, 0, len(text)).arguments or ()) <= MAX_ARGUMENTS + 1
