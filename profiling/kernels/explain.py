"""Takes a decoded name apart: which piece of it says what."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptx.profiling.kernels.model import Part

if TYPE_CHECKING:
    from ptx.profiling.kernels.model import FieldValue, KernelName

_LAYOUTS = {
    "n": "as stored (n)",
    "t": "transposed (t)",
}
_TEMPLATES = {
    "dtype_a": "A is {}", "dtype_b": "B is {}", "dtype_c": "C is {}", "dtype_out": "output is {}",
    "dtype_acc": "sums in {}", "dtype_math": "multiplies in {}", "dtype": "data type {}",
    "dtype_q": "queries are {}", "dtype_kv": "keys and values are {}",
    "tile_m": "{} rows", "tile_n": "{} columns", "tile_k": "K step {}", "tile": "tile {}",
    "stages": "{} stages", "cluster": "cluster of {} CTAs", "instr": "matrix instruction {}",
    "instr_mn": "matrix instruction {}", "instr_blocks": "{} block(s)", "arch": "built for {}",
    "alignment": "operands aligned to {} elements", "vec": "{} elements a load",
    "threads": "{} threads a block", "work_per_thread": "{} elements a thread",
    "output_vec": "{} outputs a thread", "warps": "warps {}", "warpgroups": "warp groups {}",
    "head_dim": "head size {}", "head_dim_v": "head size of the values {}",
    "template": "launch template", "functor": "the operator", "kernel": "function",
    "kind": "{} kernel", "fused_ops": "fused operators", "index": "number {}",
    "collective": "collective", "redop": "reduction as named: {}", "algo": "algorithm as named: {}",
    "protocol": "protocol as named: {}", "wave_tile": "tile of a wave {}",
    "workgroup": "work group {}", "wave_size": "{} lanes a wave", "scale_a": "scale of A: {}",
    "scale_b": "scale of B: {}", "layout_in": "activations {}", "layout_filter": "filter {}",
    "layout_out": "output layout {}", "epilogue": "fused at the end: {}",
    "epilogue_supported": "can be fused at the end: {}", "max_k": "head size up to {}",
    "page_size": "page of {}", "op_type": "operator {}", "simd": "{} lanes", "op": "computes {}",
    "log2_elements": "rows of up to 2^{} elements", "elem_bytes": "{} byte(s) an element",
    "schedule": "schedule {}", "epilogue_store": "output stored by {}", "iterator": "iterator {}",
    "sliced": "K sliced {} inside the CTA", "generator": "generator {}", "api": "call",
    "l0_op": "level-0 operator", "core": "runs on {}", "split_k": "split-K {}",
}  # fmt: skip
_FLAGS = {
    "tensor_core": ("tensor cores", "no tensor cores"),
    "two_cta": ("a pair of CTAs computes together", ""),
    "split_k": ("K is split over CTAs, summed by a second kernel", ""),
    "stream_k": ("stream-K schedule", "no stream-K schedule"),
    "causal": ("causal mask", "no causal mask"), "dropout": ("dropout", "no dropout"),
    "warp_specialized": ("warps take different roles", ""),
    "aligned": ("aligned inputs", "inputs need not be aligned"),
    "transposed": ("the matrix is transposed", "the matrix is not transposed"),
    "log_softmax": ("log softmax", "plain softmax"), "masked": ("masked", "not masked"),
    "persistent": ("persistent CTAs", "one CTA a tile"),
    "inserted": ("inserted by the run-time", ""),
}  # fmt: skip
_VALUES = {
    ("beta", "zero"): "beta is 0: C is not read", ("beta", "nonzero"): "beta is not 0: C is read",
    ("coop", "A"): "two warp groups share a tile, split along M (probably)",
    ("coop", "B"): "two warp groups share a tile, split along N (probably)",
    ("direction", "fwd"): "forward", ("direction", "bwd"): "backward",
}  # fmt: skip


def parts_of(kernel: KernelName) -> tuple[Part, ...]:
    """Returns the pieces of the name that were read, in the order of the name."""
    groups: dict[tuple[int, int], list[str]] = {}
    for key, span in kernel.spans.items():
        groups.setdefault(span, []).append(key)
    return tuple(
        Part(start, end, kernel.name[start:end], _meaning(kernel, keys), tuple(keys))
        for (start, end), keys in sorted(groups.items())
    )


def meaning(key: str, value: FieldValue) -> str:
    """Returns what one field says, in words."""
    if isinstance(value, tuple):
        value = ", ".join(value)
    if isinstance(value, bool) and key in _FLAGS:
        return _FLAGS[key][not value] or f"not {key.replace('_', ' ')}"
    if key == "layout" and isinstance(value, str) and len(value) == 2:
        a, b = (_LAYOUTS.get(letter, letter) for letter in value)
        return f"{value}: A {a}, B {b}, in the BLAS view, where A is torch's second operand"
    known = _VALUES.get((key, str(value)))
    if known is not None:
        return known
    return _TEMPLATES.get(key, f"{key.replace('_', ' ')} {{}}").format(value)


def _meaning(kernel: KernelName, keys: list[str]) -> str:
    fields = kernel.fields
    words = []
    rest = list(keys)
    if "tile_m" in rest and "tile_n" in rest:
        tile = f"{fields['tile_m']}x{fields['tile_n']} output tile of one CTA"
        if kernel.family.startswith(("flash", "fmha")) or "dtype_q" in fields:
            tile = f"tile of {fields['tile_m']} queries x {fields['tile_n']} keys"
        words.append(tile)
        rest = [key for key in rest if key not in ("tile_m", "tile_n")]
    return ", ".join(words + [meaning(key, fields[key]) for key in rest])
