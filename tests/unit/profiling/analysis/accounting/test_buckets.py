"""The buckets of a device against a look at every single ns, and their sums on real traces."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.traces import TraceBuilder, trace

from ptx.profiling.analysis.accounting.buckets import BUCKETS, Account, Buckets, account
from ptx.profiling.analysis.idle import CAUSES, charge_idle
from ptx.profiling.structure.structure import Structure, build_structure
from ptx.profiling.structure.tree import NodeKind
from ptx.profiling.trace.reader import read_trace

REPO_ROOT = Path(__file__).resolve().parents[5]
SAMPLES = sorted((REPO_ROOT / "sample_traces").glob("*.json.gz"))
SHARED = [
    path
    for path in sorted((REPO_ROOT.parent / "shared" / "traces").rglob("*.json*"))
    if path.stat().st_size < 4_000_000 and ".et." not in path.name
]

if TYPE_CHECKING:
    from collections.abc import Iterator

NCCL = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
WORK = {
    "compute": ("gemm", "kernel"),
    "communication_exposed": (NCCL, "kernel"),
    "memory_copy": ("Memcpy HtoD (Pageable -> Device)", "gpu_memcpy"),
}
PRIORITY = tuple(WORK)
HOST = {
    "aten::mm": "idle_host",
    "cudaLaunchKernel": "idle_host",
    "cudaFuncGetAttributes": "idle_other",
    "cudaDeviceSynchronize": "idle_sync",
    "cudaMalloc": "idle_alloc",
    "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__": "idle_data",
    "train.py(3): loop": "idle_host",
    "torch/profiler/profiler.py(812): step": "profiler",
}
PROFILER_FRAME = "torch/profiler/profiler.py(812): step"
NOT_OF_PROFILER = ("aten::mm", "cudaLaunchKernel", "cudaMalloc")

HOSTS = st.lists(
    st.tuples(st.sampled_from(sorted(HOST)), st.integers(0, 90), st.integers(0, 60)), max_size=8
)
ACTIVITIES = st.lists(
    st.tuples(
        st.sampled_from(PRIORITY), st.integers(0, 1), st.integers(0, 110), st.integers(1, 30)
    ),
    min_size=1,
    max_size=8,
)
STEPS = st.lists(st.tuples(st.integers(0, 20), st.integers(1, 40)), max_size=3)
OVERHEADS = st.lists(
    st.tuples(
        st.sampled_from(["Activity Buffer Request", "Lazy Function Loading"]),
        st.integers(0, 100),
        st.integers(1, 20),
    ),
    max_size=2,
)
WINDOW = st.none() | st.tuples(st.integers(0, 30), st.integers(31, 120))


def us(ns: int) -> float:
    return ns / 1000 + 1


def built(builder: TraceBuilder, path: Path) -> Structure:
    return build_structure(read_trace(builder.write(path)))


def accounted(structure: Structure) -> Account:
    found = account(structure)
    assert found is not None
    return found


def add_host(builder: TraceBuilder, name: str, start: float, dur: float) -> None:
    if name.startswith("aten"):
        builder.op(name, start, dur)
    elif name.startswith("cuda"):
        builder.runtime(name, start, dur)
    elif name.startswith("enumerate"):
        builder.annotation(name, start, dur)
    else:
        builder.frame(name, start, dur)


class Naive:
    """Looks at every ns of a device on its own."""

    def __init__(self, structure: Structure, device: int) -> None:
        self.structure = structure
        table, activities = structure.trace.table, structure.activities
        self.work = [
            (table.name_of(e), int(table.start_ns[e]), int(table.start_ns[e] + counted))
            for e, counted in zip(
                activities.event.tolist(), activities.counted_ns.tolist(), strict=True
            )
            if table.device[e] == device
        ]
        self.steps = list(
            zip(structure.steps.start_ns.tolist(), structure.steps.end_ns.tolist(), strict=True)
        )
        tree = structure.tree
        self.hosts = {
            node: self._time(int(tree.event[node]))
            for node in range(len(tree))
            if tree.kind[node] != NodeKind.ACTIVITY
        }
        self.by_mark = structure.steps.source == "ProfilerStep"
        named = [(table.name_of(e), e) for e in range(len(table))]
        self.recorded = [self._time(e) for name, e in named if name == "Activity Buffer Request"]
        self.window = [self._time(e) for name, e in named if name == "PyTorch Profiler (0)"]

    def _time(self, event: int) -> tuple[int, int]:
        table = self.structure.trace.table
        start = int(table.start_ns[event])
        return start, start + int(table.dur_ns[event])

    def kinds_at(self, time: int) -> set[str]:
        running = {name for name, start, end in self.work if start <= time < end}
        return {bucket for bucket, (name, _) in WORK.items() if name in running}

    def bucket_at(self, time: int) -> str:
        running = self.kinds_at(time)
        for bucket in PRIORITY:
            if bucket in running:
                return bucket
        if any(start <= time < end for start, end in self.recorded):
            return "profiler"
        if any(not start <= time < end for start, end in self.window):
            return "profiler"
        return self.idle_at(list(self.around(time)), in_step=self.step_at(time) is not None)

    def step_at(self, time: int) -> int | None:
        inside = [k for k, (start, end) in enumerate(self.steps) if start <= time < end]
        return inside[0] if inside else None

    def around(self, time: int) -> Iterator[str]:
        """Yields the names of the host events of the step's thread, innermost first."""
        running = [node for node, (start, end) in self.hosts.items() if start <= time < end]
        node = running[-1] if running else -1
        while node >= 0:
            yield self.structure.trace.table.name_of(int(self.structure.tree.event[node]))
            node = int(self.structure.tree.parent[node])

    def idle_at(self, names: list[str], *, in_step: bool) -> str:
        innermost = names[0] if names else ""
        if any(name.startswith("enumerate(DataLoader)") for name in names):
            return "idle_data"
        if innermost in NOT_OF_PROFILER:
            return HOST[innermost]
        if PROFILER_FRAME in names or (self.by_mark and not in_step):
            return "profiler"
        if innermost.startswith("ProfilerStep"):
            return "idle_host"
        return HOST.get(innermost, "idle_other")


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("buckets") / "t.json"


@settings(max_examples=200)
@given(hosts=HOSTS, activities=ACTIVITIES, steps=STEPS, overheads=OVERHEADS, window=WINDOW)
def test_every_ns_is_in_the_bucket_that_a_look_at_it_finds(
    hosts: list[tuple[str, int, int]],
    activities: list[tuple[str, int, int, int]],
    steps: list[tuple[int, int]],
    overheads: list[tuple[str, int, int]],
    window: tuple[int, int] | None,
    path: Path,
) -> None:
    builder = trace().thread(1, pid=77)  # not the numbers of a device's stream
    at = 0
    for number, (gap, dur) in enumerate(steps):
        builder.step(number, us(at + gap), dur / 1000)
        at += gap + dur
    for name, start, dur in hosts:
        add_host(builder, name, us(start), dur / 1000)
    for number, (bucket, device, start, dur) in enumerate(activities):
        name, cat = WORK[bucket]
        builder.kernel(name, us(start), dur / 1000, device=device, stream=number, cat=cat)
    builder.thread(0, pid=-1)
    for name, start, dur in overheads:
        builder.host("overhead", name, us(start), dur / 1000, {})
    if window is not None:
        builder.thread("PyTorch Profiler", pid="Spans")
        builder.host(
            "Trace", "PyTorch Profiler (0)", us(window[0]), (window[1] - window[0]) / 1000, {}
        )
    structure = built(builder, path)
    found = accounted(structure)
    assert [d.device for d in found.devices] == structure.devices.tolist()
    for own in found.devices:
        naive = Naive(structure, own.device)
        total = dict.fromkeys(BUCKETS, 0)
        overlapped = 0
        by_step = [dict.fromkeys(BUCKETS, 0) for _ in naive.steps]
        for time in range(structure.trace.span_ns):
            bucket = naive.bucket_at(time)
            total[bucket] += 1
            overlapped += naive.kinds_at(time) >= {"compute", "communication_exposed"}
            if (step := naive.step_at(time)) is not None:
                by_step[step][bucket] += 1
        assert own.whole == Buckets(structure.trace.span_ns, tuple(total.values()), overlapped)
        assert own.step_ns.tolist() == [list(row.values()) for row in by_step]


def check_partition(structure: Structure) -> None:
    """Holds that the pieces tile the span, and that every sum is a sum of them."""
    found = account(structure)
    if found is None:
        assert not len(structure.activities)
        return
    span, steps = structure.trace.span_ns, structure.steps
    dur_ns = steps.end_ns - steps.start_ns
    for device in found.devices:
        edges = np.append(device.begin_ns, span)
        assert edges[0] == 0
        assert (device.end_ns == edges[1:]).all()
        assert sum(device.whole.ns) == device.whole.span_ns == span
        starts, ends = structure.busy_by_clock(device.device)
        assert sum(device.whole.ns[:3]) == int((ends - starts).sum())
        assert (device.step_ns.sum(axis=1) == dur_ns).all()
    assert sum(found.whole.ns) == found.whole.span_ns == span * len(structure.devices)
    for k in range(len(steps)):
        of_step = found.of_step(k)
        assert sum(of_step.ns) == of_step.span_ns == int(dur_ns[k]) * len(structure.devices)


@pytest.mark.parametrize("file", SAMPLES, ids=lambda p: p.name)
def test_buckets_tile_the_span_of_the_samples(file: Path) -> None:
    check_partition(build_structure(read_trace(file)))


@pytest.mark.parametrize("file", SHARED, ids=lambda p: p.name)
def test_buckets_tile_the_span_of_traces_of_all_vendors(file: Path) -> None:
    check_partition(build_structure(read_trace(file)))


def by_name(builder: TraceBuilder, path: Path) -> dict[str, int]:
    whole = accounted(built(builder, path)).whole
    return {name: ns for name, ns in whole.by_name.items() if ns}


def test_idle_time_of_the_steps_is_that_of_the_idle_charge(path: Path) -> None:
    builder = trace().step(0, 0, 100).frame("train.py(3): loop", 0, 100)
    builder.op("aten::mm", 10, 10).runtime("cudaMalloc", 12, 3)
    builder.runtime("cudaDeviceSynchronize", 40, 20).runtime("cudaFuncGetAttributes", 70, 5)
    builder.annotation("enumerate(DataLoader)#x", 80, 10).kernel("k", 50, 10, correlation=1)
    structure = built(builder, path)
    charge = charge_idle(structure)
    assert charge is not None
    by_cause = charge.by_cause(0, len(structure.tree))
    found = accounted(structure).of_step(0).by_name
    assert found["idle_host"] == sum(by_cause[c] for c in ("op", "python", "launch"))
    for cause in ("sync", "alloc", "data", "other"):
        assert found[f"idle_{cause}"] == by_cause[cause]
    assert set(by_cause) == set(CAUSES)


def test_communication_under_compute_is_overlapped_and_the_rest_exposed(path: Path) -> None:
    builder = trace().kernel("gemm", 0, 10).kernel(NCCL, 5, 15, stream=9)
    structure = built(builder, path)
    whole = accounted(structure).whole
    assert whole.by_name["compute"] == 10_000
    assert whole.by_name["communication_exposed"] == 10_000
    assert whole.communication_overlapped_ns == 5_000


def test_copies_count_only_where_nothing_else_runs(path: Path) -> None:
    builder = trace().kernel("gemm", 0, 10).kernel(NCCL, 8, 6, stream=9)
    builder.kernel("Memset (Device)", 5, 15, stream=11, cat="gpu_memset")
    assert by_name(builder, path) == {
        "compute": 10_000,
        "communication_exposed": 4_000,
        "memory_copy": 6_000,
    }


def test_fill_kernels_of_the_runtime_are_copies(path: Path) -> None:
    builder = trace().kernel("__amd_rocclr_fillBufferAligned.kd", 0, 10)
    assert by_name(builder, path) == {"memory_copy": 10_000}


def test_the_profilers_stop_behind_the_last_step_is_the_profilers(path: Path) -> None:
    builder = trace().step(0, 0, 50).op("aten::mm", 0, 50)
    builder.kernel("k", 10, 10).runtime("cudaDeviceSynchronize", 60, 30)
    builder.op("aten::late", 95, 5)
    assert by_name(builder, path) == {"compute": 10_000, "idle_host": 45_000, "profiler": 45_000}


def test_work_outside_any_step_without_marks_is_not_blamed_on_the_profiler(path: Path) -> None:
    builder = trace().op("aten::mm", 0, 50).kernel("k", 10, 10)
    builder.runtime("cudaDeviceSynchronize", 60, 40)
    assert by_name(builder, path) == {
        "compute": 10_000,
        "idle_host": 40_000,
        "idle_sync": 40_000,
        "idle_other": 10_000,
    }


def test_lazy_loading_belongs_to_the_program(path: Path) -> None:
    builder = trace().op("aten::mm", 0, 50).kernel("k", 40, 10).thread(0, pid=-1)
    builder.host("overhead", "Lazy Function Loading", 5, 10, {})
    builder.host("overhead", "Activity Buffer Request", 20, 10, {})
    assert by_name(builder, path) == {"compute": 10_000, "idle_host": 30_000, "profiler": 10_000}


def test_activities_without_a_time_fill_no_bucket(path: Path) -> None:
    builder = trace().op("aten::mm", 5, 5).kernel("k", 6, 2)
    builder.kernel("lost", 0, 0, stream=9)
    assert by_name(builder, path) == {"compute": 2_000, "idle_host": 3_000}


def test_a_trace_without_a_device_has_no_account(path: Path) -> None:
    assert account(built(trace().op("aten::mm", 0, 10), path)) is None


def test_devices_are_added_up(path: Path) -> None:
    builder = trace().op("aten::mm", 0, 20).kernel("a", 0, 5).kernel("b", 5, 15, device=3)
    found = accounted(built(builder, path))
    assert [d.device for d in found.devices] == [0, 3]
    assert found.whole.span_ns == 40_000
    assert found.whole.by_name["compute"] == 20_000
    assert found.whole.by_name["idle_host"] == 20_000
