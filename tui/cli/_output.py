"""Facts about the output that the commands share."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse


def add_ascii_argument(parser: argparse.ArgumentParser) -> None:
    """Adds `--ascii`; ask `wants_ascii` for the answer."""
    parser.add_argument(
        "--ascii",
        action="store_true",
        help="draw with ASCII characters only, as where the output is not UTF-8",
    )


def wants_ascii(args: argparse.Namespace) -> bool:
    """Returns whether to draw in ASCII: asked for, or stdout does not take UTF-8."""
    encoding = (sys.stdout.encoding or "").lower().replace("-", "").replace("_", "")
    return bool(args.ascii) or encoding != "utf8"
