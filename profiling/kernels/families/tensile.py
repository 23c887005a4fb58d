"""Tensile (rocBLAS) and TensileLite (hipBLASLt).

Source: ROCm/Tensile Tensile/SolutionStructs.py and docs/src/reference/nomenclature.rst;
ROCm/hipBLASLt tensilelite/Tensile/{SolutionStructs.py,Common/DataType.py}.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ptx.profiling.kernels.reading import split

if TYPE_CHECKING:
    from ptx.profiling.kernels.reading import Reading, Token

_RULE = "ROCm/Tensile SolutionStructs.py"
_TYPE_WORDS = (
    ("F8B8", "e4m3"), ("B8F8", "e5m2"), ("F8N", "e4m3fnuz"), ("B8N", "e5m2fnuz"), ("F8", "e4m3"),
    ("B8", "e5m2"), ("F6", "e2m3"), ("B6", "e3m2"), ("F4", "e2m1"), ("I8", "i8"), ("4xi8", "i8"),
    ("S", "f32"), ("D", "f64"), ("C", "cf32"), ("Z", "cf64"), ("H", "f16"), ("B", "bf16"),
    ("I", "i32"), ("X", "xf32"),
)  # fmt: skip
_HEAD = re.compile(r"(?:Custom_)?Cijk_A([ilk]{3})_B([jlk]{3})_")
_TILE = re.compile(r"MT([0-9]{1,5})x([0-9]{1,5})x([0-9]{1,5})\Z")
_MFMA = re.compile(r"MI([0-9]{1,4})x([0-9]{1,4})x([0-9]{1,4})(?:x([0-9]{1,4}))?\Z")
_TILE_AT = re.compile(r"_MT[0-9]{1,5}x[0-9]{1,5}x[0-9]{1,5}_[^_]*")
_PARAMETER = re.compile(
    r"_(?:ISA([0-9]{2,4}[a-z]?)|(WS|SK|GSU)([0-9]{1,4})|(MIWT)([0-9]{1,4}_[0-9]{1,4})"
    r"|(WG)([0-9]{1,4}_[0-9]{1,4}_[0-9]{1,4}))(?=_|\Z)"
)
_CAPABILITIES = {
    "Bias": "bias", "HAS": "activation_any", "AS": "activation_any", "SAV": "scale_alpha_vec",
    "SAB": "scale_ab", "SABV": "scale_ab_vec", "SCD": "scale_cd", "Aux": "aux", "Grad": "gradient",
}  # fmt: skip


def read_tensile(reading: Reading) -> bool:
    """Reads `[Custom_]Cijk_A<idx>_B<idx>_<types>_<flags>_MT..._MI..._SN_...`; False if none."""
    head = _HEAD.match(reading.name, reading.start, reading.end)
    if not head:
        return reading.name.startswith(("Cijk_", "Custom_Cijk_"), reading.start) and _bare(reading)
    reading.be("tensile", "amd", _RULE)
    reading.notes.append("Bias, activations and scales in the name are what the kernel can do")
    # l is summed; the operand whose first index is free is not transposed, for A, and so on.
    layout = ("n" if head.group(1)[0] == "i" else "t") + ("n" if head.group(2)[0] == "l" else "t")
    reading.put("layout", layout, head.start(1), head.end(2))
    tile = _TILE_AT.search(reading.name, head.end() - 1, reading.end)
    if not tile:
        return True
    words = split(reading.name, head.end(), tile.end())
    tile_at = next(i for i, word in enumerate(words) if _TILE.match(word.text))
    flags = words[:tile_at]
    lite = any(word.text in ("UserArgs", "Bias", "HA", "HAS", "SAV") for word in flags)
    _put_types(reading, flags)
    _put_tile(reading, words, tile_at)
    supported = _capabilities(flags)
    if supported:
        spans = (flags[0].start, flags[-1].end)
        reading.put("epilogue_supported", supported, *spans)
    _put_parameters(reading, tile.end())
    mfma = reading.spans.get("instr_blocks")
    if mfma:
        lite = lite or "instr_mn" in reading.fields
    user = next((word for word in flags if word.text == "UserArgs"), None)
    span = mfma or (user.start, user.end) if user else mfma
    if span or lite:
        start, end = span or (flags[0].start, flags[-1].end)
        reading.put("generator", "tensilelite" if lite else "tensile", start, end)
    if user and "split_k" in reading.fields:
        del reading.fields["split_k"], reading.spans["split_k"]
    return True


def _bare(reading: Reading) -> bool:
    reading.be("tensile", "amd", _RULE)
    for word in reading.words():
        if word.text.startswith("PostGSU"):
            reading.take("op", "splitk_reduce", word)
    return True


def _one_type(text: str) -> tuple[str, int] | None:
    for word, found in _TYPE_WORDS:
        if text.startswith(word):
            return found, len(word)
    return None


def _put_types(reading: Reading, flags: list[Token]) -> None:
    # `BBS`, then flags such as `BH`; some builds write `B_BS_BH`, and `SB` is type S and flag B.
    if not flags:
        return
    found: list[tuple[str, int, int]] = []
    for index, word in enumerate(flags[:2]):
        position = 0
        parsed = []
        while position < len(word.text) and (one := _one_type(word.text[position:])):
            parsed.append((one[0], word.start + position, word.start + position + one[1]))
            position += one[1]
        if position < len(word.text):
            break
        if index == 0:
            found = parsed
            if len(parsed) > 1:
                break
        elif len(parsed) == 2:
            # The second word holds output and compute type; one letter or `BH` would be flags.
            found += parsed if word.text != "BH" else []
    if len(found) == 2:
        # One type and the flag of beta.
        found = found[:1]
    if len(found) == 1:
        found *= 3
    if len(found) == 3:
        for key, (kind, start, end) in zip(
            ("dtype_a", "dtype_out", "dtype_acc"), found, strict=True
        ):
            reading.put(key, kind, start, end)
    elif found:
        reading.leave_unread(reading.name[found[0][1] : found[-1][2]])


def _put_tile(reading: Reading, words: list[Token], at: int) -> None:
    tile = _TILE.match(words[at].text)
    assert tile is not None
    for key, size in zip(("tile_m", "tile_n", "tile_k"), tile.groups(), strict=True):
        reading.take(key, int(size), words[at])
    if at + 1 >= len(words):
        return
    word = words[at + 1]
    mfma = _MFMA.match(word.text)
    if not mfma:
        if word.text == "SN":
            reading.take("tensor_core", False, words[at])
        return
    m, n, third, fourth = mfma.groups()
    reading.take("tensor_core", True, word)
    if fourth is not None:
        reading.take("instr", f"{m}x{n}x{third}", word)
        reading.take("instr_blocks", int(fourth), word)
    else:
        reading.take("instr_mn", f"{m}x{n}", word)
        reading.take("instr_blocks", int(third), word)


def _capabilities(flags: list[Token]) -> tuple[str, ...]:
    found = []
    for index, word in enumerate(flags):
        text = word.text
        if text == "HA" and index + 1 < len(flags) and flags[index + 1].text == "S":
            found.append("activation_any")
        elif text in _CAPABILITIES and index:
            found.append(_CAPABILITIES[text])
    return tuple(found)


def _put_parameters(reading: Reading, position: int) -> None:
    end = reading.end
    if reading.cut and reading.name.endswith("_", 0, end):
        end -= 1
    for match in _PARAMETER.finditer(reading.name, position, end):
        isa, key, number, _, wave_tile, _, group = match.groups()
        if isa:
            reading.put("arch", f"gfx{isa}", *match.span(1))
        elif key == "WS":
            reading.put("wave_size", int(number), *match.span(3))
        elif key == "SK":
            reading.put("stream_k", int(number) > 0, *match.span(3))
        elif key and int(number) > 0:
            reading.put("split_k", int(number), *match.span(3))
        elif wave_tile:
            reading.put("wave_tile", wave_tile.replace("_", "x"), *match.span(5))
        elif group:
            reading.put("workgroup", group.replace("_", "x"), *match.span(7))
