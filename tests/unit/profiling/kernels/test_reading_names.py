"""What single names say, family by family, and what they do not."""

from __future__ import annotations

import pytest

import ptx
from ptx.profiling.kernels.decode import decode
from ptx.profiling.kernels.explain import parts_of

NVJET = "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_bias_TNT"
MUL = (
    "void at::native::vectorized_elementwise_kernel<8, at::native::BinaryFunctor<c10::BFloat16, "
    "c10::BFloat16, c10::BFloat16, at::native::binary_internal::MulFunctor<float> >, "
    "std::array<char*, 3ul> >(int, std::array<char*, 3ul>)"
)


def test_decode_is_public() -> None:
    assert ptx.decode(NVJET) == decode(NVJET)


def test_nvjet_states_its_types_tile_pipeline_layout_and_epilogue() -> None:
    kernel = decode(NVJET)
    assert kernel.family == "cublas_nvjet"
    assert kernel.complete
    assert dict(kernel.fields) == {
        "arch": "sm_90", "dtype_a": "bf16", "dtype_b": "bf16", "dtype_acc": "f32",
        "dtype_out": "bf16", "tensor_core": True, "tile_m": 256, "tile_n": 128, "tile_k": 64,
        "stages": 4, "cluster": "1x2", "beta": "zero", "coop": "A", "layout": "tn",
        "epilogue": ("bias",),
    }  # fmt: skip
    assert kernel.short == "nvjet bf16 256x128x64 tn +bias"
    assert kernel.name[slice(*kernel.spans["tile_k"])] == "64x4"


@pytest.mark.parametrize(
    ("name", "short", "category"),
    [
        (MUL, "mul bf16 v8", "P"),
        ("triton_poi_fused_gelu_mul_view_3", "triton poi #3 gelu+mul", "P"),
        ("triton_poi_fused__to_copy_t_1", "triton poi #1 cast", "C"),
        ("triton_red_fused_mean_pow_0", "triton red #0 mean+pow", "R"),
        ("Memcpy DtoH (Device -> Pinned)", "memcpy DtoH device->pinned", "M"),
        ("Memset (Device)", "memset device", "M"),
        ("ncclDevKernel_AllGather_RING_LL(Args<4096ul>)", "nccl AllGather", "X"),
        ("ampere_sgemm_64x64_nt", "cublas f32 64x64 nt", "G"),
        ("fmha_cutlassF_bf16_aligned_64x64_rf_sm80", "mem-eff fwd bf16 64x64", "A"),
        ("my_softmax_kernel", "triton my_softmax_kernel", "R"),
        ("what is this", "what is this", "O"),
    ],
)  # fmt: skip
def test_short_form_and_category(name: str, short: str, category: str) -> None:
    kernel = decode(name, cut=False)
    assert (kernel.short, kernel.category) == (short, category)


def test_a_long_short_form_is_cut_in_the_middle_so_that_layout_and_flags_stay() -> None:
    kernel = decode("nvjet_sm90_qqtst_256x128_128x4_2x1_v_bz_coopA_splitK_bias_TNT")
    assert kernel.short == "nvjet e4m3 256x128…tn +bias splitK"


def test_parts_stand_in_the_order_of_the_name() -> None:
    parts = parts_of(decode(NVJET))
    assert [part.start for part in parts] == sorted(part.start for part in parts)
    meanings = {part.text: part.meaning for part in parts}
    assert meanings["256x128"] == "256x128 output tile of one CTA"
    assert meanings["64x4"] == "K step 64, 4 stages"
    assert meanings["bz"] == "beta is 0: C is not read"


def test_what_a_binary_can_do_is_kept_apart_from_what_it_does() -> None:
    name = "cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x64_32x6_tn_align8"
    kernel = decode(f"void cutlass::Kernel2<{name}>({name}::Params)")
    assert kernel.fields["epilogue_supported"] == ("relu",)
    assert "epilogue" not in kernel.fields


def test_an_omitted_output_type_is_that_of_the_accumulator() -> None:
    kernel = decode("cutlass_80_tensorop_s16816gemm_bf16_64x64_64x5_nn_align8")
    assert (kernel.fields["dtype_a"], kernel.fields["dtype_out"]) == ("bf16", "f32")


def test_xmma_without_matrix_instructions_uses_no_tensor_cores() -> None:
    head = "sm80_xmma_gemm_f32f32_f32f32_f32_nt_n_tilesize64x64x8_stage3_warpsize1x4x1"
    simt = decode(f"{head}_ffma_aligna4_alignc4_execute_split_k_kernel__5x_cublas")
    assert simt.fields["tensor_core"] is False
    assert simt.fields["split_k"] is True
    tensor = decode(f"{head}_tensor16x8x8_execute_kernel__5x_cublas")
    assert tensor.fields["tensor_core"] is True
    assert "tensor_core" not in decode(head, cut=True).fields


def test_strided_access_is_told_from_vectorised() -> None:
    name = MUL.replace("vectorized_elementwise_kernel<8, ", "elementwise_kernel<128, 4, ")
    kernel = decode(name)
    assert kernel.short == "mul bf16 strided"
    assert "vec" not in kernel.fields


def test_a_product_named_in_a_pointwise_kernel_ran_elsewhere() -> None:
    kernel = decode("triton_poi_fused_addmm_gelu_view_12")
    assert kernel.fields["fused_ops"] == ("addmm", "gelu", "view")
    assert any("ran in another kernel" in note for note in kernel.notes)


def test_an_unknown_fused_operator_leaves_the_list_out_and_is_named() -> None:
    kernel = decode("triton_poi_fused_add_frobnicate_7")
    assert "fused_ops" not in kernel.fields
    assert not kernel.complete
    assert any("frobnicate" in note for note in kernel.notes)


def test_nccl_states_only_what_its_name_can_prove() -> None:
    kernel = decode("ncclKernel_Broadcast_RING_LL_Sum_int8_t(ncclWorkElem)")
    assert kernel.fields["collective"] == "Broadcast"
    assert not {"redop", "dtype"} & kernel.fields.keys()
    assert decode("ncclDevKernel_Generic_4").family == "rccl"


def test_families_come_from_the_outermost_function_not_from_words_inside() -> None:
    assert decode("void vllm::reshape_and_cache_flash_kernel<float>(float*)").category == "C"
    assert decode("triton_per_fused__flash_attn_backward_sum_2").family == "inductor"
    assert decode("void mine::gemm_like<at::native::AddFunctor<float> >(int)").family == (
        "other_custom"
    )


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("GatherV212", {"op_type": "GatherV2", "index": 12}),
        ("Conv2D3", {}),
        ("ReduceSum7", {"index": 7}),
        ("trans_Cast_4", {"op_type": "Cast", "index": 4, "inserted": True}),
    ],
)
def test_ascend_numbers_are_parted_only_where_that_is_clear(
    name: str, fields: dict[str, object]
) -> None:
    kernel = decode(name)
    assert kernel.family == "ascend_static"
    assert dict(kernel.fields) == fields


def test_a_symbol_gives_the_names_that_it_spells_out() -> None:
    kernel = decode("_ZN5aiter30fmha_bwd_hd128_bf16_causal_a32E")
    assert kernel.family == "aiter"
    assert kernel.fields["causal"] is True
    assert kernel.fields["head_dim"] == 128


def test_tile_library_parameters_are_found_among_many() -> None:
    kernel = decode(
        "Cijk_Ailk_Bjlk_HHS_BH_Bias_HA_S_SAV_UserArgs_MT128x96x64_MI32x32x1_SN_LDSB0_GSU4_GSUAMB"
        "_ISA942_MIWT2_3_SK0_WS64_WG64_4_1",
        cut=False,
    )
    assert kernel.fields["layout"] == "nt"
    assert kernel.fields["wave_tile"] == "2x3"
    assert kernel.fields["workgroup"] == "64x4x1"
    # With arguments from the caller, the factor is chosen when it runs.
    assert "split_k" not in kernel.fields


def test_a_name_of_a_length_at_which_tools_cut_keeps_its_last_word_unread() -> None:
    name = "nvjet_tst_192x192_64x4_1x2_h_bz_bias_TNN"
    assert len(name) == 40
    assert "layout" not in decode(name).fields
    assert not decode(name).complete
    assert decode(name, cut=False).fields["layout"] == "tn"
    assert decode(name, cut=False).complete


@pytest.mark.parametrize(
    ("name", "family", "fields"),
    [
        (
            "volta_fp16_s884cudnn_fp16_256x64_ldg8_relu_tn_v1",
            "cudnn_conv",
            {"dtype_a": "f16", "dtype_out": "f16", "dtype_acc": "f32", "tensor_core": True},
        ),
        (
            "_ZN2at6native29vectorized_elementwise_kernelILi2ENS0_11FillFunctorIdEENS_6detail5Arr",
            "aten_elementwise",
            {"vec": 2, "functor": "FillFunctor"},
        ),
        ("triton_fused_add_mul_4", "inductor", {"fused_ops": ("add", "mul"), "index": 4}),
        (
            "triton_poi_fused_add_relu_2_0d1d2de3",
            "inductor",
            {"fused_ops": ("add", "relu"), "index": 2},
        ),
        (
            "void flash_bwd_dot_do_o_kernel<true, Flash_bwd_kernel_traits<64, 128, 64, 8> >(P)",
            "flash_attn2",
            {"direction": "bwd"},
        ),
        ("CopyHostToDevice", "memcpy", {"direction": "HtoD"}),
        ("ncclAllReduceTreeLLKernel_sum_f16(ncclColl)", "nccl", {"redop": "sum", "algo": "tree"}),
        ("Cijk_SB_PostGSU4_VW4", "tensile", {"op": "splitk_reduce"}),
        ("hgemm_nocopy_tn_32x32_4x8[SIMD16 {8; 1; 1} {64; 8; 1}]", "onemkl_gemm", {"simd": 16}),
    ],
)
def test_less_common_forms_are_read_too(name: str, family: str, fields: dict[str, object]) -> None:
    kernel = decode(name, cut=False)
    assert kernel.family == family
    assert fields.items() <= dict(kernel.fields).items()


def test_a_launcher_that_hides_the_operator_is_not_named_as_one() -> None:
    kernel = decode(
        "void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl<at::native::"
        "(anonymous namespace)::type_specialized_broadcast_kernel_launcher<1>::apply<int>(int)"
        "::{lambda(int)#1}>(int)::{lambda(int)#1}>(int)"
    )
    assert dict(kernel.fields) == {
        "template": "elementwise_kernel", "threads": 128, "work_per_thread": 4,
    }  # fmt: skip


def test_what_was_not_understood_is_said_in_the_name_s_own_words() -> None:
    kernel = decode("nvjet_sm90_tst_128x64_64x6_1x2_h_bz_newword_TNT")
    assert not kernel.complete
    assert "not understood: newword" in kernel.notes
    assert kernel.fields["layout"] == "tn"


def test_a_bracket_left_open_makes_a_name_incomplete() -> None:
    assert not decode("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float").complete
