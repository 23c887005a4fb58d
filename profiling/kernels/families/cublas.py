"""cuBLAS: the legacy names, xmma, and the helper kernels around a matrix product.

Sources: layout letters were measured in traces against operand strides, xmma against what cuBLASLt
says of each algorithm (scripts/name_experiments.py); NVIDIA/PyProf prof/tc.py has the marks of
tensor cores; the rest fits every name seen.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ptx.profiling.kernels.dtypes import BLAS_LETTERS, LIBRARY_TYPES, type_pair
from ptx.profiling.kernels.reading import Token

if TYPE_CHECKING:
    from ptx.profiling.kernels.cxx import Cxx
    from ptx.profiling.kernels.reading import Reading

_PAIR = re.compile(r"([0-9]{1,6})x([0-9]{1,6})\Z")
_TRIPLE = re.compile(r"([0-9]{1,6})x([0-9]{1,6})x([0-9]{1,6})\Z")
_LAYOUT = re.compile(r"[nt]{2}\Z")

ARCH_WORDS = ("maxwell", "pascal", "volta", "turing", "ampere", "ada", "hopper", "blackwell")
_LEGACY_GEMM = re.compile(r"(g?)([shdicz])([0-9]{0,6})(gemm|symm|syrk|trsm|hemm)\Z")
INSTRUCTIONS = {
    "884": "8x8x4", "1688": "16x8x8", "16816": "16x8x16", "161616": "16x16x16",
    "16832": "16x8x32", "16864": "16x8x64", "8816": "8x8x16", "8832": "8x8x32",
    "168256": "16x8x256", "1684": "16x8x4", "168128": "16x8x128", "32816": "32x8x16",
}  # fmt: skip
"""The shape of the digits of a matrix instruction, M, N and K run together."""

_XMMA_WORDS = frozenset(
    ("execute", "kernel", "cublas", "cudnn", "infer", "train", "trt", "5x", "", "k", "off", "on",
     "split", "n", "t", "by", "fusion", "tactic", "vect", "c", "32", "16", "8", "4", "aux",
     *LIBRARY_TYPES)
)  # fmt: skip
"""Words of xmma names that say nothing more, or that are read together with their neighbours."""
_XMMA_SHAPES = re.compile(
    r"alignc[0-9]+\Z|[a-z]{0,12}(?:nchw|nhwc|krsc|kcrs)[a-z]{0,12}\Z|[0-9]+kcrs\Z|g[0-9]+\Z"
)

XMMA = re.compile(r"sm([0-9]{2,3}[af]?)_xmma_([a-z]+)_")


def read_legacy(reading: Reading) -> bool:
    """Reads `<arch>_[<out>_]<acc>[<mma>]gemm_[<in>_]<M>x<N>_..._<layout>`; False if it is none."""
    words = reading.words()
    if words[0].text == "trt":
        words = words[1:]
    at = next((i for i in (1, 2) if i < len(words) and _LEGACY_GEMM.match(words[i].text)), None)
    if at is None:
        return False
    gemm = _LEGACY_GEMM.match(words[at].text)
    assert gemm is not None
    reading.be(
        "cublas_legacy", "nvidia", "inferred from NVIDIA/PyProf prof/tc.py and CUTLASS names"
    )
    reading.take("arch", words[0].text, words[0])
    gaussian, letter, digits, _ = gemm.groups()
    known = not gaussian
    output = words[1] if at == 2 else None
    seen_tile = False
    for index, word in enumerate(words[at + 1 :]):
        text = word.text
        pair = _PAIR.match(text)
        if pair and not seen_tile:
            reading.take("tile_m", int(pair.group(1)), word)
            reading.take("tile_n", int(pair.group(2)), word)
            seen_tile = True
            if known:
                source = words[at + 1] if index == 1 else None
                _legacy_types(reading, words[at], letter, source, output)
        elif text.startswith("sliced") and _PAIR.match(text[6:]):
            reading.take("sliced", text[6:], word)
        elif pair and words[at + index].text == "stages":
            reading.take("tile_k", int(pair.group(1)), word)
            reading.take("stages", int(pair.group(2)), word)
        elif text == "stages" or (index == 0 and text in LIBRARY_TYPES):
            continue
        elif text == "relu":
            reading.take("epilogue_supported", ("relu",), word)
            reading.notes.append("relu: the kernel can apply it; plain products launch it too")
        elif _LAYOUT.match(text) and seen_tile:
            reading.take("layout", text, word)
        else:
            reading.leave_unread(text)
    if known:
        _tensor_core(reading, words[at], digits)
    else:
        reading.notes.append("Gaussian complex product: its exact algorithm is not stated")
    return True


def _tensor_core(reading: Reading, word: Token, digits: str) -> None:
    reading.take("tensor_core", bool(digits), word)
    if digits in INSTRUCTIONS:
        reading.take("instr", INSTRUCTIONS[digits], word)
    elif digits:
        reading.leave_unread(digits)


def _legacy_types(
    reading: Reading, gemm: Token, letter: str, source: Token | None, output: Token | None
) -> None:
    accumulator = BLAS_LETTERS[letter]
    reading.take("dtype_acc", accumulator, gemm)
    for key, word in (("dtype_a", source), ("dtype_out", output)):
        if word is None:
            reading.take(key, accumulator, gemm)
        elif word.text in LIBRARY_TYPES:
            reading.take(key, LIBRARY_TYPES[word.text], word)
        else:
            reading.leave_unread(word.text)


def read_xmma_gemm(reading: Reading) -> None:
    """Reads `sm<NN>_xmma_gemm_<in><out>_<math><acc>_<epi>_<AB>_<C>_tilesize..._cublas`."""
    reading.be(
        "cublas_xmma", "nvidia", "inferred from TensorRT layer dumps and names seen together"
    )
    words = reading.words()
    read_xmma_words(reading, words[3:])
    reading.take("arch", f"sm_{words[0].text[2:]}", words[0])
    reading.take("op", words[2].text, words[2])
    if reading.fields.get("tile_m") != reading.fields.get("tile_n"):
        reading.notes.append("tilesize: M and N are those of torch, not of the BLAS view")


def read_xmma_words(reading: Reading, words: list[Token]) -> None:
    """Reads what names of products and convolutions share: types, tile, stages, instruction."""
    pairs = 0
    for index, word in enumerate(words):
        text = word.text
        pair = type_pair(text) if pairs < 2 else None
        if pair and pairs == 0:
            reading.take("dtype_a", pair[0], word)
            reading.take("dtype_out", pair[1], word)
            pairs = 1
        elif pair and pairs == 1:
            if pair[0] != reading.fields.get("dtype_a"):
                reading.take("dtype_math", pair[0], word)
            reading.take("dtype_acc", pair[1], word)
            pairs = 2
        elif _LAYOUT.match(text) and pairs == 2 and index == 3:
            reading.take("layout", text, word)
        elif text.startswith("tilesize") and (shape := _TRIPLE.match(text[8:])):
            for key, size in zip(("tile_m", "tile_n", "tile_k"), shape.groups(), strict=True):
                reading.take(key, int(size), word)
        elif text.startswith("stage") and text[5:].isascii() and text[5:].isdigit():
            reading.take("stages", int(text[5:][:6]), word)
        elif text.startswith("warpgroupsize") and _TRIPLE.match(text[13:]):
            reading.take("warpgroups", text[13:], word)
            reading.take("tensor_core", True, word)
        elif text.startswith("cgasize") and _TRIPLE.match(text[7:]):
            reading.take("cluster", text[7:], word)
        elif text in ("dgelu", "drelu", "bias") and pairs == 2:
            reading.take("epilogue", (text,), word)
        elif text.startswith("warpsize") and _TRIPLE.match(text[8:]):
            reading.take("warps", text[8:], word)
        elif text.startswith("tensor") and _TRIPLE.match(text[6:]):
            reading.take("instr", text[6:], word)
            reading.take("tensor_core", True, word)
        elif text in ("ffma", "dfma", "hfma2"):
            # Plain multiply-add instructions, which no matrix unit runs.
            reading.take("tensor_core", False, word)
        elif text == "k" and index and words[index - 1].text == "split":
            reading.put("split_k", True, words[index - 1].start, word.end)
        elif text.startswith("aligna") and text[6:].isascii() and text[6:].isdigit():
            reading.take("alignment", int(text[6:][:6]), word)
        elif text == "segment":
            if [w.text for w in words[index + 1 : index + 3]] == ["k", "on"]:
                reading.notes.append("segment_k_on: K is split over CTAs")
        elif pairs == 2 and text not in _XMMA_WORDS and not _XMMA_SHAPES.match(text):
            reading.leave_unread(text)


_GEMV = re.compile(r"gemv2([TN])_kernel")
_SMALL = re.compile(r"gemmSN_([NT]{2})_kernel")
_AUX_OPS = (
    ("gemvNSP", "gemv"), ("gemv", "gemv"), ("gemmSN", "gemm"), ("gemmk1", "gemm"),
    ("sgemm_largek", "gemm"), ("cgemm_largek", "gemm"), ("dgemm_largek", "gemm"),
    ("zgemm_largek", "gemm"), ("dot_kernel", "dot"), ("reduce_1Block_kernel", "dot"),
    ("scal_kernel", "scal"), ("splitKreduce_kernel", "splitk_reduce"), ("axpy_kernel", "axpy"),
    ("nrm2_kernel", "nrm2"), ("asum_kernel", "asum"), ("iamax_kernel", "iamax"),
    ("copy_kernel", "copy"), ("batch_trsm", "trsm"),
    ("transpose_readWrite", "transpose"), ("trsm", "trsm"), ("ger_kernel", "ger"), ("syrk", "syrk"),
)  # fmt: skip
_AUX_PREFIXES = tuple(prefix for prefix, _ in _AUX_OPS)


def read_helper(reading: Reading, cxx: Cxx) -> bool:
    """Reads the kernels around a product, by function name; False if it is none of them."""
    name = cxx.name
    spot = Token(name, cxx.name_start, cxx.name_end)
    if cxx.path.endswith("gemvx::kernel"):
        reading.be("cublas_aux", "nvidia", "function names; lanes come from the launch")
        reading.put("kernel", "gemvx::kernel", cxx.name_end - len("gemvx::kernel"), cxx.name_end)
        reading.take("op", "gemv", spot)
        return True
    op = None
    if name.startswith(_AUX_PREFIXES):
        op = next(op for prefix, op in _AUX_OPS if name.startswith(prefix))
    owned = cxx.names[0] in ("cublasLt", "cublas", "internal")
    if op is None or not (len(cxx.names) == 1 or owned):
        if cxx.path.startswith("cutlass1x::"):
            reading.be("cublas_aux", "nvidia", "launched by cuBLASLt: scripts/name_experiments.py")
            reading.take("kernel", name, spot)
            if name.startswith("gemm"):
                reading.take("op", "gemm", spot)
            return True
        if cxx.path.startswith(("cublasLt::", "epilogue::impl::")):
            reading.be("cublas_aux", "nvidia", "namespaces of cuBLASLt")
            reading.take("kernel", name, spot)
            return True
        return False
    reading.be("cublas_aux", "nvidia", "function names")
    reading.take("kernel", name, spot)
    reading.take("op", op, spot)
    if gemv := _GEMV.match(name):
        reading.take("transposed", gemv.group(1) == "T", spot)
    elif small := _SMALL.match(name):
        reading.take("layout", small.group(1).lower(), spot)
    return True
