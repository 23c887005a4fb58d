"""What holds a step back, as rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptx.profiling.analysis.findings.find import find
from ptx.profiling.report.units import format_count, format_ns
from ptx.profiling.sanitise import clean
from ptx.tui.state.rows import Cell, Column, FlatRows, Row

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ptx.profiling.structure.structure import Structure

_SEEN = Column("seen", 6)
_ADVICE = Column("what would fix it", 44, left=True)
_WIDE = 130


class FindingRows(FlatRows):
    """The findings of a step (of the whole trace for None), costliest first.

    `findings` are in the order of the rows; without any the one row says so.
    """

    def __init__(self, structure: Structure, step: int | None) -> None:
        self.findings = find(structure, step)
        rows = [
            Row(
                f"{format_ns(finding.cost_ns_per_step):>8}  {finding.code}: {clean(finding.title)}",
                (Cell(format_count(len(finding.nodes))), Cell(clean(finding.advice))),
            )
            for finding in self.findings
        ]
        if not rows:
            rows = [Row(_nothing(structure), (Cell(""), Cell("")), role="dim")]
        super().__init__("cost/step  finding", (_SEEN, _ADVICE), rows)

    def columns(self, width: int) -> Sequence[Column]:
        """Returns the columns; the advice needs a wide screen, else it stands below the list."""
        return (_SEEN, _ADVICE) if width >= _WIDE else (_SEEN,)


def _nothing(structure: Structure) -> str:
    if not len(structure.activities):
        return "no device activity, so nothing can be said of what holds it back"
    return "nothing found that costs much of this step"
