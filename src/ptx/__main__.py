"""Runs the command line for `python -m ptx`."""

import sys

from ptx.tui.cli import main

if __name__ == "__main__":
    sys.exit(main())
