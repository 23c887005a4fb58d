"""The JSON documents of the commands, field by field as the contract of each schema says."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from ptx.profiling.analysis.accounting.buckets import account
from ptx.profiling.analysis.doctor import diagnose, find_problems
from ptx.profiling.analysis.findings.find import find
from ptx.profiling.analysis.idle import CAUSES, charge_idle
from ptx.profiling.analysis.ranks import rank_of
from ptx.profiling.analysis.roofline import Bound, modelled, roofline
from ptx.profiling.analysis.selection import select_activities
from ptx.profiling.analysis.summary import format_of, summarise
from ptx.profiling.analysis.tables import kind_word
from ptx.profiling.analysis.traffic import traffic, traffic_by_name
from ptx.profiling.kernels.decode import decode
from ptx.profiling.structure.tree import NodeKind
from ptx.profiling.tensors.effects import Effects, tensor_fields
from ptx.profiling.tensors.inputs import op_inputs
from ptx.profiling.trace.columns import ACTIVITY_KINDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from ptx.profiling.analysis.accounting.buckets import Buckets
    from ptx.profiling.analysis.counters import Measured
    from ptx.profiling.analysis.findings.model import Finding
    from ptx.profiling.analysis.selection import Choice
    from ptx.profiling.analysis.summary import DeviceTime
    from ptx.profiling.analysis.tables import KernelRow
    from ptx.profiling.analysis.tops import Grouping, TopRow
    from ptx.profiling.analysis.traffic import Traffic
    from ptx.profiling.structure.structure import Structure
    from ptx.profiling.tensors.execution_trace import ExecutionTrace

_TOP_OPS = ("name", "calls", "cpu_self_ns", "cpu_total_ns", "gpu_sum_ns", "kernels")
_FINDING = ("code", "title", "cost_ns_per_step", "advice", "confidence", "not_checked")
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
    header, accounted = trace.header, account(structure)
    per_device = accounted.devices if accounted else ()
    chosen = select_activities(structure, step=choice.step if choice else None)
    sums = traffic_by_name(structure, chosen) if summary.top_kernels else {}
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
        "time": _time(summary.time, accounted.whole if accounted else None),
        "devices_time": [
            {"device": d.device, **_time(d, found.whole)}
            for d, found in zip(summary.devices_time, per_device, strict=True)
        ],
        "steps": [
            {**asdict(s), "buckets_ns": accounted.of_step(k).by_name if accounted else None}
            for k, s in enumerate(summary.steps, (choice and choice.step) or 0)
        ],
        "top_ops": [_named(row, *_TOP_OPS) for row in summary.top_ops],
        "top_kernels": [
            {
                "name": row.name,
                **_decoded(row.name),
                "calls": row.calls,
                "gpu_sum_ns": row.gpu_sum_ns,
                "modelled_bytes": sums[row.name, row.kind].moved_bytes,
            }
            for row in summary.top_kernels
        ],
        "top_slices": None
        if summary.top_slices is None
        else [_slice(row) for row in summary.top_slices],
        "threads": None if summary.threads is None else [asdict(row) for row in summary.threads],
        "findings": [_finding(structure, found) for found in find(structure)],
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


def _finding(structure: Structure, finding: Finding) -> dict[str, Any]:
    events = structure.tree.event[finding.nodes].tolist()
    return {
        **{name: getattr(finding, name) for name in _FINDING},
        "evidence": [
            {"event": event, "name": structure.trace.table.name_of(event)} for event in events
        ],
    }


def _time(time: DeviceTime, buckets: Buckets | None) -> dict[str, Any]:
    return {
        "span_ns": time.span_ns,
        "gpu_sum_ns": time.gpu_sum_ns,
        "gpu_sum_raw_ns": time.gpu_sum_raw_ns,
        "gpu_busy_ns": time.gpu_busy_ns,
        "buckets_ns": buckets.by_name if buckets else None,
        "communication_overlapped_ns": buckets.communication_overlapped_ns if buckets else None,
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


def op_documents(
    structure: Structure, rows: list[TopRow], by: Grouping
) -> Iterator[dict[str, Any]]:
    """Yields the rows of `ptx.ops/1`; those by shape have the shapes, by category its letter."""
    for row in rows:
        extra = {"shape": row.detail} if by == "shape" else {}
        if by == "category":
            extra = {"category": row.letter}
        yield {**_named(row, *_TOP_OPS), **_traffic(traffic(structure, row.activities)), **extra}


def kernel_documents(
    rows: list[KernelRow], sums: Mapping[tuple[str, str], Traffic]
) -> Iterator[dict[str, Any]]:
    """Yields the rows of `ptx.kernels/1` summed by name; `sums` has each (name, kind)."""
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
            **_traffic(sums[row.name, row.kind]),
        }


def _traffic(sums: Traffic) -> dict[str, Any]:
    return {"modelled_bytes": sums.moved_bytes, "flops": sums.flops}


def activity_documents(
    structure: Structure, rows: NDArray[np.intp], measured: Measured | None = None
) -> Iterator[dict[str, Any]]:
    """Yields the rows of `ptx.kernels/1 --each`: activities by position in `Activities`.

    `measured` holds the bytes by hardware counters; without it they are unknown.
    """
    table, activities, tree = structure.trace.table, structure.activities, structure.tree
    steps, bytes_of, bound = structure.steps, modelled(structure), roofline(structure).bound
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
            "modelled_read_bytes": _or_none(int(bytes_of.read_bytes[k])),
            "modelled_write_bytes": _or_none(int(bytes_of.write_bytes[k])),
            "flops": _or_none(int(bytes_of.flops[k])),
            "measured_read_bytes": measured and _or_none(int(measured.read_bytes[k])),
            "measured_write_bytes": measured and _or_none(int(measured.write_bytes[k])),
            "bound": Bound(int(bound[k])).word,
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
