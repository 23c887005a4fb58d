"""Profiling from within a script: `ptx.profile`, `ptx.step`, `ptx.trace_handler`."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ptx.profiling.capture.inside.settings import Plan
from ptx.profiling.capture.inside.windows import Window
from ptx.profiling.capture.output import RAW_NAME, output_for, private_folder

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

_HOOK = "_ptx_capture_hook"


class profile:
    """Records a block of code: `with ptx.profile("out.json.gz") as p: ... p.step()`.

    The trace is written when the block ends, also by an exception. In a job of several ranks each
    one writes its own file, with `.rankN` before `.json`.

    Args:
        path: the trace; its name ends with `.json` or `.json.gz`. Or an existing folder.
        shapes: record shapes, strides and dtypes of inputs.
        stacks: record Python frames and modules.
        memory: record allocations.
        modules: record modules of TorchScript.
        deep: also write an Execution Trace, which knows every output and storage; slow.

    Raises:
        UsageError: the path has another ending.
        ImportError: there is no torch.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        shapes: bool = True,
        stacks: bool = True,
        memory: bool = False,
        modules: bool = True,
        deep: bool = False,
    ) -> None:
        self._output = output_for(os.fspath(path), _script_name())
        self._plan = Plan("", 0, 0, shapes, stacks, memory, modules, deep)
        self._step = 0
        self._stack = ExitStack()
        self._folder = Path()
        self._window: Window | None = None

    def __enter__(self) -> profile:
        """Starts to record, with step 0."""
        import torch

        self._folder = self._stack.enter_context(private_folder(self._output.folder))
        self._window = Window(torch, self._plan, str(self._folder / f"{RAW_NAME}{_rank_ending()}"))
        self._window.prepare()
        self._window.start()
        self._window.mark(0)
        return self

    def step(self) -> None:
        """Ends a step and begins the next."""
        if self._window is not None:
            self._step += 1
            self._window.mark(self._step)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Writes the trace."""
        window, self._window = self._window, None
        if window is None:
            return
        with self._stack:
            window.stop()
            window.save()
            for raw in sorted(self._folder.glob(f"{RAW_NAME}*.json")):
                self._output.publish(raw)


def step() -> None:
    """Marks the end of a step for `ptx capture`; does nothing in a script that runs without it."""
    hook = sys.modules.get(_HOOK)
    if hook is not None:
        hook.step()


def trace_handler(folder: str | os.PathLike[str]) -> Callable[[Any], None]:
    """Returns an `on_trace_ready` for torch.profiler that writes each window into a folder.

    The files are named `SCRIPT-TIME[.rankN][.wINDEX].json.gz`; the folder is made when needed.
    """
    windows = 0

    def write(profiler: Any) -> None:  # noqa: ANN401 (a torch.profiler.profile)
        nonlocal windows
        target = Path(folder)
        target.mkdir(parents=True, exist_ok=True)
        output = output_for(str(target), _script_name())
        with private_folder(target) as private:
            raw = private / f"{RAW_NAME}{_rank_ending()}.w{windows}.json"
            profiler.export_chrome_trace(str(raw))
            output.publish(raw)
        windows += 1

    return write


def _script_name() -> str:
    return Path(sys.argv[0]).stem or "trace" if sys.argv else "trace"


def _rank_ending() -> str:
    rank = os.environ.get("RANK", "")
    return f".rank{rank}" if rank.isdecimal() else ""
