"""Bytes of foreach and fused optimizer kernels: lists of tensors, cut into chunks.

`multi_tensor_apply` cuts each tensor into chunks of 65,536 elements and hands them out in order,
one block a chunk, to as many launches as they need. So a launch's grid tells its elements.
Source: pytorch aten/src/ATen/native/cuda/{MultiTensorApply.cuh,ForeachFunctors.cuh,
fused_adam_utils.cuh}.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ptx.profiling.kernels.dtypes import cxx_type
from ptx.profiling.tensors.operands import UNKNOWN, Share, dense_bytes, names

if TYPE_CHECKING:
    from ptx.profiling.tensors.inputs import Tensor
    from ptx.profiling.tensors.operands import Call, Launch, Rule

_CHUNK_ELEMENTS = 65_536
_FUNCTOR = re.compile(
    r"\b(\w+Functor)<([\w:]+(?:<[\w:]+>)?)(?:, [\w:()]+)*?, ([0-9]+), ([0-9]+), ([0-9]+)>"
)
"""Name, type, depth (lists), how many of them are read, which one is written."""
_FUSED = re.compile(r"\bFused\w*MathFunctor<([\w:]+), ([0-9]+)")
"""Type, depth: all lists are read, and all but the gradients (the second) are written."""
_COPY = re.compile(r"\bCopyFunctor<([\w:]+), ([\w:]+), [0-9]+, [0-9]+, [0-9]+>")
_WRITE_ONLY = frozenset(("ZeroFunctor",))
_NORMS = frozenset(("LpNormFunctor", "LpMaxFunctor"))


def _lists(call: Call) -> list[Share]:
    launches = [k for k in call.launches if k.name.family == "aten_foreach" and _widths(k)]
    sizes = [t.numel for t in _first_list(call)]
    if not launches or sum(k.grid[0] for k in launches) != sum(map(_chunks, sizes)):
        return call.each(lambda _: UNKNOWN)
    shares, at = [], 0
    for launch in call.launches:
        widths = _widths(launch) if launch in launches else None
        if widths is None:
            shares.append(UNKNOWN)
            continue
        blocks = launch.grid[0]
        elements = _elements(sizes, at + blocks) - _elements(sizes, at)
        at += blocks
        if call.in_optimizer and "addcmul" in call.op:
            # an optimizer squares: both factors are one list
            widths = (widths[0] - widths[1], widths[1])
        written = blocks if _is_norm(launch) else elements
        shares.append(Share(elements * widths[0], written * widths[1]))
    return shares


def _first_list(call: Call) -> tuple[Tensor, ...]:
    return next((i.tensors for i in call.inputs if i.kind == "tensor_list"), ())


def _chunks(numel: int) -> int:
    return -(-numel // _CHUNK_ELEMENTS)


def _elements(sizes: list[int], chunks: int) -> int:
    """Returns the elements of so many chunks, from the first tensor's first on."""
    elements = 0
    for numel in sizes:
        taken = min(chunks, _chunks(numel))
        elements += min(numel, taken * _CHUNK_ELEMENTS)
        chunks -= taken
    return elements


def _widths(launch: Launch) -> tuple[int, int] | None:
    """Returns the bytes read and written for each element, None for an unknown functor."""
    name = launch.name.name
    if copy := _COPY.search(name):
        read, write = _size(copy.group(2)), _size(copy.group(1))
        return None if read is None or write is None else (read, write)
    if fused := _FUSED.search(name):
        size, depth = _size(fused.group(1)), int(fused.group(2))
        return None if size is None else (size * depth, size * (depth - 1))
    if found := _FUNCTOR.search(name):
        size, reads = _size(found.group(2)), int(found.group(4))
        if size is not None:
            return (0 if found.group(1) in _WRITE_ONLY else size * reads), size
    return None


def _is_norm(launch: Launch) -> bool:
    return launch.name.fields.get("functor") in _NORMS


def _size(cxx_word: str) -> int | None:
    return dense_bytes((1,), cxx_type(cxx_word) or "")


_OPS = names(
    "add sub mul div sqrt neg exp abs reciprocal pow lerp addcmul addcdiv clamp_min clamp_max",
    "maximum minimum sign sigmoid tanh log rsqrt zero copy",
)
_FUSED_OPS = names("_fused_adam_ _fused_adamw_ _fused_sgd_ _fused_adagrad_")

RULES: dict[str, Rule] = {
    **{f"_foreach_{op}{end}": _lists for op in _OPS for end in ("", "_")},
    **dict.fromkeys(("_foreach_norm", "_foreach_max", *_FUSED_OPS), _lists),
}
"""The rules of this family by op name without `aten::`."""
