"""`ptx calibrate`: measures this GPU's ceilings for the roofline."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse


class CalibrateCommand:
    """Measures copy bandwidth and matrix rates and keeps them for this user."""

    name = "calibrate"
    help = "measure this GPU's memory and matrix ceilings for the roofline"

    def prepare_parser(self, parser: argparse.ArgumentParser) -> None:
        """Adds `--python`."""
        parser.add_argument(
            "--python", metavar="PATH", help="the Python that has torch; this one by default"
        )

    def run(self, args: argparse.Namespace) -> int:
        """Prints the ceilings and where they are kept.

        Raises:
            PtxError: there is no torch or no GPU.
        """
        import sys

        from ptx.profiling.analysis.ceilings import save_ceilings
        from ptx.profiling.capture.calibrate import measure_ceilings
        from ptx.profiling.sanitise import clean

        ceilings = measure_ceilings(args.python or sys.executable)
        path = save_ceilings(ceilings)
        print(clean(ceilings.text))
        print(clean(f"kept in {path}"))
        return 0


COMMAND = CalibrateCommand()
