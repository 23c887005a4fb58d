"""Answers about a trace that are computed once, however many commands and panels ask."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, TypeVar
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from collections.abc import Callable

    from ptx.profiling.structure.structure import Structure

Answer = TypeVar("Answer")


def once_per_trace(function: Callable[[Structure], Answer]) -> Callable[[Structure], Answer]:
    """Keeps a function's answer for as long as the trace itself is in use."""
    known: WeakKeyDictionary[Structure, Answer] = WeakKeyDictionary()

    @wraps(function)
    def answer(structure: Structure) -> Answer:
        if structure not in known:
            known[structure] = function(structure)
        return known[structure]

    return answer
