"""Intel GPUs: oneDNN, oneMKL, SYCL kernels and Level Zero commands.

Source: uxlfoundation/oneDNN src/gpu/intel/{gemm/jit.hpp,conv/jit/kernel.hpp}; unitrace's output.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ptx.profiling.kernels.dtypes import BLAS_LETTERS

if TYPE_CHECKING:
    from ptx.profiling.kernels.reading import Reading

_SIMD = re.compile(r"\[SIMD([0-9]{1,3})[ ,\]]")
_MKL = re.compile(r"([shdcz])gemm_(?:no)?copy_([nt]{2})_")
_ONEDNN = {
    "gemm_kernel": "gemm", "gen_conv": "conv", "xe_hp_systolic_gemm_kernel": "gemm",
    "gen_reorder": "reorder", "ref_convolution_fwd": "fprop", "simple_reorder": "reorder",
    "micro_sdpa": "sdpa", "gen9_pooling_fwd": "pool",
}  # fmt: skip


_GENERATION = re.compile(r"(?:gen(?:9|11|12lp)|xe(?:2|3|_hp[cg]?|_lp)?)_[a-z0-9_]+\Z")
"""Kernels that oneDNN writes for one generation of GPUs."""


def read_simd(reading: Reading) -> bool:
    """Reads and strips `[SIMD32 {groups} {size}]`, which unitrace adds; says if it was there."""
    at = reading.name.find("[SIMD", reading.start, reading.end)
    match = _SIMD.match(reading.name, at, reading.end) if at >= 0 else None
    if not match:
        return False
    reading.put("simd", int(match.group(1)), match.start(1), match.end(1))
    reading.end, reading.cut = match.start(), False
    return True


def read_intel(reading: Reading, simd: bool) -> bool:
    """Reads a name of Intel's libraries; False if it is none."""
    name, start, end = reading.name, reading.start, reading.end
    if mkl := _MKL.match(name, start, end):
        reading.be("onemkl_gemm", "intel", "names in traces of oneMKL")
        reading.put("dtype_a", BLAS_LETTERS[mkl.group(1)], *mkl.span(1))
        reading.put("layout", mkl.group(2), *mkl.span(2))
        return True
    if not reading.cut and _GENERATION.match(name, start, end) and name[start:end] not in _ONEDNN:
        reading.be("onednn", "intel", "uxlfoundation/oneDNN src/gpu/intel")
        reading.put("kernel", name[start:end], start, end)
        return True
    if not reading.cut and name[start:end] in _ONEDNN:
        reading.be("onednn", "intel", "uxlfoundation/oneDNN src/gpu/intel")
        reading.put("op", _ONEDNN[name[start:end]], start, end)
        reading.notes.append("a fixed name: it states no type, tile or layout")
        if name.startswith("gemm_kernel", start, end):
            reading.notes.append("on other GPUs than Intel's it is a Triton kernel of a user's")
        return True
    if name.startswith("zeCommandList", start, end):
        reading.be("level_zero_other", "intel", "oneapi-src/level-zero command names")
        return True
    if simd and start < end:
        reading.be("sycl_user", "intel", "unitrace prints the name of the SYCL kernel")
        return True
    return False
