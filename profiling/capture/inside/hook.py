"""The hook: waits for torch, finds the steps and records the planned windows.

It runs in the user's process, which need not have ptx, before the script. So it lives on the
standard library and torch, its neighbours are loaded by file path under private names, and until
the script imports torch it does nothing but wait. Whatever fails here is reported to
`ptx capture` and never raised.
"""

from __future__ import annotations

import importlib.util
import os
import random
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.abc import Loader
    from importlib.machinery import ModuleSpec
    from types import ModuleType

    from ptx.profiling.capture.inside import (
        boundaries,
        clock,
        exits,
        functions,
        guard,
        recorder,
        reports,
        settings,
        windows,
    )
    from ptx.profiling.capture.inside.settings import Plan, Settings
    from ptx.profiling.capture.inside.windows import Window
else:

    def _neighbour(name: str) -> ModuleType:
        """Returns the module of a file beside this one, under a name that no script uses."""
        path = Path(__file__).with_name(f"{name}.py")
        spec = importlib.util.spec_from_file_location(f"_ptx_capture_{name}", path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        return module

    boundaries = _neighbour("boundaries")
    clock = _neighbour("clock")
    exits = _neighbour("exits")
    functions = _neighbour("functions")
    guard = _neighbour("guard")
    recorder = _neighbour("recorder")
    reports = _neighbour("reports")
    settings = _neighbour("settings")
    windows = _neighbour("windows")

_LAUNCHERS = {"torchrun", "accelerate", "deepspeed", "horovodrun"}
_LAUNCHER_MODULES = {
    "torch.distributed.run",
    "torch.distributed.launch",
    "accelerate.commands.launch",
    "deepspeed.launcher.runner",
    "deepspeed.launcher.launch",
}


def start(folder: str) -> None:
    """Prepares this process; called before the script, with the environment still ptx's.

    Args:
        folder: the entry of PYTHONPATH that the processes of the script must not inherit.
    """
    asked = settings.from_text(os.environ[settings.VARIABLE])
    if _is_launcher(sys.orig_argv):
        return  # the processes that it starts are the ones to record
    if not asked.follow:
        _clean_environment(folder)
    report = reports.Report(asked.reports)
    report.say("hooked", python=sys.version.split()[0], executable=sys.executable)
    rank = os.environ.get("RANK", "")
    if asked.ranks is not None and rank.isdecimal() and int(rank) not in asked.ranks:
        return
    global _session
    _session = _Session(asked, report)
    sys.meta_path.insert(0, _TorchFinder(report, _session.begin))


def step() -> None:
    """Takes a boundary that the script itself marks, as `ptx.step()` does."""
    if _session is not None:
        _session.hit_by_script()


def _is_launcher(argv: Sequence[str]) -> bool:
    """Returns whether this process only starts others, which then are ranks of one job."""
    words = iter(argv[1:])
    for word in words:
        if word == "-m":
            return next(words, "") in _LAUNCHER_MODULES
        if word in ("-W", "-X"):
            next(words, "")
        elif not word.startswith("-"):
            return Path(word).name in _LAUNCHERS
    return False


def _clean_environment(folder: str) -> None:
    os.environ.pop(settings.VARIABLE, None)
    entries = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if folder in entries:
        entries.remove(folder)
    if any(entries):
        os.environ["PYTHONPATH"] = os.pathsep.join(entries)
    else:
        os.environ.pop("PYTHONPATH", None)


class _TorchFinder:
    """Calls back once, when the import of torch has ended; it finds nothing itself."""

    def __init__(self, report: reports.Report, on_import: Callable[[ModuleType], None]) -> None:
        self._report = report
        self._on_import = report.harmless(on_import)
        self._searching = False

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Returns the spec of torch with a loader that calls back, None for anything else."""
        if name != "torch" or self._searching:
            return None
        self._searching = True
        try:
            spec = importlib.util.find_spec("torch")
        finally:
            self._searching = False
        if spec is None or spec.loader is None:
            self._report.say("no torch", executable=sys.executable)
            return None
        self._watch(spec.loader)
        return spec

    def _watch(self, loader: Loader) -> None:
        # A spec may only be looked at, so the finder stays until one is loaded.
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            del loader.exec_module  # back to the method of its class
            sys.meta_path.remove(self)
            execute(module)
            self._on_import(module)

        loader.exec_module = exec_module  # type: ignore[method-assign]


class _Session:
    """Everything about one process that imported torch."""

    def __init__(self, asked: Settings, report: reports.Report) -> None:
        self._asked = asked
        self._report = report
        self._said: boundaries.Source | None = None
        self._hit: Callable[..., None] | None = None

    def begin(self, torch: ModuleType) -> None:
        """Installs what watches the script; the first boundary may come from now on."""
        self._torch = torch
        report = self._report
        report.say("torch", version=str(torch.__version__))
        self._finish = report.harmless(self._end)
        self._termination = exits.Termination(lambda: self._finish("SIGTERM"))
        self._recorder = recorder.Recorder(
            self._asked.plans,
            self._asked.skip,
            self._open_window,
            self._save,
            report,
            on_open=self._termination.arm,
            on_close=self._termination.disarm,
        )
        slice_s = self._asked.slice_s
        only = boundaries.Source.CLOCK if slice_s else None
        self._boundaries = boundaries.Boundaries(self._on_boundary, only=only)
        hit = self._hit = report.harmless(self._boundaries.hit)
        self._root = boundaries.RootModule(torch, report.harmless(self._on_root_call))
        boundaries.watch_profilers(torch, hit)
        boundaries.watch_optimizers(torch, self._boundaries, hit)
        boundaries.watch_loaders(torch, hit)
        guard.watch_foreign_profilers(
            torch,
            windows.calls_torch,
            report.harmless(self._recorder.foreign_begins),
            report.harmless(self._recorder.foreign_ends),
        )
        if slice_s:
            clock.start(slice_s, lambda: hit(boundaries.Source.CLOCK), self._is_done)
        if self._asked.step_function:
            functions.watch(self._asked.step_function, lambda: hit(boundaries.Source.FUNCTION))
        if self._asked.seed is not None:
            _seed(torch, self._asked.seed)
        exits.at_exit(lambda: self._finish(_reason()))

    def hit_by_script(self) -> None:
        """Takes a boundary from `ptx.step()`; before the import of torch there is none."""
        if self._hit is not None:
            self._hit(boundaries.Source.SCRIPT)

    def _on_root_call(self, module: Any) -> None:  # noqa: ANN401 (a torch module)
        if self._asked.compile and not self._root.compiled:
            self._root.compile_forward(module)
        self._boundaries.hit(boundaries.Source.FORWARD)

    def _on_boundary(self, source: boundaries.Source) -> None:
        if source is not self._said:
            self._said = source
            self._report.say("steps", source=source.name.lower())
        with self._termination.hold():
            self._recorder.boundary(begins=source.begins)
        if self._recorder.finished:
            self._boundaries.done = True
            self._root.stop()

    def _is_done(self) -> bool:
        return self._boundaries.done or not self._report.alive

    def _end(self, reason: str) -> None:
        self._recorder.finish(reason)

    def _open_window(self, plan: Plan) -> Window:
        path = self._path(plan)
        return windows.Window(self._torch, plan, path, windows.graphs())

    def _save(self, window: Window, cut: bool) -> None:
        window.save()
        self._report.say(
            "trace",
            path=window.path,
            steps=window.marked,
            cut=cut,
            ending=window.plan.ending,
            stop_ms=window.stop_ns / 1e6,
            save_ms=window.save_ns / 1e6,
            graphs_before=window.graphs_before,
            graphs=windows.graphs(),
            device=_device(self._torch),
        )

    def _path(self, plan: Plan) -> str:
        """Returns the path of a window's files without their ending; a job's ranks differ in it."""
        rank = os.environ.get("RANK", "")
        distributed = self._torch.distributed
        if not rank and distributed.is_available() and distributed.is_initialized():
            rank = str(distributed.get_rank())
        path = f"{self._asked.target}.rank{rank}" if rank else self._asked.target
        path += plan.ending
        return path if self._report.claim(Path(path).name) else f"{path}.pid{os.getpid()}"


_session: _Session | None = None


def _reason() -> str:
    return "the script failed" if hasattr(sys, "last_type") else recorder.ENDED


def _seed(torch: ModuleType, seed: int) -> None:
    torch.manual_seed(seed)
    random.seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed)


def _device(torch: ModuleType) -> str:
    for kind in ("cuda", "xpu"):
        module = getattr(torch, kind, None)
        if module is not None and module.is_available():
            return str(module.get_device_name())
    return "cpu"
