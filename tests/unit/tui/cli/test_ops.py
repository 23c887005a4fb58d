"""`ptx ops` as a user calls it, and the options that the tables share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.traces import trace

from ptx.tui.cli import main

SAMPLE = Path(__file__).resolve().parents[4] / "sample_traces" / "geglu_eager.json.gz"
FIELDS = ["name", "calls", "cpu_self_ns", "cpu_total_ns", "gpu_sum_ns", "kernels"]
GROUPINGS = ["op", "shape", "module", "class", "category"]


def run(capsysbinary: pytest.CaptureFixture[bytes], *argv: str | Path) -> str:
    code = main([str(word) for word in argv])
    out, err = capsysbinary.readouterr()
    assert (code, err) == (0, b"")
    return out.decode()


def rows(
    capsysbinary: pytest.CaptureFixture[bytes], *argv: str, command: str = "ops"
) -> list[dict[str, Any]]:
    document = json.loads(run(capsysbinary, command, SAMPLE, "--json", *argv))
    found: list[dict[str, Any]] = document["rows"]
    return found


def complaint(capsys: pytest.CaptureFixture[str], *argv: str | Path) -> str:
    assert main([str(word) for word in argv]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    return err


@pytest.mark.parametrize("by", GROUPINGS)
def test_json_has_the_fields_of_the_schema(
    capsysbinary: pytest.CaptureFixture[bytes], by: str
) -> None:
    document = json.loads(run(capsysbinary, "ops", SAMPLE, "--json", "--by", by))
    assert (document["schema"], document["by"]) == ("ptx.ops/1", by)
    more = {"shape": ["shape"], "category": ["category"]}.get(by, [])
    for row in document["rows"]:
        assert list(row) == [*FIELDS, "modelled_bytes", "flops", *more]


@pytest.mark.parametrize("by", GROUPINGS)
def test_text_has_the_rows_of_the_json_in_their_order(
    capsysbinary: pytest.CaptureFixture[bytes], by: str
) -> None:
    heading, *lines = run(capsysbinary, "ops", SAMPLE, "--by", by).splitlines()
    assert heading.endswith(by)
    documents = rows(capsysbinary, "--by", by)
    assert len(lines) == len(documents)
    for line, row in zip(lines, documents, strict=True):
        assert row["name"] in line
        assert line.split()[0] == str(row["calls"])


@pytest.mark.parametrize("by", GROUPINGS)
def test_step_filter_sort_and_limit_work_together(
    capsysbinary: pytest.CaptureFixture[bytes], by: str
) -> None:
    whole = rows(capsysbinary, "--by", by, "--step", "2", "--filter", "M", "--sort", "name")
    assert [row["name"] for row in whole] == sorted(row["name"] for row in whole)
    assert all("m" in row["name"].casefold() for row in whole)
    named = rows(
        capsysbinary, "--by", by, "--step", "ProfilerStep#4", "--filter", "m", "--sort", "name",
        "--limit", "2",
    )  # fmt: skip
    assert named == whole[:2]
    assert len(whole) >= 2


@pytest.mark.parametrize(
    ("sort", "field"),
    [
        ("gpu", "gpu_sum_ns"),
        ("cpu", "cpu_total_ns"),
        ("self", "cpu_self_ns"),
        ("calls", "calls"),
    ],
)
def test_every_order_puts_the_most_first(
    capsysbinary: pytest.CaptureFixture[bytes], sort: str, field: str
) -> None:
    values = [row[field] for row in rows(capsysbinary, "--sort", sort)]
    assert values == sorted(values, reverse=True)


def test_depth_one_shows_the_ops_that_no_op_holds(
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    names = {row["name"] for row in rows(capsysbinary, "--depth", "1")}
    assert names == {"aten::linear", "aten::mul", "aten::gelu"}
    names = {row["name"] for row in rows(capsysbinary, "--by", "module", "--depth", "1")}
    assert names == {"nn.Module: GeGLU_0"}


def test_percentages_are_of_the_step_whatever_the_rows(
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    shown = run(capsysbinary, "ops", SAMPLE, "--by", "category", "--step", "last").splitlines()
    alone = run(
        capsysbinary, "ops", SAMPLE, "--by", "category", "--step", "last", "--limit", "1"
    ).splitlines()
    assert alone[1].split() == shown[1].split()
    assert "69%" in alone[1]


@pytest.mark.parametrize("by", GROUPINGS)
def test_trace_without_any_says_so(
    capsysbinary: pytest.CaptureFixture[bytes], tmp_path: Path, by: str
) -> None:
    path = trace().host("FEE", "main", 0, 5, {}).write(tmp_path / "t.json")
    assert run(capsysbinary, "ops", path, "--by", by).startswith("no ")
    assert json.loads(run(capsysbinary, "ops", path, "--by", by, "--json"))["rows"] == []


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--by", "x"], "--by"),
        (["--sort", "x"], "--sort"),
        (["--limit", "0"], "--limit"),
        (["--limit", "many"], "--limit"),
        (["--depth", "-1"], "--depth"),
        (["--step", "99"], "no step '99'"),
        (["--step", ""], "no step ''"),
        (["--by", "category", "--depth", "1"], "--depth"),
        (["--by", "category", "--sort", "self"], "sort by gpu"),
    ],
)
def test_wrong_options_are_one_line_and_exit_2(
    capsys: pytest.CaptureFixture[str], argv: list[str], said: str
) -> None:
    assert said in complaint(capsys, "ops", SAMPLE, *argv)


class TestSharedOptions:
    """One meaning on every command that has the option."""

    @pytest.mark.parametrize("step", ["2", "ProfilerStep#4"])
    def test_step_by_number_or_name(
        self, capsysbinary: pytest.CaptureFixture[bytes], step: str
    ) -> None:
        kernels = rows(capsysbinary, "--step", step, command="kernels")
        assert sum(row["calls"] for row in kernels) == 7
        text = run(capsysbinary, "summary", SAMPLE, "--step", step)
        assert ("ProfilerStep#4" in text, "ProfilerStep#5" in text) == (True, False)
        nodes = json.loads(run(capsysbinary, "tree", SAMPLE, "--step", step, "--json"))["nodes"]
        assert {node["step"] for node in nodes} == {"ProfilerStep#4"}

    @pytest.mark.parametrize("command", ["summary", "tree", "ops", "kernels"])
    @pytest.mark.parametrize("form", [[], ["--json"]])
    def test_filter_that_nothing_meets_is_no_error(
        self, capsysbinary: pytest.CaptureFixture[bytes], command: str, form: list[str]
    ) -> None:
        text = run(capsysbinary, command, SAMPLE, "--filter", "zzz", *form)
        assert "aten::" not in text

    @pytest.mark.parametrize("command", ["summary", "tree", "ops", "kernels"])
    def test_unknown_step_names_the_steps_there_are(
        self, capsys: pytest.CaptureFixture[str], command: str
    ) -> None:
        said = complaint(capsys, command, SAMPLE, "--step", "nope")
        assert "1 to 3, 'last', or a name such as ProfilerStep#3" in said

    @pytest.mark.parametrize("command", ["summary", "tree", "ops"])
    def test_limit_is_a_number_of_at_least_one(
        self, capsys: pytest.CaptureFixture[str], command: str
    ) -> None:
        assert "--limit" in complaint(capsys, command, SAMPLE, "--limit", "0")

    def test_summary_has_the_rows_that_are_asked_for(
        self, capsysbinary: pytest.CaptureFixture[bytes]
    ) -> None:
        for limit, ops in ((None, 8), ("3", 3)):
            argv = [] if limit is None else ["--limit", limit]
            document = json.loads(run(capsysbinary, "summary", SAMPLE, "--json", *argv))
            assert len(document["top_ops"]) == ops

    def test_tree_sorts_siblings_and_keeps_parents_first(
        self, capsysbinary: pytest.CaptureFixture[bytes]
    ) -> None:
        argv = ["tree", str(SAMPLE), "--step", "last", "--sort", "gpu", "--json"]
        nodes = json.loads(run(capsysbinary, *argv))["nodes"]
        shown = {node["event"] for node in nodes}
        seen: set[int] = set()
        last: dict[int | None, int] = {}
        for node in nodes:
            assert node["parent"] in seen or node["parent"] not in shown
            seen.add(node["event"])
            assert node["gpu_sum_ns"] <= last.get(node["parent"], node["gpu_sum_ns"])
            last[node["parent"]] = node["gpu_sum_ns"]


class TestRankRegex:
    @pytest.mark.parametrize("command", ["summary", "doctor", "explore"])
    def test_rank_is_read_from_the_path(
        self, capsysbinary: pytest.CaptureFixture[bytes], tmp_path: Path, command: str
    ) -> None:
        (tmp_path / "gpu6").mkdir()
        path = trace().op("aten::mm", 0, 5).write(tmp_path / "gpu6" / "t.json")
        assert "rank" not in run(capsysbinary, command, path).splitlines()[0]
        text = run(capsysbinary, command, path, "--rank-regex", r"gpu(\d+)/")
        assert "rank 6" in text.splitlines()[0]

    @pytest.mark.parametrize("command", ["summary", "doctor"])
    def test_json_has_it_too(
        self, capsysbinary: pytest.CaptureFixture[bytes], tmp_path: Path, command: str
    ) -> None:
        path = trace().op("aten::mm", 0, 5).write(tmp_path / "w7x2.json")
        argv = [command, str(path), "--json", "--rank-regex", r"w(\d)x(?P<rank>\d)"]
        assert json.loads(run(capsysbinary, *argv))["rank"] == 2
        assert json.loads(run(capsysbinary, command, path, "--json"))["rank"] is None

    @pytest.mark.parametrize("command", ["summary", "doctor", "explore"])
    @pytest.mark.parametrize("regex", ["(", r"rank\d+"])
    def test_bad_pattern_is_one_line_and_exit_2(
        self, capsys: pytest.CaptureFixture[str], command: str, regex: str
    ) -> None:
        assert "--rank-regex" in complaint(capsys, command, SAMPLE, "--rank-regex", regex)
