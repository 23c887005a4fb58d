"""cuDNN: convolutions, batch norm, layout changes and set-up kernels.

Sources: the words that xmma names share with cuBLAS, NVIDIA/PyProf prof/{conv,tc}.py, and names in
traces; most of it is inferred, since the scheme is unpublished.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ptx.profiling.kernels.cxx import literal, parse
from ptx.profiling.kernels.dtypes import LIBRARY_TYPES
from ptx.profiling.kernels.families.cublas import ARCH_WORDS, INSTRUCTIONS, read_xmma_words
from ptx.profiling.kernels.reading import Token

if TYPE_CHECKING:
    from ptx.profiling.kernels.cxx import Cxx
    from ptx.profiling.kernels.reading import Reading

_RULE = "inferred from names in traces and NVIDIA/PyProf prof/conv.py"
_LAYOUTS = re.compile(r"(nhwc|nchw|ndhwc|ncdhw)(krsc|kcrs|ktrsc|kctrs)\Z")
_OUT = re.compile(r"(nhwc|nchw|ndhwc|ncdhw)\Z")
_PAIR = re.compile(r"([0-9]{1,5})x([0-9]{1,5})\Z")
_ALGORITHM_WORD = re.compile(r"([shdi])([0-9]{0,6})cudnn\Z")
_ACCUMULATORS = {"s": "f32", "h": "f16", "d": "f64", "i": "i32"}


def read_xmma_conv(reading: Reading, op: str) -> None:
    """Reads `sm<NN>_xmma_<fprop|dgrad|wgrad>_implicit_gemm_..._cudnn`."""
    reading.be("cudnn_conv", "nvidia", _RULE)
    words = reading.words()
    reading.take("arch", f"sm_{words[0].text[2:]}", words[0])
    reading.take("op", op, words[2])
    read_xmma_words(reading, words[3:])
    for index, word in enumerate(words):
        if layouts := _LAYOUTS.match(word.text):
            middle = word.start + len(layouts.group(1))
            reading.put("layout_in", layouts.group(1), word.start, middle)
            reading.put("layout_filter", layouts.group(2), middle, word.end)
            if index + 1 < len(words) and _OUT.match(words[index + 1].text):
                reading.take("layout_out", words[index + 1].text, words[index + 1])


def read_cudnn_words(reading: Reading) -> bool:
    """Reads `cudnn[_infer|_train]_<arch>_scudnn_[winograd_]MxN_..._nn_v1`; False if it is none."""
    words = reading.words()
    if words[0].text != "cudnn":
        at = 0
    else:
        at = 2 if len(words) > 1 and words[1].text in ("infer", "train") else 1
    if at + 1 >= len(words) or words[at].text not in ARCH_WORDS:
        return False
    # Where the output is of another type than the sums, its type comes first.
    typed = words[at + 1].text in LIBRARY_TYPES and at + 2 < len(words)
    kind_at = words[at + 1 + typed]
    kind = _ALGORITHM_WORD.match(kind_at.text)
    if not kind:
        return False
    reading.be("cudnn_conv", "nvidia", _RULE)
    reading.take("arch", words[at].text, words[at])
    reading.take("dtype_acc", _ACCUMULATORS[kind.group(1)], kind_at)
    if kind.group(2):
        reading.take("tensor_core", True, kind_at)
        if kind.group(2) in INSTRUCTIONS:
            reading.take("instr", INSTRUCTIONS[kind.group(2)], kind_at)
    elif kind.group(1) in "sd":
        reading.take("tensor_core", False, kind_at)
    if typed:
        reading.take("dtype_out", LIBRARY_TYPES[words[at + 1].text], words[at + 1])
    if at == 2:
        reading.notes.append("infer and train name a part of the library, not the mode")
    for index, word in enumerate(words[at + 2 + typed :]):
        text = word.text
        if (pair := _PAIR.match(text)) and "tile_m" not in reading.fields:
            reading.take("tile_m", int(pair.group(1)), word)
            reading.take("tile_n", int(pair.group(2)), word)
        elif index == 0 and text in LIBRARY_TYPES:
            reading.take("dtype_a", LIBRARY_TYPES[text], word)
        elif text == "winograd":
            reading.take("algo", text, word)
        elif text == "relu":
            reading.take("epilogue_supported", (text,), word)
            reading.notes.append("relu: the kernel can apply it; it need not")
        elif text == "splitK":
            reading.take("split_k", True, word)
        elif text.startswith("sliced") and _PAIR.match(text[6:]):
            reading.take("sliced", text[6:], word)
        elif re.match(r"[nt]{2}\Z", text):
            reading.take("layout", text, word)
        elif text in ("fprop", "dgrad", "wgrad"):
            reading.take("op", text, word)
        elif text not in ("nhwc", "nchw", "v0", "v1"):
            reading.leave_unread(text)
    return True


_ENGINES = (
    (re.compile(r"wgrad"), "wgrad"), (re.compile(r"dgrad"), "dgrad"),
    (re.compile(r"fprop|convolve|implicit_convolve|explicit_convolve|conv2d_(?:grouped_)?direct"
                r"|conv2d_c1_k1_nchw|precomputed_convolve"), "fprop"),
)  # fmt: skip
_CONV = re.compile(
    r"(?:implicit_|precomputed_|explicit_|conv2d|conv1d|dgrad|wgrad|fprop|first_layer_|depthwise_"
    r"|convolve|im2col4d_kernel)"
)
_BARE_CONV = re.compile(
    r"(?:wgrad|dgrad)_alg[0-9]_engine|(?:implicit|precomputed|explicit)_convolve|(?:wgrad|dgrad)2d_"
    r"|conv2d_c1_k1|dgrad_engine\Z|dgrad2d|im2col4d_kernel\Z"
)
_BARE_AUX = re.compile(
    r"fft[12]d_[rc]2[rc]|flip_filter\Z|compute_gemm_pointers\Z|nchwToNhwc|n(?:hwc|chw)AddPadding|nhwcToNchw"
    r"|pointwise_mult_and_sum_complex\Z"
)


def read_cudnn(reading: Reading, cxx: Cxx) -> bool:
    """Reads a function in the namespaces of cuDNN, or a bare one of its names."""
    name = cxx.name
    owned = cxx.names[0] in ("cudnn", "cask_cudnn", "cask_cudnn_infer", "cask_cudnn_train")
    if not owned and not (
        len(cxx.names) == 1 and (_BARE_CONV.match(name) or _BARE_AUX.match(name))
    ):
        return False
    spot = Token(name, cxx.name_start, cxx.name_end)
    if name.startswith("bn_"):
        reading.be("cudnn_norm", "nvidia", _RULE)
        reading.take("kernel", name, spot)
        if name.startswith(("bn_fw", "bn_bw")):
            reading.take("direction", "fwd" if name.startswith("bn_fw") else "bwd", spot)
        return True
    reading.be("cudnn_aux", "nvidia", _RULE)
    reading.take("kernel", name, spot)
    winograd = any(part.startswith("winograd") for part in cxx.names) or "Winograd" in name
    if winograd or _CONV.match(name):
        reading.family = "cudnn_conv"
        if winograd:
            reading.take("algo", "winograd", spot)
        for pattern, op in _ENGINES:
            if not winograd and pattern.search(name):
                reading.take("op", op, spot)
                break
    elif name in ("nchwToNhwcKernel", "nhwcToNchwKernel"):
        reading.notes.append("changes the memory layout around a convolution: channels_last input "
                             "may save it")  # fmt: skip
    return True


_GENERATED = re.compile(r"cudnn_generated_[a-z]{1,12}_(?:native_)?(sm[0-9]{2,3}[af]?)_([A-Za-z]+)")
_GENERATED_OPS = {"convFwd": "fprop", "convDgrad": "dgrad", "convWgrad": "wgrad"}


def read_generated(reading: Reading) -> bool:
    """Reads `cudnn_generated_<engine>_<sm>_<op>_...` and other bare names that start with cudnn."""
    if not reading.name.startswith("cudnn", reading.start, reading.end):
        return False
    match = _GENERATED.match(reading.name, reading.start, reading.end)
    if reading.cut and not match:
        return False
    reading.be("cudnn_aux", "nvidia", _RULE)
    if match:
        reading.put("arch", f"sm_{match.group(1)[2:]}", *match.span(1))
        if op := _GENERATED_OPS.get(match.group(2)):
            reading.family = "cudnn_conv"
            reading.put("op", op, *match.span(2))
    else:
        reading.put("kernel", reading.text, reading.start, reading.end)
    return True


def read_implicit_gemm(reading: Reading, start: int, end: int) -> bool:
    """Reads CUTLASS's `ImplicitGemmConvolution<...>` inside a cuDNN wrapper."""
    inner = parse(reading.name, start, end)
    if inner.name != "ImplicitGemmConvolution":
        return False
    reading.be("cudnn_conv", "nvidia", "NVIDIA/cutlass include/cutlass/conv")
    shape = re.compile(r"GemmShape<").search(reading.name, start, end)
    if shape:
        tile = parse(reading.name, shape.start(), end)
        spans = tile.arguments or ()
        for key, span in zip(("tile_m", "tile_n", "tile_k"), spans, strict=False):
            if (size := literal(reading.name[slice(*span)])) is not None:
                reading.put(key, size, *span)
    iterator = re.compile(r"Conv[23]d(Fprop|Dgrad|Wgrad)").search(reading.name, start, end)
    if iterator:
        reading.put("op", iterator.group(1).lower(), *iterator.span(1))
    return True
