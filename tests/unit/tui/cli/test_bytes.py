"""Bytes, copies, counters and the roofline as a user of `ptx ops` and `ptx kernels` meets them."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from tests.tensor_calls import PASS
from tests.traces import trace

from ptx.tui.cli import main

SAMPLES = Path(__file__).resolve().parents[4] / "sample_traces"
GEGLU, CONV = str(SAMPLES / "geglu_eager.json.gz"), str(SAMPLES / "conv_nchw.json.gz")


@pytest.fixture(autouse=True)
def no_measured_ceilings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(
        "ptx.profiling.analysis.ceilings.cache_folder", lambda: tmp_path / "nothing"
    )


def document(capsysbinary: pytest.CaptureFixture[bytes], *argv: str) -> dict[str, Any]:
    assert main([*argv, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsysbinary.readouterr().out)
    return found


def text(capsys: pytest.CaptureFixture[str], *argv: str) -> list[str]:
    assert main(list(argv)) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out.splitlines()


def product_flops() -> int:
    """Returns 2mnk over the recorded `aten::addmm` calls of the geglu sample."""
    with gzip.open(GEGLU) as file:
        events = json.load(file)["traceEvents"]
    dims = [e["args"]["Input Dims"][1:3] for e in events if e["name"] == "aten::addmm"]
    return sum(2 * m * k * n for (m, k), (_, n) in dims)


def test_ops_have_the_flops_of_their_recorded_products(
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    rows = {row["name"]: row for row in document(capsysbinary, "ops", GEGLU)["rows"]}
    assert rows["aten::addmm"]["flops"] == rows["aten::linear"]["flops"] == product_flops()
    assert rows["aten::t"]["modelled_bytes"] is rows["aten::t"]["flops"] is None


def test_each_activity_has_its_bytes_and_they_add_up_to_every_table(
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    each = document(capsysbinary, "kernels", GEGLU, "--each")["rows"]
    total = sum(row["modelled_read_bytes"] + row["modelled_write_bytes"] for row in each)
    for argv in ([], ["--group-by", "category"], ["--group-by", "dtype"]):
        rows = document(capsysbinary, "kernels", GEGLU, *argv)["rows"]
        assert sum(row["modelled_bytes"] for row in rows) == total
    rows = document(capsysbinary, "ops", GEGLU, "--by", "category")["rows"]
    assert sum(row["modelled_bytes"] for row in rows) == total
    tops = document(capsysbinary, "summary", GEGLU)["top_kernels"]
    assert sum(row["modelled_bytes"] for row in tops) == total
    assert {row["bound"] for row in each if row["op"] == "aten::mul"} == {"memory"}
    assert {row["measured_read_bytes"] for row in each} == {None}


def test_a_step_of_the_summary_has_the_bytes_of_that_step(
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    argv = ("--step", "2")
    tops = document(capsysbinary, "summary", GEGLU, *argv)["top_kernels"]
    rows = document(capsysbinary, "kernels", GEGLU, *argv)["rows"]
    assert {row["name"]: row["modelled_bytes"] for row in tops} == {
        row["name"]: row["modelled_bytes"] for row in rows
    }


@pytest.mark.parametrize(
    "argv",
    [["ops", GEGLU], ["ops", GEGLU, "--by", "module"], ["kernels", GEGLU],
     ["kernels", GEGLU, "--group-by", "category"]],
)  # fmt: skip
def test_tables_with_bytes_say_what_share_of_the_time_is_modelled(
    capsys: pytest.CaptureFixture[str], argv: list[str]
) -> None:
    heading, *lines, last = text(capsys, *argv, "--bytes")
    assert heading.split()[:5] == ["n", "GPU", "%", "read", "written"]
    assert last.startswith("bytes are modelled for 100% of ")
    assert any("GFLOP" in line for line in lines)


def test_counters_stand_beside_the_model_and_the_join_is_reported(
    capsys: pytest.CaptureFixture[str], shared: Path
) -> None:
    file = shared / "traces" / "h200" / "counters_dev.json.gz"
    counters = file.with_name("counters_dev.ncu.csv")
    argv = ["kernels", str(file), "--each", "--counters", str(counters)]
    assert main([*argv, "--json"]) == 0
    out, err = capsys.readouterr()
    assert err.startswith("counters: 73 of 73 kernels joined to 73 activities")
    rows = [row for row in json.loads(out)["rows"] if row["kind"] == "kernel"]
    with counters.open(newline="") as lines:
        table = list(csv.DictReader(line for line in lines if line.startswith('"')))
    units, *measured = table
    scale = {"byte": 1, "Kbyte": 10**3, "Mbyte": 10**6, "Gbyte": 10**9}
    expected = [
        round(float(row[key].replace(",", "")) * scale[units[key]])
        for row in measured
        for key in ("dram__bytes_read.sum", "dram__bytes_write.sum")
    ]
    names = ("measured_read_bytes", "measured_write_bytes")
    assert [row[name] for row in rows for name in names] == expected
    assert main(argv) == 0
    heading, *_, note = capsys.readouterr().out.splitlines()
    assert heading.split()[2:6] == ["read", "written", "read*", "written*"]
    assert note.startswith("* measured by hardware counters in another run")


def test_counters_that_do_not_join_are_said_and_leave_bytes_unknown(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    counters = tmp_path / "ncu.csv"
    counters.write_text(
        '"ID","Kernel Name","Grid Size","Block Size","dram__bytes_read.sum",'
        '"dram__bytes_write.sum"\n"","","","","byte","byte"\n'
        '"0","another_kernel","(1, 1, 1)","(1, 1, 1)","5","6"\n'
    )
    argv = ["kernels", GEGLU, "--each", "--json", "--counters", str(counters)]
    assert main(argv) == 0
    out, err = capsys.readouterr()
    assert "counters: 0 of 1 kernels joined" in err
    assert "not joined" in err
    assert {row["measured_read_bytes"] for row in json.loads(out)["rows"]} == {None}


def test_the_roofline_draws_categories_and_says_where_its_ceilings_are_from(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = text(capsys, "kernels", GEGLU, "--roofline")
    plot = [line[8:] for line in lines if line[7:8] == "|"]
    assert sum(line.split(" bf16")[0].count("G") for line in plot) == 2  # one a GEMM kernel
    assert any("bf16/f16 989" in line for line in plot)
    assert any("data sheet, not measured here" in line for line in lines)
    assert any(line.endswith("P pointwise") for line in lines)
    assert lines[-1].startswith("bytes are modelled for 100% of ")
    assert max(len(line) for line in lines[: len(plot) + 3]) <= 80


def test_a_trace_without_shapes_has_no_roofline_and_says_which_flag_gives_one(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    builder = trace().op("aten::add", 0, 10).runtime("cudaLaunchKernel", 2, 2, correlation=1)
    path = builder.kernel(PASS, 20, 5, correlation=1).write(tmp_path / "t.json")
    lines = text(capsys, "kernels", str(path), "--roofline")
    assert "record_shapes=True" in lines[0]
    assert lines[1].startswith("no ceilings are known")
    assert lines[-1] == "bytes are modelled for 0% of 5.00us GPU time"


def test_copies_are_listed_with_what_would_avoid_them(capsys: pytest.CaptureFixture[str]) -> None:
    lines = text(capsys, "ops", CONV, "--copies")
    assert lines[0].startswith("copies: 36 taking 186us GPU time (38%), 350MB read and written")
    assert sum("layout conversion  aten::conv2d" in line for line in lines) == 3
    at = lines.index("    layout conversion: aten::conv2d's input and result")
    assert lines[at - 1].startswith("  keep model and input in memory_format=torch.channels_last")
    assert lines[-1].endswith("  nn.Module: BatchNorm2d_2")


def test_copies_as_json_hold_totals_that_their_rows_add_up_to(
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    found = document(capsysbinary, "ops", CONV, "--copies")
    assert (found["schema"], found["clock"], found["step"]) == ("ptx.copies/1", "gpu", None)
    ns = sum(row["ns"] for row in found["rows"])
    assert found["copied"]["ns"] + found["strided"]["ns"] == ns < found["gpu_sum_ns"]
    for part in ("classes", "modules", "steps"):
        assert sum(row["copied"]["ns"] for row in found[part]) == found["copied"]["ns"]
    assert all(len(row["events"]) == row["count"] for row in found["rows"])
    step = document(capsysbinary, "ops", CONV, "--copies", "--step", "last")
    assert 3 * step["copied"]["count"] == found["copied"]["count"]
    few = document(capsysbinary, "ops", CONV, "--copies", "--filter", "cast", "--sort", "calls")
    assert [row["class"] for row in few["rows"]] == ["dtype cast"]


@pytest.mark.parametrize("argv", [[GEGLU], [CONV, "--filter", "no such op"]])
def test_where_no_copies_are_the_text_says_so(
    capsys: pytest.CaptureFixture[str], argv: list[str]
) -> None:
    assert text(capsys, "ops", *argv, "--copies") == ["no copies here"]


def test_hostile_names_of_causes_reach_no_terminal(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    builder = trace().op("a\x1b[31m\u202eb", 0, 10)
    builder.runtime("cudaLaunchKernel", 2, 2, correlation=1)
    path = builder.kernel(
        "void cudnn::ops::nchwToNhwcKernel<float>(T)", 20, 5, correlation=1
    ).write(tmp_path / "t.json")
    for argv in (["--copies"], ["--bytes"]):
        out = "\n".join(text(capsys, "ops", str(path), *argv))
        assert not {"\x1b", "\u202e"} & set(out)


@pytest.mark.parametrize(
    "argv",
    [
        ["ops", GEGLU, "--copies", "--by", "module"],
        ["ops", GEGLU, "--copies", "--depth", "1"],
        ["ops", GEGLU, "--copies", "--sort", "self"],
        ["ops", GEGLU, "--copies", "--bytes"],
        ["ops", GEGLU, "--bytes", "--json"],
        ["kernels", GEGLU, "--bytes", "--json"],
        ["kernels", GEGLU, "--roofline", "--json"],
        ["kernels", GEGLU, "--roofline", "--limit", "3"],
        ["kernels", GEGLU, "--roofline", "--each"],
        ["kernels", GEGLU, "--counters", "x.csv"],
        ["kernels", GEGLU, "--each", "--counters", "no_such_file.csv"],
        ["kernels", GEGLU, "--each", "--counters", str(SAMPLES / "README.md")],
    ],
)
def test_what_does_not_fit_together_is_said_in_one_line(
    capsys: pytest.CaptureFixture[str], argv: list[str]
) -> None:
    assert main(argv) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
