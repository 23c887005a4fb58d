"""The findings in the summary: plain sentences, the same figures as in the JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from tests.traces import trace

from ptx.profiling.analysis.findings.model import Finding
from ptx.profiling.report.documents import summary_document
from ptx.profiling.report.findings_text import findings_text
from ptx.profiling.report.text import summary_text
from ptx.profiling.report.units import format_ns
from ptx.profiling.structure.structure import build_structure
from ptx.profiling.trace.reader import read_trace

if TYPE_CHECKING:
    from pathlib import Path


def test_a_finding_is_shown_with_its_cost_and_what_would_fix_it() -> None:
    finding = Finding(
        "host-sync", "the host \x1b[31mwaits", 1_500_000, np.zeros(1, np.int64), "do not", 0.9, "?"
    )
    first, title, fix, left_open = findings_text([finding])
    assert first == "  1.50ms  host-sync, a step"
    assert "\x1b" not in title
    assert fix.strip() == "fix: do not"
    assert left_open.strip() == "open: ?"


def test_text_and_document_tell_the_same(tmp_path: Path) -> None:
    builder = trace().step(0, 0, 100)
    builder.annotation("enumerate(DataLoader)#next", 0, 60).kernel("gemm", 70, 30)
    structure = build_structure(read_trace(builder.write(tmp_path / "t.json")))
    (finding,) = summary_document(structure)["findings"]
    assert finding["code"] == "data-wait"
    assert finding["evidence"] == [{"event": 1, "name": "enumerate(DataLoader)#next"}]
    lines = list(summary_text(structure))
    assert f"{format_ns(finding['cost_ns_per_step']):>8}  data-wait, a step" in lines


def test_a_healthy_run_has_no_such_block(tmp_path: Path) -> None:
    builder = trace().step(0, 0, 100).op("aten::mm", 0, 90).kernel("gemm", 1, 99)
    structure = build_structure(read_trace(builder.write(tmp_path / "t.json")))
    assert summary_document(structure)["findings"] == []
    assert not any("fix:" in line for line in summary_text(structure))
