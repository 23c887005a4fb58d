"""Figures inside the sentences of the findings."""

from __future__ import annotations


def duration(ns: float) -> str:
    """Returns a time such as `1.4 ms` or `320 us`."""
    for scale, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "us")):
        if ns >= scale:
            return f"{ns / scale:.3g} {unit}"
    return f"{ns:.0f} ns"


def share(part: float, whole: float) -> str:
    """Returns a share such as `12 % of it`."""
    return f"{100 * part / whole:.0f} % of it" if whole else "all of it"


def times_a_step(count: float) -> str:
    """Returns a rate such as `8 times a step`, `once a step`."""
    if abs(count - 1) < 0.05:
        return "once a step"
    return f"{count:.3g} times a step"
