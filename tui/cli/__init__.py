"""The command line: finds the command, runs it, and turns every error into one line."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING, NoReturn

from ptx import __version__
from ptx.profiling.errors import EXIT_UNUSABLE, PtxError, UsageError
from ptx.profiling.sanitise import clean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ptx.tui.cli._command import Command

COMMAND_NAMES = (
    "explore",
    "summary",
    "tree",
    "ops",
    "kernels",
    "decode",
    "compare",
    "doctor",
    "capture",
    "export",
    "tour",
    "calibrate",
)
"""The commands in the order of the help; each is the object COMMAND of the module of its name."""

_EXIT_INTERRUPTED = 130
_EXIT_BROKEN_PIPE = 141
"""What a shell reports for a program that SIGPIPE ended, as for `cat FILE | head`."""

_DESCRIPTION = "Explore PyTorch Profiler traces: which op launched which GPU kernel, and why."
_USAGE = """ptx FILE               (the same as ptx explore FILE)
       ptx COMMAND [options]
       ptx COMMAND --help"""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Raises the message as the one line that ptx prints, without argparse's usage text."""
        raise UsageError(message, hint=f"see {self.prog} --help")


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line and returns the exit code.

    Args:
        argv: the arguments without the program's name; those of the process when None.
    """
    _accept_every_character()
    try:
        code = _dispatch(list(sys.argv[1:] if argv is None else argv))
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        code = _EXIT_BROKEN_PIPE
    except KeyboardInterrupt:
        code = _EXIT_INTERRUPTED
    except PtxError as error:
        _complain(str(error))
        code = error.exit_code
    except OSError as error:
        where = f", {error.filename}" if error.filename else ""
        _complain(f"{error.strerror or error}{where}")
        code = EXIT_UNUSABLE
    except Exception as error:
        _complain_of_unexpected(error)
        code = EXIT_UNUSABLE
    _silence_failed_stdout()
    return code


def load_command(name: str) -> Command:
    """Returns the command of that name, one of `COMMAND_NAMES`."""
    from importlib import import_module

    command: Command = import_module(f"ptx.tui.cli.{name}").COMMAND
    return command


def _dispatch(argv: list[str]) -> int:
    if not argv:
        _print_welcome()
        return 0
    parser, commands = _build_parser()
    try:
        args = parser.parse_args(_with_command(argv))
    except SystemExit:
        return 0  # --help and --version: wrong usage raises UsageError
    if args.command is None:
        parser.error("a command or a file is missing")
    return commands[args.command].run(args)


def _build_parser() -> tuple[_Parser, dict[str, Command]]:
    parser = _Parser(prog="ptx", usage=_USAGE, description=_DESCRIPTION, allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"ptx {__version__}")
    group = parser.add_subparsers(dest="command", prog="ptx", title="commands", metavar="COMMAND")
    commands = {name: load_command(name) for name in COMMAND_NAMES}
    for name, command in commands.items():
        command.prepare_parser(
            group.add_parser(name, help=command.help, description=command.help, allow_abbrev=False)
        )
    return parser, commands


def _with_command(argv: list[str]) -> list[str]:
    first = argv[0]
    if first in COMMAND_NAMES or (first.startswith("-") and first != "-"):
        return argv
    if _is_path(first):
        return ["explore", *argv]
    from difflib import get_close_matches

    close = get_close_matches(first, COMMAND_NAMES)
    hint = f"did you mean {' or '.join(close)}?" if close else "see ptx --help"
    raise UsageError(f"no command or file is named {first!r}", hint=hint)


def _is_path(word: str) -> bool:
    looks_so = (
        word == "-" or word.endswith((".json", ".gz", ".zst")) or "/" in word or os.sep in word
    )
    if looks_so:
        return True
    from pathlib import Path

    return Path(word).exists()


def _print_welcome() -> None:
    import time

    from ptx.tui.cli._newest import newest_lines

    parser, _ = _build_parser()
    parser.print_help()
    lines = newest_lines(".", time.time())
    if lines:
        print("\nnewest files here that may be traces:")
        print("\n".join(f"  {line}" for line in lines))


def _accept_every_character() -> None:
    # A name in the trace must not end the program because the terminal is not UTF-8.
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def _complain(message: str) -> None:
    if sys.stderr is not None:
        print(clean(f"ptx: {message}"), file=sys.stderr)


def _complain_of_unexpected(error: Exception) -> None:
    if os.environ.get("PTX_DEBUG"):
        import traceback

        traceback.print_exception(error)
    _complain(f"internal error, {type(error).__name__}: {error}: PTX_DEBUG=1 shows the trace")


def _silence_failed_stdout() -> None:
    """Drops what stdout refused, or the interpreter tries again at exit and complains."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
