"""`ptx compare` in text, JSON, Markdown and HTML, and its gates."""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.hostile import SECRETS, UNSAFE, hostile_trace, secretive_trace

from ptx.profiling.errors import UsageError
from ptx.tui.cli.compare import COMMAND

SAMPLES = Path(__file__).resolve().parents[4] / "sample_traces"
EAGER, COMPILED = (str(SAMPLES / f"geglu_{k}.json.gz") for k in ("eager", "compile"))


def run(*argv: str) -> int:
    parser = argparse.ArgumentParser()
    COMMAND.prepare_parser(parser)
    return COMMAND.run(parser.parse_args(argv))


def document(capsysbinary: pytest.CaptureFixture[bytes], *argv: str) -> dict[str, Any]:
    assert run(*argv, "--json") == 0
    found: dict[str, Any] = json.loads(capsysbinary.readouterr().out)
    return found


def test_json_has_every_member_of_the_contract(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    found = document(capsysbinary, EAGER, COMPILED)
    assert found["schema"] == "ptx.compare/1"
    assert set(found) == {
        "schema", "file", "t0_ns", "warnings", "a", "b", "steps", "verdict", "totals", "per_step",
        "groups", "unmatched_ns", "cpu", "compile", "notes",
    }  # fmt: skip
    assert set(found["totals"]) == set(found["per_step"]) == {
        "gpu_sum_ns", "gpu_busy_ns", "kernels", "activities", "launches", "ops",
        "compile_layer_ops", "views", "cpu_op_self_ns", "modelled_bytes",
    }  # fmt: skip
    assert set(found["groups"][0]) == {
        "kind", "a", "b", "delta_ns", "delta_bytes", "confidence", "how", "phase", "text",
    }  # fmt: skip
    assert set(found["groups"][0]["a"][0]) == {
        "event", "name", "short", "ns", "median_ns", "count",
    }  # fmt: skip
    assert set(found["cpu"]) == {"removed_ops", "added_ops", "dispatch_ns"}
    assert set(found["compile"]) == {"graphs", "graph_breaks", "recompiles", "dynamic"}


def test_groups_add_up_to_the_totals(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    found = document(capsysbinary, EAGER, COMPILED)
    for side, word in enumerate("ab"):
        sums = sum(place["ns"] for group in found["groups"] for place in group[word])
        assert sums + found["unmatched_ns"][side] == found["totals"]["gpu_sum_ns"][side]
    assert found["compile"]["graphs"] == [0, 1]
    assert found["cpu"]["removed_ops"]["aten::gelu"] == 1


def test_text_fits_eighty_columns_and_shows_the_fusion(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert run(EAGER, COMPILED) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    at = next(k for k, line in enumerate(lines) if line.startswith("~ fused 2→1"))
    assert [line.split()[0] for line in lines[at + 1 : at + 4]] == ["-", "-", "+"]


def test_changed_leaves_equal_kernels_out(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(EAGER, COMPILED, "--changed") == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("~ ") for line in lines)
    assert not any(line.startswith("= ") for line in lines)


def test_ascii_draws_with_ascii_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(EAGER, COMPILED, "--ascii") == 0
    assert capsys.readouterr().out.isascii()


def test_markdown_is_tables_of_equal_width(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(EAGER, COMPILED, "--markdown") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("**geglu\\_eager.json.gz")
    rows = [line for line in lines if line.startswith("| ")]
    pipes = {len(re.findall(r"(?<!\\)\|", row)) for row in rows}
    assert pipes == {5, 8}
    assert any("gelu, mul: fused" in row for row in rows)


def test_html_is_one_page_without_scripts_or_links(tmp_path: Path) -> None:
    out = tmp_path / "out.html"
    assert run(EAGER, COMPILED, "--html", str(out)) == 0
    page = out.read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert not re.search(r"<script|<link|<img|href=|src=|https?:", page)
    assert page.count("<table>") == page.count("</table>") == 2


@pytest.mark.parametrize("form", [[], ["--json"], ["--markdown"], ["--changed"]])
def test_no_name_drives_the_terminal(
    capsysbinary: pytest.CaptureFixture[bytes], tmp_path: Path, form: list[str]
) -> None:
    hostile = str(hostile_trace().write(tmp_path / "h.json"))
    secret = str(secretive_trace().write(tmp_path / "s.json"))
    page = tmp_path / "out.html"
    for pair in ((hostile, hostile), (hostile, secret), (secret, COMPILED)):
        assert run(*pair, *form, "--html", str(page)) == 0
        out = capsysbinary.readouterr().out.decode()
        html = page.read_text(encoding="utf-8")
        assert not UNSAFE & set(out)
        assert "<script" not in html
        assert not UNSAFE & set(html)
        assert not any(secret in text for secret in SECRETS for text in (out, html))


@pytest.mark.parametrize(
    ("gate", "code"),
    [
        ("gpu_busy<=+3%", 0),
        ("gpu_busy<=-1%", 0),
        ("gpu_busy_ns<=-50%", 1),
        ("kernels<=0", 0),
        ("launches<=-5", 1),
        ("idle<=+1s", 0),
        ("idle<=+1us", 1),
        ("modelled_bytes<=-20%", 0),
    ],
)
def test_a_gate_fails_where_b_is_worse_than_it_allows(
    capsys: pytest.CaptureFixture[str], gate: str, code: int
) -> None:
    assert run(EAGER, COMPILED, "--gate", gate) == code
    assert ("failed" in capsys.readouterr().err) == bool(code)


def test_one_failing_gate_of_several_is_enough(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(EAGER, COMPILED, "--gate", "kernels<=0", "--gate", "idle<=0") == 1
    assert "idle<=0" in capsys.readouterr().err


@pytest.mark.parametrize(
    "gate", ["gpu_busy", "gpu_busy>=3%", "speed<=3%", "gpu_busy<=3", "kernels<=3us"]
)
def test_what_is_no_gate_is_wrong_usage(gate: str) -> None:
    with pytest.raises(UsageError):
        run(EAGER, COMPILED, "--gate", gate)


def test_forms_that_exclude_each_other_are_wrong_usage() -> None:
    with pytest.raises(UsageError, match="exclude"):
        run(EAGER, COMPILED, "--json", "--markdown")
    with pytest.raises(UsageError, match="stdin"):
        run("-", "-")
