"""What is wrong with the trace, and what was not recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ptx.tui.keymap import DOCTOR_KEYS
from ptx.tui.screens._base import bindings_of
from ptx.tui.screens._list import DetailScreen
from ptx.tui.state.doctor import DoctorRows
from ptx.tui.state.explore import Only

if TYPE_CHECKING:
    from textual.binding import BindingType

    from ptx.profiling.report.remarks import Remark

_SHOWN_EVENTS = 8


class DoctorScreen(DetailScreen):
    """Lists the diagnosis; the line under the cursor stands whole below it."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_of(DOCTOR_KEYS)
    KEYS = DOCTOR_KEYS

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

    def detail(self) -> list[str]:
        """Returns the whole remark, the line of code that helps, its first events."""
        remark = self.remark
        if remark is None:
            return []
        events = ", ".join(str(event) for event in remark.events[:_SHOWN_EVENTS])
        told = [remark.text, remark.code, f"first events: {events}" if events else ""]
        return [text for text in told if text]

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
