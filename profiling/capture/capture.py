"""Runs a script under the profiler and brings its traces to their place."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ptx.profiling.capture.child import run_child
from ptx.profiling.capture.command import environment, resolve
from ptx.profiling.capture.inside.settings import Plan, Settings
from ptx.profiling.capture.outcome import Process, read_processes
from ptx.profiling.capture.output import RAW_NAME, Output, output_for, private_folder

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ptx.profiling.capture.command import Command


@dataclass(frozen=True, slots=True)
class Request:
    """What the user asked for.

    Args:
        words: the command to run.
        python: the interpreter for a bare script or module; the first on PATH when None.
        output: the file or folder to write to; a name from script and time when None.
        skip: steps to let pass before the first window.
        plans: the windows.
        step_function: `module:qualname` of the function whose calls are the steps, or "".
        slice_s: seconds of a slice of time that serves as a step; 0 for real steps.
        ranks: the ranks to record; None for all.
        follow: whether the processes that the script starts are recorded too.
    """

    words: tuple[str, ...]
    python: str | None
    output: str | None
    skip: int
    plans: tuple[Plan, ...]
    step_function: str = ""
    slice_s: float = 0.0
    ranks: tuple[int, ...] | None = None
    follow: bool = False

    def command(self) -> Command:
        """Returns the program to start.

        Raises:
            PtxError: there is none.
        """
        return resolve(list(self.words), self.python)


@dataclass(frozen=True, slots=True)
class Captured:
    """What came of it.

    Args:
        code: the exit code of the script.
        processes: what each hooked process reported.
        traces: the path of each trace by the path under which its process reported it.
    """

    code: int
    processes: list[Process]
    traces: dict[str, Path]


def capture(request: Request) -> Captured:
    """Runs the script once and returns its exit code and traces.

    Raises:
        PtxError: ptx failed before the script started.
    """
    command = request.command()
    output = output_for(request.output, command.name)
    with private_folder(output.folder) as folder:
        settings = settings_for(request, folder, request.plans)
        return run(command, settings, output)


def settings_for(
    request: Request,
    folder: Path,
    plans: tuple[Plan, ...],
    *,
    compile_root: bool = False,
    seed: int | None = None,
) -> Settings:
    """Returns what the hook of one run needs to know; it writes into a private folder."""
    return Settings(
        reports=str(folder),
        target=str(folder / RAW_NAME),
        skip=request.skip,
        plans=plans,
        step_function=request.step_function,
        slice_s=request.slice_s,
        ranks=request.ranks,
        follow=request.follow,
        compile=compile_root,
        seed=seed,
    )


def run(
    command: Command, settings: Settings, output: Output, extra: Mapping[str, str] | None = None
) -> Captured:
    """Runs a command with the hook and publishes what it wrote.

    Args:
        command: the program.
        settings: what the hook shall do.
        output: where the traces go.
        extra: more of the environment.
    """
    code = run_child(command.argv, {**environment(settings.to_text()), **(extra or {})})
    processes = read_processes(Path(settings.reports))
    traces = {}
    for process in processes:
        for facts in process.all("trace"):
            raw = Path(facts["path"])
            deep = raw.with_name(f"{raw.name.removesuffix('.json')}.et.json")
            if deep.is_file():
                output.publish(deep)
            traces[str(raw)] = output.publish(raw)
    return Captured(code, processes, traces)
