"""`ptx summary`: one screen about a trace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptx.tui.cli._load import (
    add_file_argument,
    add_json_argument,
    load_structure,
    print_lines,
    write_json,
)

if TYPE_CHECKING:
    import argparse


class SummaryCommand:
    """Prints device, counts, steps, where the time went, top kernels and ops."""

    name = "summary"
    help = "one screen: device, steps, GPU busy and idle, top kernels and ops"

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        """Adds the command's arguments."""
        add_file_argument(parser)
        add_json_argument(parser)

    def run(self, args: argparse.Namespace) -> int:
        """Prints the summary; returns the exit code."""
        structure = load_structure(args.file)
        if args.json:
            from ptx.profiling.report.documents import summary_document
            from ptx.profiling.report.encode import encode

            write_json((encode(summary_document(structure)), b"\n"))
        else:
            from ptx.profiling.report.text import summary_text

            print_lines(summary_text(structure))
        return 0


COMMAND = SummaryCommand()
