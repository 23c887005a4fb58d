"""The roofline plot: marks stand where their axes say, under ceilings that name their source."""

from __future__ import annotations

from math import log10
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.traces import trace

from ptx.profiling.report.roofline_text import roofline_text
from ptx.profiling.structure.structure import build_structure
from ptx.profiling.trace.reader import read_trace

if TYPE_CHECKING:
    from pathlib import Path

GEMM = "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT"
SIDE = 8192


@pytest.fixture(autouse=True)
def no_measured_ceilings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(
        "ptx.profiling.analysis.ceilings.cache_folder", lambda: tmp_path / "nothing"
    )


def plot(folder: Path, us: float, device: str | None = "NVIDIA H200") -> list[str]:
    """Returns the lines for one square bf16 product that takes so long."""
    builder = trace()
    if device:
        builder.header(deviceProperties=[{"id": 0, "name": device}])
    builder.op(
        "aten::mm",
        0,
        10,
        Input_Dims=[[SIDE, SIDE]] * 2,
        Input_Strides=[[SIDE, 1]] * 2,
        Input_type=["c10::BFloat16"] * 2,
        Concrete_Inputs=["", ""],
    )
    builder.runtime("cudaLaunchKernel", 2, 2, correlation=1).kernel(GEMM, 20, us, correlation=1)
    structure = build_structure(read_trace(builder.write(folder / "t.json")))
    return list(roofline_text(structure, np.array([0])))


def mark_of(lines: list[str]) -> tuple[int, int]:
    """Returns (line, column) of the one G inside the frame."""
    inside = {k: line[8:].split(" bf16")[0] for k, line in enumerate(lines) if line[7:8] == "|"}
    found = [(k, 8 + text.index("G")) for k, text in inside.items() if "G" in text]
    assert len(found) == 1
    return found[0]


@pytest.mark.parametrize("tflops", [100, 10])
def test_a_kernel_stands_at_its_rate_and_intensity(tmp_path: Path, tflops: int) -> None:
    lines = plot(tmp_path, us=2 * SIDE**3 / tflops / 1e6)
    at, column = mark_of(lines)
    assert lines[at][:7].strip() == str(tflops)
    axis = next(line for k, line in enumerate(lines) if lines[k - 1].startswith("       +"))
    left, right = axis.index("1000"), axis.index("10000") + len("10000") - 1
    intensity = 2 * SIDE**3 / (3 * 2 * SIDE**2)
    between = (column - left) / (right - left)
    assert between == pytest.approx(log10(intensity) - 3, abs=0.05)


def test_the_ceilings_of_the_type_in_use_are_drawn_with_their_source(tmp_path: Path) -> None:
    lines = plot(tmp_path, us=2 * SIDE**3 / 500 / 1e6)
    (roof,) = (line for line in lines if line.endswith(" bf16/f16 989"))
    assert lines.index(roof) < mark_of(lines)[0]
    assert any("4800 GB/s" in line and line.endswith("not measured here)") for line in lines)


def test_an_unknown_device_has_points_and_no_roof(tmp_path: Path) -> None:
    lines = plot(tmp_path, us=2000, device=None)
    assert mark_of(lines)
    assert not any("/" in line[8:] for line in lines if line[7:8] == "|")
    assert "no ceilings are known for this device: ptx calibrate measures them" in lines
