"""What is wrong with the trace, and what was not recorded."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from textual import on

from ptx.tui.keymap import DOCTOR_KEYS
from ptx.tui.screens._base import bindings_of
from ptx.tui.screens._list import ListScreen
from ptx.tui.state.doctor import DoctorRows
from ptx.tui.state.explore import Only
from ptx.tui.widgets.lines import Lines
from ptx.tui.widgets.row_tree import RowTree

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType

    from ptx.profiling.report.remarks import Remark


class DoctorScreen(ListScreen):
    """Lists the diagnosis; the line under the cursor stands whole below it."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_of(DOCTOR_KEYS)
    KEYS = DOCTOR_KEYS

    def compose_below(self) -> ComposeResult:
        """Makes the lines that show the whole remark."""
        yield Lines(glyphs=self._glyphs, id="detail")

    def make_rows(self) -> DoctorRows:
        """Returns the remarks."""
        return DoctorRows(self.structure)

    @property
    def remark(self) -> Remark | None:
        """Returns the remark under the cursor."""
        rows = self.list.source
        if isinstance(rows, DoctorRows) and rows.remarks:
            return rows.remarks[self.list.cursor]
        return None

    @on(RowTree.CursorMoved, "#list")
    @on(RowTree.LaidOut, "#list")
    def _show_detail(self) -> None:
        remark = self.remark
        detail = self.query_one("#detail", Lines)
        if remark is None:
            detail.show([])
            return
        width = max(20, self.size.width - 2)
        lines = textwrap.wrap(remark.text, width, break_on_hyphens=False)
        if remark.code:
            lines.append(remark.code)
        if remark.events:
            lines.append("first events: " + ", ".join(str(event) for event in remark.events[:8]))
        detail.show([[(f" {line}", "normal")] for line in lines])

    def twin(self) -> list[str]:
        """Returns the command that prints this view."""
        return ["doctor"]

    def action_inspect(self) -> None:
        """Shows where the remark's events are in the tree."""
        remark = self.remark
        if remark is None or not remark.events:
            self._say("this line names no events")
            return
        nodes = self.structure.tree.node_of[np.array(remark.events)]
        nodes = nodes[nodes >= 0]
        if not len(nodes):
            self._say("its events have no place in the tree: : ev N shows one")
            return
        label = remark.text.partition(":")[0]
        self.post_message(self.PlacesChosen(None, Only(label, nodes)))

    def action_out(self) -> None:
        """Leaves the prompt, then the list."""
        if self._prompt is not None:
            self._close_prompt()
        else:
            self.action_view("explore")
