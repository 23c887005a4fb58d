"""The words for scalar types: C++ types, library spellings and BLAS letters."""

from __future__ import annotations

CXX_TYPES = {
    "float": "f32", "double": "f64", "half": "f16", "__half": "f16", "c10::Half": "f16",
    "at::Half": "f16", "_Float16": "f16", "__fp16": "f16", "cutlass::half_t": "f16",
    "sycl::half": "f16", "cute::half_t": "f16", "half_t": "f16",
    "c10::BFloat16": "bf16", "at::BFloat16": "bf16", "__nv_bfloat16": "bf16",
    "nv_bfloat16": "bf16", "__hip_bfloat16": "bf16", "hip_bfloat16": "bf16", "__bf16": "bf16",
    "cutlass::bfloat16_t": "bf16", "cute::bfloat16_t": "bf16", "bfloat16_t": "bf16",
    "sycl::ext::oneapi::bfloat16": "bf16",
    "cutlass::tfloat32_t": "tf32", "cute::tfloat32_t": "tf32",
    "c10::Float8_e4m3fn": "e4m3", "c10::Float8_e5m2": "e5m2", "__nv_fp8_e4m3": "e4m3",
    "__nv_fp8_e5m2": "e5m2", "cutlass::float_e4m3_t": "e4m3", "cutlass::float_e5m2_t": "e5m2",
    "cute::float_e4m3_t": "e4m3", "cute::float_e5m2_t": "e5m2",
    "c10::Float8_e8m0fnu": "ue8m0", "c10::Float4_e2m1fn_x2": "e2m1",
    "c10::Float8_e4m3fnuz": "e4m3fnuz", "c10::Float8_e5m2fnuz": "e5m2fnuz",
    "__hip_fp8_e4m3_fnuz": "e4m3fnuz", "__hip_fp8_e4m3": "e4m3", "__hip_fp8_e5m2": "e5m2",
    "bool": "bool", "char": "i8", "signed char": "i8", "int8_t": "i8", "unsigned char": "u8",
    "uint8_t": "u8", "short": "i16", "int16_t": "i16", "unsigned short": "u16",
    "uint16_t": "u16", "int": "i32", "int32_t": "i32", "unsigned int": "u32", "unsigned": "u32",
    "uint32_t": "u32", "long": "i64", "long long": "i64", "int64_t": "i64",
    "unsigned long": "u64", "unsigned long long": "u64", "uint64_t": "u64",
    "c10::complex<float>": "cf32", "c10::complex<double>": "cf64",
    "c10::complex<c10::Half>": "cf16", "float2": "cf32", "double2": "cf64",
    "thrust::complex<float>": "cf32", "thrust::complex<double>": "cf64",
}  # fmt: skip
"""The canonical type of a C++ scalar type."""

LIBRARY_TYPES = {
    "f64": "f64", "f32": "f32", "tf32": "tf32", "f16": "f16", "bf16": "bf16", "fp16": "f16",
    "fp32": "f32", "fp64": "f64", "float": "f32", "half": "f16", "double": "f64",
    "bfloat16": "bf16", "e4m3": "e4m3", "e5m2": "e5m2", "e2m1": "e2m1", "f4": "e2m1",
    "e3m2": "e3m2", "e2m3": "e2m3", "f8": "f8", "fp8": "f8", "i8": "i8", "s8": "i8", "u8": "u8",
    "int8": "i8", "i32": "i32", "s32": "i32", "u32": "u32", "i64": "i64", "u64": "u64", "i4": "i4",
    "s4": "i4", "u4": "u4", "b1": "b1", "cf32": "cf32", "cf64": "cf64",
    "ue4m3": "ue4m3", "ue8m0": "ue8m0", "void": "void", "i16": "i16", "u16": "u16",
}  # fmt: skip
"""The canonical type of a word in the names of CUTLASS, xmma, cuDNN and MIOpen."""

BLAS_LETTERS = {"s": "f32", "d": "f64", "h": "f16", "c": "cf32", "z": "cf64", "i": "i32"}
"""The type of a BLAS letter."""

_PAIR_WORDS = sorted(LIBRARY_TYPES, key=len, reverse=True)


def cxx_type(text: str) -> str | None:
    """Returns the canonical type of a C++ type as it is printed, None if it is not a scalar."""
    text = text.strip()
    found = CXX_TYPES.get(text)
    if found is None and " const" in text:
        found = CXX_TYPES.get(text.replace(" const", "").rstrip("*& "))
    return found


def type_pair(text: str) -> tuple[str, str] | None:
    """Returns the two types of a word such as `bf16f32`, None if it is not two types."""
    for word in _PAIR_WORDS:
        if text.startswith(word):
            second = LIBRARY_TYPES.get(text[len(word) :])
            if second is not None:
                return LIBRARY_TYPES[word], second
    return None
