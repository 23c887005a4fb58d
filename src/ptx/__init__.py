"""ptx: a terminal explorer for PyTorch Profiler traces."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ptx.profiling.api import Trace, load
    from ptx.profiling.kernels.decode import decode

__version__ = "0.1.0"

__all__ = ["Trace", "__version__", "decode", "load"]


def __getattr__(name: str) -> object:
    # The public names load on first use: `ptx --help` imports this file and must stay light.
    if name in ("Trace", "load"):
        from ptx.profiling import api

        value: object = getattr(api, name)
        globals()[name] = value
        return value
    if name == "decode":
        from ptx.profiling.kernels.decode import decode

        globals()[name] = decode
        return decode
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
