"""The events behind a row as the file has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ptx.tui.state.explore import ExploreRows


def raw_events(rows: ExploreRows, node: int) -> list[dict[str, Any]]:
    """Returns the row's event, and up to 20 launches and activities below it, as recorded."""
    structure = rows.structure
    inner = rows.lens.inner_nodes(node).tolist() if node >= 0 else []
    events = [int(event) for event in structure.tree.event[inner[:1]]]
    if not events:
        return []
    for k in rows.activities_of(node)[:20].tolist():
        launch = int(structure.activities.launch[k])
        events += [launch] if launch >= 0 else []
        events.append(int(structure.activities.event[k]))
    found = [structure.trace.args.event(event) for event in dict.fromkeys(events)]
    return [event for event in found if event is not None]
