"""`ptx kernels`: device activities, summed by name or by what names state, or one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptx.tui.cli._load import (
    add_file_argument,
    add_filter_argument,
    add_json_argument,
    add_limit_argument,
    add_step_argument,
    load_structure,
    print_lines,
    write_json,
)

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

    from ptx.profiling.analysis.counters import Measured
    from ptx.profiling.analysis.kernel_groups import KernelGroup
    from ptx.profiling.analysis.traffic import Traffic
    from ptx.profiling.structure.structure import Structure

# As in kernel_groups.GROUPINGS, which the parser does not load: `--help` must stay light.
_GROUPINGS = ("family", "dtype", "tensor-core", "category")
_NOT_STATED = "not stated"
_SORTS = ("gpu", "calls", "name", "start")


class KernelsCommand:
    """Prints kernels, memcpys and memsets as text or JSON."""

    name = "kernels"
    help = "GPU kernels, memcpys and memsets, summed by name or one by one"

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        """Adds the command's arguments."""
        add_file_argument(parser)
        add_step_argument(parser)
        form = parser.add_mutually_exclusive_group()
        form.add_argument(
            "--each", action="store_true", help="one line an activity, in start order"
        )
        form.add_argument(
            "--group-by",
            choices=_GROUPINGS,
            help="a row for each family, type of the inputs, use of tensor cores or category, as "
            "far as the names state it",
        )
        form.add_argument(
            "--roofline",
            action="store_true",
            help="text: a plot of what kernels reach against what the device can do, and where "
            "the bytes go",
        )
        parser.add_argument(
            "--bytes",
            action="store_true",
            help="text: modelled bytes, FLOPs and rates (JSON always has them)",
        )
        parser.add_argument(
            "--counters",
            metavar="FILE",
            help="with --each: bytes that hardware counters measured in another run, as CSV of "
            "Nsight Compute (docs/bytes.md)",
        )
        add_filter_argument(parser)
        parser.add_argument(
            "--sort",
            choices=_SORTS,
            help="gpu (the default; with --each: start), calls, name, or start with --each",
        )
        add_limit_argument(parser)
        add_json_argument(parser)

    def run(self, args: argparse.Namespace) -> int:
        """Prints the kernels; returns the exit code."""
        from ptx.profiling.analysis.selection import (
            find_step,
            select_activities,
        )

        _check(args)
        structure = load_structure(args.file)
        rows = select_activities(structure, step=find_step(structure, args.step), text=args.filter)
        if args.roofline:
            _print_roofline(structure, rows)
        elif args.each:
            _print_each(structure, rows, args)
        elif args.group_by:
            _print_groups(structure, rows, args)
        else:
            _print_totals(structure, rows, args)
        return 0


def _check(args: argparse.Namespace) -> None:
    from ptx.profiling.errors import UsageError

    if args.each and args.sort == "calls":
        raise UsageError("a single activity has no calls", hint="sort by start, gpu or name")
    if not args.each and args.sort == "start":
        raise UsageError("a sum has no start", hint="--each lists activities by start")
    if args.counters and not args.each:
        raise UsageError("counters are of single kernels", hint="add --each")
    if args.json and (args.bytes or args.roofline):
        other = "--bytes" if args.bytes else "--roofline"
        raise UsageError(f"{other} is text", hint="JSON has the bytes: leave it out")
    if args.roofline and (args.bytes or args.sort or args.limit):
        raise UsageError("--roofline draws all kernels", hint="choose by --step and --filter")


def _print_each(structure: Structure, rows: NDArray[np.intp], args: argparse.Namespace) -> None:
    from ptx.profiling.analysis.selection import sort_activities

    measured = _measured(structure, args.counters) if args.counters else None
    rows = sort_activities(structure, rows, args.sort or "start")[: args.limit]
    if args.json:
        from ptx.profiling.report.documents import activity_documents, envelope
        from ptx.profiling.report.encode import encode_stream

        head = envelope(structure, "ptx.kernels/1")
        write_json(encode_stream(head, "rows", activity_documents(structure, rows, measured)))
    elif args.bytes or measured:
        from ptx.profiling.report.traffic_text import activity_traffic_table

        print_lines(activity_traffic_table(structure, rows, measured))
    else:
        from ptx.profiling.report.text import activity_table

        print_lines(activity_table(structure, rows))


def _measured(structure: Structure, file: str) -> Measured:
    """Returns the counters of a file joined to the trace; what joined is said on stderr."""
    import sys
    from pathlib import Path

    from ptx.profiling.analysis.counters import join_counters, read_counters
    from ptx.profiling.sanitise import clean

    measured = join_counters(structure, read_counters(Path(file)))
    for line in measured.lines():
        print(clean(line), file=sys.stderr)
    return measured


def _print_roofline(structure: Structure, rows: NDArray[np.intp]) -> None:
    from ptx.profiling.report.roofline_text import roofline_text

    print_lines(roofline_text(structure, rows))


def _print_totals(structure: Structure, rows: NDArray[np.intp], args: argparse.Namespace) -> None:
    from ptx.profiling.analysis.tables import kernel_rows, sort_kernel_rows

    totals = kernel_rows(structure, rows)
    whole_ns = sum(row.gpu_sum_ns for row in totals)
    totals = sort_kernel_rows(totals, args.sort or "gpu")[: args.limit]
    if args.json:
        from ptx.profiling.analysis.traffic import traffic_by_name
        from ptx.profiling.report.documents import envelope, kernel_documents
        from ptx.profiling.report.encode import encode_stream

        head = envelope(structure, "ptx.kernels/1")
        sums = traffic_by_name(structure, rows)
        write_json(encode_stream(head, "rows", kernel_documents(totals, sums)))
    elif args.bytes:
        from ptx.profiling.analysis.traffic import traffic_by_name

        sums = traffic_by_name(structure, rows)
        _print_traffic(structure, rows, [(r.name, sums[r.name, r.kind]) for r in totals], "kernel")
    else:
        from ptx.profiling.report.text import kernel_table

        print_lines(kernel_table(totals, whole_ns))


def _print_traffic(
    structure: Structure, rows: NDArray[np.intp], labelled: list[tuple[str, Traffic]], heading: str
) -> None:
    from ptx.profiling.analysis.traffic import traffic
    from ptx.profiling.report.traffic_text import modelled_line, traffic_table

    whole = traffic(structure, rows)
    print_lines(traffic_table(labelled, whole.ns, heading))
    print_lines([modelled_line(whole)])


def _print_groups(structure: Structure, rows: NDArray[np.intp], args: argparse.Namespace) -> None:
    from ptx.profiling.analysis.kernel_groups import kernel_groups, sort_kernel_groups
    from ptx.profiling.analysis.traffic import traffic_by_label

    groups = kernel_groups(structure, rows, args.group_by)
    whole_ns = sum(group.gpu_sum_ns for group in groups)
    groups = sort_kernel_groups(groups, args.sort or "gpu")[: args.limit]
    if args.json:
        from ptx.profiling.report.documents import envelope
        from ptx.profiling.report.encode import encode_stream

        head = {**envelope(structure, "ptx.kernels/1"), "group_by": args.group_by}
        sums = traffic_by_label(structure, rows, args.group_by)
        documents = (_document(g, whole_ns, sums[g.label]) for g in groups)
        write_json(encode_stream(head, "rows", documents))
    elif args.bytes:
        sums = traffic_by_label(structure, rows, args.group_by)
        labelled = [(g.label or _NOT_STATED, sums[g.label]) for g in groups]
        _print_traffic(structure, rows, labelled, args.group_by)
    else:
        print_lines(_group_table(groups, whole_ns, args.group_by))


def _document(group: KernelGroup, whole_ns: int, sums: Traffic) -> dict[str, object]:
    return {
        "group": group.label,
        "names": group.kinds,
        "calls": group.calls,
        "gpu_sum_ns": group.gpu_sum_ns,
        "share": group.gpu_sum_ns / whole_ns if whole_ns else None,
        "modelled_bytes": sums.moved_bytes,
        "flops": sums.flops,
        "modelled_ns": sums.modelled_ns,
    }


def _group_table(groups: list[KernelGroup], whole_ns: int, by: str) -> Iterator[str]:
    from ptx.profiling.report.table import Column, table
    from ptx.profiling.report.units import format_count, format_ns, format_share

    headings = (Column("n"), Column("names"), Column("GPU"), Column("%"), Column(by, left=True))
    return table(
        headings,
        (
            (
                format_count(group.calls),
                format_count(group.kinds),
                format_ns(group.gpu_sum_ns),
                format_share(group.gpu_sum_ns, whole_ns),
                _NOT_STATED if group.label is None else group.label,
            )
            for group in groups
        ),
    )


COMMAND = KernelsCommand()
