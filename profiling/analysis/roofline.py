"""Where each activity stands against its device's ceilings: bound by memory, compute or latency."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from ptx.profiling.analysis._once import once_per_trace
from ptx.profiling.analysis.ceilings import Ceilings, ceilings_of
from ptx.profiling.kernels.decode import decode
from ptx.profiling.tensors.bytes import Modelled, model_activities

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from ptx.profiling.kernels.model import KernelName
    from ptx.profiling.structure.structure import Structure

_EXPLAINED_SHARE = 1 / 3
"""Below this share of its time by either ceiling, neither bounds a kernel: latency does."""

_IMPLAUSIBLE = 2.0
"""A rate this many times the memory's ceiling, of more bytes than its cache holds, is no rate."""

_OPERAND_KEYS = ("dtype_a", "dtype", "dtype_q")
_CONTRACTIONS = ("G", "A")


class Bound(IntEnum):
    """What limits an activity; UNKNOWN where bytes, FLOPs or ceilings are."""

    UNKNOWN = 0
    MEMORY = 1
    COMPUTE = 2
    LATENCY = 3

    @property
    def word(self) -> str | None:
        """Returns `memory`, `compute`, `latency`, None for unknown."""
        return None if self is Bound.UNKNOWN else self.name.lower()


@dataclass(frozen=True, eq=False)
class Roofline:
    """Achieved rates and bounds, in the order of `structure.activities`.

    Attributes:
        bound: values of `Bound`, uint8.
        gbps: modelled GB/s (10^9 bytes), nan where unknown.
        tflops: modelled TFLOP/s, nan where unknown.
        memory_share: the share of the time that the memory's ceiling explains, nan where unknown.
        compute_share: the same of the arithmetic ceiling for the operands' type.
        ceilings: what is known of each device with activity.
    """

    bound: NDArray[np.uint8]
    gbps: NDArray[np.float64]
    tflops: NDArray[np.float64]
    memory_share: NDArray[np.float64]
    compute_share: NDArray[np.float64]
    ceilings: Mapping[int, Ceilings]


@once_per_trace
def modelled(structure: Structure) -> Modelled:
    """Returns the modelled bytes and FLOPs of all activities.

    Bytes that no memory could have moved in the time count as unknown: what was modelled stayed
    in a cache or was not touched.
    """
    found = model_activities(structure)
    limit, cache = _per_device(structure, lambda c: (c.memory_gbps, float(c.cache_bytes or np.inf)))
    total = found.total_bytes
    with np.errstate(invalid="ignore"):
        impossible = (total > cache) & (
            total > _IMPLAUSIBLE * limit * structure.activities.counted_ns
        )
    return replace(
        found,
        read_bytes=np.where(impossible, -1, found.read_bytes),
        write_bytes=np.where(impossible, -1, found.write_bytes),
    )


def modelled_share(structure: Structure) -> float:
    """Returns the share of the GPU sum that has modelled bytes, 0 to 1; 0 without activities."""
    counted = structure.activities.counted_ns
    total = int(counted.sum())
    return int(counted[modelled(structure).is_known].sum()) / total if total else 0.0


@once_per_trace
def roofline(structure: Structure) -> Roofline:
    """Returns where every activity of a trace stands, by modelled bytes and FLOPs."""
    found = modelled(structure)
    ns = structure.activities.counted_ns.astype(np.float64)
    ns[ns <= 0] = np.nan
    gbps = np.where(found.is_known, found.total_bytes, np.nan) / ns
    tflops = np.where(found.flops >= 0, found.flops, np.nan) / ns / 1e3
    (memory_limit,) = _per_device(structure, lambda c: (c.memory_gbps,))
    memory_share = gbps / memory_limit
    compute_share = tflops / _compute_limit(structure)
    return Roofline(
        _bounds(structure, memory_share, compute_share),
        gbps,
        tflops,
        memory_share,
        compute_share,
        _ceilings(structure),
    )


@dataclass(frozen=True, slots=True)
class Rates:
    """What some activities moved and computed by the model, and how fast.

    Attributes:
        moved_bytes: read and written, of those activities where both are known.
        flops: of those where they are known, 0 for none.
        gbps: 10^9 bytes a second, over the time of the activities with known bytes.
        tflops: 10^12 FLOPs a second, over the time of those with known FLOPs.
        known_share: the share of their GPU time that has modelled bytes, 0 to 1.
        bound: what limits most of their time, None where that is unknown.
    """

    moved_bytes: int
    flops: int
    gbps: float
    tflops: float
    known_share: float
    bound: str | None


def rates_of(structure: Structure, activities: NDArray[np.integer]) -> Rates | None:
    """Returns the rates of activities (positions) taken together; None where nothing is known."""
    ns = structure.activities.counted_ns[activities]
    whole = int(ns.sum())
    if whole <= 0:
        return None
    found, standing = modelled(structure), roofline(structure)
    known = found.is_known[activities]
    computes = found.flops[activities] > 0
    if not (known.any() or computes.any()):
        return None
    moved = int(found.total_bytes[activities][known].sum())
    flops = int(found.flops[activities][computes].sum())
    bound = standing.bound[activities]
    times = np.bincount(bound, weights=ns, minlength=len(Bound))
    return Rates(
        moved_bytes=moved,
        flops=flops,
        gbps=moved / max(1, int(ns[known].sum())),
        tflops=flops / max(1, int(ns[computes].sum())) / 1e3,
        known_share=int(ns[known].sum()) / whole,
        bound=Bound(int(np.argmax(times))).word,
    )


def _bounds(
    structure: Structure,
    memory_share: NDArray[np.float64],
    compute_share: NDArray[np.float64],
) -> NDArray[np.uint8]:
    """Returns the bound of each activity: the ceiling that explains most of its time.

    What only moves and adds has no arithmetic to wait for; a product of unknown size may have.
    """
    contracts = _of_names(structure, lambda name: name.category in _CONTRACTIONS, bool)
    compute = np.where(contracts, compute_share, 0.0)
    both_known = ~np.isnan(memory_share) & ~np.isnan(compute)
    memory, compute = np.nan_to_num(memory_share), np.nan_to_num(compute)
    explained = np.maximum(memory, compute) >= _EXPLAINED_SHARE
    bound = np.full(len(memory), int(Bound.UNKNOWN), np.uint8)
    bound[both_known & ~explained] = Bound.LATENCY
    bound[both_known & explained & (memory >= compute)] = Bound.MEMORY
    bound[explained & (compute > memory)] = Bound.COMPUTE
    return bound


@once_per_trace
def _ceilings(structure: Structure) -> dict[int, Ceilings]:
    """Returns the ceilings of each device with activity, where its name is known."""
    names = {d.index: d.name for d in structure.trace.header.devices}
    found = {int(i): ceilings_of(names.get(int(i))) for i in structure.devices}
    return {index: ceilings for index, ceilings in found.items() if ceilings is not None}


def _per_device(
    structure: Structure, figures: Callable[[Ceilings], tuple[float, ...]]
) -> tuple[NDArray[np.float64], ...]:
    """Returns figures of each activity's device, nan where its ceilings are not known."""
    device = structure.trace.table.device[structure.activities.event]
    width = len(figures(_NOTHING_KNOWN))
    out = np.full((width, len(device)), np.nan)
    for index, ceilings in _ceilings(structure).items():
        out[:, device == index] = np.array(figures(ceilings))[:, None]
    return tuple(out)


def _compute_limit(structure: Structure) -> NDArray[np.float64]:
    """Returns each activity's TFLOP/s ceiling by the operands' type that its name states."""
    words = sorted({word for c in _ceilings(structure).values() for word in c.tflops})
    if not words:
        return np.full(len(structure.activities), np.nan)
    code = {word: index for index, word in enumerate(words)}
    types = _of_names(structure, lambda name: code.get(_operand_type(name) or "", -1), np.int64)
    limits = np.stack(
        _per_device(structure, lambda c: tuple(c.tflops.get(w, np.nan) for w in words))
    )
    found: NDArray[np.float64] = np.where(
        types >= 0, np.take_along_axis(limits, np.maximum(types, 0)[None], axis=0)[0], np.nan
    )
    return found


def _operand_type(name: KernelName) -> str | None:
    """Returns the key of `Ceilings.tflops` for what a kernel multiplies, None if not stated."""
    stated = next((str(name.fields[k]) for k in _OPERAND_KEYS if k in name.fields), None)
    on_tensor_cores = name.fields.get("tensor_core") is True
    if stated is None:
        return "bf16" if on_tensor_cores else None
    if stated == "f32" and on_tensor_cores:
        return "tf32"
    if "e2m1" in stated:
        return "f4"
    return "f8" if re.search("e[45]m[23]", stated) else stated


def _of_names(
    structure: Structure, figure: Callable[[KernelName], int], dtype: type
) -> NDArray[Any]:
    """Returns a figure of each activity's name; every name is decoded once."""
    table, events = structure.trace.table, structure.activities.event
    used, member = np.unique(table.name[events], return_inverse=True)
    values: NDArray[Any] = np.array([figure(decode(table.names[n])) for n in used.tolist()], dtype)
    return values[member.ravel()]


_NOTHING_KNOWN = Ceilings("", np.nan, {}, None, "data sheet")
