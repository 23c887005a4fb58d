"""Makes way for the script's own profiler: a second one in the process ends it with a crash."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType


def watch_foreign_profilers(
    torch: ModuleType,
    is_own_call: Callable[[], bool],
    on_begin: Callable[[], None],
    on_end: Callable[[], None],
) -> None:
    """Calls `on_begin` before a profiler of the script turns on, and `on_end` after it is off.

    torch.profiler and the older torch.autograd.profiler both pass through the methods that are
    wrapped here, in every state of their schedules.

    Args:
        torch: the imported package.
        is_own_call: whether the call comes from ptx.
        on_begin: may close the window that ptx has open.
        on_end: may open one again.
    """
    profile = torch.autograd.profiler.profile

    def before(name: str) -> None:
        original = getattr(profile, name, None)
        if original is None:
            return  # another release of torch

        @functools.wraps(original)
        def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 (as in torch)
            if not is_own_call() and getattr(self, "enabled", True):
                on_begin()
            return original(self, *args, **kwargs)

        setattr(profile, name, wrapper)

    for name in ("__enter__", "_prepare_trace", "_start_trace"):
        before(name)
    original_exit = profile.__exit__

    @functools.wraps(original_exit)
    def leave(self: Any, *exc_info: Any) -> Any:  # noqa: ANN401 (as in torch)
        found = original_exit(self, *exc_info)
        if not is_own_call() and getattr(self, "enabled", True):
            on_end()
        return found

    profile.__exit__ = leave
