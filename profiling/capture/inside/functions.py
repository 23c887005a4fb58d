"""Watches the calls of one function that the user named."""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType


def watch(name: str, on_call: Callable[[], None]) -> None:
    """Calls `on_call` before each call of a function, the first one included.

    The function may live in the script itself, so no import tells when it exists. Its first call
    is seen by a profile function of this thread, which then wraps the function where it is
    defined, and goes.

    Args:
        name: `module:qualname`; the script itself is `__main__`, or its file's name.
        on_call: never raises.
    """
    module, _, qualname = name.partition(":")
    last = qualname.rpartition(".")[2]

    def look(frame: FrameType, event: str, argument: object) -> None:
        if event != "call" or frame.f_code.co_name != last:
            return
        if module not in _names(frame.f_globals) or not _wrap(frame.f_globals, qualname, on_call):
            return
        sys.setprofile(None)
        on_call()

    if sys.getprofile() is None:
        sys.setprofile(look)


def _names(namespace: dict[str, Any]) -> set[str]:
    """Returns the names by which a user may call a module."""
    names = {str(namespace.get("__name__"))}
    spec = namespace.get("__spec__")
    if spec is not None:
        names.add(spec.name)
    elif "__main__" in names:
        file = str(namespace.get("__file__", "")).replace("\\", "/")
        names.add(file.rpartition("/")[2].removesuffix(".py"))
    return names


def _wrap(namespace: dict[str, Any], qualname: str, on_call: Callable[[], None]) -> bool:
    """Replaces a function, or a method of a class, by one that calls back first."""
    holder_name, _, name = qualname.rpartition(".")
    holder: Any = None
    for part in holder_name.split(".") if holder_name else []:
        holder = namespace.get(part) if holder is None else getattr(holder, part, None)
        if holder is None:
            return False
    function = namespace.get(name) if holder is None else vars(holder).get(name)
    if not callable(function):
        return False

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 (any signature)
        on_call()
        return function(*args, **kwargs)

    if holder is None:
        namespace[name] = wrapper
    else:
        setattr(holder, name, wrapper)
    return True
