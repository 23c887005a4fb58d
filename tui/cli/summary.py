"""`ptx summary`: one screen about a trace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptx.tui.cli._load import (
    add_file_argument,
    add_filter_argument,
    add_json_argument,
    add_limit_argument,
    add_rank_argument,
    add_step_argument,
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
        add_step_argument(parser)
        add_filter_argument(parser, ", in the tables of kernels, ops and slices")
        add_limit_argument(parser, "rows of each table, instead of 10")
        add_rank_argument(parser)
        add_json_argument(parser)

    def run(self, args: argparse.Namespace) -> int:
        """Prints the summary; returns the exit code."""
        from ptx.profiling.analysis.ranks import ranks_by
        from ptx.profiling.analysis.selection import Choice, find_step
        from ptx.profiling.analysis.summary import TOP_ROWS

        structure = load_structure(args.file)
        choice = Choice(find_step(structure, args.step), args.filter, args.limit or TOP_ROWS)
        with ranks_by(args.rank_regex):
            if args.json:
                from ptx.profiling.report.documents import summary_document
                from ptx.profiling.report.encode import encode

                write_json((encode(summary_document(structure, choice)), b"\n"))
            else:
                from ptx.profiling.report.text import summary_text

                print_lines(summary_text(structure, choice))
        return 0


COMMAND = SummaryCommand()
