"""What holds the step back, with its cost and what would fix it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from ptx.profiling.sanitise import clean
from ptx.tui.keymap import FINDING_KEYS
from ptx.tui.screens._base import bindings_of
from ptx.tui.screens._list import DetailScreen
from ptx.tui.state.explore import Only
from ptx.tui.state.findings import FindingRows

if TYPE_CHECKING:
    from textual.binding import BindingType

    from ptx.profiling.analysis.findings.model import Finding


class FindingsScreen(DetailScreen):
    """Lists the findings; Enter shows the evidence in the tree."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_of(FINDING_KEYS)
    KEYS = FINDING_KEYS

    def make_rows(self) -> FindingRows:
        """Returns the findings of the present step."""
        return FindingRows(self.structure, self.step)

    @property
    def finding(self) -> Finding | None:
        """Returns the finding under the cursor."""
        rows = self.list.source
        if isinstance(rows, FindingRows) and rows.findings:
            return rows.findings[self.list.cursor]
        return None

    def detail(self) -> list[str]:
        """Returns what the finding says, what would fix it, and what could not be checked."""
        finding = self.finding
        if finding is None:
            return []
        return [
            clean(finding.title),
            f"fix: {clean(finding.advice)}",
            f"open: {clean(finding.not_checked)}",
        ]

    def twin(self) -> list[str]:
        """Returns the command that prints this view."""
        return ["summary", *self._step_words()]

    def action_inspect(self) -> None:
        """Shows the evidence in the tree, n and N go through it."""
        finding = self.finding
        if finding is None or not len(finding.nodes):
            self._say("there is no evidence to show")
            return
        self.post_message(self.PlacesChosen(self.step, Only(finding.code, finding.nodes)))
