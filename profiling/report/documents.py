"""The JSON documents of the commands, field by field as the contract of each schema says."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from ptx.profiling.analysis.doctor import diagnose, find_problems
from ptx.profiling.analysis.idle import CAUSES, charge_idle
from ptx.profiling.analysis.ranks import rank_of
from ptx.profiling.analysis.summary import format_of, summarise
from ptx.profiling.analysis.tables import kind_word
from ptx.profiling.kernels.decode import decode
from ptx.profiling.structure.tree import NodeKind
from ptx.profiling.tensors.effects import Effects, tensor_fields
from ptx.profiling.tensors.inputs import op_inputs
from ptx.profiling.trace.columns import ACTIVITY_KINDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from ptx.profiling.analysis.selection import Choice
    from ptx.profiling.analysis.summary import DeviceTime
    from ptx.profiling.analysis.tables import KernelRow
    from ptx.profiling.analysis.tops import Grouping, TopRow
    from ptx.profiling.structure.structure import Structure
    from ptx.profiling.tensors.execution_trace import ExecutionTrace

_BUCKETS = (
    "compute",
    "communication_exposed",
    "memory_copy",
    "idle_data",
    "idle_sync",
    "idle_alloc",
    "idle_host",
    "profiler",
    "idle_other",
)
_TOP_OPS = ("name", "calls", "cpu_self_ns", "cpu_total_ns", "gpu_sum_ns", "kernels")
_FLAGS = ("record_shapes", "with_stack", "profile_memory", "with_modules")


def envelope(structure: Structure, schema: str) -> dict[str, Any]:
    """Returns the members that every document has."""
    return {
        "schema": schema,
        "file": str(structure.trace.path),
        "t0_ns": structure.trace.t0_ns,
        "warnings": [
            {"code": p.code, "count": p.count, "message": p.message}
            for p in find_problems(structure)
        ],
    }


def summary_document(structure: Structure, choice: Choice | None = None) -> dict[str, Any]:
    """Returns `ptx.summary/1`; `choice` as in `summarise`."""
    trace, summary = structure.trace, summarise(structure, choice)
    header = trace.header
    return {
        **envelope(structure, "ptx.summary/1"),
        "format": format_of(trace),
        "producer": None,
        "torch_version": header.torch_version,
        "rank": rank_of(trace),
        "world_size": header.world_size,
        "flags": {name: header.flag(name) for name in _FLAGS},
        "devices": [asdict(d) for d in summary.devices],
        "host_devices": [asdict(d) for d in summary.host_devices],
        "counts": asdict(summary.counts),
        "links": asdict(summary.links),
        "time": _time(summary.time),
        "devices_time": [{"device": d.device, **_time(d)} for d in summary.devices_time],
        "steps": [asdict(s) for s in summary.steps],
        "top_ops": [_named(row, *_TOP_OPS) for row in summary.top_ops],
        "top_kernels": [
            {
                "name": row.name,
                **_decoded(row.name),
                "calls": row.calls,
                "gpu_sum_ns": row.gpu_sum_ns,
                "modelled_bytes": None,
            }
            for row in summary.top_kernels
        ],
        "top_slices": None
        if summary.top_slices is None
        else [_slice(row) for row in summary.top_slices],
        "threads": None if summary.threads is None else [asdict(row) for row in summary.threads],
        "findings": None,
    }


def _named(row: TopRow, *fields: str) -> dict[str, Any]:
    return {name: getattr(row, name) for name in fields}


def _slice(row: TopRow) -> dict[str, Any]:
    return {
        "name": row.name,
        "calls": row.calls,
        "self_ns": row.cpu_self_ns,
        "total_ns": row.cpu_total_ns,
    }


def _time(time: DeviceTime) -> dict[str, Any]:
    return {
        "span_ns": time.span_ns,
        "gpu_sum_ns": time.gpu_sum_ns,
        "gpu_sum_raw_ns": time.gpu_sum_raw_ns,
        "gpu_busy_ns": time.gpu_busy_ns,
        "buckets_ns": dict.fromkeys(_BUCKETS),
        "communication_overlapped_ns": None,
    }


def doctor_document(structure: Structure) -> dict[str, Any]:
    """Returns `ptx.doctor/1`."""
    diagnosis = diagnose(structure)
    return {
        **envelope(structure, "ptx.doctor/1"),
        "rank": rank_of(structure.trace),
        "sound": diagnosis.sound,
        "problems": [asdict(problem) for problem in diagnosis.problems],
        "missing": [asdict(missing) for missing in diagnosis.missing],
    }


def op_documents(rows: list[TopRow], by: Grouping) -> Iterator[dict[str, Any]]:
    """Yields the rows of `ptx.ops/1`; those by shape have the shapes, by category its letter."""
    for row in rows:
        extra = {"shape": row.detail} if by == "shape" else {}
        if by == "category":
            extra = {"category": row.letter}
        yield {**_named(row, *_TOP_OPS), "modelled_bytes": None, "flops": None, **extra}


def kernel_documents(rows: list[KernelRow]) -> Iterator[dict[str, Any]]:
    """Yields the rows of `ptx.kernels/1` summed by name."""
    for row in rows:
        yield {
            "name": row.name,
            **_decoded(row.name),
            "kind": row.kind,
            "calls": row.calls,
            "cpu_self_ns": None,
            "cpu_total_ns": None,
            "gpu_sum_ns": row.gpu_sum_ns,
            "kernels": row.calls if row.kind == "kernel" else 0,
            "modelled_bytes": None,
            "flops": None,
        }


def activity_documents(structure: Structure, rows: NDArray[np.intp]) -> Iterator[dict[str, Any]]:
    """Yields the rows of `ptx.kernels/1 --each`: activities by position in `Activities`."""
    table, activities, tree = structure.trace.table, structure.activities, structure.tree
    steps = structure.steps
    for k in rows.tolist():
        event = int(activities.event[k])
        launch, op, step = (
            _or_none(int(column[k]))
            for column in (activities.launch, activities.op, activities.step)
        )
        module = structure.module[tree.node_of[event]]
        yield {
            "event": event,
            "name": table.name_of(event),
            **_decoded(table.name_of(event)),
            "kind": kind_word(int(table.kind[event])),
            "device": _or_none(int(table.device[event])),
            "stream": _or_none(int(table.stream[event])),
            "start_ns": int(table.start_ns[event]),
            "dur_ns": int(activities.counted_ns[k]),
            "queue_delay_ns": int(activities.queue_delay_ns[k]) if launch is not None else None,
            "step": None if step is None else steps.names[step],
            "launch_event": launch,
            "op_event": op,
            "op": None if op is None else table.name_of(op),
            "module": None if module < 0 else table.name_of(int(tree.event[module])),
            "modelled_read_bytes": None,
            "modelled_write_bytes": None,
            "flops": None,
            "measured_read_bytes": None,
            "measured_write_bytes": None,
            "bound": None,
        }


def node_documents(
    structure: Structure, nodes: NDArray[np.intp], et: ExecutionTrace | None = None
) -> Iterator[dict[str, Any]]:
    """Yields the nodes of `ptx.tree/1` in the order given; `et` makes what ops did exact."""
    table, tree, sums = structure.trace.table, structure.tree, structure.sums
    activities = structure.activities
    step_of = structure.step_of_nodes()
    charge = charge_idle(structure)
    by_cause = charge.table_by_cause(tree) if charge else np.zeros((0, 0), np.int64)
    inputs = op_inputs(structure)
    effects = Effects(structure, et, inputs)
    recorded = (tree.kind == NodeKind.OP) & (inputs.records[tree.event] >= 0)
    host = ~np.isin(table.kind[tree.event], [int(k) for k in ACTIVITY_KINDS])
    for node in nodes.tolist():
        event, parent = int(tree.event[node]), int(tree.parent[node])
        lane = table.threads[table.thread[event]]
        on_host = bool(host[node])
        dur_ns, delay = int(table.dur_ns[event]), None
        if not on_host:
            k = activities.index_of(event)
            dur_ns = int(activities.counted_ns[k])
            delay = int(activities.queue_delay_ns[k]) if activities.launch[k] >= 0 else None
        step = int(step_of[node])
        yield {
            "event": event,
            "parent": int(tree.event[parent]) if parent >= 0 else None,
            "kind": NodeKind(tree.kind[node]).name.lower(),
            "name": table.name_of(event),
            "thread": {"pid": lane.pid, "tid": lane.tid} if on_host else None,
            "device": None if on_host else _or_none(int(table.device[event])),
            "stream": None if on_host else _or_none(int(table.stream[event])),
            "start_ns": int(table.start_ns[event]),
            "dur_ns": dur_ns,
            "self_ns": int(sums.self_ns[node]) if on_host else dur_ns,
            "gpu_sum_ns": int(sums.gpu_sum_ns[node]),
            "gpu_busy_ns": int(sums.gpu_busy_ns[node]),
            "idle_ns": int(charge.total_ns[node]) if charge and on_host else None,
            "idle_by": dict(zip(CAUSES, by_cause[:, node].tolist(), strict=True))
            if charge and on_host
            else None,
            "kernels": int(sums.kernels[node]),
            "step": structure.steps.names[step] if step >= 0 else None,
            "queue_delay_ns": delay,
            **(
                tensor_fields(structure, node, effects)
                if recorded[node]
                else dict.fromkeys(("inputs", "effect"))
            ),
            "forward": _or_none(int(structure.forward[node])),
        }


def _decoded(name: str) -> dict[str, str]:
    kernel = decode(name, cut=False)
    return {"short": kernel.short, "family": kernel.family}


def _or_none(value: int) -> int | None:
    return value if value >= 0 else None
