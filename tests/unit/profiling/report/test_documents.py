"""The JSON documents against counts made from the samples by plain json."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.traces import trace

from ptx.profiling.analysis.selection import select_activities, select_nodes
from ptx.profiling.analysis.tables import kernel_rows
from ptx.profiling.analysis.tops import top_rows
from ptx.profiling.analysis.traffic import traffic_by_name
from ptx.profiling.report.documents import (
    activity_documents,
    envelope,
    kernel_documents,
    node_documents,
    summary_document,
)
from ptx.profiling.structure.structure import Structure, build_structure
from ptx.profiling.trace.reader import read_trace

SAMPLES = Path(__file__).resolve().parents[4] / "sample_traces"
NAMES = sorted(path.name for path in SAMPLES.glob("*.json.gz"))
ACTIVITY_CATEGORIES = ("kernel", "gpu_memcpy", "gpu_memset")


@cache
def structure_of(name: str) -> Structure:
    return build_structure(read_trace(SAMPLES / name))


@cache
def events_of(name: str) -> list[dict[str, Any]]:
    with gzip.open(SAMPLES / name) as file:
        events: list[dict[str, Any]] = json.load(file)["traceEvents"]
    return events


def ns(us: float) -> int:
    return round(us * 1000)


def activities_of(name: str) -> list[dict[str, Any]]:
    return [e for e in events_of(name) if e.get("cat") in ACTIVITY_CATEGORIES]


@pytest.mark.parametrize("name", NAMES)
class TestSummary:
    def test_counts_equal_a_plain_count(self, name: str) -> None:
        events = events_of(name)
        counts = summary_document(structure_of(name))["counts"]

        def number(category: str) -> int:
            return sum(e.get("cat") == category and e.get("ph") == "X" for e in events)

        assert counts["events"] == len(events)
        assert counts["ops"] == number("cpu_op")
        assert counts["kernels"] == number("kernel")
        assert counts["memcpy"] == number("gpu_memcpy")
        assert counts["memset"] == number("gpu_memset")
        assert counts["annotations"] == number("user_annotation")
        assert counts["frames"] + counts["modules"] == number("python_function")
        calls = number("cuda_runtime") + number("cuda_driver")
        assert counts["launches"] + counts["runtime"] == calls

    def test_gpu_sum_is_the_sum_of_the_activities(self, name: str) -> None:
        document = summary_document(structure_of(name))
        total = sum(ns(e["dur"]) for e in activities_of(name))
        assert document["time"]["gpu_sum_ns"] == total
        assert document["time"]["gpu_sum_raw_ns"] == total
        assert sum(d["gpu_sum_ns"] for d in document["devices_time"]) == total

    def test_busy_and_idle_of_a_step_add_up_to_it(self, name: str) -> None:
        for step in summary_document(structure_of(name))["steps"]:
            assert step["clock_busy_ns"] + step["idle_ns"] == step["dur_ns"]

    def test_every_activity_belongs_to_the_step_that_launched_it(self, name: str) -> None:
        events = events_of(name)
        launches = {
            e["args"]["correlation"]: e["ts"]
            for e in events
            if e.get("cat") in ("cuda_runtime", "cuda_driver")
        }
        expected: dict[str, int] = defaultdict(int)
        steps = [e for e in events if e["name"].startswith("ProfilerStep#")]
        steps = [e for e in steps if e.get("cat") == "user_annotation"]
        for activity in activities_of(name):
            launched = launches[activity["args"]["correlation"]]
            for step in steps:
                if step["ts"] <= launched < step["ts"] + step["dur"]:
                    expected[step["name"]] += ns(activity["dur"])
        found = summary_document(structure_of(name))["steps"]
        assert {s["name"]: s["gpu_sum_ns"] for s in found} == dict(expected)

    def test_buckets_sum_to_the_span_of_each_device_and_to_each_step(self, name: str) -> None:
        document = summary_document(structure_of(name))
        devices = len(document["devices"])
        per_device = [(time, 1) for time in document["devices_time"]]
        for time, count in [(document["time"], devices), *per_device]:
            assert sum(time["buckets_ns"].values()) == time["span_ns"] * count
            busy = ("compute", "communication_exposed", "memory_copy")
            assert sum(time["buckets_ns"][b] for b in busy) == time["gpu_busy_ns"]
            assert time["communication_overlapped_ns"] >= 0
        for step in document["steps"]:
            assert sum(step["buckets_ns"].values()) == step["dur_ns"] * devices

    def test_findings_name_events_of_the_trace(self, name: str) -> None:
        structure = structure_of(name)
        for finding in summary_document(structure)["findings"]:
            assert finding["cost_ns_per_step"] > 0
            assert finding["evidence"]
            for row in finding["evidence"]:
                assert events_of(name)[row["event"]]["name"] == row["name"]

    def test_slices_and_threads_stand_only_where_no_device_worked(self, name: str) -> None:
        document = summary_document(structure_of(name))
        assert document["top_slices"] is document["threads"] is None


@pytest.mark.parametrize("name", NAMES)
class TestTree:
    def test_every_host_slice_and_activity_stands_once_behind_its_parent(self, name: str) -> None:
        structure = structure_of(name)
        seen: set[int] = set()
        for node in node_documents(structure, select_nodes(structure)):
            assert node["event"] not in seen
            assert node["parent"] is None or node["parent"] in seen
            seen.add(node["event"])
        kinds: tuple[str, ...] = (*ACTIVITY_CATEGORIES, "cpu_op", "user_annotation")
        kinds += ("python_function", "cuda_runtime", "cuda_driver")
        expected = {i for i, e in enumerate(events_of(name)) if e.get("cat") in kinds}
        assert seen == expected

    def test_an_activity_hangs_under_the_call_of_its_correlation(self, name: str) -> None:
        events, structure = events_of(name), structure_of(name)
        for node in node_documents(structure, select_nodes(structure)):
            if node["kind"] != "activity":
                continue
            call, activity = events[node["parent"]], events[node["event"]]
            assert call["args"]["correlation"] == activity["args"]["correlation"]
            end = call["ts"] + call["dur"]
            assert node["queue_delay_ns"] == pytest.approx(ns(activity["ts"] - end), abs=1)

    def test_sums_of_a_node_are_those_of_the_activities_below_it(self, name: str) -> None:
        structure = structure_of(name)
        total: dict[int, int] = defaultdict(int)
        nodes = list(node_documents(structure, select_nodes(structure)))
        above = {node["event"]: node["parent"] for node in nodes}
        for node in nodes:
            if node["kind"] == "activity":
                at: int | None = node["event"]
                while at is not None:
                    total[at] += node["dur_ns"]
                    at = above[at]
        assert {n["event"]: n["gpu_sum_ns"] for n in nodes if n["gpu_sum_ns"]} == dict(total)

    def test_idle_of_a_node_is_split_by_cause_and_lies_within_its_step(self, name: str) -> None:
        structure = structure_of(name)
        idle = {s["event"]: s["idle_ns"] for s in summary_document(structure)["steps"]}
        for node in node_documents(structure, select_nodes(structure)):
            if node["kind"] == "activity":
                assert node["idle_ns"] is node["idle_by"] is None
                continue
            assert sum(node["idle_by"].values()) == node["idle_ns"] >= 0
            if node["event"] in idle:
                assert node["idle_ns"] <= idle[node["event"]]


class TestTensorsOfTheTree:
    def test_ops_have_inputs_and_effect_and_other_nodes_have_neither(self) -> None:
        structure = structure_of("geglu_eager.json.gz")
        for node in node_documents(structure, select_nodes(structure)):
            recorded = "Input Dims" in events_of("geglu_eager.json.gz")[node["event"]]["args"]
            assert (node["inputs"] is not None) == (recorded and node["kind"] == "op")
            assert (node["effect"] is not None) <= (node["inputs"] is not None)

    def test_view_and_copy_are_told_apart_with_their_strides(self) -> None:
        structure = structure_of("geglu_eager.json.gz")
        nodes = list(node_documents(structure, select_nodes(structure, text="aten::t")))
        first = next(node for node in nodes if node["name"] == "aten::t")
        [given] = first["inputs"]
        assert (given["dtype"], given["layout"]) == ("bf16", "contiguous")
        assert first["effect"]["class"] == "view"
        assert first["effect"]["bytes"] == 0
        assert first["effect"]["to_shape"] == given["shape"][::-1]
        assert first["effect"]["to_strides"] == given["strides"][::-1]

    def test_trace_without_shapes_has_null_for_both(self, tmp_path: Path) -> None:
        path = trace().op("aten::mm", 0, 5).write(tmp_path / "t.json")
        structure = build_structure(read_trace(path))
        [node] = node_documents(structure, select_nodes(structure))
        assert node["inputs"] is node["effect"] is None


def kernels_of(structure: Structure) -> list[dict[str, Any]]:
    sums = traffic_by_name(structure, select_activities(structure))
    return list(kernel_documents(kernel_rows(structure), sums))


@pytest.mark.parametrize("name", NAMES)
class TestKernels:
    def test_totals_by_name_equal_a_plain_sum(self, name: str) -> None:
        expected: dict[str, list[int]] = defaultdict(lambda: [0, 0])
        for activity in activities_of(name):
            expected[activity["name"]][0] += 1
            expected[activity["name"]][1] += ns(activity["dur"])
        rows = kernels_of(structure_of(name))
        assert {r["name"]: [r["calls"], r["gpu_sum_ns"]] for r in rows} == dict(expected)
        sums = [r["gpu_sum_ns"] for r in rows]
        assert sums == sorted(sums, reverse=True)

    def test_each_lists_every_activity_in_start_order(self, name: str) -> None:
        structure = structure_of(name)
        rows = list(activity_documents(structure, select_activities(structure)))
        events = events_of(name)
        expected = [i for i, e in enumerate(events) if e.get("cat") in ACTIVITY_CATEGORIES]
        assert sorted(r["event"] for r in rows) == expected
        starts = [r["start_ns"] for r in rows]
        assert starts == sorted(starts)
        for row in rows:
            assert row["name"] == events[row["event"]]["name"]
            op = row["op_event"]  # None for a Triton kernel that no op launches
            assert row["op"] == (None if op is None else events[op]["name"])
            assert row["stream"] == events[row["event"]]["args"]["stream"]


def test_ops_by_name_equal_a_plain_count() -> None:
    expected: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for event in events_of("geglu_eager.json.gz"):
        if event.get("cat") == "cpu_op":
            expected[event["name"]][0] += 1
            expected[event["name"]][1] += ns(event["dur"])
    rows = top_rows(structure_of("geglu_eager.json.gz"), "op")
    # no op of this sample lies in another of its own name
    assert {r.name: [r.calls, r.cpu_total_ns] for r in rows} == dict(expected)


def test_the_envelope_names_schema_file_and_origin() -> None:
    structure = structure_of("linear_eager.json.gz")
    head = envelope(structure, "ptx.tree/1")
    assert head["schema"] == "ptx.tree/1"
    assert Path(head["file"]) == SAMPLES / "linear_eager.json.gz"
    earliest = min(e["ts"] for e in events_of("linear_eager.json.gz") if e["ph"] != "M")
    assert head["t0_ns"] == ns(earliest)


def test_the_facts_that_the_samples_are_there_for() -> None:
    def kernels_of_a_step(name: str) -> int:
        steps = summary_document(structure_of(f"{name}.json.gz"))["steps"]
        return int(steps[-1]["kernels"])

    assert kernels_of_a_step("linear_eager") == kernels_of_a_step("linear_compile") == 1
    assert kernels_of_a_step("matmul_add_eager") == 2
    assert kernels_of_a_step("geglu_eager") == 5
    assert kernels_of_a_step("geglu_compile") == kernels_of_a_step("geglu_triton") == 4
    assert kernels_of_a_step("conv_nchw") > kernels_of_a_step("conv_nhwc")


def test_an_asynchronous_step_says_until_when_its_kernels_ran() -> None:
    steps = summary_document(structure_of("async_loop.json.gz"))["steps"]
    assert all(s["gpu_end_ns"] > s["start_ns"] + s["dur_ns"] for s in steps)
    assert all(s["clock_busy_ns"] <= s["dur_ns"] for s in steps)


def test_kernels_carry_their_short_form_and_family() -> None:
    rows = kernels_of(structure_of("geglu_eager.json.gz"))
    short = {row["name"]: (row["short"], row["family"]) for row in rows}
    gemm = "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_bias_TNT"
    assert short[gemm] == ("nvjet bf16 256x128x64 tn +bias", "cublas_nvjet")
