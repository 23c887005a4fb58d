"""Kernels that TorchInductor generates, and Triton kernels that users write.

Source: pytorch/pytorch torch/_inductor/{utils.py:get_fused_kernel_name, wrapper_benchmark.py,
codegen/triton.py:define_kernel, select_algorithm.py}; triton_kernels for `_matmul_ogs`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from ptx.profiling.kernels.reading import Token
from ptx.profiling.kernels.vocabulary import LENGTHS, OPERATORS

if TYPE_CHECKING:
    from ptx.profiling.kernels.reading import Reading

_RULE = "pytorch torch/_inductor/utils.py get_fused_kernel_name"
_KINDS = {
    "poi": "pointwise", "red": "reduction", "per": "persistent_reduction", "tem": "template",
    "for": "foreach", "spl": "split_scan", "unk": "unknown",
}  # fmt: skip
_HEAD = re.compile(r"(?:[A-Za-z0-9_]{1,80}?_)??(triton)_(poi|red|per|tem|for|spl|unk)_")
_CANDIDATE = re.compile(r"triton_([a-z][a-z_]{0,60}(?:2d|3d)?)_([0-9]{1,9})\Z")
# Old Triton appends what it knows of each argument: `_0d1d2de`.
_SPECIALISED = re.compile(r"_0[0-9]{0,3}d[0-9de]{0,180}\Z")
_INDEX = re.compile(r"_([0-9]{1,9})\Z")
_OGS = re.compile(r"_?(?:p_)?matmul_ogs_")
_FOUR = re.compile(r"([0-9]{1,5})x([0-9]{1,5})x([0-9]{1,5})x([0-9]{1,5})\Z")
_PLAIN = re.compile(r"[a-z_][A-Za-z0-9_]*\Z")

_MAX_WORDS = 256
_TEMPLATES = frozenset(
    ("mm_plus_mm", "scaled_mm", "flex_decoding", "convolution2d", "convolution3d")
)


def read_inductor(reading: Reading) -> bool:
    """Reads `[<model>_]triton_<kind>_fused_<ops>_<number>` and its older forms."""
    name, start, end = reading.name, reading.start, reading.end
    head = _HEAD.match(name, start, end)
    if head:
        reading.be("inductor", None, _RULE)
        reading.put("kind", _KINDS[head.group(2)], head.start(2), head.end(2))
        _read_fused(reading, head.end())
        return True
    if not name.startswith("triton_", start, end):
        return False
    if name.startswith("triton_fused_", start, end):
        # Before kinds were named.
        reading.be("inductor", None, _RULE)
        _read_fused(reading, start + len("triton_"))
        return True
    if name.startswith("triton__", start, end):
        reading.be("inductor", None, _RULE)
        reading.notes.append(
            "the name says only how arguments are specialised; the CPU op that launched it names "
            "the fused operators"
        )
        return True
    candidate = None if reading.cut else _CANDIDATE.match(name, start, end)
    if candidate and (candidate.group(1) in OPERATORS or candidate.group(1) in _TEMPLATES):
        reading.be("inductor", None, "pytorch torch/_inductor/select_algorithm.py")
        reading.put("kind", "template", start, start + len("triton"))
        reading.put("template", candidate.group(1), *candidate.span(1))
        reading.put("index", int(candidate.group(2)), *candidate.span(2))
        reading.notes.append("a candidate of autotuning: its number, not a final name")
        return True
    return False


def _read_fused(reading: Reading, position: int) -> None:
    name, end = reading.name, reading.end
    if reading.cut:
        reading.notes.append("the list of fused operators is cut")
        return
    specialised = _SPECIALISED.search(name, max(position, end - 200), end)
    if specialised:
        end = specialised.start()
    number = _INDEX.search(name, max(position - 1, end - 12), end)
    if number:
        reading.put("index", int(number.group(1)), *number.span(1))
        end = number.start()
    if not name.startswith("fused", position, end):
        reading.leave_unread(name[position:end])
        return
    start = position + len("fused")
    if start == end:
        reading.put("fused_ops", (), position, end)
        return
    operators = split_operators(name[start + 1 : end])
    if operators is None:
        reading.leave_unread(name[start + 1 : end])
        reading.notes.append(
            "the fused operators could not be told apart: one of them is no known operator"
        )
        return
    reading.put("fused_ops", operators, start + 1, end)
    heavy = [op for op in operators if op in _MATMULS]
    if heavy and reading.fields.get("kind") != "template":
        reading.notes.append(
            f"{heavy[0]} itself ran in another kernel: this one only uses its result"
        )
    elif len(operators) > 1:
        reading.notes.append(
            "fused operators stand in alphabetical order, not in that of execution"
        )


_MATMULS = frozenset(
    ("mm", "bmm", "addmm", "baddbmm", "matmul", "linear", "convolution", "convolution_backward",
     "_scaled_dot_product_flash_attention", "_scaled_dot_product_efficient_attention",
     "_scaled_dot_product_cudnn_attention", "_flash_attention_forward", "_flash_attn_forward",
     "_flash_attn_backward", "_scaled_mm", "_grouped_mm")
)  # fmt: skip


@lru_cache(maxsize=4096)
def split_operators(text: str) -> tuple[str, ...] | None:
    """Returns the operators of a fused name; None unless exactly one split is possible.

    The name lists sorted, distinct operators joined by underscores, which operators also hold.
    """
    words = text.split("_")
    count = len(words)
    if count > _MAX_WORDS:
        return None
    # From each position: the splits of the rest, as (first operator, number of ways, next).
    ways: list[list[tuple[str, int, int]]] = [[] for _ in range(count)]
    for at in range(count - 1, -1, -1):
        for length in LENGTHS.get(words[at], ()):
            stop = at + length
            if stop > count or (operator := "_".join(words[at:stop])) not in OPERATORS:
                continue
            number = 1 if stop == count else sum(n for op, n, _ in ways[stop] if operator < op)
            if number:
                ways[at].append((operator, number, stop))
    if sum(number for _, number, _ in ways[0]) != 1:
        return None
    operators: list[str] = []
    at = 0
    while at < count:
        last = operators[-1] if operators else ""
        operator, _, at = next(way for way in ways[at] if way[0] > last)
        operators.append(operator)
    return tuple(operators)


def read_matmul_ogs(reading: Reading) -> bool:
    """Reads `_matmul_ogs_<layouts>_<types>_<BM>x<BN>x<BK>x<splitK>[_act]`."""
    head = _OGS.match(reading.name, reading.start, reading.end)
    if not head:
        return False
    reading.be("triton_user", None, "triton-lang/triton python/triton_kernels")
    reading.put("kernel", head.group()[:-1], head.start(), head.end() - 1)
    words = [word for word in reading.words() if word.start >= head.end()]
    for index, word in enumerate(words):
        if shape := _FOUR.match(word.text):
            keys = ("tile_m", "tile_n", "tile_k", "split_k")
            for key, size in zip(keys, shape.groups(), strict=True):
                reading.take(key, int(size), word)
            rest = words[index + 1 :]
            if rest and not reading.cut:
                span = (rest[0].start, rest[-1].end)
                reading.put("epilogue", (reading.name[slice(*span)],), *span)
            break
    return True


def read_plain(reading: Reading) -> bool:
    """Reads a bare function name, which is all that a user's Triton kernel shows."""
    if reading.cut or not _PLAIN.match(reading.name, reading.start, reading.end):
        return False
    word = Token(reading.text, reading.start, reading.end)
    if "_" not in word.text.strip("_"):
        return False
    reading.be("triton_user", None, "Triton prints the plain name of the Python function")
    reading.take("kernel", word.text, word)
    reading.notes.append("a plain function name states neither types nor tiles")
    return True
