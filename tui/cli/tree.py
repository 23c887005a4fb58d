"""`ptx tree`: the op tree with the kernels that each op launched."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptx.tui.cli._load import (
    add_execution_trace_argument,
    add_file_argument,
    add_filter_argument,
    add_json_argument,
    add_limit_argument,
    add_step_argument,
    keep_execution_trace,
    load_structure,
    positive,
    print_lines,
    write_json,
)

if TYPE_CHECKING:
    import argparse


class TreeCommand:
    """Prints the tree as text or JSON."""

    name = "tree"
    help = "the op tree with the kernels that each op launched"

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        """Adds the command's arguments."""
        add_file_argument(parser)
        add_step_argument(parser)
        parser.add_argument(
            "--depth", type=positive, metavar="N", help="only the first N levels of the tree"
        )
        add_filter_argument(parser, ", with what is above them")
        add_limit_argument(parser, "nodes")
        parser.add_argument(
            "--sort",
            choices=("start", "gpu", "cpu"),
            default="start",
            help="those under one node by start (the default), by GPU sum or by CPU time",
        )
        parser.add_argument(
            "--all",
            action="store_true",
            help="text: Python frames and runtime calls too (JSON always has them)",
        )
        add_execution_trace_argument(parser)
        add_json_argument(parser)

    def run(self, args: argparse.Namespace) -> int:
        """Prints the tree; returns the exit code."""
        import numpy as np

        from ptx.profiling.analysis.selection import (
            DETAIL_KINDS,
            find_step,
            kept_depth,
            select_nodes,
            sort_siblings,
        )
        from ptx.profiling.errors import UsageError

        if args.et and not args.json:
            raise UsageError("--et changes nothing in the text", hint="add --json")
        structure = load_structure(args.file)
        tree = structure.tree
        nodes = select_nodes(
            structure,
            step=find_step(structure, args.step),
            depth=args.depth,
            text=args.filter,
            leave_out=() if args.json or args.all else DETAIL_KINDS,
        )
        nodes = sort_siblings(structure, nodes, args.sort)
        if args.json:
            from ptx.profiling.analysis.execution_traces import execution_trace_of
            from ptx.profiling.report.documents import envelope, node_documents
            from ptx.profiling.report.encode import encode_stream

            head = envelope(structure, "ptx.tree/1")
            keep_execution_trace(structure, args.et)
            et = execution_trace_of(structure)
            rows = node_documents(structure, nodes[: args.limit], et)
            write_json(encode_stream(head, "nodes", rows))
        else:
            from ptx.profiling.report.text import tree_text

            kept = np.zeros(len(tree), bool)
            kept[nodes] = True
            indent = kept_depth(tree.parent, tree.depth, kept)[nodes]
            print_lines(tree_text(structure, nodes[: args.limit], indent[: args.limit]))
        return 0


COMMAND = TreeCommand()
