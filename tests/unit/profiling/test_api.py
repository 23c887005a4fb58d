"""The public way in: `ptx.load` and the tables of a trace."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np
import pytest

import ptx
from ptx.profiling.errors import TraceFormatError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def trace(samples: Path) -> ptx.Trace:
    return ptx.load(samples / "geglu_eager.json.gz")


def test_tables_have_a_row_an_event(trace: ptx.Trace) -> None:
    counts = trace.summary()["counts"]
    assert len(trace.ops) == counts["ops"]
    assert len(trace.kernels) == counts["kernels"] + counts["memcpy"] + counts["memset"]
    assert trace.steps["name"].tolist() == ["ProfilerStep#3", "ProfilerStep#4", "ProfilerStep#5"]


def test_kernels_name_their_op(trace: ptx.Trace) -> None:
    names = dict(zip(trace.ops["event"].tolist(), trace.ops["name"], strict=True))
    ops = [names[event] for event in trace.kernels["op_event"].tolist()]
    assert ops.count("aten::addmm") == 15  # nine GEMMs, and six memsets of their workspace
    assert ops.count("aten::gelu") == ops.count("aten::mul") == 3


def test_sums_of_ops_are_those_of_their_kernels(trace: ptx.Trace) -> None:
    addmm = trace.ops["name"] == "aten::addmm"
    owned = np.isin(trace.kernels["op_event"], trace.ops["event"][addmm])
    assert trace.ops["gpu_sum_ns"][addmm].sum() == trace.kernels["dur_ns"][owned].sum()


def test_columns_cannot_be_changed_by_accident(trace: ptx.Trace) -> None:
    with pytest.raises(ValueError, match="read-only"):
        trace.structure.trace.table.dur_ns[0] = 1


@pytest.mark.parametrize(("library", "method"), [("pandas", "to_pandas"), ("polars", "to_polars")])
def test_tables_become_data_frames_where_the_library_is(
    trace: ptx.Trace, monkeypatch: pytest.MonkeyPatch, library: str, method: str
) -> None:
    made: list[dict[str, np.ndarray]] = []
    monkeypatch.setitem(sys.modules, library, SimpleNamespace(DataFrame=made.append))
    getattr(trace.kernels, method)()
    assert list(made[0]) == list(trace.kernels.columns)


def test_progress_is_told_and_reaches_the_end(samples: Path) -> None:
    seen: list[tuple[int, int]] = []
    ptx.load(
        samples / "conv_nchw.json.gz",
        on_progress=lambda now: seen.append((now.done_bytes, now.total_bytes)),
    )
    assert seen[-1][0] == seen[-1][1]


def test_what_is_no_trace_raises_one_error(tmp_path: Path) -> None:
    with pytest.raises(TraceFormatError, match=r"none\.json"):
        ptx.load(tmp_path / "none.json")


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = "import sys, ptx; print(sorted({'numpy', 'textual', 'orjson'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
