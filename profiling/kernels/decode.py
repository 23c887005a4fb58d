"""Reads a kernel name: finds its family by prefix or outermost function, then its fields."""

from __future__ import annotations

import re
from functools import lru_cache
from types import MappingProxyType

from ptx.profiling.kernels import words
from ptx.profiling.kernels.cxx import Cxx, parse
from ptx.profiling.kernels.families import (
    amd,
    ascend,
    aten,
    attention,
    collectives,
    cublas,
    cudnn,
    cutlass,
    inductor,
    intel,
    libraries,
    nvjet,
    tensile,
    transfers,
    trtllm,
)
from ptx.profiling.kernels.mangled import Mangled, read_mangled
from ptx.profiling.kernels.model import KernelName
from ptx.profiling.kernels.reading import MAX_READ, Reading, Token

_CACHED_LENGTH = 4096
_CUTLASS_NAME = re.compile(r"cutlass_(?:[0-9]{2,3}_)?(?:wmma_)?(?:simt|[a-z]{0,4}tensorop)_")
_QUALIFIED = re.compile(r"(?:[A-Za-z_][A-Za-z0-9_]{0,40}|<unnamed>|\(anonymous namespace\))::")
_CXX_SIGNS = re.compile(r"[<(]|::")
_ARCH_HEADS = ("cudnn_", "trt_", *cublas.ARCH_WORDS)
_XMMA_CONVOLUTIONS = ("fprop", "dgrad", "wgrad")
_LITERAL_SIZE = re.compile(r"9GemmShapeILi([0-9]{1,5})ELi([0-9]{1,5})ELi([0-9]{1,5})E")
_CONV_ITERATOR = re.compile(r"Conv[23]d(Fprop|Dgrad|Wgrad)")
_MANGLED_FUNCTION = re.compile(r"XadL_Z([0-9]{1,3})")


def decode(name: str, cut: bool | None = None) -> KernelName:
    """Returns what a kernel name states.

    Never raises, and takes bounded time on any string.

    Args:
        name: the name as a trace or a profiler prints it, mangled or not.
        cut: True if the name's tail is missing, False if it is known to be whole. None looks for
            `...` at the end and for the lengths at which tools cut: 40, 64 and 8,192 characters.
            The last word of a cut name is not read.
    """
    if len(name) > _CACHED_LENGTH:
        return _decode(name, cut)
    return _decode_cached(name, cut)


def _decode(name: str, cut: bool | None) -> KernelName:
    reading = Reading(name, cut)
    was_cut = reading.cut
    _read(reading)
    notes = list(reading.notes)
    if reading.family == words.UNKNOWN:
        notes.append("no rule knows this name")
    if reading.unread:
        notes.append(f"not understood: {', '.join(reading.unread)}")
    if was_cut:
        notes.append(_cut_note(name, cut))
    return KernelName(
        name=name,
        family=reading.family,
        vendor=reading.vendor,
        fields=MappingProxyType(reading.fields),
        spans=MappingProxyType(reading.spans),
        notes=tuple(dict.fromkeys(notes)),
        complete=not was_cut and not reading.unread and reading.family != words.UNKNOWN,
        rule=reading.rule,
    )


_decode_cached = lru_cache(maxsize=8192)(_decode)


def _cut_note(name: str, cut: bool | None) -> str:
    if len(name) > MAX_READ:
        return f"only the first {MAX_READ} characters were read"
    if cut is None and not name.rstrip().endswith(("...", "…")):
        return f"exactly {len(name)} characters, where tools cut names: the last word was not read"
    return "the name is cut: its last word was not read"


_FIRST_LETTERS = (
    (transfers.read_transfer, "MmHDzC_"),
    (collectives.read_collective, "hmnr"),
    (tensile.read_tensile, "C"),
    (inductor.read_inductor, "t"),
    (inductor.read_matmul_ogs, "_pm"),
    (attention.read_mem_efficient, "f"),
    (attention.read_cudnn_sdpa, "c"),
    (attention.read_cute_dsl, "k"),
    (trtllm.read_trtllm_gen, "fbgGB"),
    (amd.read_miopen, "ibMmgICSOntc"),
)
"""The readers of names that a prefix marks, in their order, and how such names start."""

_BY_LETTER = {
    letter: tuple(read for read, letters in _FIRST_LETTERS if letter in letters)
    for letter in "".join(letters for _, letters in _FIRST_LETTERS)
}
_MODEL_PREFIX = 90
"""Characters that may stand before the `triton_` of an ahead-of-time compiled model."""


def _read(reading: Reading) -> None:
    name, start = reading.name, reading.start
    if start >= reading.end:
        return
    if _QUALIFIED.match(name, start, reading.end):
        _read_function(reading)
        return
    if name.startswith("nvjet_", start, reading.end):
        nvjet.read_nvjet(reading)
        return
    if name.startswith("_Z", start, reading.end):
        _read_symbol(reading)
        return
    if xmma := cublas.XMMA.match(name, start, reading.end):
        if xmma.group(2) in _XMMA_CONVOLUTIONS:
            cudnn.read_xmma_conv(reading, xmma.group(2))
        elif xmma.group(2) == "gemm":
            cublas.read_xmma_gemm(reading)
        return
    if name.startswith("cutlass", start, reading.end) and _read_cutlass_words(reading):
        return
    if name.startswith(_ARCH_HEADS, start, reading.end) and (
        cudnn.read_cudnn_words(reading) or cublas.read_legacy(reading)
    ):
        return
    simd = intel.read_simd(reading)
    if any(read(reading) for read in _BY_LETTER.get(name[start], ())):
        return
    in_model = name.find("_triton_", start, min(reading.end, start + _MODEL_PREFIX)) >= 0
    if (in_model and inductor.read_inductor(reading)) or intel.read_intel(reading, simd):
        return
    if _CXX_SIGNS.search(name, start, reading.end):
        _read_function(reading)
        return
    _read_plain(reading)


def _read_cutlass_words(reading: Reading) -> bool:
    name, start, end = reading.name, reading.start, reading.end
    if name.startswith("cutlass3x_", start, end):
        cutlass.read_cutlass3(reading)
    elif _CUTLASS_NAME.match(name, start, end):
        cutlass.read_cutlass2(reading)
    else:
        return False
    return True


def _read_plain(reading: Reading) -> None:
    if ascend.read_ascend(reading) or attention.read_aotriton(reading):
        return
    if cudnn.read_generated(reading):
        return
    if not reading.cut:
        whole = Cxx((reading.text,), None, (None,), reading.start, reading.end, reading.end, True)
        if aten.BARE_NAMES.match(whole.name):
            aten.read_aten(reading, whole)
            return
        if cublas.read_helper(reading, whole) or cudnn.read_cudnn(reading, whole):
            return
        if libraries.read_library(reading, whole):
            return
    inductor.read_plain(reading)


def _read_function(reading: Reading) -> None:
    cxx = parse(reading.name, reading.start, reading.end)
    if not cxx.name or (reading.cut and cxx.name_end >= reading.end):
        return
    first = next(filter(None, cxx.names))
    if first == "std":
        # A return type such as `std::enable_if<...>::type`: the function itself is cut off.
        return
    if first.startswith("cutlass") and cxx.name in ("Kernel", "Kernel2", "device_kernel"):
        _read_wrapped(reading, cxx)
    elif first in ("at", "c10") or (len(cxx.names) <= 2 and aten.BARE_NAMES.match(cxx.name)):
        aten.read_aten(reading, cxx)
    elif cxx.name == "multi_tensor_apply_kernel" and len(cxx.names) == 1:
        aten.read_apex_multi_tensor(reading, cxx)
    elif not (
        attention.read_flash(reading, cxx)
        or collectives.read_symmetric_memory(reading, cxx)
        or cublas.read_helper(reading, cxx)
        or cudnn.read_cudnn(reading, cxx)
        or libraries.read_library(reading, cxx)
    ):
        libraries.read_other(reading, cxx)
    if not cxx.closed and not reading.cut:
        reading.leave_unread("a bracket is left open")


def _read_wrapped(reading: Reading, cxx: Cxx) -> None:
    reading.be("cutlass2" if cxx.name != "device_kernel" else "cutlass3", "nvidia",
               "NVIDIA/cutlass include/cutlass/device_kernel.h")  # fmt: skip
    if "cudnn" in cxx.names[0]:
        reading.family = "cudnn_conv"
    argument = cxx.first_argument(reading.end)
    if argument is None or not cxx.arguments:
        if cxx.name == "device_kernel" and not (
            argument and attention.read_fa3(reading, *argument)
        ):
            reading.be(words.UNKNOWN, None, "")
        return
    start, end = argument
    if reading.name.startswith("cutlass3x_", start, end):
        reading.start, reading.end, reading.cut = start, end, False
        cutlass.read_cutlass3(reading)
    elif reading.name.startswith("cutlass_", start, end):
        reading.start, reading.end, reading.cut = start, end, False
        cutlass.read_cutlass2(reading, cxx.names[0])
    elif cxx.name == "device_kernel":
        if attention.read_fa3(reading, start, end):
            return
        inner = parse(reading.name, start, end)
        reading.put("kernel", inner.name, inner.name_start, inner.name_end)
    else:
        cudnn.read_implicit_gemm(reading, start, end)


def _read_symbol(reading: Reading) -> None:
    symbol = read_mangled(reading.name, reading.start, reading.end)
    if symbol is None:
        if reading.name.startswith("_ZTS", reading.start):
            reading.be("sycl_user", "intel", "the type-info name of a SYCL kernel")
        return
    first = next(filter(None, symbol.names), "")
    cxx = Cxx(
        symbol.names, None, (None,) * len(symbol.names), symbol.last.start, symbol.last.end,
        reading.end, True,
    )  # fmt: skip
    if first == "aiter":
        amd.read_aiter(reading, symbol.last)
    elif first.startswith("cutlass") and symbol.names[-1] in ("Kernel", "Kernel2"):
        _read_mangled_cutlass(reading, first, symbol)
    elif first == "at":
        _read_mangled_aten(reading, cxx, symbol)
    elif first == "ck_tile" and (kernel := _first_name(symbol)):
        amd.read_ck_tile(reading, kernel.text, kernel.start, kernel.end)
    elif libraries.read_library(reading, cxx):
        function = _MANGLED_FUNCTION.search(reading.name, symbol.last.end, reading.end)
        if function and reading.family == "sglang":
            start, stop = function.end(), function.end() + int(function.group(1))
            if stop <= reading.end:
                reading.put("functor", reading.name[start:stop], start, stop)
    elif reading.name.startswith("_ZTS", reading.start):
        reading.be("sycl_user", "intel", "the type-info name of a SYCL kernel")
    elif not (cublas.read_helper(reading, cxx) or cudnn.read_cudnn(reading, cxx)):
        libraries.read_other(reading, cxx)
    reading.notes.append("a mangled symbol: only the names that it spells out were read")


def _first_name(symbol: Mangled) -> Token | None:
    return next((word for word in symbol.arguments if not word.text[:1].isdigit()), None)


def _read_mangled_aten(reading: Reading, cxx: Cxx, symbol: Mangled) -> None:
    aten.read_aten(reading, cxx)
    function = symbol.last.text
    keys: tuple[str, ...] = ()
    if function.startswith("vectorized"):
        keys = ("vec", "functor")
    elif function in ("elementwise_kernel", "elementwise_kernel_manual_unroll"):
        keys = ("threads", "work_per_thread")
    elif function.startswith("distribution_elementwise"):
        keys = ("", "vec")
    elif function == "reduce_kernel":
        keys = ("threads", "output_vec")
    for key, argument in zip(keys, symbol.arguments, strict=False):
        if key == "functor":
            aten.put_plain_functor(reading, argument)
        elif key and argument.text.isascii() and argument.text.isdigit():
            reading.take(key, int(argument.text), argument)


def _read_mangled_cutlass(reading: Reading, first: str, symbol: Mangled) -> None:
    reading.be("cutlass2", "nvidia", "NVIDIA/cutlass include/cutlass/device_kernel.h")
    inner = symbol.arguments[0] if symbol.arguments else None
    if inner and inner.text.startswith("cutlass_"):
        reading.start, reading.end, reading.cut = inner.start, inner.end, False
        cutlass.read_cutlass2(reading, first)
    elif "cudnn" in first:
        reading.family = "cudnn_conv"
        if shape := _LITERAL_SIZE.search(reading.name, symbol.last.end, reading.end):
            for index, key in enumerate(("tile_m", "tile_n", "tile_k"), 1):
                reading.put(key, int(shape.group(index)), *shape.span(index))
        if iterator := _CONV_ITERATOR.search(reading.name, symbol.last.end, reading.end):
            reading.put("op", iterator.group(1).lower(), *iterator.span(1))
