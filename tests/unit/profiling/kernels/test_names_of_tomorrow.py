"""Names that the labelled set does not hold: newer GPUs, types, libraries and releases."""

from __future__ import annotations

import pytest

from ptx.profiling.kernels.decode import decode

NVJET = [
    ("sm103_ootst_128x256_256x4_2x1_2cta_v_bz_Avec16UE4M3_Bvec16UE4M3_TNT",
     {"dtype_a": "e2m1", "scale_a": "ue4m3 per 16", "two_cta": True, "arch": "sm_103"}),
    ("sm90_bsb_128x256_128x4_2x1_v_bz_coopA_TNN", {"dtype_a": "i8", "dtype_out": "i8"}),
    ("sm90_qqtsq_128x256_128x4_2x1_v_bx_algo2_TNN", {"dtype_out": "e4m3", "beta": "nonzero"}),
    ("hsh_192x144_64x4_1x2_h_bx_coopB_geluauxbias_auxt_NNT",
     {"epilogue": ("gelu", "aux", "bias"), "layout": "nn"}),
    ("sm90_tst_64x8_64x16_4x1_v_bz_relubias_TNN", {"epilogue": ("relu", "bias")}),
    ("sm100_tst_128x256_64x6_2x1_2cta_v_bz_biast_relu_TNT", {"epilogue": ("bias", "relu")}),
    ("sm100_hsh_128x256_64x6_2x2f_2cta_h_bz_NNT", {"cluster": "2x2", "layout": "nn"}),
    ("sm121_tst_mma_128x208x64_2_32x104x64_tmaAB_bz_TNNN",
     {"tile_m": 128, "tile_n": 208, "tile_k": 64, "beta": "zero", "layout": "tn"}),
    ("sm120_hhh_mma_64x64x128_tmaAB_bz_NNNN", {"dtype_acc": "f16", "tile_k": 128}),
]  # fmt: skip


@pytest.mark.parametrize(("rest", "fields"), NVJET)
def test_every_word_of_an_nvjet_name_is_understood(rest: str, fields: dict[str, object]) -> None:
    kernel = decode(f"nvjet_{rest}", cut=False)
    assert kernel.family == "cublas_nvjet"
    assert kernel.complete
    assert fields.items() <= dict(kernel.fields).items()


def test_the_sums_of_integer_products_are_not_taken_from_the_type_of_alpha() -> None:
    kernel = decode("nvjet_sm90_bsb_128x256_128x4_2x1_v_bz_coopA_TNN", cut=False)
    assert "dtype_acc" not in kernel.fields
    assert any("alpha and beta are f32" in note for note in kernel.notes)


def test_five_letters_name_c_apart_from_the_output() -> None:
    kernel = decode("nvjet_sm90_qqtsq_128x256_128x4_2x1_v_bz_TNN", cut=False)
    assert "t in the middle: C is bf16" in kernel.notes


def test_the_raster_order_is_told() -> None:
    along = {
        order: " ".join(decode(f"nvjet_tst_64x8_64x16_4x1_{order}_bz_TNN", cut=False).notes)
        for order in "hv"
    }
    assert "along N" in along["h"]
    assert "along M" in along["v"]


XMMA = "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize{}_{}_execute_{}_kernel__5x_cublas"


def test_an_xmma_tile_is_said_to_be_in_torch_s_view() -> None:
    oblong = decode(XMMA.format("256x128x64", "warpgroupsize1x1x1", "segment_k_off"), cut=False)
    assert any("those of torch" in note for note in oblong.notes)
    square = decode(XMMA.format("128x128x64", "warpgroupsize1x1x1", "segment_k_on"), cut=False)
    assert square.notes == ("segment_k_on: K is split over CTAs",)


def test_xmma_clusters_and_epilogues_are_read() -> None:
    name = XMMA.format("64x64x64", "cgasize2x1x1_warpgroupsize1x1x1_aux_bf16_dgelu", "split_k")
    kernel = decode(name, cut=False)
    assert kernel.complete
    assert (kernel.fields["cluster"], kernel.fields["epilogue"]) == ("2x1x1", ("dgelu",))


@pytest.mark.parametrize(
    ("name", "family", "category", "fields"),
    [
        ("sm89_xmma_gemm_e4m3e4m3_e4m3f32_f32_tn_n_tilesize128x128x64_stage3_warpsize2x2x1"
         "_tensor16x8x32_bias_f16_execute_kernel__5x_cublas", "cublas_xmma", "G",
         {"dtype_out": "e4m3", "epilogue": ("bias",)}),
        ("trt_ampere_h16816gemm_256x64_ldg8_tn_v1", "cublas_legacy", "G", {"layout": "tn"}),
        ("cutlass_80_tensorop_f16_s16816gemm_grouped_f16_128x128_64x3_tn_align8", "cutlass2", "G",
         {"tile_k": 64, "stages": 3}),
        ("cutlass_tensorop_bf16_s16832spgemm_bf16_128x128_64x3_tn_align8", "cutlass2", "G",
         {"op": "gemm", "instr": "16x8x32", "dtype_a": "bf16"}),
        ("cutlass3x_sm100_bstensorop_s256x128x64gemm_block_scaled_ue4m3xf4_ue4m3xf4_f32_f16_f16"
         "_256x128x256_0_tnn_align32_o_vs16_2sm_bias_f16_relu", "cutlass3", "G",
         {"scale_a": "ue4m3", "dtype_a": "e2m1", "epilogue_supported": ("bias", "relu")}),
        ("cutlass3x_sm100_simt_sgemm_f32_f32_f32_f32_f32_64x64x16_1x1x1_3_tnn_align1_bias_f32_relu",
         "cutlass3", "G", {"tensor_core": False, "stages": 3}),
        ("void cutlass1x::gemm::gemm_kernel_nolb<cutlass1x::gemm::Gemm<int> >(int)", "cublas_aux",
         "G", {"op": "gemm"}),
        ("void cgemm_largek<true, false, 4>(float2*)", "cublas_aux", "G", {"op": "gemm"}),
        ("void batch_trsm_left_kernel<float>(int)", "cublas_aux", "G", {"op": "trsm"}),
        ("cudnn_generated_oss_sdpa_sm100_flash_fprop_f16_knob_7_128x128x64_4x1x1_cga1x1x1_kernel0_0",
         "cudnn_sdpa", "A", {"arch": "sm_100", "direction": "fwd", "knob": 7}),
        ("cudnn_generated_fort_native_sm80_convFwd_pointwise_pointwise_kernel0", "cudnn_conv", "G",
         {"op": "fprop", "arch": "sm_80"}),
        ("void nhwcToNchwKernel<float, float, float, true, false>(int)", "cudnn_aux", "C", {}),
        ("void cunn_ClassNLLCriterion_updateGradInput_kernel<float>(float*)", "aten_loss", "R",
         {"direction": "bwd", "dtype": "f32"}),
        ("ncclSymDevKernel_AllReduce_RSxLD_AGxST_sum_bf16(ncclSymDevArgs)", "nccl", "X",
         {"symmetric": True, "algo": "RSxLD_AGxST", "redop": "sum"}),
        ("ncclDevKernel_AllGatherV_RING_LL(Args<4096ul>)", "nccl", "X",
         {"collective": "AllGatherV"}),
        ("void rccl_main_kernel<1>(ncclDevComm*)", "rccl", "X", {}),
        ("void ck_tile::kentry<256, 2, ck_tile::FmhaFwdKernel<int> >(int)", "ck_tile", "A",
         {"op": "fmha_fwd"}),
        ("_ZN7ck_tile6kentryILi256ELi2ENS_13FmhaFwdKernelIvEEEEvv", "ck_tile", "A",
         {"op": "fmha_fwd"}),
        ("igemm_wrw_gtcx3_nhwc_bf16_bx0_ex1_bt256x256x32_wt32x32x8_ws1x1_gkgs", "miopen", "G",
         {"op": "wgrad", "split_k": True}),
        ("naive_conv_ab_nonpacked_fwd_nchw_half_double_half", "miopen", "G", {}),
        ("magmablas_sgemm_kernel", "magma", "G", {}),
        ("void marlin_moe_wna16::Marlin<1125899906909960l, 256>(int4 const*)", "marlin", "G", {}),
        ("void flashinfer::BatchDecodeWithPagedKVCacheKernel<2u, 4u>(int)", "flashinfer", "A", {}),
        ("void vllm::scaled_fp8_quant_kernel_strided<float>(float*)", "vllm", "P", {}),
        ("xe_hpc_gemm_kernel", "onednn", "G", {}),
        ("aclnnMatmul_MatMulCommon_MatMulV3", "ascend_aclnn", "G", {"op_type": "MatMulV3"}),
        ("Conv2DBackpropFilter6_MemSet", "ascend_static", "O", {"op_type": "MemSet"}),
        ("MEMCPY_ASYNC", "memcpy", "M", {}),
        ("_per_token_group_quant_fp8", "triton_user", "P", {}),
        ("liger_cross_entropy_kernel", "triton_user", "R", {}),
    ],
)  # fmt: skip
def test_other_libraries_are_read_as_far_as_their_grammar_reaches(
    name: str, family: str, category: str, fields: dict[str, object]
) -> None:
    kernel = decode(name, cut=False)
    assert (kernel.family, kernel.category) == (family, category)
    assert fields.items() <= dict(kernel.fields).items()


def test_a_fixed_name_of_onednn_says_that_others_may_use_it() -> None:
    assert any("Triton" in note for note in decode("gemm_kernel", cut=False).notes)
