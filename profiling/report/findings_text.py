"""What holds a run back, as text."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from ptx.profiling.report.units import format_ns
from ptx.profiling.sanitise import clean

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ptx.profiling.analysis.findings.model import Finding

_INDENT = " " * 10


def findings_text(findings: Sequence[Finding], width: int = 80) -> Iterator[str]:
    """Yields what each finding costs a step, what it says and what would fix it."""
    for finding in findings:
        cost = format_ns(finding.cost_ns_per_step)
        yield f"{cost:>8}  {finding.code}, a step"
        for text in (finding.title, f"fix: {finding.advice}", f"open: {finding.not_checked}"):
            yield from textwrap.wrap(
                clean(text), width, initial_indent=_INDENT, subsequent_indent=_INDENT
            )
