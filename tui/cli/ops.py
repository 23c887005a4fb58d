"""`ptx ops`: ops summed by name, by shape, by module or by what their kernels do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptx.tui.cli._load import (
    add_file_argument,
    add_filter_argument,
    add_json_argument,
    add_limit_argument,
    add_step_argument,
    load_structure,
    positive,
    print_lines,
    write_json,
)

if TYPE_CHECKING:
    import argparse

    from ptx.profiling.analysis.tops import Grouping, TopRow
    from ptx.profiling.structure.structure import Structure

_PLURALS = {
    "op": "ops",
    "shape": "ops",
    "module": "modules",
    "class": "modules",
    "category": "activities",
}
_SORTS = ("gpu", "cpu", "self", "calls", "name")


class OpsCommand:
    """Prints calls, CPU and GPU time of groups of ops as text or JSON."""

    name = "ops"
    help = "ops by name, shape, module or category: calls, CPU and GPU time"

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        """Adds the command's arguments."""
        add_file_argument(parser)
        add_step_argument(parser)
        parser.add_argument(
            "--by",
            choices=tuple(_PLURALS),
            default="op",
            help="a row for each op name (the default), op name and input shapes, module, class of "
            "modules, or category of kernels",
        )
        parser.add_argument(
            "--depth",
            type=positive,
            metavar="N",
            help="only ops (or modules) inside fewer than N others",
        )
        add_filter_argument(parser)
        parser.add_argument(
            "--sort",
            choices=_SORTS,
            default="gpu",
            help="gpu (the default), cpu, self (CPU time of its own), calls or name",
        )
        add_limit_argument(parser)
        add_json_argument(parser)

    def run(self, args: argparse.Namespace) -> int:
        """Prints the groups; returns the exit code."""
        from ptx.profiling.analysis.selection import find_step
        from ptx.profiling.analysis.tops import sort_top_rows, top_rows

        _check(args)
        structure = load_structure(args.file)
        step = find_step(structure, args.step)
        rows = top_rows(structure, args.by, step=step, depth=args.depth, text=args.filter)
        rows = sort_top_rows(rows, args.sort)[: args.limit]
        if args.json:
            from ptx.profiling.report.documents import envelope, op_documents
            from ptx.profiling.report.encode import encode_stream

            head = {**envelope(structure, "ptx.ops/1"), "by": args.by}
            write_json(encode_stream(head, "rows", op_documents(rows, args.by)))
        else:
            _print(structure, rows, args.by, step)
        return 0


def _print(structure: Structure, rows: list[TopRow], by: Grouping, step: int | None) -> None:
    from ptx.profiling.analysis.selection import select_activities
    from ptx.profiling.report.tops_text import group_table

    chosen = select_activities(structure, step=step)
    whole_ns = int(structure.activities.counted_ns[chosen].sum())
    print_lines(group_table(rows, by, whole_ns) if rows else [f"no {_PLURALS[by]} here"])


def _check(args: argparse.Namespace) -> None:
    """Raises UsageError for options that mean nothing together."""
    from ptx.profiling.errors import UsageError

    if args.by != "category":
        return
    if args.depth is not None:
        raise UsageError("--depth counts ops or modules", hint="leave it out with --by category")
    if args.sort in ("cpu", "self"):
        raise UsageError("a category has no CPU time", hint="sort by gpu, calls or name")


COMMAND = OpsCommand()
