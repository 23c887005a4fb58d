"""GPU time by module and by what names state: nothing is lost, nothing counts twice."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.traces import trace

from ptx.profiling.analysis.accounting.gpu_time import GPU_TIME_BY, GpuTimeBy, gpu_time
from ptx.profiling.structure.structure import build_structure
from ptx.profiling.trace.reader import read_trace

SAMPLES = Path(__file__).resolve().parents[5] / "sample_traces"
NAMES = sorted(path.name for path in SAMPLES.glob("*.json.gz"))


@pytest.mark.parametrize("by", GPU_TIME_BY)
@pytest.mark.parametrize("name", NAMES)
def test_sums_by_every_respect_equal_the_total(name: str, by: GpuTimeBy) -> None:
    structure = build_structure(read_trace(SAMPLES / name))
    counted, step = structure.activities.counted_ns, structure.activities.step
    for wanted, mine in [(None, step >= -1), *((k, step == k) for k in range(3))]:
        groups = gpu_time(structure, by, wanted)
        assert sum(g.gpu_sum_ns for g in groups) == counted[mine].sum()
        assert sum(g.calls for g in groups) == mine.sum()
        sums = [g.gpu_sum_ns for g in groups]
        assert sums == sorted(sums, reverse=True)


def test_activities_count_for_their_nearest_module(tmp_path: Path) -> None:
    builder = trace().frame("nn.Module: Net_0", 0, 100).frame("nn.Module: Linear_0", 10, 20)
    for number, (start, name) in enumerate([(12, "a"), (20, "a"), (50, "b"), (120, "b")]):
        builder.op("aten::mm", start, 6)
        builder.runtime("cudaLaunchKernel", start + 1, 2, correlation=number)
        builder.kernel(name, start + 200, 3 + number, correlation=number)
    structure = build_structure(read_trace(builder.write(tmp_path / "t.json")))
    groups = {g.label: (g.kinds, g.calls, g.gpu_sum_ns) for g in gpu_time(structure, "module")}
    assert groups == {
        "nn.Module: Linear_0": (1, 2, 7_000),
        "nn.Module: Net_0": (1, 1, 5_000),
        None: (1, 1, 6_000),
    }


def test_a_trace_without_a_device_has_no_gpu_time(tmp_path: Path) -> None:
    path = trace().op("aten::mm", 0, 10).write(tmp_path / "t.json")
    structure = build_structure(read_trace(path))
    assert [gpu_time(structure, by) for by in GPU_TIME_BY] == [[]] * len(GPU_TIME_BY)
