"""cuBLAS: nvjet, the legacy names, xmma, and the helper kernels around a matrix product.

Sources: nvjet and the layout letters were measured in traces, against operand strides, types and
grids; NVIDIA/PyProf prof/tc.py has the marks of tensor cores; the rest fits every name seen.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ptx.profiling.kernels.dtypes import BLAS_LETTERS, LIBRARY_TYPES, type_pair
from ptx.profiling.kernels.reading import Token

if TYPE_CHECKING:
    from ptx.profiling.kernels.cxx import Cxx
    from ptx.profiling.kernels.reading import Reading

_NVJET_LETTERS = {
    "h": "f16", "t": "bf16", "s": "f32", "q": "e4m3", "r": "e5m2", "o": "e2m1", "d": "f64",
}  # fmt: skip
_PAIR = re.compile(r"([0-9]{1,6})x([0-9]{1,6})\Z")
_TRIPLE = re.compile(r"([0-9]{1,6})x([0-9]{1,6})x([0-9]{1,6})\Z")
_ARCH = re.compile(r"sm([0-9]{2,3}[af]?)\Z")
_NVJET_OPS = re.compile(r"[NT]{3}\Z")
_NVJET_VECTOR = re.compile(r"([AB])vec([0-9]{1,4})([A-Z0-9]+)\Z")
_BETA = {"bz": "zero", "bx": "nonzero"}
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
     "split", "n", "t", "by", "fusion", "tactic", "vect", "c", "32", "16", "8", "4",
     *LIBRARY_TYPES)
)  # fmt: skip
"""Words of xmma names that say nothing more, or that are read together with their neighbours."""
_XMMA_SHAPES = re.compile(
    r"alignc[0-9]+\Z|[a-z]{0,12}(?:nchw|nhwc|krsc|kcrs)[a-z]{0,12}\Z|[0-9]+kcrs\Z|g[0-9]+\Z"
)

XMMA = re.compile(r"sm([0-9]{2,3}[af]?)_xmma_([a-z]+)_")


def read_nvjet(reading: Reading) -> None:
    """Reads `nvjet_[<arch>_]<types>_<M>x<N>_<K>x<S>_<CM>x<CN>_..._<xyz>`."""
    reading.be("cublas_nvjet", "nvidia", "measured in traces with operand strides, types and grids")
    words = reading.words()[1:]
    if words and (arch := _ARCH.match(words[0].text)):
        reading.take("arch", f"sm_{arch.group(1)}", words[0])
        words = words[1:]
    if not words:
        return
    _nvjet_types(reading, words[0])
    sizes = 0
    epilogue: list[Token] = []
    reading.put("tensor_core", True, reading.start, reading.start + len("nvjet"))
    for index, word in enumerate(words[1:]):
        text = word.text
        pair = _PAIR.match(text)
        if pair and sizes < 3 and index == sizes:
            first, second = int(pair.group(1)), int(pair.group(2))
            if sizes == 0:
                reading.take("tile_m", first, word)
                reading.take("tile_n", second, word)
            elif sizes == 1:
                reading.take("tile_k", first, word)
                reading.take("stages", second, word)
            else:
                reading.take("cluster", f"{first}x{second}", word)
            sizes += 1
        elif text == "2cta":
            reading.take("two_cta", True, word)
        elif text in _BETA:
            reading.take("beta", _BETA[text], word)
        elif text in ("coopA", "coopB"):
            reading.take("coop", text[-1], word)
        elif text == "splitK":
            reading.take("split_k", True, word)
        elif text in ("bias", "relu", "gelu", "aux"):
            epilogue.append(word)
        elif vector := _NVJET_VECTOR.match(text):
            operand, block, kind = vector.groups()
            reading.take(f"scale_{operand.lower()}", f"{kind.lower()} per {block}", word)
        elif _NVJET_OPS.match(text) and index == len(words) - 2:
            reading.take("layout", text[:2].lower(), word)
        elif text == "badd":
            reading.notes.append("badd: the product is added to what C holds (probably)")
        elif text in ("h", "v"):
            reading.notes.append(f"{text}: order in which tiles are visited (probably)")
        elif text.startswith("algo"):
            reading.notes.append(
                f"{text}: seen only without fast accumulation of 8-bit products (probably that)"
            )
        else:
            reading.leave_unread(text)
    if epilogue and not reading.cut:
        start, end = epilogue[0].start, epilogue[-1].end
        reading.put("epilogue", tuple(word.text for word in epilogue), start, end)


def _nvjet_types(reading: Reading, word: Token) -> None:
    letters = [_NVJET_LETTERS.get(letter) for letter in word.text]
    keys: tuple[str, ...]
    if len(letters) == 3:
        keys = ("dtype_a", "dtype_acc", "dtype_out")
    elif len(letters) == 5:
        keys = ("dtype_a", "dtype_b", "dtype_c", "dtype_acc", "dtype_out")
    else:
        reading.leave_unread(word.text)
        return
    for offset, (key, letter) in enumerate(zip(keys, letters, strict=True)):
        at = word.start + offset
        if letter is None:
            reading.leave_unread(word.text[offset])
            continue
        # Five letters: which of the middle ones is C and which the compute type is inferred.
        if key != "dtype_c":
            reading.put(key, letter, at, at + 1)
        if key == "dtype_a" and len(letters) == 3:
            reading.put("dtype_b", letter, at, at + 1)


def read_legacy(reading: Reading) -> bool:
    """Reads `<arch>_[<out>_]<acc>[<mma>]gemm_[<in>_]<M>x<N>_..._<layout>`; False if it is none."""
    words = reading.words()
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
            reading.notes.append("segment_k: K split into segments, on or off (probably)")
        elif pairs == 2 and text not in _XMMA_WORDS and not _XMMA_SHAPES.match(text):
            reading.leave_unread(text)


_GEMV = re.compile(r"gemv2([TN])_kernel")
_SMALL = re.compile(r"gemmSN_([NT]{2})_kernel")
_AUX_OPS = (
    ("gemvNSP", "gemv"), ("gemv", "gemv"), ("gemmSN", "gemm"), ("gemmk1", "gemm"),
    ("sgemm_largek", "gemm"), ("dot_kernel", "dot"), ("reduce_1Block_kernel", "dot"),
    ("scal_kernel", "scal"), ("splitKreduce_kernel", "splitk_reduce"), ("axpy_kernel", "axpy"),
    ("nrm2_kernel", "nrm2"), ("asum_kernel", "asum"), ("iamax_kernel", "iamax"),
    ("copy_kernel", "copy"), ("trsm", "trsm"), ("ger_kernel", "ger"), ("syrk", "syrk"),
)  # fmt: skip


def read_helper(reading: Reading, cxx: Cxx) -> bool:
    """Reads the kernels around a product, by function name; False if it is none of them."""
    name = cxx.name
    spot = Token(name, cxx.name_start, cxx.name_end)
    if cxx.path.endswith("gemvx::kernel"):
        reading.be("cublas_aux", "nvidia", "function names; lanes come from the launch")
        reading.put("kernel", "gemvx::kernel", cxx.name_end - len("gemvx::kernel"), cxx.name_end)
        reading.take("op", "gemv", spot)
        return True
    op = next((op for prefix, op in _AUX_OPS if name.startswith(prefix)), None)
    owned = cxx.names[0] in ("cublasLt", "cublas", "internal")
    if op is None or not (len(cxx.names) == 1 or owned):
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
