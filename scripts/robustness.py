"""Writes the table of codes in docs/robustness.md from the program's own list."""

from __future__ import annotations

from pathlib import Path

from ptx.profiling.analysis.doctor import severity_of
from ptx.profiling.trace.problems import MESSAGES

PAGE = Path(__file__).resolve().parents[1] / "docs" / "robustness.md"
_START, _END = "<!-- codes -->\n", "<!-- /codes -->"


def table() -> str:
    """Returns the table of codes."""
    rows = [f"| `{code}` | {severity_of(code)} | {text} |" for code, text in MESSAGES.items()]
    return "\n".join(["| code | severity | what it says |", "| --- | --- | --- |", *rows]) + "\n"


def with_table(page: str) -> str:
    """Returns the page with the present table of codes."""
    before, _, rest = page.partition(_START)
    _, _, after = rest.partition(_END)
    return before + _START + table() + _END + after


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
