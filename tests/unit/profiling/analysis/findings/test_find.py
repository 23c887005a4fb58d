"""Findings on small made-up runs, each with one flaw, and on healthy ones."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.traces import TraceBuilder, trace

from ptx.profiling.analysis.accounting.buckets import account
from ptx.profiling.analysis.findings.find import EVIDENCE, find
from ptx.profiling.structure.structure import Structure, build_structure
from ptx.profiling.trace.reader import read_trace

if TYPE_CHECKING:
    from collections.abc import Callable

    from ptx.profiling.analysis.findings.model import Finding

GEMM = "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_stage3_warpsize2x2x1_tensor16x8"
PLAIN_GEMM = "ampere_sgemm_128x64_nn"
SAMPLES = Path(__file__).resolve().parents[5] / "sample_traces"
SHARED = Path(__file__).resolve().parents[6] / "shared" / "traces"


@dataclass
class Run:
    """Writes steps the way a host and one stream of a device go on: each as early as it can."""

    builder: TraceBuilder = field(default_factory=lambda: trace().thread(1, pid=77))
    host: float = 0.0
    device: float = 0.0
    launches: int = 0
    steps: int = 0

    def work(
        self,
        count: int,
        *,
        dispatch: float = 10,
        each: float = 40,
        name: str = GEMM,
        op: str = "aten::mm",
        cat: str = "kernel",
        call: float = 4,
    ) -> Run:
        """Launches activities: `dispatch` us of the host and `each` us of the device for one."""
        for _ in range(count):
            start = self.host
            self.launches += 1
            self.builder.op(op, start, dispatch)
            runtime = "cudaMemcpyAsync" if cat == "gpu_memcpy" else "cudaLaunchKernel"
            self.builder.runtime(runtime, start + dispatch - call, call, correlation=self.launches)
            begin = max(self.device, start + dispatch + 1)
            self.builder.kernel(name, begin, each, correlation=self.launches, cat=cat)
            self.device = begin + each
            self.host += dispatch
        return self

    def wait(self, op: str = "aten::item") -> Run:
        """Lets the host wait until the device is done."""
        end = max(self.host, self.device) + 2
        self.builder.op(op, self.host, end - self.host + 2)
        self.builder.runtime("cudaStreamSynchronize", self.host + 1, end - self.host - 1)
        self.host = end + 2
        return self

    def call(self, name: str, us: float) -> Run:
        """Lets the host stand in a runtime call."""
        self.builder.runtime(name, self.host, us)
        self.host += us
        return self

    def inside(self, name: str, us: float) -> Run:
        """Lets the host stand in an annotation."""
        self.builder.annotation(name, self.host, us)
        self.host += us
        return self

    def on_cpu(self, op: str, us: float) -> Run:
        """Lets the host compute."""
        self.builder.op(op, self.host, us)
        self.host += us
        return self

    def end_step(self, start: float) -> Run:
        """Closes a step that began at `start`."""
        self.builder.step(self.steps, start, self.host - start)
        self.steps += 1
        return self

    def structure(self, folder: Path, *, capability: tuple[int, int] = (9, 0)) -> Structure:
        major, minor = capability
        self.builder.header(
            deviceProperties=[
                {"id": 0, "name": "GPU", "computeMajor": major, "computeMinor": minor}
            ]
        )
        return build_structure(read_trace(self.builder.write(folder / "t.json")))


def codes(findings: list[Finding]) -> list[str]:
    return [finding.code for finding in findings]


def healthy(steps: int = 4) -> Run:
    """A run whose device is never done before the host has launched more."""
    run = Run()
    for _ in range(steps):
        start = run.host
        run.work(60).wait().end_step(start)
    return run


def steps_of(body: str, *, steps: int = 4) -> Run:
    """A run of one of the flaws below."""
    run = Run()
    for number in range(steps):
        start = run.host
        FLAWS[body](run, number)
        run.end_step(start)
    return run


def _optimizer(run: Run, *, name: str, count: int) -> None:
    run.work(40)
    start = run.host
    run.work(count, dispatch=30, each=2, name=name, op="aten::add_")
    run.builder.annotation("Optimizer.step#Adam.step", start, run.host - start)
    run.wait()


FLAWS: dict[str, Callable[[Run, int], object]] = {
    "data-wait": lambda run, k: run.inside("enumerate(DataLoader)#next", 900).work(60).wait(),
    "cpu data": lambda run, k: run.on_cpu("aten::randn", 900).work(60).wait(),
    "host-sync": lambda run, k: [run.work(2, dispatch=12).wait() for _ in range(15)],
    "allocation": lambda run, k: [
        run.work(5).call("cudaFree", 300).call("cudaMalloc", 300) for _ in range(8)
    ],
    "pageable-copy": lambda run, k: (
        run.work(
            1, each=900, name="Memcpy HtoD (Pageable -> Device)", op="aten::copy_", cat="gpu_memcpy"
        )
        .work(60)
        .wait()
    ),
    "launch-bound": lambda run, k: [
        run.work(1, dispatch=40, each=6, op=f"aten::op{j % 9}") for j in range(60)
    ],
    "small-kernels": lambda run, k: run.work(200, dispatch=12, each=2),
    "optimizer-loop": lambda run, k: _optimizer(run, name="vectorized_elementwise", count=60),
    "layout": lambda run, k: [
        run.work(1, name="void nchwToNhwcKernel<float, float>(int)", each=30).work(3)
        for _ in range(15)
    ],
    "no-tensor-cores": lambda run, k: run.work(60, name=PLAIN_GEMM),
}


@pytest.mark.parametrize("flaw", FLAWS)
def test_the_first_finding_names_the_flaw(flaw: str, tmp_path: Path) -> None:
    structure = steps_of(flaw).structure(tmp_path)
    first, *_ = find(structure)
    assert first.code == {"cpu data": "data-wait"}.get(flaw, flaw)
    assert first.cost_ns_per_step > 0
    assert 0 < len(first.nodes) <= EVIDENCE
    assert 0.5 <= first.confidence <= 1
    assert first.advice
    assert first.not_checked


@pytest.mark.parametrize("step", [None, 1])
def test_a_run_that_keeps_its_device_busy_has_no_finding(step: int | None, tmp_path: Path) -> None:
    assert find(healthy().structure(tmp_path), step) == []


HEALTHY: dict[str, Callable[[Run], object]] = {
    "a batch that comes at once": lambda run: run.inside("enumerate(DataLoader)#next", 60),
    "a small pageable copy": lambda run: run.work(
        1, each=8, name="Memcpy HtoD (Pageable -> Device)", op="aten::copy_", cat="gpu_memcpy"
    ),
    "a fused optimizer": lambda run: (
        run.builder.annotation("Optimizer.step#Adam.step", run.host, 40),
        run.work(4, name="void multi_tensor_apply_kernel<TensorListMetadata<4>>(int)"),
    ),
    "one allocation": lambda run: run.call("cudaMalloc", 50),
    "a conversion": lambda run: run.work(1, name="void nchwToNhwcKernel<float>(int)"),
    "a plain product": lambda run: run.work(2, name=PLAIN_GEMM),
    "views": lambda run: [run.on_cpu("aten::view", 2) for _ in range(20)],
}


@pytest.mark.parametrize("addition", HEALTHY)
def test_what_costs_little_is_not_reported(addition: str, tmp_path: Path) -> None:
    run = Run()
    for _ in range(4):
        start = run.host
        HEALTHY[addition](run)
        run.work(60).wait().end_step(start)
    assert find(run.structure(tmp_path)) == []


def test_a_flaw_of_one_step_of_many_is_not_reported(tmp_path: Path) -> None:
    run = Run()
    for number in range(5):
        start = run.host
        if number == 0:
            run.call("cudaMalloc", 20_000)
        run.work(60).wait().end_step(start)
    assert find(run.structure(tmp_path)) == []
    assert codes(find(run.structure(tmp_path), 0)) == ["allocation"]


def test_steps_that_compile_are_not_judged(tmp_path: Path) -> None:
    run = Run()
    for _ in range(3):
        start = run.host
        run.on_cpu("entire_frame_compile (dynamo_timed)", 3_000).work(60).wait().end_step(start)
    assert find(run.structure(tmp_path)) == []


def test_tensor_cores_are_missed_only_where_there_are_some(tmp_path: Path) -> None:
    run = steps_of("no-tensor-cores")
    assert find(run.structure(tmp_path, capability=(6, 1))) == []


def test_waits_cost_no_more_than_the_time_to_refill_the_queue(tmp_path: Path) -> None:
    run = Run()
    for _ in range(4):
        start = run.host
        for _ in range(10):
            run.work(2, dispatch=20).wait()
        run.end_step(start)
    (found,) = find(run.structure(tmp_path))
    assert found.code == "host-sync"
    # from the end of the device's work: 2 us until the wait returns, 2 us to the op's end, then
    # 20 us of dispatch and 1 us until the kernel starts; behind the last wait only the first two
    assert found.cost_ns_per_step == (39 * 25_000 + 4_000) // 4
    assert "10 times a step" in found.title
    assert "aten::item" in found.title


def test_a_wait_in_which_the_device_idles_is_not_a_wait_for_the_device(tmp_path: Path) -> None:
    run = Run()
    for _ in range(4):
        start = run.host
        run.work(60).wait().call("cudaEventSynchronize", 2_000).end_step(start)
    assert find(run.structure(tmp_path)) == []


def test_a_trace_without_a_device_has_no_findings(tmp_path: Path) -> None:
    path = trace().step(0, 0, 100).op("aten::mm", 0, 90).write(tmp_path / "t.json")
    assert find(build_structure(read_trace(path))) == []


def test_a_step_without_time_has_no_findings(tmp_path: Path) -> None:
    builder = trace().step(0, 10, 0).op("aten::mm", 0, 90).kernel("gemm", 20, 50)
    assert find(build_structure(read_trace(builder.write(tmp_path / "t.json"))), 0) == []


def check_conservation(structure: Structure) -> None:
    """Holds that the findings together explain no more than the steps last."""
    accounted = account(structure)
    for step in (None, *range(min(2, len(structure.steps)))):
        found = find(structure, step)
        if accounted is None:
            assert found == []
            continue
        steps = range(len(structure.steps)) if step is None else [step]
        dur = structure.steps.end_ns - structure.steps.start_ns
        assert sum(f.cost_ns_per_step for f in found) <= max(int(dur[k]) for k in steps)
        assert len({f.code for f in found}) == len(found)
        costs = [f.cost_ns_per_step for f in found]
        assert costs == sorted(costs, reverse=True)
        for finding in found:
            assert (finding.nodes >= 0).all()
            assert (finding.nodes < len(structure.tree)).all()


@settings(max_examples=40)
@given(
    parts=st.lists(
        st.tuples(st.sampled_from(sorted(FLAWS)), st.integers(0, 2)), min_size=1, max_size=6
    )
)
def test_flaws_together_never_explain_more_than_the_time(
    parts: list[tuple[str, int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    run = Run()
    for number in range(3):
        start = run.host
        for flaw, when in parts:
            if when != number:
                FLAWS[flaw](run, number)
        run.work(1).end_step(start)
    check_conservation(run.structure(tmp_path_factory.mktemp("findings")))


@pytest.mark.parametrize("path", sorted(SAMPLES.glob("*.json.gz")), ids=lambda p: p.name)
def test_findings_of_the_samples_explain_no_more_than_the_time(path: Path) -> None:
    check_conservation(build_structure(read_trace(path)))


@pytest.mark.parametrize(
    "path",
    [p for p in sorted(SHARED.glob("*.json*")) if p.stat().st_size < 1_500_000],
    ids=lambda p: p.name,
)
def test_findings_of_traces_of_all_vendors_explain_no_more_than_the_time(path: Path) -> None:
    check_conservation(build_structure(read_trace(path)))


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("h200/launch_bound_and_syncs.json.gz", ["data-wait"]),
        ("h200/llama_sdpa_eager.json.gz", ["launch-bound"]),
        ("h200/resnet18_nchw_eager.json.gz", ["launch-bound", "layout"]),
        ("h200/geglu_compile_max-autotune-no-cudagraphs.json.gz", []),
        ("nv-v100dgx-resnet50-2021.json.gz", ["data-wait", "no-tensor-cores"]),
        ("amd-mi300-resnet-checkpoint.json.gz", []),
        ("mtia-inference.json.gz", []),
    ],
)
def test_findings_of_recorded_runs(name: str, wanted: list[str], shared: Path) -> None:
    assert codes(find(build_structure(read_trace(shared / "traces" / name)))) == wanted
