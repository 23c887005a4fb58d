"""One screen about a trace: device, counts, links, times, steps, what cost most."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ptx.profiling.analysis._once import once_per_trace
from ptx.profiling.analysis.doctor import find_problems
from ptx.profiling.analysis.selection import Choice, select_activities
from ptx.profiling.analysis.tables import KernelRow, kernel_rows
from ptx.profiling.analysis.threads import ThreadRow, thread_rows
from ptx.profiling.analysis.tops import TopRow, slice_rows, top_rows
from ptx.profiling.analysis.vendors import vendor_of
from ptx.profiling.structure.intervals import union_by_group
from ptx.profiling.trace.columns import ACTIVITY_KINDS, Kind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ptx.profiling.analysis.doctor import DoctorProblem
    from ptx.profiling.structure.structure import Structure
    from ptx.profiling.trace.reader import TraceFile

TOP_ROWS = 10
# ops that torch.compile's own run time adds around the ones it calls
_COMPILE_LAYER = re.compile(
    r"TorchDynamo Cache Lookup|Torch-Compiled Region|Pregraph bytecode|AOTDispatcher"
    r"|CompiledFunction|## Call CompiledFxGraph"
)


@dataclass(frozen=True, slots=True)
class DeviceRow:
    """A device by its index, with what the header and the trace's calls tell of it."""

    index: int
    name: str | None
    vendor: str | None
    capability: str | None


@dataclass(frozen=True, slots=True)
class Counts:
    """How many events of each kind; `runtime` are the calls that are no launches."""

    events: int
    ops: int
    compile_layer_ops: int
    launches: int
    runtime: int
    kernels: int
    memcpy: int
    memset: int
    frames: int
    modules: int
    annotations: int
    memory: int


@dataclass(frozen=True, slots=True)
class Links:
    """How far activities could be traced back to launches and ops."""

    activities_linked: int
    activities_without_launch: int
    activities_without_op: int
    launches_without_activity: int


@dataclass(frozen=True, slots=True)
class DeviceTime:
    """The time of one device, or of all together (`device` None, sums over the devices)."""

    device: int | None
    span_ns: int
    gpu_sum_ns: int
    gpu_sum_raw_ns: int
    gpu_busy_ns: int


@dataclass(frozen=True, slots=True)
class StepRow:
    """A step: counts and sums of what it launched, and what the clock says of the devices.

    `gpu_busy_ns` is the union of the step's own activities, `clock_busy_ns` the busy time of all
    devices while the step lasted; `clock_busy_ns + idle_ns` is the duration times the devices.
    Both clock figures are None without device activity. `gpu_start_ns`, `gpu_end_ns` say when the
    step's own activities ran, None if it has none.
    """

    name: str
    event: int | None
    start_ns: int
    dur_ns: int
    ops: int
    launches: int
    kernels: int
    gpu_sum_ns: int
    gpu_busy_ns: int
    clock_busy_ns: int | None
    idle_ns: int | None
    gpu_start_ns: int | None
    gpu_end_ns: int | None


@dataclass(frozen=True, slots=True)
class Summary:
    """All of the above for one trace.

    `top_slices` (annotations and slices of other producers, by name) and `threads` stand for what
    a trace without device activity has to tell; None for one that has it.
    """

    devices: tuple[DeviceRow, ...]
    host_devices: tuple[DeviceRow, ...]
    counts: Counts
    links: Links
    time: DeviceTime
    devices_time: tuple[DeviceTime, ...]
    steps: tuple[StepRow, ...]
    top_ops: tuple[TopRow, ...]
    top_kernels: tuple[KernelRow, ...]
    top_slices: tuple[TopRow, ...] | None
    threads: tuple[ThreadRow, ...] | None
    warnings: tuple[DoctorProblem, ...]


def summarise(structure: Structure, choice: Choice | None = None) -> Summary:
    """Returns the summary of a trace.

    Args:
        structure: the trace.
        choice: which step's rows the tables hold, of which names, and how many of each table;
            None for the first `TOP_ROWS` of the whole trace. Counts and times are always those of
            the whole trace.
    """
    choice = choice or Choice(limit=TOP_ROWS)
    step, limit = choice.step, choice.limit
    kernels = kernel_rows(structure, select_activities(structure, step=step, text=choice.text))
    has_devices = len(structure.activities) > 0
    used, rest = device_rows(structure)
    per_device = _devices_time(structure)
    return Summary(
        devices=used,
        host_devices=rest,
        counts=_counts(structure),
        links=_links(structure),
        time=DeviceTime(
            None,
            structure.trace.span_ns,
            sum(d.gpu_sum_ns for d in per_device),
            sum(d.gpu_sum_raw_ns for d in per_device),
            sum(d.gpu_busy_ns for d in per_device),
        ),
        devices_time=per_device,
        steps=step_rows(structure)[slice(step, None if step is None else step + 1)],
        top_ops=tuple(top_rows(structure, "op", step=step, text=choice.text)[:limit]),
        top_kernels=tuple(kernels[:limit]),
        top_slices=None
        if has_devices
        else tuple(slice_rows(structure, step=step, text=choice.text)[:limit]),
        threads=None if has_devices else tuple(thread_rows(structure, step)[:limit]),
        warnings=find_problems(structure),
    )


def format_of(trace: TraceFile) -> str:
    """Returns "kineto" for a trace of PyTorch's profiler or a relative of it, else "chrome"."""
    torch_kinds = (Kind.OP, Kind.RUNTIME, Kind.FRAME, Kind.MODULE, *ACTIVITY_KINDS)
    known = trace.header.is_kineto or len(trace.table.of_kind(*torch_kinds)) > 0
    return "kineto" if known else "chrome"


def device_rows(
    structure: Structure,
) -> tuple[tuple[DeviceRow, ...], tuple[DeviceRow, ...]]:
    """Returns the devices with activity, and the rest of those that the header lists."""
    table = structure.trace.table
    calls = sorted({table.names[k] for k in np.unique(table.name[table.of_kind(Kind.RUNTIME)])})
    listed = {d.index: d for d in structure.trace.header.devices}
    active = structure.devices.tolist()

    def row(index: int) -> DeviceRow:
        entry = listed.get(index)
        name = entry.name if entry else None
        capability = entry.compute_capability if entry else None
        return DeviceRow(index, name, vendor_of(name, calls), capability)

    rest = tuple(row(index) for index in listed if index not in active)
    return tuple(row(index) for index in active), rest


def _counts(structure: Structure) -> Counts:
    trace = structure.trace
    table = trace.table
    by_kind = np.bincount(table.kind, minlength=len(Kind))
    layer = np.fromiter((_COMPILE_LAYER.match(n) is not None for n in table.names), bool)
    launches = int(structure.is_launch.sum())
    return Counts(
        events=trace.events,
        ops=int(by_kind[Kind.OP]),
        compile_layer_ops=int(layer[table.name[table.of_kind(Kind.OP)]].sum()),
        launches=launches,
        runtime=int(by_kind[Kind.RUNTIME]) - launches,
        kernels=int(by_kind[Kind.KERNEL]),
        memcpy=int(by_kind[Kind.MEMCPY]),
        memset=int(by_kind[Kind.MEMSET]),
        frames=int(by_kind[Kind.FRAME]),
        modules=int(by_kind[Kind.MODULE]),
        annotations=int(by_kind[Kind.ANNOTATION]),
        memory=int(by_kind[Kind.MEMORY]),
    )


def _links(structure: Structure) -> Links:
    activities = structure.activities
    carried = np.zeros(len(structure.trace.table), bool)
    carried[activities.launch[activities.launch >= 0]] = True
    return Links(
        activities_linked=int((activities.launch >= 0).sum()),
        activities_without_launch=int((activities.launch < 0).sum()),
        activities_without_op=int((activities.op < 0).sum()),
        launches_without_activity=int((structure.is_launch & ~carried).sum()),
    )


def _devices_time(structure: Structure) -> tuple[DeviceTime, ...]:
    table, activities = structure.trace.table, structure.activities
    device = table.device[activities.event]
    rows = []
    for index in structure.devices.tolist():
        mine = device == index
        starts, ends = structure.busy_by_clock(index)
        rows.append(
            DeviceTime(
                index,
                structure.trace.span_ns,
                int(activities.counted_ns[mine].sum()),
                int(table.dur_ns[activities.event[mine]].sum()),
                int((ends - starts).sum()),
            )
        )
    return tuple(rows)


@once_per_trace
def step_rows(structure: Structure) -> tuple[StepRow, ...]:
    """Returns one row a step, in time order."""
    table, steps, activities = structure.trace.table, structure.steps, structure.activities
    n = len(steps)
    ops = _count_in_steps(structure, table.of_kind(Kind.OP))
    launches = _count_in_steps(structure, np.flatnonzero(structure.is_launch))
    mine = activities.step >= 0
    step, event = activities.step[mine], activities.event[mine]
    counted, start = activities.counted_ns[mine], table.start_ns[event]
    kernels = np.bincount(step[table.kind[event] == Kind.KERNEL], minlength=n)
    gpu_sum = np.zeros(n, np.int64)
    np.add.at(gpu_sum, step, counted)
    first = np.full(n, np.iinfo(np.int64).max)
    np.minimum.at(first, step, start)
    last = np.full(n, np.iinfo(np.int64).min)
    np.maximum.at(last, step, start + counted)
    busy = _busy_of_steps(structure, step, event, start, start + counted)
    clock = structure.clock_busy_ns(steps.start_ns, steps.end_ns)
    dur = steps.end_ns - steps.start_ns
    devices = len(structure.devices)
    return tuple(
        StepRow(
            name=steps.names[k],
            event=int(steps.event[k]) if steps.event[k] >= 0 else None,
            start_ns=int(steps.start_ns[k]),
            dur_ns=int(dur[k]),
            ops=int(ops[k]),
            launches=int(launches[k]),
            kernels=int(kernels[k]),
            gpu_sum_ns=int(gpu_sum[k]),
            gpu_busy_ns=int(busy[k]),
            clock_busy_ns=int(clock[k]) if devices else None,
            idle_ns=int(dur[k]) * devices - int(clock[k]) if devices else None,
            gpu_start_ns=int(first[k]) if last[k] >= first[k] else None,
            gpu_end_ns=int(last[k]) if last[k] >= first[k] else None,
        )
        for k in range(n)
    )


def _count_in_steps(structure: Structure, events: NDArray[np.integer]) -> NDArray[np.int64]:
    step = structure.steps.at(structure.trace.table.start_ns[events])
    return np.bincount(step[step >= 0], minlength=len(structure.steps))


def _busy_of_steps(
    structure: Structure,
    step: NDArray[np.int32],
    event: NDArray[np.int32],
    start_ns: NDArray[np.int64],
    end_ns: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Returns the union of each step's own activities per device, added over devices."""
    devices = structure.devices
    slot = np.searchsorted(devices, structure.trace.table.device[event])
    group = step.astype(np.int64) * max(1, len(devices)) + slot
    union = union_by_group(group, start_ns, end_ns, len(structure.steps) * max(1, len(devices)))
    busy: NDArray[np.int64] = union.reshape(len(structure.steps), -1).sum(axis=1)
    return busy
