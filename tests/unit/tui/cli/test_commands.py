"""The commands that print, as a user calls them: arguments in, text and exit code out."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ptx.tui.cli import main

Key = Callable[[dict[str, Any]], Any]
SAMPLE = Path(__file__).resolve().parents[4] / "sample_traces" / "geglu_eager.json.gz"


def run(capsysbinary: pytest.CaptureFixture[bytes], *argv: str | Path) -> str:
    code = main([str(word) for word in argv])
    out, err = capsysbinary.readouterr()
    assert (code, err) == (0, b"")
    return out.decode()


def complaint(capsys: pytest.CaptureFixture[str], *argv: str | Path) -> str:
    assert main([str(word) for word in argv]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    return err


def document(capsysbinary: pytest.CaptureFixture[bytes], *argv: str | Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(capsysbinary, *argv, "--json"))
    return found


class TestSummary:
    def test_names_device_steps_and_the_costliest_kernel(
        self, capsysbinary: pytest.CaptureFixture[bytes]
    ) -> None:
        text = run(capsysbinary, "summary", SAMPLE)
        assert "NVIDIA H200" in text
        assert "ProfilerStep#5" in text
        assert "nvjet_sm90" in text

    def test_json_has_the_schema(self, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
        assert document(capsysbinary, "summary", SAMPLE)["schema"] == "ptx.summary/1"

    def test_reads_standard_input(
        self, capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(SAMPLE.read_bytes())))
        assert document(capsysbinary, "summary", "-")["counts"]["kernels"] == 15


class TestTree:
    def test_text_leaves_frames_and_calls_out_unless_asked(
        self, capsysbinary: pytest.CaptureFixture[bytes]
    ) -> None:
        short = run(capsysbinary, "tree", SAMPLE, "--step", "last")
        assert "aten::addmm" in short
        assert "cudaLaunch" not in short
        assert "capture.py" not in short
        long = run(capsysbinary, "tree", SAMPLE, "--step", "last", "--all")
        assert "cuLaunchKernel" in long or "cudaLaunchKernel" in long

    @pytest.mark.parametrize("step", ["3", "last", "ProfilerStep#5"])
    def test_a_step_has_three_names(
        self, capsysbinary: pytest.CaptureFixture[bytes], step: str
    ) -> None:
        nodes = document(capsysbinary, "tree", SAMPLE, "--step", step)["nodes"]
        assert {node["step"] for node in nodes} == {"ProfilerStep#5"}

    def test_a_filter_keeps_hits_and_what_is_above_them(
        self, capsysbinary: pytest.CaptureFixture[bytes]
    ) -> None:
        nodes = document(capsysbinary, "tree", SAMPLE, "--filter", "ADDMM")["nodes"]
        shown = {node["event"] for node in nodes}
        assert all(node["parent"] in shown for node in nodes if node["parent"] is not None)
        assert sum("addmm" in node["name"] for node in nodes) == 9

    def test_depth_and_limit_cut(self, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
        nodes = document(capsysbinary, "tree", SAMPLE, "--depth", "1")["nodes"]
        assert all(node["parent"] is None for node in nodes)
        assert len(document(capsysbinary, "tree", SAMPLE, "--limit", "7")["nodes"]) == 7

    def test_an_unknown_step_is_said_in_one_line(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert "no step 'x'" in complaint(capsys, "tree", SAMPLE, "--step", "x")

    @pytest.mark.parametrize("depth", ["0", "-1", "many"])
    def test_a_wrong_depth_is_usage(self, capsys: pytest.CaptureFixture[str], depth: str) -> None:
        assert "--depth" in complaint(capsys, "tree", SAMPLE, "--depth", depth)


class TestKernels:
    def test_sums_by_name(self, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
        rows = document(capsysbinary, "kernels", SAMPLE)["rows"]
        assert sum(row["kernels"] for row in rows) == 15
        assert sum(row["calls"] for row in rows) == 21

    def test_each_in_a_step(self, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
        rows = document(capsysbinary, "kernels", SAMPLE, "--each", "--step", "2")["rows"]
        assert len(rows) == 7
        assert {row["step"] for row in rows} == {"ProfilerStep#4"}

    @pytest.mark.parametrize(
        ("sort", "key"),
        [
            ("gpu", lambda row: -row["dur_ns"]),
            ("name", lambda row: row["name"]),
            ("start", lambda row: row["start_ns"]),
        ],
    )
    def test_each_sorts(
        self, capsysbinary: pytest.CaptureFixture[bytes], sort: str, key: Key
    ) -> None:
        rows = document(capsysbinary, "kernels", SAMPLE, "--each", "--sort", sort)["rows"]
        assert rows == sorted(rows, key=key)

    def test_totals_sort_by_calls(self, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
        rows = document(capsysbinary, "kernels", SAMPLE, "--sort", "calls")["rows"]
        assert [r["calls"] for r in rows] == sorted((r["calls"] for r in rows), reverse=True)

    def test_percentages_are_of_everything_chosen_not_of_what_the_limit_left(
        self, capsysbinary: pytest.CaptureFixture[bytes]
    ) -> None:
        first = run(capsysbinary, "kernels", SAMPLE).splitlines()[1]
        alone = run(capsysbinary, "kernels", SAMPLE, "--limit", "1").splitlines()[1]
        assert alone.split() == first.split()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "empty file"),
        (b"hello", "not a trace"),
        (b'{"a": 1}', "not a trace"),
        (b"\x1f\x8b\x08garbage", "not a trace"),
    ],
)
@pytest.mark.parametrize("command", ["summary", "tree", "ops", "kernels", "doctor"])
def test_what_is_no_trace_is_said_in_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, command: str, content: bytes, said: str
) -> None:
    path = tmp_path / "file.json"
    path.write_bytes(content)
    err = complaint(capsys, command, path)
    assert said in err
    assert "file.json" in err
