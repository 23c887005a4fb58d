"""Puts what was read into words: the short form, the category's letter and one sentence."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Protocol

from ptx.profiling.kernels.vocabulary import VIEWS

if TYPE_CHECKING:
    from collections.abc import Mapping

UNKNOWN = "unknown"
"""The family of a name that no rule recognises."""


class Read(Protocol):
    """A name that was read: what the words are made from."""

    @property
    def name(self) -> str:
        """Returns the name as given."""

    @property
    def family(self) -> str:
        """Returns the family."""

    @property
    def fields(self) -> Mapping[str, str | int | bool | tuple[str, ...]]:
        """Returns the canonical fields."""


SHORT_COLUMNS = 34

_CATEGORIES = {
    "cublas_legacy": "G", "cublas_xmma": "G", "cublas_nvjet": "G", "cublas_aux": "G",
    "cutlass2": "G", "cutlass3": "G", "cudnn_conv": "G", "tensile": "G", "deepgemm": "G",
    "onednn": "G", "onemkl_gemm": "G", "magma": "G", "ck": "G", "marlin": "G",
    "flash_attn2": "A", "flash_attn3": "A", "flash_attn4_cute": "A", "fmha_mem_efficient": "A",
    "cudnn_sdpa": "A", "aotriton": "A",
    "aten_elementwise": "P", "aten_foreach": "P", "aten_distribution": "P", "aten_upsample": "P",
    "aten_xpu": "P", "apex_multi_tensor": "P",
    "aten_reduce": "R", "aten_softmax": "R", "aten_norm": "R", "aten_pool": "R", "aten_loss": "R",
    "cudnn_norm": "R", "apex_fused_norm": "R",
    "aten_copy": "C", "aten_cat": "C", "aten_index": "C",
    "memcpy": "M", "memset": "M",
    "nccl": "X", "rccl": "X", "hccl": "X", "symm_mem": "X", "deepep": "X", "nvshmem": "X",
    "aten_sort": "O", "cufft": "O", UNKNOWN: "O",
}  # fmt: skip
_KIND_CATEGORIES = {
    "pointwise": "P", "foreach": "P", "reduction": "R", "persistent_reduction": "R",
    "split_scan": "R", "template": "G",
}  # fmt: skip
_COPIES = frozenset(
    ("_to_copy", "clone", "copy", "cat", "contiguous", "constant_pad_nd", "index", "gather",
     "embedding", "stack")
)  # fmt: skip
_BY_WORD = (
    ("A", frozenset(("attention", "attn", "fmha", "mha", "mla", "prefill", "sage", "sdpa",
                     "pa", "flashattention"))),
    ("X", frozenset(("allreduce", "allgather", "reducescatter", "alltoall", "crossdevice"))),
    ("G", frozenset(("conv", "conv2d", "convolution", "igemm", "winograd", "matmul", "batchmatmul",
                     "gemm"))),
    ("C", frozenset(("cache", "kvcache", "copy", "cast", "transpose", "gather", "scatter",
                     "permute", "concat", "cat", "memset", "nhwc", "nchw", "transdata",
                     "im2col", "col2im", "im2d2col", "slice", "index", "embedding"))),
    ("G", frozenset(("moe", "gemv", "mm"))),
    ("R", frozenset(("norm", "layernorm", "rmsnorm", "softmax", "reduce", "batchnorm", "mean",
                     "groupnorm", "sum", "max", "min", "argmax", "pool", "rms", "entropy",
                     "loss"))),
    ("P", frozenset(("add", "mul", "act", "gelu", "silu", "swiglu", "rotary", "rope", "relu",
                     "sub", "div", "exp", "quant", "dequant", "quantize", "dequantize",
                     "sigmoid", "dropout", "adam", "adamw", "greater",
                     "less", "equal", "adds", "muls", "sqrt", "pow", "neg", "fill"))),
)  # fmt: skip
_FLASHINFER_ATTENTION = ("BatchDecode", "SingleDecode", "BatchPrefill", "SinglePrefill", "BatchMLA")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+")


def category(reading: Read) -> str:
    """Returns the letter of the kernel's category."""
    fields, family = reading.fields, reading.family
    if family == "inductor":
        operators = fields.get("fused_ops", ())
        kind = str(fields.get("kind"))
        if isinstance(operators, tuple) and operators:
            work = {op for op in operators if op not in VIEWS}
            if kind == "pointwise" and work <= _COPIES:
                return "C"
            if kind == "template" and any("attention" in op for op in operators):
                return "A"
        return _KIND_CATEGORIES.get(kind, "O")
    if family == "trtllm_gen":
        return "A" if "dtype_q" in fields or "fmha" in reading.name[:16] else "G"
    if family in ("cub_thrust", "rocprim"):
        return "R" if fields.get("op") == "reduce" else "O"
    if family == "cutlass3" and "tile_m" not in fields and "tensor_core" not in fields:
        return _by_words(str(fields.get("kernel", "")), "G")
    if family in _CATEGORIES:
        return _CATEGORIES[family]
    if fields.get("op") in ("fprop", "dgrad", "wgrad"):
        return "G"
    named = str(fields.get("kernel") or fields.get("op_type") or fields.get("op") or "")
    if family == "flashinfer" and named.startswith(_FLASHINFER_ATTENTION):
        return "A"
    return _by_words(named, "O")


def _by_words(name: str, otherwise: str) -> str:
    words = {word.lower() for word in _WORD.findall(name[:200])}
    words |= {f"{a}{b}" for a, b in (("all", "reduce"), ("all", "gather"), ("layer", "norm"),
                                     ("mat", "mul"),
                                     ("cross", "device"), ("reduce", "scatter"))
              if a in words and b in words}  # fmt: skip
    return next((letter for letter, known in _BY_WORD if words & known), otherwise)


_LABELS = {
    "cublas_nvjet": "nvjet", "cublas_legacy": "cublas", "cublas_xmma": "xmma",
    "cutlass2": "cutlass", "cutlass3": "cutlass3", "cudnn_conv": "cudnn", "cublas_aux": "cublas",
    "flash_attn2": "flash2", "flash_attn3": "flash3", "flash_attn4_cute": "flash4",
    "fmha_mem_efficient": "mem-eff", "cudnn_sdpa": "cudnn sdpa", "trtllm_gen": "trtllm",
    "apex_fused_norm": "apex", "apex_multi_tensor": "apex", "cub_thrust": "cub",
    "onemkl_gemm": "onemkl", "triton_user": "triton",
}  # fmt: skip
_FUNCTOR_ENDS = (
    "_kernel_cuda", "_cuda_kernel", "_kernel_impl", "_cuda_out", "CUDAKernelImpl", "KernelImpl",
    "KernelImplInternal", "_kernel", "_functor", "Functor", "Ops", "_cuda", "_impl",
    *(f"Functor{digit}" for digit in range(10)),
)  # fmt: skip
_FUNCTOR_HEADS = re.compile(r"(?:CUDAFunctor(?:OnSelf|OnOther)?_|direct_)")
_SHORT_OPS = {"_to_copy": "cast", "native_layer_norm": "layer_norm"}


def short(reading: Read) -> str:
    """Returns at most 34 columns that tell this kernel from its neighbours."""
    family = reading.family
    if family == UNKNOWN:
        return cut_middle(printable(" ".join(reading.name[:400].split())) or "(no name)")
    if family == "inductor":
        return _short_inductor(reading)
    parts = _short_parts(reading)
    return cut_middle(printable(" ".join(filter(None, parts))))


def printable(text: str) -> str:
    """Returns the text with what is no printable character replaced, cut to a sane length."""
    text = text[:400]
    return text if text.isprintable() else "".join(c if c.isprintable() else "?" for c in text)


def cut_middle(text: str, columns: int = SHORT_COLUMNS) -> str:
    """Returns the text in that many columns, its middle left out where it is too long."""
    if len(text) <= columns:
        return text
    tail = columns * 9 // 20
    return f"{text[: columns - 1 - tail]}…{text[-tail:]}"


def operator_word(functor: str) -> str:
    """Returns the operator that a functor's name stands for: `MulFunctor` is mul."""
    head = _FUNCTOR_HEADS.match(functor)
    word = functor[head.end() :] if head else functor
    for _ in range(2):
        if word.endswith(_FUNCTOR_ENDS):
            ending = next(ending for ending in _FUNCTOR_ENDS if word.endswith(ending))
            word = word[: -len(ending)] or word
    return word[:1].lower() + word[1:] if word[1:2].islower() or len(word) == 1 else word


def _short_parts(reading: Read) -> list[str]:
    fields, family = reading.fields, reading.family
    get = fields.get
    dtype = str(get("dtype_a") or get("dtype") or get("dtype_q") or "")
    if family in ("memcpy", "memset"):
        kinds = f"{get('src')}->{get('dst')}" if "src" in fields else str(get("dst", ""))
        return [family, str(get("direction", "")), kinds]
    if family in ("aten_elementwise", "aten_copy", "aten_xpu", "aten_reduce", "aten_foreach"):
        functor = get("functor") or get("template") or get("kernel")
        return [operator_word(str(functor)), dtype, _access(reading)]
    if family.startswith("aten_"):
        return [str(get("kernel", family)).removesuffix("_kernel"), dtype, _access(reading)]
    label = _LABELS.get(family, family)
    if family == "tensile" and get("generator") == "tensilelite":
        label = "hipblaslt"
    if "collective" in fields or family in ("nccl", "rccl", "hccl"):
        return [label, str(get("collective", "")), str(get("redop", "")), dtype]
    if "tile_m" in fields and family != "miopen":
        tile = "x".join(str(fields[k]) for k in ("tile_m", "tile_n", "tile_k") if k in fields)
        head = f"d{get('head_dim')}" if "head_dim" in fields else ""
        op = str(get("op", "")) if get("op") not in ("gemm", None) else ""
        way = str(get("direction", ""))
        return [label, op, way, dtype, head, tile, str(get("layout", "")), *_flags(reading)]
    named = str(get("kernel") or get("op_type") or get("op") or "")
    if family in ("other_custom", "cublas_aux", "cudnn_aux", "miopen", "ascend_static"):
        return [named or label, dtype]
    if family == "ascend_aclnn":
        return [named or str(get("api", "")), str(get("core", "")) * (get("core") == "aicpu")]
    return [label, named or str(get("direction", "")), dtype]


def _access(reading: Read) -> str:
    fields = reading.fields
    if "vec" in fields and reading.family != "aten_reduce":
        return f"v{fields['vec']}"
    template = fields.get("template", "")
    return {"unrolled_elementwise_kernel": "unrolled", "elementwise_kernel": "strided",
            "elementwise_kernel_manual_unroll": "strided"}.get(str(template), "")  # fmt: skip


def _flags(reading: Read) -> list[str]:
    fields = reading.fields
    found = [f"+{word}" for word in _tuple(fields.get("epilogue"))]
    for key, word in (("split_k", "splitK"), ("stream_k", "streamK"), ("causal", "causal")):
        value = fields.get(key)
        if value is True or (isinstance(value, int) and value > 1):
            found.append(word)
    return found


def _tuple(value: object) -> tuple[str, ...]:
    return value if isinstance(value, tuple) else ()


def _short_inductor(reading: Read) -> str:
    fields = reading.fields
    kind = {"pointwise": "poi", "reduction": "red", "persistent_reduction": "per",
            "template": "tem", "foreach": "for", "split_scan": "spl"}  # fmt: skip
    head = ["triton", kind.get(str(fields.get("kind")), "")]
    if "index" in fields:
        head.append(f"#{fields['index']}")
    operators = [op for op in _tuple(fields.get("fused_ops")) if op not in VIEWS]
    names = dict.fromkeys(map(_short_operator, operators))
    text = " ".join(filter(None, [*head, str(fields.get("template", "")), "+".join(names)]))
    if not operators and "fused_ops" not in fields and "template" not in fields:
        rest = reading.name[:400].partition("_fused_")[2]
        text = cut_middle(printable(f"{text} {rest}".rstrip()))
    return text if len(text) <= SHORT_COLUMNS else f"{text[: SHORT_COLUMNS - 1]}…"


def _short_operator(operator: str) -> str:
    if operator.startswith("_scaled_dot_product"):
        return "SDPA" + ("_bwd" if operator.endswith("backward") else "")
    word = _SHORT_OPS.get(operator, operator).lstrip("_")
    return word.replace("_backward", "_bwd")


_WHO = {
    "cublas_legacy": "cuBLAS", "cublas_xmma": "cuBLAS (xmma)", "cublas_nvjet": "cuBLAS (nvjet)",
    "cublas_aux": "cuBLAS", "cutlass2": "CUTLASS 2", "cutlass3": "CUTLASS 3",
    "cudnn_conv": "cuDNN", "cudnn_norm": "cuDNN", "cudnn_aux": "cuDNN", "cudnn_sdpa": "cuDNN",
    "inductor": "torch.compile (Triton)", "triton_user": "A user's Triton kernel",
    "flash_attn2": "FlashAttention 2", "flash_attn3": "FlashAttention 3",
    "flash_attn4_cute": "FlashAttention 4", "fmha_mem_efficient": "Memory-efficient attention",
    "trtllm_gen": "TensorRT-LLM", "trtllm": "TensorRT-LLM", "flashinfer": "FlashInfer",
    "deepgemm": "DeepGEMM", "deepep": "DeepEP", "vllm": "vLLM", "sglang": "SGLang",
    "fbgemm": "FBGEMM", "apex_fused_norm": "apex or Transformer Engine",
    "apex_multi_tensor": "apex or DeepSpeed", "nccl": "NCCL", "rccl": "RCCL", "hccl": "HCCL",
    "symm_mem": "PyTorch symmetric memory", "cub_thrust": "CUB or Thrust", "rocprim": "rocPRIM",
    "magma": "MAGMA", "cufft": "cuFFT", "miopen": "MIOpen", "ck": "Composable Kernel",
    "ck_tile": "Composable Kernel (tile)", "aiter": "aiter", "aotriton": "AOTriton",
    "onednn": "oneDNN", "onemkl_gemm": "oneMKL", "sycl_user": "A SYCL kernel",
    "level_zero_other": "Level Zero", "ascend_aclnn": "Ascend aclnn",
    "ascend_static": "Ascend graph", "other_custom": "A custom kernel",
    "transformer_engine": "Transformer Engine", "bitsandbytes": "bitsandbytes",
    "marlin": "Marlin", "cusparse": "cuSPARSE", "cusolver": "cuSOLVER", "nvshmem": "NVSHMEM",
}  # fmt: skip
_WHAT = {
    "G": "matrix product", "A": "attention", "P": "pointwise work", "R": "reduction",
    "C": "data movement", "M": "memory operation", "X": "communication", "O": "kernel",
}  # fmt: skip
_OPS = {
    "fprop": "convolution, forward", "dgrad": "convolution, gradient of the input",
    "wgrad": "convolution, gradient of the weight", "gemm": "matrix product",
    "gemv": "matrix-vector product", "splitk_reduce": "sum of the parts of a split-K product",
    "dot": "dot product", "sort": "sort", "scan": "prefix scan", "select": "selection",
    "fmha": "attention",
}  # fmt: skip


def sentence(reading: Read) -> str:
    """Returns one sentence for a reader who does not know the grammar."""
    fields, family = reading.fields, reading.family
    if family == UNKNOWN:
        return "No rule knows this name."
    who = _WHO.get(family) or ("ATen (PyTorch)" if family.startswith("aten_") else family)
    if family in ("memcpy", "memset"):
        return _transfer_sentence(reading)
    what = _OPS.get(str(fields.get("op")), "") or _subject(reading)
    return f"{who}: {', '.join([what, *_facts(reading)])}."


def _subject(reading: Read) -> str:
    fields, letter = reading.fields, category(reading)
    if "fused_ops" in fields:
        operators = _tuple(fields["fused_ops"])
        kind = str(fields["kind"]).replace("_", " ")
        return f"{kind} kernel of {' + '.join(operators)}" if operators else f"{kind} kernel"
    if "functor" in fields:
        return f"{operator_word(str(fields['functor']))}, {_WHAT[letter]}"
    if "collective" in fields:
        return str(fields["collective"])
    name = fields.get("kernel") or fields.get("op_type") or fields.get("template")
    return f"{printable(str(name))}, {_WHAT[letter]}" if name else _WHAT[letter]


def _transfer_sentence(reading: Read) -> str:
    fields = reading.fields
    if reading.family == "memset":
        return "Fills memory with a value."
    sides = {"H": "host", "D": "device", "P": "peer device", "A": "array"}
    way = str(fields.get("direction", ""))
    if len(way) != 4:
        return "Copies memory."
    pageable = " (pageable: the copy cannot overlap)" if fields.get("src") == "pageable" else ""
    return (
        f"Copies memory from {sides.get(way[0], way[0])} to {sides.get(way[3], way[3])}{pageable}."
    )


def _facts(reading: Read) -> list[str]:
    fields = reading.fields
    get = fields.get
    facts = []
    if "dtype_a" in fields:
        other = f" x {get('dtype_b')}" if get("dtype_b") not in (None, get("dtype_a")) else ""
        facts.append(f"{get('dtype_a')}{other} in")
    if "dtype" in fields:
        facts.append(f"{get('dtype')} data")
    if "dtype_q" in fields:
        facts.append(f"{get('dtype_q')} queries")
    if "dtype_acc" in fields:
        facts.append(f"{get('dtype_acc')} accumulation")
    if get("dtype_out") not in (None, get("dtype")):
        facts.append(f"{get('dtype_out')} out")
    if "direction" in fields:
        facts.append({"fwd": "forward", "bwd": "backward"}.get(str(get("direction")), ""))
    if "head_dim" in fields:
        facts.append(f"head size {get('head_dim')}")
    if "tile_m" in fields and "tile_n" in fields:
        facts.append(f"tile {get('tile_m')}x{get('tile_n')}")
    if "tile_k" in fields:
        facts.append(f"K step {get('tile_k')}")
    if "stages" in fields:
        facts.append(f"{get('stages')} stages")
    if "layout" in fields:
        facts.append(f"operands {get('layout')} (BLAS view)")
    if "vec" in fields:
        facts.append(f"{get('vec')} elements a load")
    if "tensor_core" in fields:
        facts.append("on tensor cores" if get("tensor_core") else "without tensor cores")
    if "causal" in fields and get("causal"):
        facts.append("causal")
    if "split_k" in fields and get("split_k") is True:
        facts.append("split-K")
    if "epilogue" in fields:
        facts.append(f"fused {' and '.join(_tuple(get('epilogue')))}")
    if "epilogue_supported" in fields:
        facts.append(f"able to fuse {', '.join(_tuple(get('epilogue_supported')))}")
    if "arch" in fields:
        facts.append(f"built for {get('arch')}")
    return [fact for fact in facts if fact]
