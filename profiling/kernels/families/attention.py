"""Attention: FlashAttention 2, 3 and 4, memory-efficient, cuDNN's, TensorRT-LLM's, FlashInfer.

Sources: Dao-AILab/flash-attention csrc/flash_attn/src/{kernel_traits.h,flash_fwd_launch_template.h}
and hopper/{mainloop_fwd_sm90_tma_gmma_ws.hpp,flash_fwd_launch_template.h}; pytorch
mem_eff_attention/kernels/generate_kernels.py.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ptx.profiling.kernels.cxx import boolean, literal, parse
from ptx.profiling.kernels.dtypes import LIBRARY_TYPES, cxx_type
from ptx.profiling.kernels.reading import Token

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ptx.profiling.kernels.cxx import Cxx
    from ptx.profiling.kernels.reading import Reading

_ARCH = re.compile(r"(?:cutlass::arch::)?Sm([0-9]{2,3})\Z")
_CONSTANT = re.compile(r"(?:cute::)?C<([0-9]{1,6})>")
_FMHA = re.compile(
    r"fmha_cutlass([FB])_([a-z0-9]+)_(aligned|notaligned)_([0-9]{1,5})x([0-9]{1,5})_"
)
_SDPA = re.compile(
    r"cudnn_generated_(?:fort|oss)_(?:native_)?sdpa_(sm[0-9]{2,3}[af]?)_flash_(fprop|bprop)_"
)
_TRIPLE = re.compile(r"[0-9]{1,6}x[0-9]{1,6}x[0-9]{1,6}\Z")


def read_flash(reading: Reading, cxx: Cxx) -> bool:
    """Reads the kernels of flash-attention's C++ packages; False if it is none of them."""
    bare = len(cxx.names) == 1 and cxx.name.startswith(("flash_fwd_", "flash_bwd_"))
    if not any(part in ("flash", "pytorch_flash") for part in cxx.names[:-1]) and not (
        bare
        and any(
            parse(reading.name, *span).name.endswith("kernel_traits")
            for span in (cxx.arguments or ())[:2]
        )
    ):
        return False
    if cxx.name == "compute_attn_ws":
        _read_fa3_beta(reading, cxx)
    elif cxx.name.startswith(("flash_fwd", "flash_bwd")):
        _read_fa2(reading, cxx)
    else:
        reading.be("flash_attn3", "nvidia", "Dao-AILab/flash-attention hopper")
        reading.take("kernel", cxx.name, Token(cxx.name, cxx.name_start, cxx.name_end))
    return True


def _literals(reading: Reading, pairs: Iterable[tuple[str, tuple[int, int]]]) -> None:
    for key, span in pairs:
        if (number := literal(reading.name[slice(*span)])) is not None:
            reading.put(key, number, *span)


def _flags(reading: Reading, pairs: Iterable[tuple[str, tuple[int, int]]]) -> None:
    for key, span in pairs:
        if (flag := boolean(reading.name[slice(*span)])) is not None:
            reading.put(key, flag, *span)


def _read_fa2(reading: Reading, cxx: Cxx) -> None:
    reading.be("flash_attn2", "nvidia", "Dao-AILab/flash-attention csrc/flash_attn/src")
    name, spot = cxx.name, Token(cxx.name, cxx.name_start, cxx.name_end)
    reading.take("direction", "bwd" if "_bwd" in name else "fwd", spot)
    if "splitkv" in name:
        reading.take("split_kv", True, spot)
    arguments = cxx.arguments or ()
    if not arguments:
        return
    traits = parse(reading.name, *arguments[0])
    if not traits.name.endswith("kernel_traits"):
        return
    inner = traits.arguments or ()
    # The helpers share the traits of the main kernel and run no tiles of it.
    helper = any(word in name for word in ("combine", "convert", "dot_do_o"))
    keys: tuple[str, ...] = ("head_dim", "tile_m", "tile_n", "warps")
    _literals(reading, zip(keys[:1] if helper else keys, inner, strict=False))
    for span in inner[4:]:
        if found := cxx_type(reading.name[slice(*span)]):
            reading.put("dtype", found, *span)
            break
    flags = arguments[1:]
    if helper:
        return
    if inner:
        reading.take("tensor_core", True, spot)
    # Later flags differ between releases; the split kernel has no dropout flag.
    keys = ("causal",) if "splitkv" in name else ("dropout", "causal")
    _flags(reading, zip(keys, flags, strict=False))


def _read_fa3_beta(reading: Reading, cxx: Cxx) -> None:
    reading.be("flash_attn3", "nvidia", "Dao-AILab/flash-attention hopper, early releases")
    spot = Token(cxx.name, cxx.name_start, cxx.name_end)
    reading.take("direction", "fwd", spot)
    reading.take("warp_specialized", True, spot)
    reading.take("tensor_core", True, spot)
    traits = parse(reading.name, *cxx.arguments[0]) if cxx.arguments else None
    if traits and traits.arguments:
        keys = ("head_dim", "tile_m", "tile_n", "warps", "stages")
        _literals(reading, zip(keys, traits.arguments, strict=False))
        for span in traits.arguments[5:]:
            if found := cxx_type(reading.name[slice(*span)]):
                reading.put("dtype", found, *span)
                break


def read_fa3(reading: Reading, start: int, end: int) -> bool:
    """Reads the type inside `cutlass::device_kernel<...>`; False if it is none of FA3."""
    inner = parse(reading.name, start, end)
    if inner.name.startswith("enable_sm") and (first := inner.first_argument(end)):
        start, end = first
        inner = parse(reading.name, start, end)
    name, spot = inner.name, Token(inner.name, inner.name_start, inner.name_end)
    if "flash" not in inner.names and not name.startswith("FlashAttn"):
        return False
    reading.be("flash_attn3", "nvidia", "Dao-AILab/flash-attention hopper")
    if name.startswith("FlashAttnFwd"):
        reading.take("direction", "fwd", spot)
        if name.startswith("FlashAttnFwdSm90") and inner.arguments:
            _read_fa3_forward(reading, inner, spot)
        else:
            _find_arch(reading, inner)
        return True
    if name.startswith("FlashAttnBwd"):
        reading.take("direction", "bwd", spot)
        for word, phase in (("Preprocess", "preprocess"), ("Postprocess", "postprocess")):
            if name.startswith(f"FlashAttnBwd{word}"):
                reading.take("phase", phase, spot)
    elif name:
        reading.take("kernel", name, spot)
    _find_arch(reading, inner)
    return True


def _find_arch(reading: Reading, inner: Cxx) -> None:
    for span in inner.arguments or ():
        if arch := _ARCH.match(reading.name[slice(*span)]):
            reading.put("arch", f"sm_{arch.group(1)}", *span)
            return


def _constants(reading: Reading, span: tuple[int, int]) -> list[int]:
    text = reading.name[span[0] : min(span[1], span[0] + 400)]
    return [int(number) for number in _CONSTANT.findall(text)]


def _read_fa3_forward(reading: Reading, inner: Cxx, spot: Token) -> None:
    name = reading.name
    arguments = inner.arguments or ()
    main = parse(name, *arguments[0])
    parts = main.arguments or ()
    reading.take("tensor_core", True, spot)
    if "Sm90" in main.name:
        reading.put("warp_specialized", True, main.name_start, main.name_end)
    if len(parts) > 6:
        _literals(reading, (("stages", parts[0]),))
        cluster, tile = _constants(reading, parts[1]), _constants(reading, parts[2])
        if cluster:
            reading.put("cluster", "x".join(map(str, cluster)), *parts[1])
        if len(tile) == 3:
            for key, size in zip(("tile_m", "tile_n", "head_dim"), tile, strict=True):
                reading.put(key, size, *parts[2])
        _literals(reading, (("head_dim_v", parts[3]),))
        for key, span in (("dtype", parts[4]), ("dtype_acc", parts[5])):
            if found := cxx_type(name[slice(*span)]):
                reading.put(key, found, *span)
        if arch := _ARCH.match(name[slice(*parts[6])]):
            reading.put("arch", f"sm_{arch.group(1)}", *parts[6])
        _flags(reading, zip(("causal", "local", "softcap"), parts[7:10], strict=False))
    if len(arguments) > 1:
        epilogue = parse(name, *arguments[1])
        flags = epilogue.arguments or ()
        # Forks insert flags into the main loop, so these three come from the epilogue.
        _flags(reading, zip(("varlen", "pack_gqa", "split_kv"), flags[5:8], strict=False))
    if len(arguments) > 2:
        scheduler = parse(name, *arguments[2])
        if scheduler.name.endswith("Scheduler"):
            reading.put("scheduler", scheduler.name, scheduler.name_start, scheduler.name_end)


def read_mem_efficient(reading: Reading) -> bool:
    """Reads `fmha_cutlass<F|B>_<type>_<aligned>_<Q>x<K>_..._sm<nn>`; False if it is none."""
    name, start, end = reading.name, reading.start, reading.end
    if not name.startswith("fmha_cutlass", start, end):
        return False
    reading.be("fmha_mem_efficient", "nvidia", "pytorch mem_eff_attention generate_kernels.py")
    stop = name.find("(", start, end)
    if stop >= 0:
        reading.end, reading.cut = stop, False
    match = _FMHA.match(name, start, reading.end)
    if not match:
        return True
    reading.put("direction", "fwd" if match.group(1) == "F" else "bwd", *match.span(1))
    if match.group(2) in LIBRARY_TYPES:
        reading.put("dtype", LIBRARY_TYPES[match.group(2)], *match.span(2))
    reading.put("aligned", match.group(3) == "aligned", *match.span(3))
    reading.put("tile_m", int(match.group(4)), *match.span(4))
    reading.put("tile_n", int(match.group(5)), *match.span(5))
    dropout = None
    for word in reading.words():
        if word.start < match.end():
            continue
        text = word.text
        if text in ("rf", "gmem"):
            reading.take("output_in", text, word)
        elif re.match(r"k[0-9]{1,6}\Z", text):
            reading.take("max_k", int(text[1:]), word)
        elif re.match(r"sm[0-9]{2,3}\Z", text):
            reading.take("arch", f"sm_{text[2:]}", word)
        elif text == "dropout":
            dropout = word
        elif text != "seqaligned":
            reading.leave_unread(text)
    if match.group(1) == "B" and (dropout or "arch" in reading.fields):
        span = (dropout.start, dropout.end) if dropout else match.span(1)
        reading.put("dropout", dropout is not None, *span)
    reading.notes.append("sm is the lowest architecture of a range; newer GPUs run this kernel too")
    return True


def read_cudnn_sdpa(reading: Reading) -> bool:
    """Reads `cudnn_generated_fort_native_sdpa_<sm>_flash_...`; False if it is none."""
    match = _SDPA.match(reading.name, reading.start, reading.end)
    if not match:
        return False
    reading.be("cudnn_sdpa", "nvidia", "inferred from names in traces")
    reading.put("arch", f"sm_{match.group(1)[2:]}", *match.span(1))
    reading.put("direction", "fwd" if match.group(2) == "fprop" else "bwd", *match.span(2))
    words = [word for word in reading.words() if word.start >= match.end()]
    for index, word in enumerate(words):
        text = word.text
        if text in ("wgmma", "wmma", "mma", "utcmma"):
            reading.take("mma_kind", text, word)
            reading.take("tensor_core", True, word)
        elif text == "knob" and index + 1 < len(words) and words[index + 1].text.isdigit():
            reading.take("knob", int(words[index + 1].text[:6]), words[index + 1])
        elif _TRIPLE.match(text) and "tile" not in reading.fields:
            reading.take("tile", text, word)
        elif text.startswith("cga") and _TRIPLE.match(text[3:]):
            reading.take("cluster", text[3:], word)
    reading.notes.append("f16 stands for any 16-bit type, bf16 too")
    return True


_CUTE = re.compile(r"FlashAttention(Forward|Backward)[A-Za-z]{0,16}?Sm([0-9]{2,3})")
_AOTRITON = {
    "attn_fwd": "fwd", "bwd_kernel_dk_dv": "bwd", "bwd_kernel_dq": "bwd",
    "bwd_kernel_fuse": "bwd", "bwd_preprocess": "bwd", "bwd_preprocess_varlen": "bwd",
    "bwd_postprocess": "bwd",
}  # fmt: skip


def read_cute_dsl(reading: Reading) -> bool:
    """Reads `kernel_cutlass_<python path and arguments>`; False if the name is none."""
    name, start, end = reading.name, reading.start, reading.end
    if not name.startswith("kernel_cutlass_", start, end):
        return False
    reading.be("cutlass3", "nvidia", "the CuTe DSL flattens Python paths and arguments")
    path = name.find("flash_attncute", start, min(end, start + 400))
    if path < 0:
        path = name.find("flash_attn_cute", start, min(end, start + 400))
    if path >= 0:
        reading.be("flash_attn4_cute", "nvidia", "Dao-AILab/flash-attention flash_attn/cute")
        if kind := _CUTE.search(name, path, min(end, path + 600)):
            reading.put("direction", "fwd" if kind.group(1) == "Forward" else "bwd", *kind.span(1))
            reading.put("arch", f"sm_{kind.group(2)}", *kind.span(2))
    reading.notes.append("the flattened arguments cannot be told apart again")
    return True


def read_aotriton(reading: Reading) -> bool:
    """Reads the plain names of AOTriton's attention kernels; False if the name is none."""
    direction = None if reading.cut else _AOTRITON.get(reading.text)
    if direction is None:
        return False
    reading.be("aotriton", "amd", "ROCm/aotriton tritonsrc")
    spot = Token(reading.text, reading.start, reading.end)
    reading.take("kernel", spot.text, spot)
    reading.take("direction", direction, spot)
    return True
