"""`ptx tour`: a guided minute in the explorer, on a trace that comes with the program."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from ptx.profiling.errors import UsageError
from ptx.tui.cli._output import add_ascii_argument, wants_ascii

if TYPE_CHECKING:
    import argparse


class TourCommand:
    """Opens the sample trace with a guide."""

    name = "tour"
    help = "a guided minute in the explorer, on a sample trace"

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        """Adds the command's arguments."""
        add_ascii_argument(parser)

    def run(self, args: argparse.Namespace) -> int:
        """Runs the tour; returns the exit code."""
        from pathlib import Path

        import ptx

        if not (sys.stdout.isatty() and sys.stderr.isatty()):
            raise UsageError("the tour needs a terminal", hint="run ptx tour in one")
        from ptx.tui.app import PtxApp

        sample = Path(ptx.__file__).parent / "sample_traces" / "geglu_eager.json.gz"
        app = PtxApp(sample, ascii_only=wants_ascii(args), tour=True)
        app.run()
        return app.return_code or 0


COMMAND = TourCommand()
