"""docs/kernel-names.md: its examples decode to the families that it describes, all of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from ptx.profiling.kernels.decode import decode
from ptx.profiling.kernels.words import UNKNOWN

if TYPE_CHECKING:
    from pathlib import Path

FAMILIES = """
    cublas_legacy cublas_xmma cublas_nvjet cublas_aux cutlass2 cutlass3 cudnn_conv cudnn_norm
    cudnn_aux cudnn_sdpa aten_elementwise aten_copy aten_reduce aten_softmax aten_norm aten_index
    aten_cat aten_sort aten_distribution aten_pool aten_upsample aten_loss aten_foreach aten_other
    aten_xpu inductor triton_user flash_attn2 flash_attn3 flash_attn4_cute fmha_mem_efficient
    trtllm_gen trtllm flashinfer deepgemm deepep vllm sglang fbgemm apex_fused_norm
    apex_multi_tensor nccl rccl symm_mem memcpy memset cub_thrust rocprim magma cufft tensile miopen
    ck ck_tile aiter aotriton onednn onemkl_gemm sycl_user level_zero_other ascend_aclnn
    ascend_static hccl other_custom transformer_engine bitsandbytes cusparse cusolver nvshmem marlin
"""
_EXAMPLE = re.compile(r"^    (\S.*)$", re.MULTILINE)
_CODE = re.compile(r"`([a-z0-9_]+)`")


@pytest.fixture(scope="module")
def sections(repo_root: Path) -> list[str]:
    text = (repo_root / "docs" / "kernel-names.md").read_text(encoding="utf-8")
    return re.split(r"^#{2,3} ", text, flags=re.MULTILINE)


def test_an_example_stands_in_the_section_of_its_family(sections: list[str]) -> None:
    examples = [(name, section) for section in sections for name in _EXAMPLE.findall(section)]
    assert len(examples) > 60
    for name, section in examples:
        family = decode(name, cut=False).family
        assert family != UNKNOWN, name
        assert family in _CODE.findall(section), (name, family)


def test_every_family_is_described_by_an_example(sections: list[str]) -> None:
    names = [name for section in sections for name in _EXAMPLE.findall(section)]
    shown = {decode(name, cut=False).family for name in names}
    assert shown == set(FAMILIES.split())
