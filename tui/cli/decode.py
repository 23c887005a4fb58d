"""`ptx decode`: what kernel names say."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from ptx.tui.cli._load import add_json_argument, print_lines, write_json

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator


class DecodeCommand:
    """Explains kernel names as text or JSON, one object a line."""

    name = "decode"
    help = "what kernel names say: who made them, types, tiles, layout, fused operators"

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        """Adds the command's arguments."""
        parser.add_argument(
            "names", metavar="NAME", nargs="+", help="a kernel name; - reads one a line from stdin"
        )
        parser.add_argument(
            "--cut", action="store_true", help="the names' tails are missing, as in narrow tables"
        )
        add_json_argument(parser)

    def run(self, args: argparse.Namespace) -> int:
        """Prints what the names say; returns the exit code."""
        from ptx.profiling.kernels.decode import decode
        from ptx.profiling.report.decode_text import decode_document, decode_text

        kernels = (decode(name, True if args.cut else None) for name in _names(args.names))
        if args.json:
            from ptx.profiling.report.encode import encode

            write_json(encode(decode_document(kernel)) + b"\n" for kernel in kernels)
            return 0
        for number, kernel in enumerate(kernels):
            if number:
                print_lines([""])
            print_lines(decode_text(kernel))
        return 0


def _names(arguments: Iterable[str]) -> Iterator[str]:
    for argument in arguments:
        if argument != "-":
            yield argument
            continue
        for line in sys.stdin:
            name = line.rstrip("\r\n")
            if name.strip():
                yield name


COMMAND = DecodeCommand()
