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

    from ptx.profiling.analysis.tops import TopRow
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
        what = parser.add_mutually_exclusive_group()
        what.add_argument(
            "--by",
            choices=tuple(_PLURALS),
            default="op",
            help="a row for each op name (the default), op name and input shapes, module, class of "
            "modules, or category of kernels",
        )
        what.add_argument(
            "--copies",
            action="store_true",
            help="copies, casts, conversions of layout and strided accesses instead, by the op "
            "that causes them",
        )
        parser.add_argument(
            "--bytes",
            action="store_true",
            help="text: modelled bytes and FLOPs instead of CPU time (JSON always has them)",
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
        if args.copies:
            _print_copies(structure, step, args)
            return 0
        rows = top_rows(structure, args.by, step=step, depth=args.depth, text=args.filter)
        rows = sort_top_rows(rows, args.sort)[: args.limit]
        if args.json:
            from ptx.profiling.report.documents import envelope, op_documents
            from ptx.profiling.report.encode import encode_stream

            head = {**envelope(structure, "ptx.ops/1"), "by": args.by}
            write_json(encode_stream(head, "rows", op_documents(structure, rows, args.by)))
        elif not rows:
            print_lines([f"no {_PLURALS[args.by]} here"])
        else:
            _print(structure, rows, step, args)
        return 0


def _print(
    structure: Structure, rows: list[TopRow], step: int | None, args: argparse.Namespace
) -> None:
    from ptx.profiling.analysis.selection import select_activities
    from ptx.profiling.report.tops_text import group_table, row_label

    chosen = select_activities(structure, step=step)
    if not args.bytes:
        whole_ns = int(structure.activities.counted_ns[chosen].sum())
        print_lines(group_table(rows, args.by, whole_ns))
        return
    from ptx.profiling.analysis.traffic import traffic
    from ptx.profiling.report.traffic_text import modelled_line, traffic_table

    whole = traffic(structure, chosen)
    labelled = ((row_label(row), traffic(structure, row.activities)) for row in rows)
    print_lines(traffic_table(labelled, whole.ns, args.by))
    print_lines([modelled_line(whole)])


def _print_copies(structure: Structure, step: int | None, args: argparse.Namespace) -> None:
    from ptx.profiling.analysis.copies import find_copies, sort_copies

    rows = sort_copies(find_copies(structure, step, text=args.filter), args.sort)[: args.limit]
    if args.json:
        from ptx.profiling.report.copies_text import copies_head, copy_documents
        from ptx.profiling.report.documents import envelope
        from ptx.profiling.report.encode import encode_stream

        head = {**envelope(structure, "ptx.copies/1"), **copies_head(structure, step)}
        write_json(encode_stream(head, "rows", copy_documents(structure, rows)))
    else:
        from ptx.profiling.report.copies_text import copies_text

        print_lines(copies_text(structure, rows, step))


def _check(args: argparse.Namespace) -> None:
    """Raises UsageError for options that mean nothing together."""
    from ptx.profiling.errors import UsageError

    if args.bytes and (args.json or args.copies):
        other = "--json" if args.json else "--copies"
        raise UsageError(f"--bytes adds nothing to {other}", hint="leave it out")
    if args.by != "category" and not args.copies:
        return
    what, option = ("a copy", "--copies") if args.copies else ("a category", "--by category")
    if args.depth is not None:
        raise UsageError("--depth counts ops or modules", hint=f"leave it out with {option}")
    if args.sort in ("cpu", "self"):
        raise UsageError(f"{what} has no CPU time", hint="sort by gpu, calls or name")


COMMAND = OpsCommand()
