"""TensorRT-LLM's generated products and attention kernels.

Source: NVIDIA/TensorRT-LLM cpp/.../trtllmGen_gatedAct_export/KernelMetaInfo.h, which has the
longhand of the short names; the attention names are inferred.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ptx.profiling.kernels.reading import Reading

_TYPES = (
    ("MxE4m3", "mxe4m3"), ("MxE2m1", "mxe2m1"), ("Bfloat16", "bf16"), ("Fp16", "f16"),
    ("Fp32", "f32"), ("E4m3", "e4m3"), ("E5m2", "e5m2"), ("E2m1", "e2m1"), ("MxInt4", "mxi4"),
    ("Int8", "i8"), ("Float16", "f16"), ("Float32", "f32"), ("Fp8", "f8"),
)  # fmt: skip
_TYPE = "|".join(word for word, _ in _TYPES)
_NAMES = dict(_TYPES)
_HEAD = re.compile(rf"(bmm|gemm|Gemm[A-Za-z]*Kernel|BatchedGemm[A-Za-z]*)_(?:{_TYPE})_")
_PAIR = re.compile(rf"({_TYPE})({_TYPE})?\Z")
_SHAPE = re.compile(r"(tile|t|mma|m|cluster|cga)([0-9]{1,5}x[0-9]{1,5}x[0-9]{1,5})(?:u[0-9]+)?\Z")
_STAGES = re.compile(r"s([0-9]{1,3})\Z")
_ARCH = re.compile(r"sm([0-9]{2,3}[af]?)\Z")
_SPLIT = re.compile(r"splitK([0-9]{1,3})\Z")
_ACTIVATIONS = {"swiGlu": "swiglu", "geGlu": "geglu", "relu2": "relu2", "silu": "silu"}

_FMHA = re.compile(
    rf"fmhaSm([0-9]{{2,3}}[af]?)Kernel_(?:Qkv({_TYPE})|Q({_TYPE})Kv({_TYPE}))O({_TYPE})"
    r"(?:HQk([0-9]{1,4}))?(?:HV([0-9]{1,4}))?(?:H([0-9]{1,4}))?(?:HV([0-9]{1,4}))?"
    r"(PagedKv|SeparateQkv|PackedQkv|ContiguousKv)"
    r"(Dense|Causal|SlidingOrChunkedCausal|Custom)?(?:P([0-9]{1,4}))?(MultiCtasKv(?:CgaVar)?)?"
    r"(VarSeq|StaticSeq)?(?:Q([0-9]{1,4}))?(?:Kv([0-9]{1,4}))?(Persistent|Static)?"
    r"(Context|SwapsAbForGen|KeepsAbForGen)?"
)


def read_trtllm_gen(reading: Reading) -> bool:
    """Reads `bmm_<D>_<A><B>_Fp32_t...`, its longhand, and `fmhaSm...`; False if it is none."""
    name, start, end = reading.name, reading.start, reading.end
    if name.startswith("fmhaSm", start, end):
        _read_fmha(reading)
        return True
    if not _HEAD.match(name, start, end):
        return False
    reading.be("trtllm_gen", "nvidia", "NVIDIA/TensorRT-LLM KernelMetaInfo.h")
    words = reading.words()
    types: list[tuple[str, int, int]] = []
    at = 1
    for word in words[1:]:
        pair = _PAIR.match(word.text)
        if not pair:
            break
        at += 1
        types += [
            (_NAMES[kind], word.start + pair.start(i), word.start + pair.end(i))
            for i, kind in enumerate(pair.groups(), 1)
            if kind
        ]
    gated = "act" in words[0].text.lower()
    keys = ("dtype_out", "dtype_a", "dtype_b", "dtype_acc")
    if len(types) == 3 and at < len(words):
        # One operand type serves both.
        types.insert(2, types[1])
    if len(types) == 4 and at < len(words):
        for key, found in zip(keys, types, strict=True):
            reading.put(key, *found)
    for word in words[at:]:
        text = word.text
        if shape := _SHAPE.match(text):
            _put_shape(reading, shape, word.start)
        elif stages := _STAGES.match(text):
            reading.take("stages", int(stages.group(1)), word)
        elif arch := _ARCH.match(text):
            reading.take("arch", f"sm_{arch.group(1)}", word)
        elif split := _SPLIT.match(text):
            reading.take("split_k", int(split.group(1)), word)
        elif text in _ACTIVATIONS:
            reading.take("epilogue", (_ACTIVATIONS[text],), word)
        elif not text.startswith(("et", "epilogueTile")):
            reading.leave_unread(text)
    if gated:
        reading.notes.append("a gated activation is fused; which one is not stated in this form")
    return True


def _put_shape(reading: Reading, shape: re.Match[str], offset: int) -> None:
    span = (offset + shape.start(2), offset + shape.end(2))
    kind, sizes = shape.groups()
    if kind in ("tile", "t"):
        for key, size in zip(("tile_m", "tile_n", "tile_k"), sizes.split("x"), strict=True):
            reading.put(key, int(size), *span)
    elif kind in ("mma", "m"):
        reading.put("instr", sizes, *span)
        reading.put("tensor_core", True, *span)
    else:
        reading.put("cluster", sizes, *span)


def _read_fmha(reading: Reading) -> None:
    reading.be("trtllm_gen", "nvidia", "inferred from names in traces")
    if reading.cut:
        return
    match = _FMHA.match(reading.name, reading.start, reading.end)
    if not match:
        return
    reading.put("arch", f"sm_{match.group(1)}", *match.span(1))
    query = 2 if match.group(2) else 3
    for key, group in (("dtype_q", query), ("dtype_kv", 2 if query == 2 else 4), ("dtype_out", 5)):
        reading.put(key, _NAMES[match.group(group)], *match.span(group))
    for key, groups in (
        ("head_dim", (6, 8)), ("head_dim_v", (7, 9)), ("page_size", (12,)), ("tile_m", (15,)),
        ("tile_n", (16,)),
    ):  # fmt: skip
        for group in groups:
            if match.group(group):
                reading.put(key, int(match.group(group)), *match.span(group))
    if match.group(10) == "PagedKv":
        reading.put("paged_kv", True, *match.span(10))
    if match.group(11):
        mask = {"SlidingOrChunkedCausal": "sliding_or_chunked_causal"}.get(match.group(11))
        reading.put("mask", mask or match.group(11).lower(), *match.span(11))
    if match.group(17):
        reading.put("persistent", match.group(17) == "Persistent", *match.span(17))
    if match.group(18):
        phase = "context" if match.group(18) == "Context" else "generation"
        reading.put("phase", phase, *match.span(18))
