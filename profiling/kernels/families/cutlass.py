"""CUTLASS 2.x and 3.x library names, as products and as convolutions.

Source: NVIDIA/cutlass python/cutlass_library/{gemm_operation,library,conv2d_operation}.py.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ptx.profiling.kernels.dtypes import BLAS_LETTERS, LIBRARY_TYPES
from ptx.profiling.kernels.families.cublas import INSTRUCTIONS

if TYPE_CHECKING:
    from ptx.profiling.kernels.reading import Reading, Token

_RULE = "NVIDIA/cutlass python/cutlass_library"
_CLASSES = ("simt", "tensorop", "sptensorop", "bstensorop", "bssptensorop")
_KIND = re.compile(
    r"(g?)([shdicz])([0-9]{0,6})(tf32|f16|bf16|i8)?(spgemm|gemm|fprop|dgrad|wgrad|symm|syrk|trmm|gemv)\Z"
)
_KIND3 = re.compile(
    r"(?:[shdicz]([0-9]{1,4}x[0-9]{1,4}x[0-9]{1,4})?)?(tf32)?(?:sp)?(?:gemm|conv)\Z"
)
_PAIR = re.compile(r"([0-9]{1,6})x([0-9]{1,6})\Z")
_TRIPLE = re.compile(r"([0-9]{1,6})x([0-9]{1,6})x([0-9]{1,6})\Z")
_LAYOUT = re.compile(r"([nt])([nt])\Z")
_LAYOUT3 = re.compile(r"([nt]{2})([nt])\Z")
_ALIGN = re.compile(r"align([0-9]{1,4})\Z")
_SM = re.compile(r"sm([0-9]{2,3}[af]?)\Z")
_SCHEDULE_WORDS = frozenset(
    ("k", "epi", "fp8", "1sm", "q", "o", "vs16", "vs32", "ultra", "nopf", "tmapf", "cvt", "scl",
     "sclzr", "shfl", "unspecialized", "cpasync", "")
)  # fmt: skip
_KIND_WORDS = frozenset(("block", "scaled", "blockwise", "grouped", "moe", "array"))
"""Words between the kind of a 3.x name and its types; the types tell the scales."""
_ITERATORS = {"analytic", "optimized", "fixed", "few"}
_EPILOGUES = {"relu", "gelu", "sigmoid", "silu", "tanh", "hardswish"}
_SCALED = re.compile(r"([a-z0-9]{1,12})x([a-z0-9]{1,12})\Z")
_BLOCKWISE = re.compile(r"([0-9]{1,5}x[0-9]{1,5})([a-z0-9]{1,12})x([a-z0-9]{1,12})\Z")


def read_cutlass2(reading: Reading, owner: str = "") -> None:
    """Reads `cutlass_[<cc>_]<class>_[<C>_]<acc><mnk>[<math>]<kind>..._align<n>`.

    Args:
        reading: its range is the name inside `Kernel<...>`.
        owner: the namespace of the wrapper; one of cuDNN makes it a convolution of cuDNN.
    """
    words = reading.words()
    reading.be("cutlass2", "nvidia", _RULE)
    position = 1
    if position < len(words) and words[position].text.isdigit():
        reading.take("arch", f"sm_{words[position].text}", words[position])
        position += 1
    if position < len(words) and words[position].text == "wmma":
        position += 1
    if position < len(words) and words[position].text in _CLASSES:
        reading.take("tensor_core", words[position].text != "simt", words[position])
        position += 1
    output = None
    if position + 1 < len(words) and words[position].text in LIBRARY_TYPES:
        output = words[position]
        position += 1
    if position >= len(words) or not (kind := _KIND.match(words[position].text)):
        for word in words[position:]:
            reading.leave_unread(word.text)
        return
    gemm = words[position]
    op = kind.group(5).removeprefix("sp")
    reading.take("op", op, gemm)
    if op in ("fprop", "dgrad", "wgrad") or "cudnn" in owner:
        reading.family = "cudnn_conv"
    if kind.group(3) in INSTRUCTIONS:
        reading.take("instr", INSTRUCTIONS[kind.group(3)], gemm)
    if kind.group(4):
        reading.take("dtype_math", kind.group(4), gemm)
    _read_rest(reading, words[position + 1 :], gemm, kind, output)


def _read_rest(
    reading: Reading, words: list[Token], gemm: Token, kind: re.Match[str], output: Token | None
) -> None:
    accumulator = BLAS_LETTERS[kind.group(2)]
    source: Token | None = None
    sizes = 0
    for word in words:
        text = word.text
        pair = _PAIR.match(text)
        if pair and sizes == 0:
            reading.take("tile_m", int(pair.group(1)), word)
            reading.take("tile_n", int(pair.group(2)), word)
            sizes = 1
            _put_types(reading, gemm, accumulator, source, output)
        elif pair and sizes == 1:
            reading.take("tile_k", int(pair.group(1)), word)
            reading.take("stages", int(pair.group(2)), word)
            sizes = 2
        elif sizes == 0 and text in LIBRARY_TYPES:
            source = word
        elif text in _ITERATORS:
            iterator = {"fixed": "fixed_channels", "few": "few_channels"}.get(text, text)
            reading.take("iterator", iterator, word)
        elif text in _EPILOGUES:
            reading.take("epilogue_supported", (text,), word)
            reading.notes.append(f"{text}: the kernel can apply it; plain products launch it too")
        elif _LAYOUT.match(text) and sizes:
            reading.take("layout", text, word)
        elif text in ("nhwc", "nchw", "ndhwc"):
            reading.take("layout_in", text, word)
        elif align := _ALIGN.match(text):
            reading.take("alignment", int(align.group(1)), word)
        elif text in ("splitk", "parallel", "serial") and sizes:
            reading.take("split_k", True, word)
        elif text not in ("unity", "stride", "channels", "strided", "forwardCompat", "grouped"):
            reading.leave_unread(text)


def _put_types(
    reading: Reading, gemm: Token, accumulator: str, source: Token | None, output: Token | None
) -> None:
    reading.take("dtype_acc", accumulator, gemm)
    for key, word in (("dtype_a", source), ("dtype_out", output)):
        if word is None:
            reading.take(key, accumulator, gemm)
        else:
            reading.take(key, LIBRARY_TYPES[word.text], word)


def read_cutlass3(reading: Reading) -> None:
    """Reads `cutlass3x_sm<arch>_<class>_...gemm_<A>_<B>_<acc>_<C>_<D>_<M>x<N>x<K>...`."""
    reading.be("cutlass3", "nvidia", _RULE)
    words = reading.words()
    position = 1
    if position < len(words) and (arch := _SM.match(words[position].text)):
        reading.take("arch", f"sm_{arch.group(1)}", words[position])
        position += 1
    if position < len(words) and words[position].text in _CLASSES:
        reading.take("tensor_core", words[position].text != "simt", words[position])
        position += 1
    if position >= len(words) or not (kind := _KIND3.match(words[position].text)):
        return
    if kind.group(1):
        reading.take("instr", kind.group(1), words[position])
    if kind.group(2):
        reading.take("dtype_math", kind.group(2), words[position])
    position += 1
    while position < len(words) and words[position].text in _KIND_WORDS:
        position += 1
    for key in ("dtype_a", "dtype_b", "dtype_acc", "dtype_c", "dtype_out"):
        if position < len(words) and _put_type3(reading, key, words[position]):
            position += 1
    _read_rest3(reading, words[position:])


def _put_type3(reading: Reading, key: str, word: Token) -> bool:
    found = LIBRARY_TYPES.get(word.text)
    scale = f"scale_{key[-1]}"
    if found is None and (block := _BLOCKWISE.match(word.text)):
        found = LIBRARY_TYPES.get(block.group(3))
        if found and key in ("dtype_a", "dtype_b"):
            reading.take(scale, f"{block.group(2)} per {block.group(1)}", word)
    elif found is None and (scaled := _SCALED.match(word.text)):
        found = LIBRARY_TYPES.get(scaled.group(2))
        if found and key in ("dtype_a", "dtype_b"):
            reading.take(scale, scaled.group(1), word)
    if found is None:
        return False
    reading.take(key, found, word)
    return True


def _read_rest3(reading: Reading, words: list[Token]) -> None:
    shapes = 0
    supported: list[Token] = []
    for index, word in enumerate(words):
        text = word.text
        shape = _TRIPLE.match(text)
        if shape and shapes == 0:
            for key, size in zip(("tile_m", "tile_n", "tile_k"), shape.groups(), strict=True):
                reading.take(key, int(size), word)
            shapes = 1
        elif shape and shapes == 1:
            if not text.startswith("0x0"):
                reading.take("cluster", text, word)
            shapes = 2
        elif shapes and text.isdigit() and text.isascii():
            if int(text[:4]):
                reading.take("stages", int(text[:4]), word)
        elif shapes and (layout := _LAYOUT3.match(text)):
            reading.take("layout", layout.group(1), word)
            reading.take("layout_out", layout.group(2), word)
        elif align := _ALIGN.match(text):
            reading.take("alignment", int(align.group(1)), word)
        elif text == "warpspecialized":
            reading.take("warp_specialized", True, word)
        elif text in ("pingpong", "cooperative"):
            reading.take("schedule", text, word)
        elif text == "fastaccum":
            reading.take("fast_accum", True, word)
        elif text in ("tma", "nosmem") and words[index - 1].text == "epi":
            reading.take("epilogue_store", text, word)
        elif text == "2sm":
            reading.take("two_cta", True, word)
            reading.notes.append("2sm: the tile is that of a pair of CTAs")
        elif text == "stream" and index + 1 < len(words) and words[index + 1].text == "k":
            reading.put("stream_k", True, word.start, words[index + 1].end)
        elif text == "bias" or text in _EPILOGUES:
            supported.append(word)
        elif text not in _SCHEDULE_WORDS and not (
            words[index - 1].text == "bias" and text in LIBRARY_TYPES
        ):
            reading.leave_unread(text)
    if supported and not reading.cut:
        names = tuple(word.text for word in supported)
        reading.put("epilogue_supported", names, supported[0].start, supported[-1].end)
        reading.notes.append(f"{names[0]}: the kernel can apply it; plain products launch it too")
