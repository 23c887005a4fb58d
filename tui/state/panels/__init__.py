"""What the panels below or beside the tree show of the row under the cursor."""

from ptx.tui.state.panels.choice import PANELS, Choice, make_panel
from ptx.tui.state.panels.info import partner_of
from ptx.tui.state.panels.panel import Panel, PanelLine, Subject, nodes_of_activities
from ptx.tui.state.panels.raw import raw_events
from ptx.tui.state.panels.steps import step_choices

__all__ = [
    "PANELS",
    "Choice",
    "Panel",
    "PanelLine",
    "Subject",
    "make_panel",
    "nodes_of_activities",
    "partner_of",
    "raw_events",
    "step_choices",
]
