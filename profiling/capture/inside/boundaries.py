"""Where one step of the script ends and the next begins.

Several things can tell, in this order: the script says so itself (`ptx.step()`, or the `step()` of
a torch.profiler object), a function that the user named is called, an optimizer steps, the
outermost module is called, a DataLoader gives its next batch. The best one that shows up is
followed; a better one takes over when it comes. Slices of time are only for who asks for them.
"""

from __future__ import annotations

import functools
import threading
import time
import weakref
from enum import IntEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

PATIENCE_S = 5.0
"""How long a weaker source waits for a better one that may still come."""


class Source(IntEnum):
    """Who tells the boundaries, the best first."""

    SCRIPT = 0
    FUNCTION = 1
    OPTIMIZER = 2
    FORWARD = 3
    LOADER = 4
    CLOCK = 5

    @property
    def begins(self) -> bool:
        """Returns whether it tells begins of steps, so that its first boundary ends none."""
        return self in (Source.FUNCTION, Source.FORWARD, Source.LOADER, Source.CLOCK)


class Boundaries:
    """Follows the best source of boundaries and calls `on_boundary(source)` at each.

    Args:
        on_boundary: called in the thread of the script that reached the boundary.
        only: the one source to follow; the best one when None.
        now: the clock, in seconds.
    """

    def __init__(
        self,
        on_boundary: Callable[[Source], None],
        *,
        only: Source | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.source: Source | None = None
        self.optimizers = 0
        self.done = False
        self._on_boundary = on_boundary
        self._only = only
        self._now = now
        self._first_hit: float | None = None
        self._thread = 0
        self._object: weakref.ref[Any] | None = None

    def hit(self, source: Source, of: object = None) -> None:
        """Takes a boundary that a source saw.

        Args:
            source: who saw it.
            of: the optimizer or loader that made it; only those of the first one count.
        """
        if self.done or self._only not in (None, source):
            return
        if source is not self.source:
            if not self._is_better(source):
                return
            self.source = source
            self._thread = threading.get_ident()
            # weakly: what ptx held on to would outlive the script's own teardown
            self._object = None if of is None else weakref.ref(of)
        elif threading.get_ident() != self._thread or of is not self._followed():
            return
        self._on_boundary(source)

    def _followed(self) -> object:
        return None if self._object is None else self._object()

    def _is_better(self, source: Source) -> bool:
        now = self._now()
        if self._first_hit is None:
            self._first_hit = now
        if self.source is not None and source > self.source:
            return False
        must_wait = source is Source.LOADER or (source is Source.FORWARD and self.optimizers > 0)
        return not must_wait or now - self._first_hit >= PATIENCE_S


def watch_profilers(torch: ModuleType, hit: Callable[[Source], None]) -> None:
    """Calls `hit` at each `step()` of the script's own torch.profiler objects."""
    profile = torch.profiler.profile
    original = profile.step

    @functools.wraps(original)
    def step(self: Any) -> Any:  # noqa: ANN401 (as in torch)
        found = original(self)
        hit(Source.SCRIPT)
        return found

    profile.step = step


def watch_optimizers(torch: ModuleType, boundaries: Boundaries, hit: Callable[..., None]) -> None:
    """Calls `hit` after each optimizer's step, and counts the optimizers that are made.

    The hooks that torch offers run inside its own annotation of the step, which a mark that begins
    there would cross. So this goes around the wrapper that torch itself puts around `step`.
    """
    optimizer = torch.optim.Optimizer
    original_wrap, original_init = optimizer.profile_hook_step, optimizer.__init__
    is_compiling = torch.compiler.is_compiling
    depth = 0

    @functools.wraps(original_wrap)
    def profile_hook_step(function: Callable[..., Any]) -> Callable[..., Any]:
        inner = original_wrap(function)

        @functools.wraps(inner)
        def step(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 (as in torch)
            nonlocal depth
            if is_compiling():
                return inner(*args, **kwargs)
            depth += 1
            try:
                found = inner(*args, **kwargs)
            finally:
                depth -= 1
            if depth == 0:  # a step that calls its base class's step is one step
                hit(Source.OPTIMIZER, args[0])
            return found

        return step

    @functools.wraps(original_init)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 (as in torch)
        original_init(self, *args, **kwargs)
        boundaries.optimizers += 1

    optimizer.profile_hook_step = staticmethod(profile_hook_step)
    optimizer.__init__ = init


def watch_loaders(torch: ModuleType, hit: Callable[..., None]) -> None:
    """Calls `hit` before a DataLoader gives each batch."""
    iterator = torch.utils.data.dataloader._BaseDataLoaderIter
    original = iterator.__next__

    @functools.wraps(original)
    def next_batch(self: Any) -> Any:  # noqa: ANN401 (as in torch)
        hit(Source.LOADER)
        return original(self)

    iterator.__next__ = next_batch


class RootModule:
    """Finds the outermost module and calls `on_call(module)` before each of its forwards.

    A hook on all modules finds it. That one goes at once, or as soon as the script compiles a plain
    function: Dynamo would trace it, and compile anew when it goes. What remains is a hook on one
    instance. Compiling a module starts the search again, for the compiled one is called then.
    """

    def __init__(self, torch: ModuleType, on_call: Callable[[Any], None]) -> None:
        self.compiled = False
        self._torch = torch
        self._compile = torch.compile
        self._on_call = on_call
        self._handle: Any = None
        self._restore_class: Callable[[], None] | None = None
        self._stopped = False
        self._watch_compile()
        self._search()

    def stop(self) -> None:
        """Takes every hook away."""
        self._stopped = True
        self._remove()

    def compile_forward(self, module: Any) -> None:  # noqa: ANN401 (a torch module)
        """Compiles the forward of one instance, whose type and state stay as they are.

        `Module.compile` is not used: on a plain `nn.Sequential` it compiles nothing and does not
        say so.
        """
        self.compiled = True
        module.forward = self._compile(module.forward)

    def _search(self) -> None:
        register = self._torch.nn.modules.module.register_module_forward_pre_hook
        self._handle = register(self._found_in_call)

    def _found_in_call(self, module: Any, inputs: object) -> None:  # noqa: ANN401
        self._found(module)
        self._called(module, inputs)  # the hooks of this call are chosen already

    def _found(self, module: Any) -> None:  # noqa: ANN401 (a torch module)
        self._remove()
        self._handle = module.register_forward_pre_hook(self._called)

    def _called(self, module: Any, inputs: object) -> None:  # noqa: ANN401
        if not self._torch.compiler.is_compiling():
            self._on_call(module)

    def _remove(self) -> None:
        if self._handle is not None:
            self._handle.remove()
            self._handle = None
        if self._restore_class is not None:
            self._restore_class()
            self._restore_class = None

    def _watch_compile(self) -> None:
        original = self._compile

        @functools.wraps(original)
        def compile_(model: Any = None, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
            made = original(model, *args, **kwargs)
            self.compiled = True
            if not self._stopped:
                self._remove()
                if isinstance(made, self._torch.nn.Module):
                    self._search()
                    self._watch_class(type(made))
            return made

        setattr(self._torch, "compile", compile_)  # noqa: B010 (not declared)

    def _watch_class(self, kind: Any) -> None:  # noqa: ANN401 (a class of modules)
        """Finds a compiled module before its own call, which warns of hooks on all modules."""
        own = vars(kind).get("__call__")
        if own is None:
            return  # another release of torch, without the warning

        @functools.wraps(own)
        def call(module: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
            self._found(module)
            return own(module, *args, **kwargs)

        kind.__call__ = call

        def restore() -> None:
            kind.__call__ = own

        self._restore_class = restore
