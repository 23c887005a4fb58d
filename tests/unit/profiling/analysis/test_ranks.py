"""The rank of a trace: from the header, else from the file's name; and what kind of trace it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.traces import trace

from ptx.profiling.analysis.ranks import (
    rank_by,
    rank_in_name,
    rank_of,
    rank_pattern,
    ranks_by,
)
from ptx.profiling.analysis.summary import format_of
from ptx.profiling.report.documents import summary_document
from ptx.profiling.report.text import summary_text
from ptx.profiling.structure.structure import build_structure
from ptx.profiling.trace.reader import read_trace

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("name", "rank"),
    [
        ("rank_3.json", 3),
        ("trace.rank-12.json.gz", 12),
        ("rank3.pt.trace.json", 3),
        ("worker_rank3of8.json", 3),
        ("Rank_0.json", 0),
        ("rank=7.json", 7),
        ("job-rank.5.json", 5),
        ("frank3.json", None),
        ("trace.json", None),
        ("rank_.json", None),
        ("rank12345678901.json", None),
    ],
)
def test_the_rank_in_a_files_name(name: str, rank: int | None) -> None:
    assert rank_in_name(name) == rank


def test_the_header_goes_before_the_name(tmp_path: Path) -> None:
    path = tmp_path / "rank_3.json"
    trace().op("a", 0, 1).write(path)
    assert rank_of(read_trace(path)) == 3
    trace().header(distributedInfo={"rank": 5, "world_size": 8}).op("a", 0, 1).write(path)
    assert rank_of(read_trace(path)) == 5
    assert summary_document(build_structure(read_trace(path)))["rank"] == 5


def test_a_trace_of_another_kind_is_called_chrome_and_gets_no_advice_on_the_profiler(
    tmp_path: Path,
) -> None:
    path = trace().host("FEE", "main", 0, 5, {}).write(tmp_path / "t.json")
    structure = build_structure(read_trace(path))
    assert format_of(structure.trace) == "chrome"
    assert summary_document(structure)["format"] == "chrome"
    text = "\n".join(summary_text(structure))
    assert "1 slices" in text
    assert "ProfilerActivity" not in text


def test_a_trace_of_the_profiler_without_ops_is_still_one_of_its_own(tmp_path: Path) -> None:
    path = trace().header(schemaVersion=1).host("FEE", "main", 0, 5, {}).write(tmp_path / "t.json")
    assert format_of(read_trace(path)) == "kineto"


@pytest.mark.parametrize(
    ("regex", "path", "rank"),
    [
        (r"node\d+-gpu(\d+)", "job/node3-gpu5.json", 5),
        (r"(\w+)/worker(?P<rank>\d+)", "job7/worker12/t.json", 12),
        (r"tl_out/(\d+)/", "tl_out/4/chromium.json", 4),
        (r"gpu(\d+)", "other.json", None),
        (r"(gpu)", "gpu.json", None),
        (r"gpu(\d+)|cpu", "cpu.json", None),
        (r"(\d+)", "123456789012.json", None),
    ],
)
def test_a_pattern_finds_the_rank_in_the_path(regex: str, path: str, rank: int | None) -> None:
    assert rank_by(rank_pattern(regex), path) == rank


@pytest.mark.parametrize("regex", ["(", "[", "rank", "", r"\d+", "(?:a)", "a{99999999999}"])
def test_what_is_no_pattern_for_a_rank_is_said_in_one_line(regex: str) -> None:
    with pytest.raises(ValueError, match="no ") as caught:
        rank_pattern(regex)
    assert "\n" not in str(caught.value)


def test_the_users_pattern_goes_before_the_header_while_it_is_asked_for(tmp_path: Path) -> None:
    path = trace().header(distributedInfo={"rank": 5}).write(tmp_path / "gpu7-rank_3.json")
    loaded = read_trace(path)
    with ranks_by(rank_pattern(r"gpu(\d)")):
        assert rank_of(loaded) == 7
        with ranks_by(rank_pattern(r"none(\d)")):
            assert rank_of(loaded) == 5
    assert rank_of(loaded) == 5
