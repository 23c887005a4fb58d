"""`ptx capture --pair`: two runs of one script, and the folder that they leave."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest
from tests.capture_scripts import TRAIN, capture

from ptx.profiling.structure.structure import build_structure
from ptx.profiling.trace.columns import Kind
from ptx.profiling.trace.reader import read_trace

if TYPE_CHECKING:
    from pathlib import Path

    from ptx.profiling.structure.structure import Structure

pytestmark = [
    pytest.mark.torch,
    pytest.mark.skipif(sys.platform != "linux", reason="capture runs on Linux only"),
]

# what Inductor would compile takes long, and the script's choice of a backend is kept
SELF_COMPILED = """
model = torch.nn.Linear(8, 8)
compiled = torch.compile(model, backend="aot_eager")
for _ in range(14):
    compiled(torch.ones(4, 8))
"""


def read(path: Path) -> Structure:
    return build_structure(read_trace(path))


def compiled_regions(structure: Structure) -> int:
    table = structure.trace.table
    regions = table.names_matching("Torch-Compiled Region")
    return int(regions[table.name[table.of_kind(Kind.OP)]].sum())


def test_a_bundle_holds_the_same_steps_eager_and_compiled(tmp_path: Path) -> None:
    script = tmp_path / "job.py"
    script.write_text(TRAIN + SELF_COMPILED)
    words = ["--pair", "-o", "out", "--", str(script), "--api-key", "abc"]
    found = capture(*words, cwd=tmp_path)
    assert found.code == 0
    eager, compiled = read(tmp_path / "out/eager.json.gz"), read(tmp_path / "out/compiled.json.gz")
    assert eager.steps.names == compiled.steps.names
    assert compiled_regions(eager) == 0
    assert compiled_regions(compiled) == 3
    assert not len(eager.trace.table.of_kind(Kind.FRAME))
    assert len(read(tmp_path / "out/eager.stacks.json.gz").trace.table.of_kind(Kind.FRAME))
    assert any((tmp_path / "out/compile_log").iterdir())
    meta = json.loads((tmp_path / "out/meta.json").read_text())
    assert meta["schema"] == "ptx.bundle/1"
    assert meta["command"][1:] == ["--api-key", "***"]
    assert meta["runs"]["compiled"]["traces"][0]["graphs"] == 1
    assert "next: ptx compare out/eager.json.gz out/compiled.json.gz" in found.said


def test_a_script_that_fails_eagerly_is_not_run_again(tmp_path: Path) -> None:
    script = tmp_path / "job.py"
    script.write_text("print('ran'); raise SystemExit(3)")
    found = capture("--pair", "-o", "out", "--", script, cwd=tmp_path)
    assert (found.code, found.out) == (3, "ran\n")


def test_a_script_in_which_nothing_can_be_compiled_is_told_so(tmp_path: Path) -> None:
    script = tmp_path / "job.py"
    script.write_text("import ptx, torch\nfor _ in range(12):\n    torch.ones(8)\n    ptx.step()\n")
    found = capture("--pair", "-o", "out", "--", script, cwd=tmp_path)
    assert "nothing was compiled: both traces are eager" in found.said
