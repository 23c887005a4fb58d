"""`ptx doctor`: can this trace be trusted, and what to record next time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptx.tui.cli._load import (
    add_file_argument,
    add_json_argument,
    add_rank_argument,
    load_structure,
    print_lines,
    write_json,
)

if TYPE_CHECKING:
    import argparse

    from ptx.profiling.structure.structure import Structure

_PLAIN_WIDTH = 80
_LEAST_WIDTH = 40


class DoctorCommand:
    """Prints problems by severity, and the capture flags that were off."""

    name = "doctor"
    help = "can this trace be trusted, what was repaired, what to switch on next time"

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        """Adds the command's arguments."""
        add_file_argument(parser)
        parser.add_argument("--strict", action="store_true", help="exit 1 if it is not sound")
        add_rank_argument(parser)
        add_json_argument(parser)

    def run(self, args: argparse.Namespace) -> int:
        """Prints the diagnosis; returns the exit code."""
        from ptx.profiling.analysis.doctor import find_problems, is_sound
        from ptx.profiling.analysis.ranks import ranks_by

        structure = load_structure(args.file)
        with ranks_by(args.rank_regex):
            _print(structure, as_json=args.json)
        return 1 if args.strict and not is_sound(find_problems(structure)) else 0


def _print(structure: Structure, *, as_json: bool) -> None:
    if as_json:
        from ptx.profiling.report.documents import doctor_document
        from ptx.profiling.report.encode import encode

        write_json((encode(doctor_document(structure)), b"\n"))
    else:
        import shutil
        import sys

        from ptx.profiling.report.text import doctor_text

        columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else _PLAIN_WIDTH
        print_lines(doctor_text(structure, max(_LEAST_WIDTH, columns)))


COMMAND = DoctorCommand()
