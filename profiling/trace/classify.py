"""Phase, category and name of an event to its `Kind`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ptx.profiling.trace.columns import Kind, Phase

if TYPE_CHECKING:
    from numpy.typing import NDArray

_COMPLETE_KINDS = {
    "cpu_op": Kind.OP,
    "operator": Kind.OP,
    "user_annotation": Kind.ANNOTATION,
    "python_function": Kind.FRAME,
    "cuda_runtime": Kind.RUNTIME,
    "cuda_driver": Kind.RUNTIME,
    "runtime": Kind.RUNTIME,
    "xpu_runtime": Kind.RUNTIME,
    "xpu_driver": Kind.RUNTIME,
    "mtia_runtime": Kind.RUNTIME,
    "mlu_runtime": Kind.RUNTIME,
    "privateuse1_runtime": Kind.RUNTIME,
    "privateuse1_driver": Kind.RUNTIME,
    "kernel": Kind.KERNEL,
    "concurrent_kernel": Kind.KERNEL,
    "gpu_memcpy": Kind.MEMCPY,
    "memcpy": Kind.MEMCPY,
    "mlu_memcpy": Kind.MEMCPY,
    "gpu_memset": Kind.MEMSET,
    "memset": Kind.MEMSET,
    "mlu_memset": Kind.MEMSET,
    "gpu_user_annotation": Kind.DEVICE_ANNOTATION,
    "cuda_sync": Kind.SYNC,
    "overhead": Kind.OVERHEAD,
    "enqueue": Kind.RUNTIME,
    "dequeue": Kind.RUNTIME,
    "mtia_ccp_events": Kind.KERNEL,
    "cuda_profiler_range": Kind.OTHER,
    "hardware_counters": Kind.OTHER,
    "trace": Kind.OTHER,
}
_PHASE_KINDS = {
    Phase.METADATA: Kind.METADATA,
    Phase.FLOW_START: Kind.FLOW,
    Phase.FLOW_STEP: Kind.FLOW,
    Phase.FLOW_END: Kind.FLOW,
    Phase.INSTANT: Kind.INSTANT,
    Phase.COUNTER: Kind.COUNTER,
    Phase.REFUSED: Kind.REFUSED,
}
_MODULE_PREFIX = "nn.Module: "


def classify(
    phase: NDArray[np.uint8],
    category: NDArray[np.uint16],
    name: NDArray[np.int32],
    categories: tuple[str, ...],
    names: tuple[str, ...],
) -> NDArray[np.uint8]:
    """Returns the kind of each row (uint8), by one table look-up over phase and category."""
    table = np.full((len(Phase), max(1, len(categories))), Kind.OTHER, np.uint8)
    for letter, phase_kind in _PHASE_KINDS.items():
        table[letter, :] = phase_kind
    for code, text in enumerate(categories):
        for slices in (Phase.COMPLETE, Phase.BEGIN):
            table[slices, code] = _complete_kind(text.lower())
        if text.lower() in ("cpu_instant_event", ""):  # 2021: without a category
            table[Phase.INSTANT, code] = Kind.MEMORY
    kind: NDArray[np.uint8] = table[phase, category]
    frames = np.flatnonzero(kind == Kind.FRAME)
    if len(frames):
        module = np.fromiter((n.startswith(_MODULE_PREFIX) for n in names), bool, len(names))
        kind[frames[module[name[frames]]]] = Kind.MODULE
    _settle_mtia(kind, category, name, categories, names)
    memory = np.flatnonzero(kind == Kind.MEMORY)
    if len(memory):
        allocation = np.fromiter((n == "[memory]" for n in names), bool, len(names))
        kind[memory[~allocation[name[memory]]]] = Kind.INSTANT
    return kind


def _complete_kind(category: str) -> Kind:
    """Returns the kind of a slice; of several categories with commas the first known one counts."""
    known = (_COMPLETE_KINDS.get(part.strip()) for part in (category, *category.split(",")))
    return next((kind for kind in known if kind is not None), Kind.SLICE)


def _settle_mtia(
    kind: NDArray[np.uint8],
    category: NDArray[np.uint16],
    name: NDArray[np.int32],
    categories: tuple[str, ...],
    names: tuple[str, ...],
) -> None:
    """Tells copies and event records of an MTIA's command processor from work, in place."""
    codes = [code for code, text in enumerate(categories) if text == "mtia_ccp_events"]
    if not codes:
        return
    rows = np.flatnonzero(np.isin(category, codes) & (kind == Kind.KERNEL))
    for prefix, settled in (("dma_", Kind.MEMCPY), ("event_", Kind.SYNC)):
        mine = np.fromiter((n.startswith(prefix) for n in names), bool, len(names))
        kind[rows[mine[name[rows]]]] = settled
