"""`ptx explore`: the explorer, or its plain-text twin where there is no terminal."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from ptx.tui.cli._load import (
    add_execution_trace_argument,
    add_file_argument,
    add_rank_argument,
    load_structure,
    print_lines,
    spooled,
)
from ptx.tui.cli._output import add_ascii_argument, wants_ascii

if TYPE_CHECKING:
    import argparse


class ExploreCommand:
    """Opens a trace in the terminal."""

    name = "explore"
    help = "open a trace in the terminal: op tree, kernels, steps"

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        """Adds the command's arguments."""
        add_file_argument(parser)
        add_execution_trace_argument(parser)
        add_rank_argument(parser)
        add_ascii_argument(parser)
        parser.add_argument("--no-mouse", action="store_true", help="leave the mouse alone")

    def run(self, args: argparse.Namespace) -> int:
        """Runs the explorer; returns the exit code."""
        from ptx.profiling.analysis.ranks import ranks_by

        with ranks_by(args.rank_regex):
            return _explore(args)


def _explore(args: argparse.Namespace) -> int:
    # Textual paints through stderr, so both have to be a terminal
    if not (sys.stdout.isatty() and sys.stderr.isatty()):
        from ptx.profiling.report.text import summary_text

        print_lines(summary_text(load_structure(args.file)))
        return 0
    with spooled(args.file) as path:
        from pathlib import Path

        from ptx.profiling.tensors.execution_trace import read_execution_trace
        from ptx.profiling.trace.source import open_source

        # what cannot be read is said before the screen is taken
        open_source(path).close()
        et = read_execution_trace(Path(args.et)) if args.et else None
        if args.file == "-":
            _take_keyboard()
        from ptx.tui.app import PtxApp

        app = PtxApp(path, ascii_only=wants_ascii(args), execution_trace=et)
        app.run(mouse=not args.no_mouse)
    return app.return_code or 0


def _take_keyboard() -> None:
    """Reads keys from the terminal once standard input has given the trace."""
    import os

    terminal = os.open("/dev/tty", os.O_RDONLY)
    os.dup2(terminal, 0)
    os.close(terminal)


COMMAND = ExploreCommand()
