"""Kernels that a namespace or a function name assigns to a library, without a finer grammar.

Source: the namespaces and functions of the libraries' public code.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ptx.profiling.kernels.cxx import literal, parse
from ptx.profiling.kernels.dtypes import cxx_type
from ptx.profiling.kernels.families.amd import read_ck, read_ck_tile, read_rocprim
from ptx.profiling.kernels.reading import Token

if TYPE_CHECKING:
    from ptx.profiling.kernels.cxx import Cxx
    from ptx.profiling.kernels.reading import Reading

_NAMESPACES = (
    (("vllm",), "vllm", None), (("sgl_hip", "sglang", "sgl_kernel", "sgl"), "sglang", None),
    (("flashinfer",), "flashinfer", "nvidia"), (("deep_gemm",), "deepgemm", "nvidia"),
    (("deep_ep",), "deepep", "nvidia"), (("fbgemm_gpu",), "fbgemm", None),
    (("tensorrt_llm",), "trtllm", "nvidia"), (("layer_norm",), "apex_fused_norm", "nvidia"),
    (("transformer_engine",), "transformer_engine", "nvidia"),
    (("marlin", "marlin_moe_wna16"), "marlin", "nvidia"),
    (("cusparse",), "cusparse", "nvidia"), (("cusolver",), "cusolver", "nvidia"),
    (("nvshmem", "nvshmemi"), "nvshmem", "nvidia"), (("aiter",), "aiter", "amd"),
)  # fmt: skip
_BARE = (
    (re.compile(r"split_embedding_|bounds_check_indices|permute_pooled_embs|recat_|dense_embedding_"
                r"|invert_permute|permute_(?:[12]d|indices|embeddings|sequence)_|jagged_"
                r"|int_nbit_split_embedding|lxu_cache_|linearize_(?:cache|index)_|block_bucketize_"),
     "fbgemm", None),
    (re.compile(r"(?:void_)?magma(?:blas)?_"), "magma", "nvidia"),
    (re.compile(r"(?:regular|vector|composite_2way|composite|real_complex)_fft\Z|spRealComplex|"
                r"spVector|spRadix|dpVector|dpRadix|dpRealComplex|postprocess_kernel\Z|"
                r"preprocess_kernel\Z|regular_bluestein_fft\Z|bluestein_"), "cufft", "nvidia"),
    (re.compile(r"paged_attention_|reshape_and_cache|rotary_embedding_kernel|"
                r"(?:single_query|batched)_cached_|moe_align_block_size|cross_device_reduce_|"
                r"concat_and_cache_|topkGatingSoftmax|wvSpltK|LLGemm|gptq_|awq_"), "vllm", None),
    (re.compile(r"store_kvcache|fused_add_rmsnorm_sgl|moe_fused_gate"), "sglang", None),
    (re.compile(r"moeTopK|finalizeMoeRouting|expandInputRows|doActivationKernel"
                r"|computeStridesTma|fusedBuildExpertMaps|blockExpertPrefixSum"
                r"|globalExpertPrefixSum|mergeExpertPrefixSum"), "trtllm", "nvidia"),
    (re.compile(r"kDequantizeBlockwise|kQuantizeBlockwise|kgemm_4bit_|kInt8VectorQuant|"
                r"kOptimizer|kPreconditionOptimizer|kgemm_4bit|kdequant_mm|kEstimateQuantiles"),
     "bitsandbytes", None),
    (re.compile(r"cuApplyLayerNorm|cuComputeGradInput|cuComputePartGradGammaBeta"
                r"|cuApplyRMSNorm"), "apex_fused_norm", "nvidia"),
    (re.compile(r"nvshmem"), "nvshmem", "nvidia"),
    (re.compile(r"[Mm]arlin\Z"), "marlin", "nvidia"),
)  # fmt: skip

_CUB_OPS = (
    ("DeviceRadixSort", "sort"), ("DeviceSegmentedRadixSort", "sort"), ("DeviceMergeSort", "sort"),
    ("DeviceSegmentedSort", "sort"), ("DeviceScanByKey", "scan"), ("DeviceScan", "scan"),
    ("DeviceCompact", "select"), ("DeviceSelect", "select"), ("DeviceUniqueByKey", "select"),
    ("DevicePartition", "select"), ("DeviceReduceByKey", "reduce"), ("DeviceReduce", "reduce"),
    ("DeviceSegmentedReduce", "reduce"), ("DeviceHistogram", "histogram"),
    ("DeviceRle", "run_length"), ("DeviceRunLength", "run_length"),
)  # fmt: skip
_THRUST_OPS = (
    ("RadixSort", "sort"), ("MergeSort", "sort"), ("BlockSort", "sort"), ("ScanAgent", "scan"),
    ("ReduceByKey", "reduce"), ("ReduceAgent", "reduce"), ("UniqueAgent", "select"),
    ("UniqueByKey", "select"), ("CopyIfAgent", "select"), ("PartitionAgent", "select"),
)  # fmt: skip


def read_library(reading: Reading, cxx: Cxx) -> bool:
    """Reads a kernel by namespace or by function name; False if no library is known for it."""
    spot = Token(cxx.name, cxx.name_start, cxx.name_end)
    names = cxx.names
    if "cub" in names[:-1] or names[0] == "thrust":
        _read_cub(reading, cxx, spot)
        return True
    if names[0] in ("rocprim", "hipcub"):
        read_rocprim(reading, cxx)
        return True
    if names[0] == "ck":
        read_ck(reading, names, spot)
        return True
    if names[0] == "ck_tile":
        # Numbers come first: threads, and in newer releases blocks.
        spans = (s for s in cxx.arguments or () if literal(reading.name[slice(*s)]) is None)
        inner = parse(reading.name, *span) if (span := next(spans, None)) else None
        read_ck_tile(
            reading, inner.name if inner else "", *((inner.name_start, inner.name_end) if inner
                                                    else (spot.start, spot.end)),
        )  # fmt: skip
        return True
    if names[:2] == ("dpsk", "ep"):
        reading.be("deepep", "nvidia", "namespace of DeepEP in DeepSeek's traces")
        reading.take("kernel", cxx.name, spot)
        return True
    if names[:2] == ("moe", "dev"):
        reading.be("trtllm", "nvidia", "namespace of TensorRT-LLM")
        reading.take("kernel", cxx.name, spot)
        return True
    for spaces, family, vendor in _NAMESPACES:
        if names[0] in spaces and len(names) > 1:
            reading.be(family, vendor, f"namespace {names[0]}")
            _read_named(reading, cxx, family, spot)
            return True
    if any(names[:-1]):
        return False
    for pattern, family, vendor in _BARE:
        if pattern.match(cxx.name):
            reading.be(family, vendor, "function names of the library's public code")
            _read_named(reading, cxx, family, spot)
            return True
    return False


def _read_named(reading: Reading, cxx: Cxx, family: str, spot: Token) -> None:
    name = cxx.name
    reading.take("kernel", name, spot)
    if family == "fbgemm":
        _read_fbgemm(reading, spot)
    elif family == "apex_fused_norm":
        backward = re.search(r"_bwd|Grad", name)
        reading.take("direction", "bwd" if backward else "fwd", spot)
    elif family == "deepgemm" and "gemm" in name:
        reading.take("tensor_core", True, spot)
        _read_deepgemm(reading, cxx)
    elif family == "cufft":
        for span in cxx.arguments or ():
            text = reading.name[slice(*span)]
            if text in ("float", "double") and (found := cxx_type(text)):
                reading.put("dtype", found, *span)
                break


_FBGEMM = re.compile(
    r"split_embedding_(?:(backward)_codegen_([a-z_]+?)|codegen_(forward)|[a-z_]+?)"
    r"_((?:un)?weighted)_"
)


def _read_fbgemm(reading: Reading, spot: Token) -> None:
    match = _FBGEMM.match(reading.name, spot.start, spot.end)
    if not match:
        return
    for group, direction in ((1, "bwd"), (3, "fwd")):
        if match.group(group):
            reading.put("direction", direction, *match.span(group))
    if match.group(2) and match.group(2) != "dense":
        reading.put("optimizer", match.group(2), *match.span(2))
    if match.group(4) == "unweighted":
        reading.put("weighted", False, *match.span(4))
    elif reading.name.startswith("kernel", match.end()):
        reading.put("weighted", True, *match.span(4))


def _read_deepgemm(reading: Reading, cxx: Cxx) -> None:
    arguments = cxx.arguments or ()
    if cxx.name != "sm90_fp8_gemm_1d2d_impl" or len(arguments) < 12:
        reading.notes.append("the order of the template arguments changed between releases")
        return
    keys = (None, None, "shape_n", "shape_k", "groups", "tile_m", "tile_n", "tile_k", None, None,
            None, "stages")  # fmt: skip
    for key, span in zip(keys, arguments, strict=False):
        number = literal(reading.name[slice(*span)])
        # A zero is a size that is only known when it runs.
        if key and number:
            reading.put(key, number, *span)


def _read_cub(reading: Reading, cxx: Cxx, spot: Token) -> None:
    reading.be("cub_thrust", None, "NVIDIA/cccl cub and thrust")
    reading.take("kernel", cxx.name, spot)
    for prefix, op in _CUB_OPS:
        if cxx.name.startswith(prefix):
            reading.take("op", op, spot)
            return
    for start, end in (cxx.arguments or ())[:1]:
        agent = parse(reading.name, start, end)
        for word, op in _THRUST_OPS:
            if agent.name.startswith(word) or agent.name.endswith(word):
                reading.put("op", op, agent.name_start, agent.name_end)
                return


def read_other(reading: Reading, cxx: Cxx) -> None:
    """Records the plain function name of a kernel that belongs to no known library."""
    reading.be("other_custom", None, "no rule knows this function")
    reading.take("kernel", cxx.name, Token(cxx.name, cxx.name_start, cxx.name_end))
