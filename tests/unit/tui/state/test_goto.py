"""Where `:` goes to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.traces import trace

from ptx.profiling.errors import UsageError
from ptx.profiling.structure.structure import build_structure
from ptx.profiling.trace.reader import read_trace
from ptx.tui.state.goto import find_place

if TYPE_CHECKING:
    from pathlib import Path

    from ptx.profiling.structure.structure import Structure


@pytest.fixture
def structure(tmp_path: Path) -> Structure:
    builder = trace().thread(1)
    for k in range(2):
        at = 1000 * k
        builder.step(k, at, 900).op("aten::linear", at + 100, 500).op("aten::addmm", at + 200, 300)
        builder.runtime("cudaLaunchKernel", at + 250, 10, correlation=70 + k)
        builder.kernel("gemm", at + 300, 100, correlation=70 + k)
    return build_structure(read_trace(builder.write(tmp_path / "t.json")))


def name_at(structure: Structure, text: str, step: int | None = 1) -> str:
    node = find_place(structure, step, text).node
    assert node is not None
    return structure.trace.table.name_of(int(structure.tree.event[node]))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("150us", "aten::linear"),
        ("0.21ms", "aten::addmm"),
        ("255 us", "cudaLaunchKernel"),
        ("50000ns", "ProfilerStep#1"),
        ("ev 1", "aten::linear"),
        ("event #2", "aten::addmm"),
        ("corr 71", "gemm"),
        ("  CORR 70 ", "gemm"),
    ],
)
def test_times_events_and_correlations_lead_to_their_node(
    structure: Structure, text: str, name: str
) -> None:
    assert name_at(structure, text) == name


def test_times_count_from_the_trace_when_all_of_it_is_shown(structure: Structure) -> None:
    assert name_at(structure, "1.15ms", None) == "aten::linear"


def test_steps_count_from_1_and_trace_is_everything(structure: Structure) -> None:
    assert find_place(structure, 0, "step 2").step == 1
    assert find_place(structure, 0, "trace").everything


@pytest.mark.parametrize(
    "text",
    ["", "somewhere", "step 0", "step 3", "ev 99", "corr 5", "5 s", "12.5.1ms", "ev -1"],
)
def test_what_is_not_there_is_refused_in_one_line(structure: Structure, text: str) -> None:
    with pytest.raises(UsageError) as caught:
        find_place(structure, 1, text)
    assert "\n" not in str(caught.value)
