"""ptx: a terminal explorer for PyTorch Profiler traces."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ptx.profiling.api import Trace, load
    from ptx.profiling.capture.in_code import profile, step, trace_handler
    from ptx.profiling.kernels.decode import decode

__version__ = "0.1.0"

__all__ = ["Trace", "__version__", "decode", "load", "profile", "step", "trace_handler"]


_HOMES = {
    "Trace": "ptx.profiling.api",
    "decode": "ptx.profiling.kernels.decode",
    "load": "ptx.profiling.api",
    "profile": "ptx.profiling.capture.in_code",
    "step": "ptx.profiling.capture.in_code",
    "trace_handler": "ptx.profiling.capture.in_code",
}


def __getattr__(name: str) -> object:
    # The public names load on first use: `ptx --help` imports this file and must stay light.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
