"""The summary of a step or of some names, and of traces in which no device worked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.traces import TraceBuilder, trace

from ptx.profiling.analysis.selection import Choice
from ptx.profiling.report.documents import summary_document
from ptx.profiling.report.text import summary_text
from ptx.profiling.structure.structure import Structure, build_structure
from ptx.profiling.trace.reader import read_trace

SAMPLES = Path(__file__).resolve().parents[4] / "sample_traces"


def built(builder: TraceBuilder, folder: Path) -> Structure:
    return build_structure(read_trace(builder.write(folder / "t.json")))


def names(document: dict[str, Any], table: str) -> list[str]:
    return [row["name"] for row in document[table]]


def foreign() -> TraceBuilder:
    builder = trace().host("FEE", "main", 0, 100, {}).host("FEE", "work", 10, 30, {})
    builder.add({"ph": "M", "name": "thread_name", "pid": 1, "tid": 2, "args": {"name": "helper"}})
    builder.add({"ph": "M", "name": "process_name", "pid": 1, "tid": 2, "args": {"name": "app"}})
    builder.thread(2).host("FEE", "work", 20, 40, {})
    for phase, at in (("B", 70), ("E", 90)):
        builder.add({"ph": phase, "name": "wait", "pid": 1, "tid": 2, "ts": at})
    return builder


class TestOtherProducers:
    def test_slices_by_name_and_by_thread_stand_for_ops(self, tmp_path: Path) -> None:
        document = summary_document(built(foreign(), tmp_path))
        assert (document["format"], document["top_ops"]) == ("chrome", [])
        assert document["top_slices"] == [
            {"name": "main", "calls": 1, "self_ns": 70_000, "total_ns": 100_000},
            {"name": "work", "calls": 2, "self_ns": 70_000, "total_ns": 70_000},
            {"name": "wait", "calls": 1, "self_ns": 20_000, "total_ns": 20_000},
        ]
        assert document["threads"] == [
            {"pid": 1, "tid": 1, "name": None, "process_name": "app", "slices": 2,
             "busy_ns": 100_000},
            {"pid": 1, "tid": 2, "name": "helper", "process_name": "app", "slices": 2,
             "busy_ns": 60_000},
        ]  # fmt: skip

    def test_text_has_both_tables_and_none_of_ops_or_steps(self, tmp_path: Path) -> None:
        lines = list(summary_text(built(foreign(), tmp_path)))
        tables = [line.split()[0] for line in lines if line.endswith(("total", "busy"))]
        assert tables == ["slice", "thread"]
        assert "app 1/2  helper       2  60.0us" in lines
        assert not any(line.startswith(("op ", "whole trace")) for line in lines)

    def test_long_tables_are_cut_to_the_rows_asked_for(self, tmp_path: Path) -> None:
        builder = trace()
        for k in range(30):
            builder.thread(k).host("FEE", f"s{k}", k, 1, {})
        structure = built(builder, tmp_path)
        for limit, rows in ((None, 30), (4, 4)):
            document = summary_document(structure, Choice(limit=limit))
            assert len(document["top_slices"]) == len(document["threads"]) == rows
        assert len(summary_document(structure)["threads"]) == 10


class TestOnlyTheHost:
    def test_annotations_and_threads_stand_beside_the_ops(self, tmp_path: Path) -> None:
        builder = trace().step(1, 0, 50).annotation("load", 5, 10).op("aten::mm", 20, 10)
        document = summary_document(built(builder, tmp_path))
        assert names(document, "top_ops") == ["aten::mm"]
        assert names(document, "top_slices") == ["ProfilerStep#1", "load"]
        assert [row["slices"] for row in document["threads"]] == [3]


class TestChoices:
    @pytest.fixture(scope="class")
    def structure(self) -> Structure:
        return build_structure(read_trace(SAMPLES / "geglu_eager.json.gz"))

    def test_step_narrows_the_tables_and_leaves_the_totals(self, structure: Structure) -> None:
        whole, last = summary_document(structure), summary_document(structure, Choice(step=2))
        assert names(last, "steps") == ["ProfilerStep#5"]
        assert last["time"] == whole["time"]
        assert last["counts"] == whole["counts"]
        step = whole["steps"][2]
        assert sum(row["gpu_sum_ns"] for row in last["top_kernels"]) == step["gpu_sum_ns"]
        assert sum(row["calls"] for row in last["top_ops"]) == step["ops"]

    def test_text_and_limit_hold_for_ops_and_kernels(self, structure: Structure) -> None:
        document = summary_document(structure, Choice(text="ELEMENTWISE"))
        assert len(document["top_kernels"]) == 2
        assert document["top_ops"] == []
        document = summary_document(structure, Choice(limit=1))
        assert names(document, "top_ops") == ["aten::addmm"]
        assert len(document["top_kernels"]) == 1
        assert len(document["steps"]) == 3
