"""`ptx tree`: the op tree with the kernels that each op launched."""

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


class TreeCommand:
    """Prints the tree as text or JSON."""

    name = "tree"
    help = "the op tree with the kernels that each op launched"

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        """Adds the command's arguments."""
        add_file_argument(parser)
        add_step_argument(parser)
        parser.add_argument(
            "--depth", type=_positive, metavar="N", help="only the first N levels of the tree"
        )
        parser.add_argument(
            "--filter", metavar="TEXT", help="only names that hold TEXT, with what is above them"
        )
        parser.add_argument("--limit", type=_positive, metavar="N", help="only the first N nodes")
        parser.add_argument(
            "--all",
            action="store_true",
            help="text: Python frames and runtime calls too (JSON always has them)",
        )
        add_json_argument(parser)

    def run(self, args: argparse.Namespace) -> int:
        """Prints the tree; returns the exit code."""
        import numpy as np

        from ptx.profiling.analysis.selection import (
            DETAIL_KINDS,
            find_step,
            kept_depth,
            select_nodes,
        )

        structure = load_structure(args.file)
        tree = structure.tree
        nodes = select_nodes(
            structure,
            step=find_step(structure, args.step),
            depth=args.depth,
            text=args.filter,
            leave_out=() if args.json or args.all else DETAIL_KINDS,
        )
        if args.json:
            from ptx.profiling.report.documents import envelope, node_documents
            from ptx.profiling.report.encode import encode_stream

            head = envelope(structure, "ptx.tree/1")
            rows = node_documents(structure, nodes[: args.limit])
            write_json(encode_stream(head, "nodes", rows))
        else:
            from ptx.profiling.report.text import tree_text

            kept = np.zeros(len(tree), bool)
            kept[nodes] = True
            indent = kept_depth(tree.parent, tree.depth, kept)[nodes]
            print_lines(tree_text(structure, nodes[: args.limit], indent[: args.limit]))
        return 0


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise ValueError(text)
    return value


_positive.__name__ = "number >= 1"  # argparse names the type in its message

COMMAND = TreeCommand()
