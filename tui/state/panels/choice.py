"""Which panels a row has something for, and which of them are shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptx.profiling.structure.tree import NodeKind
from ptx.tui.state.panels.decode import decode_panel
from ptx.tui.state.panels.host import host_panel
from ptx.tui.state.panels.info import info_panel
from ptx.tui.state.panels.kernels import kernel_panel
from ptx.tui.state.panels.panel import Panel, Subject
from ptx.tui.state.panels.source import has_frames, source_panel
from ptx.tui.state.panels.tensors import has_inputs, tensor_panel

if TYPE_CHECKING:
    from ptx.tui.state.explore import ExploreRows

PANELS = {
    "kernels": "Kernels",
    "host": "Host",
    "tensors": "Tensors",
    "decode": "Decode",
    "source": "Source",
    "info": "Info",
}
"""The names of the panels as they stand on the screen, in their order there."""

_COMPANIONS = {
    "kernels": ("host", "info"),
    "host": ("kernels", "source", "info"),
    "tensors": ("decode", "source", "info"),
    "decode": ("tensors", "kernels"),
    "source": ("info",),
    "info": ("source", "host"),
}


def make_panel(name: str, rows: ExploreRows, row: int, width: int) -> Panel:
    """Returns the panel of this name for a row of the tree, -1 for none.

    Args:
        name: a key of `PANELS`.
        rows: the tree.
        row: its row.
        width: of the panel; texts are broken to it.
    """
    if row < 0:
        return Panel("no row here", (), [])
    subject = Subject(rows, row)
    if name == "tensors":
        return tensor_panel(subject, width)
    if name == "decode":
        return decode_panel(subject, width)
    makers = {
        "kernels": kernel_panel,
        "host": host_panel,
        "source": source_panel,
        "info": info_panel,
    }
    return makers[name](subject)


class Choice:
    """The panel that the user chose by key: it stays while a row has something for it.

    On the row where it was chosen it is shown in any case, and says why it is empty.
    """

    def __init__(self) -> None:
        self._name: str | None = None
        self._chosen_at: tuple[ExploreRows, int] | None = None

    def choose(self, name: str, rows: ExploreRows, row: int) -> None:
        """Chooses a panel on a row."""
        self._name = name
        self._chosen_at = (rows, row)

    def shown(self, rows: ExploreRows, row: int, *, two: bool) -> tuple[str, tuple[str, ...]]:
        """Returns (the panel in front, all that are shown in their order on the screen)."""
        if row < 0:
            return "kernels", ("kernels",)
        subject = Subject(rows, row)
        name = self._name
        if name is None or not (self._chosen_at == (rows, row) or _says(name, subject)):
            name = _first(subject)
        if not two:
            return name, (name,)
        beside = next((k for k in _COMPANIONS[name] if _says(k, subject)), None)
        shown = (name,) if beside is None else (name, beside)
        return name, tuple(sorted(shown, key=list(PANELS).index))


def _first(subject: Subject) -> str:
    """Returns the panel that answers what a row makes one ask."""
    if not len(subject.activities):
        return "host"
    if subject.is_leaf and subject.kind is NodeKind.OP:
        return "tensors" if has_inputs(subject) else "decode"
    return "kernels"


def _says(name: str, subject: Subject) -> bool:
    """Returns whether a panel has something to say of a row."""
    if name in ("kernels", "decode"):
        return len(subject.activities) > 0
    if name == "host":
        totals = subject.rows.lens.totals
        spent = totals.idle_ns if subject.rows.has_gpu else totals.cpu_ns
        return bool(spent[subject.row])
    if name == "tensors":
        return has_inputs(subject)
    if name == "source":
        return subject.inner >= 0 and has_frames(subject.structure)
    return True
