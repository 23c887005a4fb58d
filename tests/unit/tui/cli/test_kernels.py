"""`ptx kernels --group-by`, and orders that do not fit what is listed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ptx.profiling.analysis.kernel_groups import GROUPINGS
from ptx.tui.cli import main

SAMPLE = str(Path(__file__).resolve().parents[4] / "sample_traces" / "geglu_eager.json.gz")


def document(capsysbinary: pytest.CaptureFixture[bytes], *argv: str) -> dict[str, Any]:
    assert main(["kernels", SAMPLE, "--json", *argv]) == 0
    found: dict[str, Any] = json.loads(capsysbinary.readouterr().out)
    return found


@pytest.mark.parametrize("by", GROUPINGS)
def test_groups_share_the_gpu_sum_out(capsysbinary: pytest.CaptureFixture[bytes], by: str) -> None:
    plain = document(capsysbinary)["rows"]
    found = document(capsysbinary, "--group-by", by)
    assert (found["schema"], found["group_by"]) == ("ptx.kernels/1", by)
    rows = found["rows"]
    known = ["modelled_bytes", "flops", "modelled_ns"]
    assert list(rows[0]) == ["group", "names", "calls", "gpu_sum_ns", "share", *known]
    assert sum(r["gpu_sum_ns"] for r in rows) == sum(r["gpu_sum_ns"] for r in plain)
    assert sum(r["share"] for r in rows) == pytest.approx(1)


def test_step_filter_sort_and_limit_work_together(
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    options = ("--group-by", "family", "--step", "2", "--filter", "kernel", "--sort", "calls")
    rows = document(capsysbinary, *options)["rows"]
    counts = [row["calls"] for row in rows]
    assert counts == sorted(counts, reverse=True)
    assert document(capsysbinary, *options, "--limit", "1")["rows"] == rows[:1]
    plain = document(capsysbinary, "--step", "2", "--filter", "kernel")["rows"]
    assert sum(counts) == sum(row["calls"] for row in plain)


def test_text_has_a_row_for_what_names_do_not_state(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["kernels", SAMPLE, "--group-by", "tensor-core"]) == 0
    heading, *lines = capsys.readouterr().out.splitlines()
    assert heading.split() == ["n", "names", "GPU", "%", "tensor-core"]
    assert any(line.endswith("  not stated") for line in lines)
    assert any(line.endswith("  tensor cores") for line in lines)


@pytest.mark.parametrize(
    "options",
    [["--sort", "start"], ["--each", "--sort", "calls"], ["--each", "--group-by", "family"],
     ["--group-by", "vendor"]],
)  # fmt: skip
def test_what_does_not_fit_together_is_said_in_one_line(
    capsys: pytest.CaptureFixture[str], options: list[str]
) -> None:
    assert main(["kernels", SAMPLE, *options]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
