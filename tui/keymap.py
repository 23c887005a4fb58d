"""The one table of keys: bindings, footer, palette, help and README are made from it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Key:
    """A key (or several for one thing), the screen's action, and what it does in a few words.

    `footer` is the short form for the last line, empty for keys that do not stand there; `shown`
    is how help and footer write the keys, the most usual one first.
    """

    keys: tuple[str, ...]
    action: str
    does: str
    shown: str
    group: str
    footer: str = ""


MOVE, TREE, LOOK, FIND, PANELS, APP = "move", "tree", "show", "find", "panels", "program"
VIEWS = "views"

EXPLORE_KEYS = (
    Key(("down", "j"), "move(1)", "next row", "↓ j", MOVE),
    Key(("up", "k"), "move(-1)", "previous row", "↑ k", MOVE),
    Key(("pagedown",), "page(1.0)", "next page", "PgDn", MOVE),
    Key(("pageup",), "page(-1.0)", "previous page", "PgUp", MOVE),
    Key(("ctrl+d",), "page(0.5)", "half a page on", "ctrl+d", MOVE),
    Key(("ctrl+u",), "page(-0.5)", "half a page back", "ctrl+u", MOVE),
    Key(("home", "g"), "home", "first row", "g Home", MOVE),
    Key(("end", "G"), "end", "last row", "G End", MOVE),
    Key(("right", "l"), "inward", "open, then enter; in a panel: next panel", "→ l", TREE),
    Key(("left", "h"), "outward", "close, then parent; in a panel: previous panel", "← h", TREE),
    Key(("space",), "fold", "fold or unfold", "space", TREE, "fold"),
    Key(("c",), "costliest", "down the costliest path to its leaf", "c", TREE, "costliest"),
    Key(("e",), "open_below", "open all below", "e", TREE),
    Key(("E",), "start_state", "back to the start state", "E", TREE),
    Key(("x",), "instances", "list what a row like 6x stands for, or fold it", "x", TREE),
    Key(("X",), "all_instances", "the same for all rows", "X", TREE),
    Key(("p",), "layer('frames')", "Python frames on or off", "p", LOOK),
    Key(("r",), "layer('calls')", "runtime calls and launches on or off", "r", LOOK),
    Key(("v",), "layer('views')", "view ops on or off", "v", LOOK),
    Key(("u",), "layer('empty')", "rows without GPU work on or off", "u", LOOK),
    Key(("o",), "order", "order: start state, by cost, by time", "o", LOOK),
    Key(("percent_sign",), "share", "share of the step, of GPU busy, of the parent", "%", LOOK),
    Key(("vertical_line",), "layout", "panel beside or below the tree", "|", LOOK),
    Key(("z",), "zoom", "focused pane over the whole screen", "z", LOOK),
    Key(("less_than_sign",), "step(-1)", "previous step", "<", LOOK),
    Key(("greater_than_sign",), "step(1)", "next step", ">", LOOK),
    Key(("slash",), "find", "find a name", "/", FIND, "find"),
    Key(("n",), "again(1)", "next hit; after Enter in a panel: its next place", "n", FIND),
    Key(("N",), "again(-1)", "previous hit", "N", FIND),
    Key(("ampersand",), "filter", "only rows with a name; empty shows all", "&", FIND),
    Key(("colon",), "go_to", "go to 12.5ms, step 3, trace, ev 1234, corr 77", ":", FIND),
    Key(
        ("right_square_bracket", "full_stop"),
        "neighbour(1)",
        "next kernel in time",
        "] .",
        FIND,
    ),
    Key(
        ("left_square_bracket", "comma"),
        "neighbour(-1)",
        "previous kernel in time",
        "[ ,",
        FIND,
    ),
    Key(("m",), "mark", "mark this row with a letter", "m", FIND),
    Key(("apostrophe",), "to_mark", "go to the mark of a letter", "'", FIND),
    Key(("ctrl+o",), "jump_back", "back to before the last jump", "ctrl+o", FIND),
    Key(("tab",), "next_pane(1)", "next pane", "Tab", PANELS),
    Key(("shift+tab",), "next_pane(-1)", "previous pane", "shift+Tab", PANELS),
    Key(
        ("enter",), "inspect", "into the panel; there: to the line's op", "Enter", PANELS, "inspect"
    ),
    Key(("K",), "panel('kernels')", "kernels of the row", "K", PANELS),
    Key(("H",), "panel('host')", "what the host did while the GPU was idle", "H", PANELS),
    Key(("T",), "panel('tensors')", "the op's tensors, and what it did with them", "T", PANELS),
    Key(("D",), "panel('decode')", "what the kernel's name says", "D", PANELS),
    Key(("S",), "panel('source')", "modules and Python frames above", "S", PANELS),
    Key(("I",), "panel('info')", "what is recorded of the event", "I", PANELS),
    Key(("R",), "raw", "JSON of op, launch and kernel in the pager", "R", PANELS),
    Key(("y",), "copy_row", "copy the row", "y", PANELS),
    Key(("Y",), "write_file", "write the focused pane to a file", "Y", PANELS),
    Key(("1",), "view('explore')", "the op tree of the step", "1", VIEWS),
    Key(("2",), "view('timeline')", "the step over time: host, streams, queue", "2", VIEWS),
    Key(("3",), "view('top')", "the costliest kernels, ops, modules, shapes", "3", VIEWS),
    Key(("4",), "view('findings')", "what holds the step back, and what would fix it", "4", VIEWS),
    Key(("8",), "view('doctor')", "what is wrong with this trace, or missing", "8", VIEWS),
    Key(("question_mark", "f1"), "show_help", "all keys", "? F1", APP, "help"),
    Key(("ctrl+p",), "app.command_palette", "every action by name", "ctrl+p", APP),
    Key(("ctrl+z",), "app.suspend_process", "to the shell; fg returns", "ctrl+z", APP),
    Key(("ctrl+l",), "redraw", "draw the screen anew", "ctrl+l", APP),
    Key(
        ("q", "escape"), "out", "out: popup, filter, panel, then the program", "q Esc", APP, "quit"
    ),
)


_VIEW_DIGITS = "1-4 8"
_FOOTER_ORDER = ("Enter", "space", "c", "]", "w", "a", "Tab", "o", "/", _VIEW_DIGITS, "?", "q")


def _same(*actions: str) -> tuple[Key, ...]:
    """Returns the explorer's keys of some actions; what is in brackets need not be said."""
    return tuple(k for k in EXPLORE_KEYS if k.action.partition("(")[0] in actions)


_LIST_KEYS = _same("move", "page", "home", "end", "find", "again")
_PROGRAM_KEYS = _same(
    *("copy_row", "write_file", "view", "show_help", "app.command_palette"),
    *("app.suspend_process", "redraw"),
)

TOP_KEYS = (
    *_LIST_KEYS,
    Key(("ampersand",), "filter", "only groups with a name; empty shows all", "&", FIND),
    Key(
        ("enter",), "inspect", "where the group's instances are in the tree", "Enter", FIND, "tree"
    ),
    Key(("tab", "right", "l"), "grouping(1)", "group by the next kind", "Tab → l", LOOK, "by op"),
    Key(("shift+tab", "left", "h"), "grouping(-1)", "group by the kind before", "← h", LOOK),
    Key(("o",), "order", "sort by the next column", "o", LOOK, "order"),
    *_same("step"),
    *_PROGRAM_KEYS,
    Key(("q", "escape"), "out", "out: filter, then back to the tree", "q Esc", APP, "back"),
)

TIMELINE_KEYS = (
    *_same("move", "page", "home", "end"),
    Key(
        ("right_square_bracket", "full_stop", "right", "l"),
        "neighbour(1)",
        "next slice of the lane",
        "] . → l",
        FIND,
        "next",
    ),
    Key(
        ("left_square_bracket", "comma", "left", "h"),
        "neighbour(-1)",
        "previous slice of the lane",
        "[ , ← h",
        FIND,
    ),
    Key(("w",), "zoom_time(0.5)", "half the time, about the cursor", "w", LOOK, "zoom"),
    Key(("s",), "zoom_time(2.0)", "twice the time, about the cursor", "s", LOOK),
    Key(("a",), "pan(-0.25)", "a quarter of the screen back in time", "a", LOOK, "pan"),
    Key(("d",), "pan(0.25)", "a quarter of the screen on in time", "d", LOOK),
    Key(("f",), "fit", "fit the tree's row; again: the slice under the cursor", "f", LOOK),
    Key(("0",), "whole_step", "the whole step", "0", LOOK),
    Key(("m",), "mark", "mark this time; two marks show how far apart they are", "m", FIND),
    *_same("to_mark", "step"),
    Key(("enter",), "inspect", "the slice under the cursor in the tree", "Enter", FIND, "tree"),
    *_PROGRAM_KEYS,
    Key(("q", "escape"), "out", "back to the tree", "q Esc", APP, "back"),
)

_BACK = Key(("q", "escape"), "out", "back to the tree", "q Esc", APP, "back")

DOCTOR_KEYS = (
    *_LIST_KEYS,
    Key(("enter",), "inspect", "where its events are in the tree", "Enter", FIND, "events"),
    *_PROGRAM_KEYS,
    _BACK,
)

FINDING_KEYS = (
    *_LIST_KEYS,
    Key(("enter",), "inspect", "its evidence in the tree; n N go on", "Enter", FIND, "evidence"),
    *_same("step"),
    *_PROGRAM_KEYS,
    _BACK,
)


def footer(keys: tuple[Key, ...], signs: dict[str, str]) -> list[tuple[str, str]]:
    """Returns (key, word) of the keys that stand in the footer; `signs` replaces key names."""
    shown = {key.shown.split()[0]: key.footer for key in keys if key.footer}
    if any(key.group == VIEWS for key in keys):
        shown[_VIEW_DIGITS] = "views"
    return [(signs.get(name, name), shown[name]) for name in _FOOTER_ORDER if name in shown]
