"""Answers about a trace that are computed once, however many commands and panels ask."""

from __future__ import annotations

from functools import update_wrapper
from typing import TYPE_CHECKING, Generic, TypeVar
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from collections.abc import Callable

    from ptx.profiling.structure.structure import Structure

Answer = TypeVar("Answer")


class once_per_trace(Generic[Answer]):
    """Keeps a function's answer for as long as the trace itself is in use."""

    def __init__(self, function: Callable[[Structure], Answer]) -> None:
        self._function = function
        self._known: WeakKeyDictionary[Structure, Answer] = WeakKeyDictionary()
        update_wrapper(self, function)

    def __call__(self, structure: Structure) -> Answer:
        """Returns the answer, computed if nobody has asked yet."""
        if structure not in self._known:
            self._known[structure] = self._function(structure)
        return self._known[structure]

    def keep(self, structure: Structure, answer: Answer) -> None:
        """Makes something the answer for a trace, in place of what would be computed."""
        self._known[structure] = answer

    def if_known(self, structure: Structure) -> Answer | None:
        """Returns the answer if it was computed before, else None, at once."""
        return self._known.get(structure)
