"""`ptx export`: a picture of a screen, as SVG."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ptx.profiling.errors import UsageError
from ptx.tui.cli._load import add_file_argument, load_structure
from ptx.tui.cli._output import add_ascii_argument

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from textual.pilot import Pilot

    from ptx.profiling.structure.structure import Structure

_SIZE = re.compile(r"(\d{1,3})x(\d{1,3})")
_LEAST_COLUMNS, _LEAST_LINES = 60, 15
_SETTLED_S = 0.3  # the panel follows the cursor only once the keys rest


class ExportCommand:
    """Draws the explorer without a terminal and writes the picture."""

    name = "export"
    help = "write a picture of the explorer (SVG)"

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        """Adds the command's arguments."""
        add_file_argument(parser)
        parser.add_argument("-o", "--output", metavar="OUT.svg", required=True)
        parser.add_argument(
            "--size",
            type=_size,
            default=(120, 40),
            metavar="WxH",
            help="columns and lines of the terminal to draw (default 120x40)",
        )
        parser.add_argument(
            "--keys",
            default="",
            metavar="KEYS",
            help="keys to press first, separated by spaces, such as 'c D' or '3 down'",
        )
        add_ascii_argument(parser)

    def run(self, args: argparse.Namespace) -> int:
        """Writes the picture; returns the exit code."""
        from pathlib import Path

        out = Path(args.output)
        if out.suffix.lower() != ".svg":
            raise UsageError(f"{out.name}: a picture is .svg", hint="ptx export FILE -o OUT.svg")
        structure = load_structure(args.file)
        svg = picture(structure, args.size, args.keys.split(), ascii_only=args.ascii)
        out.write_text(svg, encoding="utf-8")
        print(f"{out} written")
        return 0


def picture(
    structure: Structure, size: tuple[int, int], keys: Sequence[str], *, ascii_only: bool = False
) -> str:
    """Returns the explorer's screen as SVG, in full colour, after some keys.

    Args:
        structure: the trace.
        size: columns and lines.
        keys: names of keys as Textual has them (`down`, `enter`), or single characters.
        ascii_only: draw with ASCII alone.

    Raises:
        UsageError: there is no such key.
    """
    from textual.keys import Keys

    from ptx.profiling.analysis.roofline import roofline
    from ptx.profiling.sanitise import clean
    from ptx.tui.app import PtxApp

    names = {key.value for key in Keys}
    for key in keys:
        if len(key) > 1 and key not in names:
            raise UsageError(f"no key is called {key!r}", hint="such as c, D, down, enter, ctrl+o")
    roofline(structure)  # what the explorer works out meanwhile stands in the picture
    made: list[str] = []
    path = structure.trace.path
    app = PtxApp(path, ascii_only=ascii_only, few_colours=False, structure=structure)

    async def draw(pilot: Pilot[object]) -> None:
        await pilot.pause(_SETTLED_S)
        for key in keys:
            await pilot.press(key)
            await pilot.pause(_SETTLED_S)
            if app.return_code is not None:
                return
        title = clean(f"ptx explore {path.name}")
        made.append(app.export_screenshot(title=title, simplify=True))
        app.exit()

    app.run(headless=True, size=size, auto_pilot=draw)
    if not made:
        raise UsageError(f"the keys {' '.join(keys)} end the program", hint="leave q out")
    # class names hold a random id, which would change the file each time
    return re.sub(r"terminal-\d+", "terminal", made[0])


def _size(text: str) -> tuple[int, int]:
    """Returns the columns and lines of `120x40`; raises ValueError for anything else."""
    found = _SIZE.fullmatch(text)
    if found is None:
        raise ValueError(text)
    columns, lines = int(found[1]), int(found[2])
    if columns < _LEAST_COLUMNS or lines < _LEAST_LINES:
        raise ValueError(text)
    return columns, lines


_size.__name__ = f"size of at least {_LEAST_COLUMNS}x{_LEAST_LINES}"  # argparse names the type

COMMAND = ExportCommand()
