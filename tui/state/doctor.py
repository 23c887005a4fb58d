"""What is wrong with a trace, or was not recorded, as rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptx.profiling.report.remarks import remarks_of
from ptx.tui.state.rows import FlatRows, Row

if TYPE_CHECKING:
    from ptx.profiling.structure.structure import Structure
    from ptx.tui.state.rows import Role

_ROLES: dict[str, Role] = {"error": "alert", "warning": "strong", "ok": "dim"}


class DoctorRows(FlatRows):
    """The diagnosis of a trace; `remarks` are in the order of the rows."""

    def __init__(self, structure: Structure) -> None:
        self.remarks = remarks_of(structure)
        rows = [
            Row(f"{remark.weight:<8}{remark.text}", role=_ROLES.get(remark.weight, "normal"))
            for remark in self.remarks
        ]
        super().__init__("what was found in this trace, and what was not recorded", (), rows)
