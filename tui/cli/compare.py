"""`ptx compare`: what changed between two traces of one program, kernel by kernel."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from ptx.tui.cli._load import add_json_argument, load_structure, print_lines, write_json
from ptx.tui.cli._output import add_ascii_argument, wants_ascii

if TYPE_CHECKING:
    import argparse

    from ptx.profiling.analysis.comparison.gates import Gate
    from ptx.profiling.analysis.comparison.model import Comparison

_EXIT_GATE_FAILED = 1


class CompareCommand:
    """Prints a comparison as text, JSON, Markdown or HTML, and checks gates."""

    name = "compare"
    help = "what changed between two traces: eager and compiled, or before and after"

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        """Adds the command's arguments."""
        parser.add_argument("a", metavar="A", help="the trace before, such as the eager one")
        parser.add_argument("b", metavar="B", help="the trace after, such as the compiled one")
        add_json_argument(parser)
        parser.add_argument(
            "--markdown", action="store_true", help="Markdown, as for a pull request's comment"
        )
        parser.add_argument(
            "--html", metavar="FILE", help="also write one HTML page, without scripts"
        )
        parser.add_argument(
            "--changed", action="store_true", help="leave out what is the same on both sides"
        )
        parser.add_argument(
            "--gate",
            action="append",
            default=[],
            metavar="FIGURE<=LIMIT",
            help="exit 1 where a step of B is worse than one of A by more than LIMIT: such as "
            "'gpu_busy<=+3%%', 'idle<=+50us' or 'kernels<=0'; may be given several times",
        )
        add_ascii_argument(parser)

    def run(self, args: argparse.Namespace) -> int:
        """Prints the comparison; returns 1 where a gate fails."""
        from ptx.profiling.analysis.comparison.compare import compare
        from ptx.profiling.analysis.comparison.gates import parse_gate
        from ptx.profiling.errors import UsageError

        if args.json and args.markdown:
            raise UsageError("--json and --markdown exclude each other")
        if args.a == args.b == "-":
            raise UsageError("only one of both traces can come from stdin")
        gates = [parse_gate(text) for text in args.gate]
        found = compare(load_structure(args.a), load_structure(args.b))
        _print(found, args)
        if args.html:
            _write_page(found, args.html)
        return _EXIT_GATE_FAILED if _failures(gates, found) else 0


def _print(found: Comparison, args: argparse.Namespace) -> None:
    if args.json:
        from ptx.profiling.report.compare_documents import compare_json

        write_json(compare_json(found))
    elif args.markdown:
        from ptx.profiling.report.compare_pages import compare_markdown

        sys.stdout.writelines(f"{line}\n" for line in compare_markdown(found))
    else:
        import shutil

        from ptx.profiling.report.compare_text import compare_text

        width = shutil.get_terminal_size().columns
        ascii_only = wants_ascii(args)
        print_lines(compare_text(found, width, hide_same=args.changed, ascii_only=ascii_only))


def _write_page(found: Comparison, path: str) -> None:
    from pathlib import Path

    from ptx.profiling.report.compare_pages import compare_html

    Path(path).write_text("\n".join(compare_html(found)) + "\n", encoding="utf-8")


def _failures(gates: list[Gate], found: Comparison) -> int:
    """Returns how many gates fail, and says which on stderr."""
    from ptx.profiling.analysis.comparison.gates import check

    failed = [result for result in (check(gate, found) for gate in gates) if not result.passed]
    for result in failed:
        a, b = ("?" if figure is None else f"{figure:.0f}" for figure in (result.a, result.b))
        print(f"ptx: gate {result.gate.text} failed: {a} -> {b}", file=sys.stderr)
    return len(failed)


COMMAND = CompareCommand()
