"""AMD beyond Tensile: MIOpen, Composable Kernel, aiter, rocPRIM.

Sources: ROCm/MIOpen src/solver/conv/conv_asm_implicit_gemm_gtc_perf_config.cpp and
src/hip/batched_transpose_sol.cpp; ROCm/composable_kernel; ROCm/aiter hsa.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ptx.profiling.kernels.cxx import parse
from ptx.profiling.kernels.dtypes import LIBRARY_TYPES
from ptx.profiling.kernels.reading import Token

if TYPE_CHECKING:
    from ptx.profiling.kernels.cxx import Cxx
    from ptx.profiling.kernels.reading import Reading

_IGEMM = re.compile(r"igemm_(fwd|bwd|wrw)_gtc(x[23]?)?_([a-z]+)_([a-z0-9]+)_")
_IGEMM_OPS = {"fwd": "fprop", "bwd": "dgrad", "wrw": "wgrad"}
_IGEMM_ARCH = {"x": "gfx908", "x2": "gfx90a"}
_TRIPLE = re.compile(r"(bt|wt)([0-9]{1,4})x([0-9]{1,4})x([0-9]{1,4})\Z")
_TRANSPOSE = re.compile(r"batched_transpose_([0-9]{1,4})x([0-9]{1,4})(?:_|\Z)")
_ELEMENT = {"byte": 1, "half": 2, "dword": 4}
_MIOPEN = re.compile(
    r"(?:MIOpen|miopen|gfx9_|Im2[dD]|Im2d2Col|Col2Im|SubTensorOp|Op[1-5]dTensor|naive_conv|gridwise_"
    r"|transpose_[NCHWD]{4,5}2|conv_hip_|SubSample|ScalePacked|SetTensor)"
)


def read_miopen(reading: Reading) -> bool:
    """Reads MIOpen's implicit GEMMs, transposes and plain kernels; False if it is none."""
    name, start, end = reading.name, reading.start, reading.end
    if name.startswith("igemm_", start, end):
        _read_igemm(reading)
        return True
    if transpose := _TRANSPOSE.match(name, start, end):
        reading.be("miopen", "amd", "ROCm/MIOpen src/hip/batched_transpose_sol.cpp")
        reading.put("kernel", "batched_transpose", start, start + len("batched_transpose"))
        reading.put("tile_m", int(transpose.group(1)), *transpose.span(1))
        reading.put("tile_n", int(transpose.group(2)), *transpose.span(2))
        last = reading.words()[-1]
        if not reading.cut and last.text in _ELEMENT:
            reading.take("elem_bytes", _ELEMENT[last.text], last)
            reading.notes.append("byte, half and dword are element sizes, not types")
        return True
    if reading.cut or not _MIOPEN.match(name, start, end):
        return False
    stop = name.find("(", start, end)
    cxx = parse(name, start, end if stop < 0 else stop)
    reading.be("miopen", "amd", "ROCm/MIOpen src/kernels")
    spot = Token(cxx.name, cxx.name_start, cxx.name_end)
    reading.take("kernel", cxx.name, spot)
    if "BatchNorm" in cxx.name:
        for word, direction in (("Fwd", "fwd"), ("Bwd", "bwd")):
            if word in cxx.name:
                reading.take("direction", direction, spot)
    return True


def _read_igemm(reading: Reading) -> None:
    reading.be("miopen", "amd", "ROCm/MIOpen conv_asm_implicit_gemm_gtc_perf_config.cpp")
    head = _IGEMM.match(reading.name, reading.start, reading.end)
    if not head:
        return
    reading.put("op", _IGEMM_OPS[head.group(1)], *head.span(1))
    reading.put("tensor_core", True, head.start(1) + 4, head.end(2))
    if head.group(2) in _IGEMM_ARCH:
        reading.put("arch", _IGEMM_ARCH[head.group(2)], *head.span(2))
    reading.put("layout_in", head.group(3), *head.span(3))
    if head.group(4) in LIBRARY_TYPES:
        reading.put("dtype_a", LIBRARY_TYPES[head.group(4)], *head.span(4))
    for word in reading.words():
        if shape := _TRIPLE.match(word.text):
            if shape.group(1) == "bt":
                sizes = shape.groups()[1:]
                for key, size in zip(("tile_m", "tile_n", "tile_k"), sizes, strict=True):
                    reading.take(key, int(size), word)
            else:
                reading.take("wave_tile", word.text[2:], word)
        elif word.text == "gkgs":
            reading.take("split_k", True, word)


_CK_OPS = (
    ("bwd_weight", "wgrad"), ("bwd_data", "dgrad"), ("conv_fwd", "fprop"), ("conv_bwd_d", "dgrad"),
    ("conv_bwd_w", "wgrad"), ("gemm", "gemm"), ("contraction", "gemm"),
)  # fmt: skip


def read_ck(reading: Reading, path: tuple[str, ...], spot: Token) -> None:
    """Reads `ck::...::kernel_<op>_xdl...` by the outermost name."""
    reading.be("ck", "amd", "ROCm/composable_kernel")
    name = spot.text
    if not name.startswith("kernel_"):
        reading.take("kernel", name, spot)
        return
    reading.take("kernel", name, spot)
    op = next((op for word, op in _CK_OPS if word in name), None)
    if op:
        reading.take("op", op, spot)
    if "xdl" in name or "wmma" in name:
        reading.take("tensor_core", True, spot)


_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def read_ck_tile(reading: Reading, inner: str, start: int, end: int) -> None:
    """Reads `ck_tile::kentry<blocks, Kernel<...>>` by the name of the kernel's class."""
    reading.be("ck_tile", "amd", "ROCm/composable_kernel include/ck_tile/host/kernel_launch.hpp")
    if not inner:
        return
    words = [word.lower() for word in _CAMEL.split(inner.removesuffix("Kernel"))]
    op = "_".join(words)
    # `Rmsnorm2dFwd`: 2d is the rank of the tensor, not part of the operation.
    op = re.sub(r"[12]d(?=_|\Z)", "", op)
    reading.put("op", op, start, end)


_AITER = re.compile(r"fmha_(fwd|bwd)_hd([0-9]{1,4})")
_AITER_TYPES = {"bf16": "bf16", "fp16": "f16", "fp8": "f8"}


def read_aiter(reading: Reading, spot: Token) -> None:
    """Reads aiter's assembly kernels, whose names are words in one mangled identifier."""
    reading.be("aiter", "amd", "ROCm/aiter hsa/*/**.csv")
    name = spot.text
    reading.take("kernel", name, spot)
    head = _AITER.match(name)
    if not head:
        return
    base = spot.start
    reading.put("op", "fmha", base, base + len("fmha"))
    reading.put("direction", head.group(1), base + head.start(1), base + head.end(1))
    reading.put("head_dim", int(head.group(2)), base + head.start(2), base + head.end(2))
    position = base
    for word in name.split("_"):
        if word in _AITER_TYPES and "dtype" not in reading.fields:
            reading.put("dtype", _AITER_TYPES[word], position, position + len(word))
        elif word == "causal":
            reading.put("causal", True, position, position + len(word))
        position += len(word) + 1


_ROCPRIM_OPS = (
    ("radix_sort", "sort"), ("merge_sort", "sort"), ("sort", "sort"), ("reduce_by_key", "reduce"),
    ("scan_by_key", "scan"), ("scan", "scan"), ("reduce", "reduce"), ("partition", "partition"),
    ("transform", "transform"), ("select", "select"), ("histogram", "histogram"),
    ("unique", "unique"), ("adjacent_difference", "adjacent_difference"), ("merge", "merge"),
)  # fmt: skip


def read_rocprim(reading: Reading, cxx: Cxx) -> None:
    """Reads rocPRIM: the operation is in the function's name or in the configuration's type."""
    reading.be("rocprim", "amd", "ROCm/rocPRIM")
    spot = Token(cxx.name, cxx.name_start, cxx.name_end)
    reading.take("kernel", cxx.name, spot)
    sources = [spot]
    for start, end in cxx.arguments or ():
        inner = parse(reading.name, start, end)
        if inner.name.endswith(("_config", "_config_selector", "_impl")) or "config" in inner.name:
            sources.append(Token(inner.name, inner.name_start, inner.name_end))
    for source in sources:
        if source.text == "default_config":
            continue
        for word, op in _ROCPRIM_OPS:
            if word in source.text:
                reading.take("op", op, source)
                return
