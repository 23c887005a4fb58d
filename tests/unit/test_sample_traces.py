"""The committed sample traces: small, clean of their machine, and showing what they promise."""

from __future__ import annotations

import gzip
import importlib.util
import json
import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

SAMPLES = Path(__file__).resolve().parents[2] / "sample_traces"
STEPS = {
    "linear_eager": 3,
    "linear_compile": 3,
    "matmul_add_eager": 3,
    "geglu_eager": 3,
    "geglu_compile": 3,
    "geglu_triton": 3,
    "train_step_eager": 3,
    "conv_nchw": 3,
    "conv_nhwc": 3,
    "async_loop": 6,
}
POINTWISE = ("elementwise", "triton_poi", "gelu_mul_kernel")

needs_samples = pytest.mark.skipif(
    not (SAMPLES / "captured.json").exists(), reason="the sample traces are not captured yet"
)
every_sample = pytest.mark.parametrize("name", STEPS)

Event = dict[str, Any]


def load_scrub() -> ModuleType:
    spec = importlib.util.spec_from_file_location("sample_scrub", SAMPLES / "scrub.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


scrub_module = load_scrub()


@cache
def text_of(name: str) -> str:
    return gzip.decompress((SAMPLES / f"{name}.json.gz").read_bytes()).decode()


@cache
def events_of(name: str) -> list[Event]:
    events: list[Event] = json.loads(text_of(name))["traceEvents"]
    return events


def select(name: str, *categories: str) -> list[Event]:
    return [e for e in events_of(name) if e.get("cat") in categories]


def steps_of(name: str) -> list[Event]:
    annotations = select(name, "user_annotation")
    return [e for e in annotations if e["name"].startswith("ProfilerStep#")]


def kernels_per_step(name: str, accept: Callable[[str], object] = bool) -> float:
    kernels = [e for e in select(name, "kernel") if accept(e["name"])]
    return len(kernels) / len(steps_of(name))


def gemms(name: str) -> Counter[str]:
    names = (e["name"] for e in select(name, "kernel"))
    return Counter(n for n in names if not any(word in n for word in POINTWISE))


# --- scrubbing -----------------------------------------------------------------------------------

RAW = """
  {
    "schemaVersion": 1,
    "deviceProperties": [
    {
      "id": 0, "name": "NVIDIA H200",
      "warpSize": 32,
      "numSms": 132
    }
    ],
      "trace_id": "8299633C910D4977A01FA31DC8613087",
      "with_stack": 1,
      "PT_PROFILER_JOB_NAME": "train-for-alice",
      "host_name": "node17.cluster",
      "HF_TOKEN": "hf_abcdefghijklmnopqrstuvwx",
  "displayTimeUnit": "ms",
  "traceEvents": [
  {
    "ph": "X", "cat": "python_function", "name": "NAME", "pid": 7, "tid": 7,
    "ts": 1.000, "dur": 2.500,
    "args": {
      "labels": "node17 GPU 0"
    }
  }
  ],
      "ERROR": ["ERROR:2026-01-01 7:7 Device.cpp:48] failed on node17", "again"],
  "traceName": "/home/alice/raw.json"
}
"""


def scrubbed_name(name: str) -> str:
    text = scrub_module.scrub(RAW.replace("NAME", name), name="x.json", private_words=["node17"])
    found: str = json.loads(text)["traceEvents"][0]["name"]
    return found


def test_scrub_drops_unknown_metadata_and_keeps_every_other_line() -> None:
    text: str = scrub_module.scrub(RAW, name="x.json", private_words=["node17"])
    before, after = RAW.splitlines(), text.splitlines()
    gone = [line for line in before if line not in after]
    new = [line for line in after if line not in before]
    assert [line.split('"')[1] for line in gone] == [
        "PT_PROFILER_JOB_NAME",
        "host_name",
        "HF_TOKEN",
        "labels",
        "ERROR",
        "traceName",
    ]
    assert new == [
        '      "host_name": "host",',
        '      "labels": "host GPU 0"',
        '  "traceName": "x.json"',
    ]
    assert scrub_module.find_private(text, private_words=["node17", "alice"]) == []


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("/usr/lib/python3.12/contextlib.py(132): __enter__", "contextlib.py(132): __enter__"),
        ("/opt/my env/lib/python3.12/site-packages/torch/_ops.py(1): f", "torch/_ops.py(1): f"),
        ("/usr/lib/python3/dist-packages/numpy/x.py(1): f", "numpy/x.py(1): f"),
        ("/root/ptx/sample_traces/capture.py(9): main", "sample_traces/capture.py(9): main"),
        ("/tmp/torchinductor_alice/zu/czud.py", "torchinductor/zu/czud.py"),
        ("/tmp/s-1/torchinductor/zu/czud.py(93): call", "torchinductor/zu/czud.py(93): call"),
        ("/home/alice/secret plan.py(3): f", "secret plan.py(3): f"),
        (
            "<built-in method f of type object at 0x7fdf98>",
            "<built-in method f of type object at 0x0>",
        ),
        ("open(/etc/hosts)", "open(hosts)"),
    ],
)
def test_scrub_keeps_of_a_name_what_says_which_source_it_is(name: str, kept: str) -> None:
    assert scrubbed_name(name) == kept


@pytest.mark.parametrize(
    "name",
    [
        "torch/nn/modules/linear.py(134): forward",
        "Torch-Compiled Region: 0/1",
        "memory bandwidth (GB/s)",
        "void f<(int)4, a::b>(int, a const*)",
        "see https://pytorch.org/docs",
        "my_node17_kernel",
    ],
)
def test_scrub_leaves_names_without_private_parts_alone(name: str) -> None:
    assert scrubbed_name(name) == name


@pytest.mark.parametrize(
    "name",
    [
        "/data/x",
        "a /srv/x.py(1): f",
        "api_key=abc",
        "me@example.org",
        "at 0x7fdf989b0690",
        "node17",
    ],
)
def test_find_private_reports_what_a_sample_must_not_hold(name: str) -> None:
    text = json.dumps({"traceEvents": [{"name": name}]})
    assert len(scrub_module.find_private(text, private_words=["node17"])) == 1


def test_find_private_reports_unknown_header_keys_and_a_real_host() -> None:
    text = json.dumps({"traceEvents": [], "PATH": "x", "host_name": "node17"})
    assert scrub_module.find_private(text) == ["header key 'PATH'", "host name"]


# --- every committed sample ----------------------------------------------------------------------


@needs_samples
def test_the_samples_are_exactly_the_known_programs() -> None:
    described = json.loads((SAMPLES / "captured.json").read_text())["traces"]
    expected = {f"{name}.json.gz" for name in STEPS}
    assert {p.name for p in SAMPLES.glob("*.json.gz")} == expected
    assert set(described) == expected


@needs_samples
@every_sample
def test_sample_is_small_and_its_gzip_header_names_no_file_and_no_time(name: str) -> None:
    packed = (SAMPLES / f"{name}.json.gz").read_bytes()
    assert len(packed) < 1_000_000
    assert packed[3:8] == bytes(5)


@needs_samples
@every_sample
def test_sample_holds_nothing_of_its_machine(name: str) -> None:
    text = text_of(name)
    assert scrub_module.find_private(text) == []
    # Said again without the scrubber's own rules.
    assert not re.search(r'["\s(=:]/(home|root|tmp|opt|usr|var|mnt|work|workspace|Users)\b', text)
    assert not re.search(r"0x[0-9a-f]{6}|PT_PROFILER|(?i:token|password|secret|hf_home)", text)
    assert set(re.findall(r'"host_name": "([^"]*)"', text)) <= {"host"}
    assert json.loads(text)["traceName"] == f"{name}.json"


@needs_samples
def test_captured_json_holds_nothing_of_its_machine() -> None:
    text = (SAMPLES / "captured.json").read_text()
    assert scrub_module.find_private(text) == []


@needs_samples
@every_sample
def test_sample_records_steps_shapes_stacks_and_linked_kernels(name: str) -> None:
    assert len(steps_of(name)) == STEPS[name]
    assert any(e["args"].get("Input Dims") for e in select(name, "cpu_op"))
    frames = {e["name"].partition("(")[0] for e in select(name, "python_function")}
    assert {"sample_traces/capture.py", "sample_traces/programs.py"} <= frames
    launches = select(name, "cuda_runtime", "cuda_driver")
    launched = {e["args"]["correlation"] for e in launches}
    kernels = select(name, "kernel")
    assert kernels
    assert {e["args"]["correlation"] for e in kernels} <= launched


# --- what each one shows -------------------------------------------------------------------------


@needs_samples
def test_linear_is_one_gemm_a_step_and_compiling_removes_only_view_ops() -> None:
    eager, compiled = "linear_eager", "linear_compile"
    assert kernels_per_step(eager) == kernels_per_step(compiled) == 1
    assert gemms(eager) == gemms(compiled)
    ops = {n: {e["name"] for e in select(n, "cpu_op")} for n in (eager, compiled)}
    assert {"aten::linear", "aten::t", "aten::addmm"} <= ops[eager]
    assert "aten::t" not in ops[compiled]
    assert "aten::addmm" in ops[compiled]


@needs_samples
def test_matmul_and_add_written_out_are_two_kernels_a_step() -> None:
    assert kernels_per_step("matmul_add_eager") == 2
    assert kernels_per_step("matmul_add_eager", lambda n: "elementwise" in n) == 1


@needs_samples
@pytest.mark.parametrize(
    ("name", "kernels", "pointwise"),
    [
        ("geglu_eager", 5, {"GeluCUDAKernelImpl", "BinaryFunctor"}),
        ("geglu_compile", 4, {"triton_poi_fused_gelu_mul"}),
        ("geglu_triton", 4, {"gelu_mul_kernel"}),
    ],
)
def test_geglu_differs_only_in_its_pointwise_kernels(
    name: str, kernels: int, pointwise: set[str]
) -> None:
    assert kernels_per_step(name) == kernels
    for part in pointwise:
        assert kernels_per_step(name, re.compile(part).search) == 1
    assert gemms(name) == gemms("geglu_eager")
    assert gemms(name).total() == 3 * STEPS[name]


@needs_samples
def test_train_step_has_backward_links_and_one_fused_optimizer_a_step() -> None:
    name = "train_step_eager"
    assert select(name, "fwdbwd")
    annotations = Counter(e["name"] for e in select(name, "user_annotation"))
    assert annotations["Optimizer.step#AdamW.step"] == STEPS[name]
    assert kernels_per_step(name, lambda n: "adam" in n.lower()) == 1


@needs_samples
def test_convolutions_in_nchw_pay_for_layout_conversions() -> None:
    conversion = re.compile("nchwToNhwc|nhwcToNchw").search
    assert kernels_per_step("conv_nchw", conversion) > kernels_per_step("conv_nhwc", conversion)
    assert kernels_per_step("conv_nchw") > kernels_per_step("conv_nhwc")


@needs_samples
def test_async_loop_runs_every_step_s_kernels_after_its_host_range_ended() -> None:
    name = "async_loop"
    launches = select(name, "cuda_runtime", "cuda_driver")
    ends = {e["args"]["correlation"]: e["ts"] + e["dur"] for e in select(name, "kernel")}
    for step in steps_of(name):
        start, end = step["ts"], step["ts"] + step["dur"]
        inside = [e for e in launches if start <= e["ts"] < end]
        assert not [e["name"] for e in inside if "Synchronize" in e["name"]]
        assert max(ends.get(e["args"]["correlation"], 0) for e in inside) > end
