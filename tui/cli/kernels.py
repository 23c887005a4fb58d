"""`ptx kernels`: device activities, summed by name or one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptx.tui.cli._load import (
    add_file_argument,
    add_json_argument,
    add_step_argument,
    load_structure,
    print_lines,
    write_json,
)

if TYPE_CHECKING:
    import argparse

    import numpy as np
    from numpy.typing import NDArray

    from ptx.profiling.structure.structure import Structure

_SORTS = ("gpu", "calls", "name", "start")


class KernelsCommand:
    """Prints kernels, memcpys and memsets as text or JSON."""

    name = "kernels"
    help = "GPU kernels, memcpys and memsets, summed by name or one by one"

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        """Adds the command's arguments."""
        add_file_argument(parser)
        add_step_argument(parser)
        parser.add_argument(
            "--each", action="store_true", help="one line an activity, in start order"
        )
        parser.add_argument("--filter", metavar="TEXT", help="only names that hold TEXT")
        parser.add_argument(
            "--sort",
            choices=_SORTS,
            help="gpu (the default; with --each: start), calls or name",
        )
        parser.add_argument("--limit", type=int, metavar="N", help="only the first N rows")
        add_json_argument(parser)

    def run(self, args: argparse.Namespace) -> int:
        """Prints the kernels; returns the exit code."""
        from ptx.profiling.analysis.selection import (
            find_step,
            select_activities,
        )

        structure = load_structure(args.file)
        rows = select_activities(structure, step=find_step(structure, args.step), text=args.filter)
        if args.each:
            _print_each(structure, rows, args)
        else:
            _print_totals(structure, rows, args)
        return 0


def _print_each(structure: Structure, rows: NDArray[np.intp], args: argparse.Namespace) -> None:
    from ptx.profiling.analysis.selection import sort_activities

    rows = sort_activities(structure, rows, args.sort or "start")[: args.limit]
    if args.json:
        from ptx.profiling.report.documents import activity_documents, envelope
        from ptx.profiling.report.encode import encode_stream

        head = envelope(structure, "ptx.kernels/1")
        write_json(encode_stream(head, "rows", activity_documents(structure, rows)))
    else:
        from ptx.profiling.report.text import activity_table

        print_lines(activity_table(structure, rows))


def _print_totals(structure: Structure, rows: NDArray[np.intp], args: argparse.Namespace) -> None:
    from ptx.profiling.analysis.tables import kernel_rows, sort_kernel_rows

    totals = kernel_rows(structure, rows)
    whole_ns = sum(row.gpu_sum_ns for row in totals)
    totals = sort_kernel_rows(totals, args.sort or "gpu")[: args.limit]
    if args.json:
        from ptx.profiling.report.documents import envelope, kernel_documents
        from ptx.profiling.report.encode import encode_stream

        head = envelope(structure, "ptx.kernels/1")
        write_json(encode_stream(head, "rows", kernel_documents(totals)))
    else:
        from ptx.profiling.report.text import kernel_table

        print_lines(kernel_table(totals, whole_ns))


COMMAND = KernelsCommand()
