"""The signs that the screens draw with, in Unicode and in ASCII."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Glyphs:
    """One set of signs; each is one cell wide. `bar` is empty where bars are made of letters."""

    opened: str
    closed: str
    join: str
    ellipsis: str
    deeper: str
    horizontal: str
    vertical: str
    full: str
    idle: str


UNICODE = Glyphs("▾", "▸", "›", "…", "⋯", "─", "│", "█", "·")
ASCII = Glyphs("v", ">", ">", "~", ".", "-", "|", "#", ".")
