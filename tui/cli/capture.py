"""`ptx capture`: runs a script under the profiler and leaves a trace of a few steady steps."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from ptx.profiling.capture.capture import Captured, Request

_DEFAULT_SKIP = 5
_DEFAULT_WARMUP = 1
_DEFAULT_STEPS = 3
_LEAST_SLICE_S = 0.001


class CaptureCommand:
    """Runs the user's command; its exit code is the command's own."""

    name = "capture"
    help = "run a script under the profiler, without changing it, and write the trace"

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        """Adds the command's arguments."""
        parser.usage = "ptx capture [options] -- CMD ..."
        parser.add_argument(
            "-o", "--output", metavar="OUT", help="the trace: OUT.json, OUT.json.gz or a folder"
        )
        parser.add_argument(
            "--python",
            metavar="PATH",
            help="the Python for x.py and -m; the first on PATH otherwise",
        )
        _add_steps(parser)
        _add_flags(parser)
        parser.add_argument(
            "--ranks",
            type=_ranks,
            metavar="LIST",
            help="the ranks of a job to record: 0,3 or all (the default)",
        )
        parser.add_argument(
            "--follow", action="store_true", help="record the processes that the script starts too"
        )
        parser.add_argument(
            "--pair",
            action="store_true",
            help="run it eager and compiled, and leave a folder with both traces",
        )
        parser.add_argument(
            "cmd",
            metavar="CMD",
            nargs=argparse.REMAINDER,
            help="x.py ..., -m module ..., or any command that runs one, such as torchrun ...",
        )

    def run(self, args: argparse.Namespace) -> int:
        """Runs the script, says on stderr what was written, and returns the script's exit code.

        Raises:
            PtxError: the command line is wrong (exit code 2), or ptx failed before the script
                started (125).
        """
        from ptx.profiling.capture.capture import capture
        from ptx.profiling.capture.messages import capture_lines

        request = _request(args)
        if args.pair:
            return _run_pair(request)
        captured = capture(request)
        _say([*capture_lines(captured, request), *_next(captured)])
        return captured.code


def _add_steps(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--steps",
        type=_at_least(1),
        default=_DEFAULT_STEPS,
        metavar="N",
        help="steps to record (%(default)s)",
    )
    parser.add_argument(
        "--skip",
        type=_at_least(0),
        default=_DEFAULT_SKIP,
        metavar="N",
        help="steps to let pass first (%(default)s)",
    )
    parser.add_argument(
        "--warmup",
        type=_at_least(0),
        default=_DEFAULT_WARMUP,
        metavar="N",
        help="steps after those with the profiler on and nothing kept (%(default)s)",
    )
    parser.add_argument(
        "--step-fn",
        type=_function,
        metavar="MODULE:NAME",
        help="each call of this function begins a step; __main__ is the script",
    )
    parser.add_argument(
        "--slice",
        type=_seconds,
        default=0.0,
        metavar="SECONDS",
        help="for a script without steps: each slice of time of this length is one",
    )
    parser.add_argument(
        "--deep",
        action="store_true",
        help="one more step with an Execution Trace: exact outputs, strides and storages (slow)",
    )


def _add_flags(parser: argparse.ArgumentParser) -> None:
    for name, default, what in (
        ("shapes", True, "shapes, strides and dtypes of inputs"),
        ("stacks", None, "Python frames and modules; not in a pair unless asked for"),
        ("modules", None, "modules of TorchScript"),
        ("memory", False, "allocations; on a CPU torch then warns on stderr"),
    ):
        parser.add_argument(
            f"--{name}", action=argparse.BooleanOptionalAction, default=default, help=what
        )


def _request(args: argparse.Namespace) -> Request:
    from ptx.profiling.capture.capture import Request
    from ptx.profiling.capture.inside.settings import Plan
    from ptx.profiling.errors import UsageError

    if args.slice and args.step_fn:
        raise UsageError("--slice and --step-fn exclude each other")
    words = args.cmd[1:] if args.cmd[:1] == ["--"] else args.cmd
    if not words:
        raise UsageError("what to run is missing", hint="ptx capture -- train.py --lr 3")
    # frames cost time, and a pair is there to compare times
    stacks, modules = (
        not args.pair if flag is None else flag for flag in (args.stacks, args.modules)
    )
    main = Plan("", args.warmup, args.steps, args.shapes, stacks, args.memory, modules)
    plans = (main, Plan(".deep", 0, 1, True, stacks, False, modules, deep=True))
    return Request(
        tuple(words),
        args.python,
        args.output,
        args.skip,
        plans if args.deep else plans[:1],
        args.step_fn or "",
        args.slice,
        args.ranks,
        args.follow,
    )


def _run_pair(request: Request) -> int:
    from ptx.profiling.capture.pair import capture_pair

    code, lines = capture_pair(request)
    _say(lines)
    return code


def _next(captured: Captured) -> list[str]:
    import shlex

    paths = [path for path in captured.traces.values() if ".deep." not in path.name]
    return [f"next: ptx {' '.join(shlex.quote(str(path)) for path in paths)}"] if paths else []


def _say(lines: list[str]) -> None:
    """Prints on stderr: stdout is the script's."""
    from ptx.profiling.sanitise import clean

    for line in lines:
        print(clean(f"ptx: {line}"), file=sys.stderr)


def _at_least(least: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"{text!r} is no number from {least} on")
        return int(text)

    return number


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not _LEAST_SLICE_S <= seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is no time from {_LEAST_SLICE_S} s on")
    return seconds


def _function(text: str) -> str:
    module, colon, name = text.partition(":")
    if not (module and colon and name) or not all(part.isidentifier() for part in name.split(".")):
        raise argparse.ArgumentTypeError(f"{text!r} is not MODULE:NAME")
    return text


def _ranks(text: str) -> tuple[int, ...] | None:
    if text == "all":
        return None
    words = text.split(",")
    if not all(word.isdecimal() for word in words):
        raise argparse.ArgumentTypeError(f"{text!r} is neither numbers with commas nor all")
    return tuple(int(word) for word in words)


COMMAND = CaptureCommand()
