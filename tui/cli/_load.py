"""What the commands that read a trace share: loading it, and choosing the form of the output."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse
    import re
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from ptx.profiling.structure.structure import Structure


def add_file_argument(parser: argparse.ArgumentParser) -> None:
    """Adds the FILE argument."""
    parser.add_argument(
        "file", metavar="FILE", help="a trace of PyTorch's profiler (.json, .json.gz); - for stdin"
    )


def add_step_argument(parser: argparse.ArgumentParser) -> None:
    """Adds `--step`."""
    parser.add_argument(
        "--step",
        metavar="N",
        help="only this step: 1 is the first, 'last', or a name such as ProfilerStep#4",
    )


def add_filter_argument(parser: argparse.ArgumentParser, more: str = "") -> None:
    """Adds `--filter`; `more` goes on about what is kept."""
    parser.add_argument("--filter", metavar="TEXT", help=f"only names that hold TEXT{more}")


def add_limit_argument(parser: argparse.ArgumentParser, what: str = "rows") -> None:
    """Adds `--limit`; `what` is counted."""
    parser.add_argument("--limit", type=positive, metavar="N", help=f"only the first N {what}")


def add_rank_argument(parser: argparse.ArgumentParser) -> None:
    """Adds `--rank-regex`, a pattern for `ranks_by`."""
    parser.add_argument(
        "--rank-regex",
        type=_rank_regex,
        metavar="REGEX",
        help="where in the file's path its rank stands, as the group (?P<rank>...) or the first; "
        "goes before the rank that the trace states",
    )


def add_execution_trace_argument(parser: argparse.ArgumentParser) -> None:
    """Adds `--et`; `keep_execution_trace` does what it says."""
    parser.add_argument(
        "--et",
        metavar="FILE",
        help="an Execution Trace of the same run: exact answers on views, copies and outputs (one "
        "beside the trace, NAME.et.json, is found without it)",
    )


def keep_execution_trace(structure: Structure, file: str | None) -> None:
    """Makes the file of `--et` the Execution Trace of a trace; does nothing for None.

    Raises:
        TraceFormatError: it cannot be read or is none.
    """
    if file is None:
        return
    from pathlib import Path

    from ptx.profiling.analysis.execution_traces import execution_trace_of
    from ptx.profiling.tensors.execution_trace import read_execution_trace

    execution_trace_of.keep(structure, read_execution_trace(Path(file)))


def positive(text: str) -> int:
    """Returns a whole number of at least 1; raises ValueError for anything else."""
    value = int(text)
    if value < 1:
        raise ValueError(text)
    return value


positive.__name__ = "number >= 1"  # argparse names the type in its message


def _rank_regex(text: str) -> re.Pattern[str]:
    from argparse import ArgumentTypeError

    from ptx.profiling.analysis.ranks import rank_pattern

    try:
        return rank_pattern(text)
    except ValueError as error:
        raise ArgumentTypeError(f"{text!r}: {error}") from error


def add_json_argument(parser: argparse.ArgumentParser) -> None:
    """Adds `--json`."""
    parser.add_argument("--json", action="store_true", help="JSON instead of text")


def load_structure(file: str) -> Structure:
    """Returns the trace of a FILE argument with its relations.

    Raises:
        TraceFormatError: the file cannot be read or is no trace.
    """
    from ptx.profiling.structure.structure import build_structure
    from ptx.profiling.trace.reader import read_trace

    with spooled(file) as path:
        return build_structure(read_trace(path))


@contextmanager
def spooled(file: str) -> Iterator[Path]:
    """Gives the path of a FILE argument; `-` is copied to a private file that goes away again.

    Where the system allows, the copy may be removed while it is still open for reading.
    """
    import os
    import shutil
    import tempfile
    from pathlib import Path

    if file != "-":
        yield Path(file)
        return
    descriptor, name = tempfile.mkstemp(prefix="ptx-", suffix=".json")
    try:
        with os.fdopen(descriptor, "wb") as spool:
            shutil.copyfileobj(sys.stdin.buffer, spool)
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)


def print_lines(lines: Iterable[str]) -> None:
    """Prints lines; on a terminal those that are too long are cut, so that columns stay columns."""
    import shutil

    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else 0
    for line in lines:
        cut = line[: width - 1] + "…" if width and len(line) > width else line
        sys.stdout.write(cut + "\n")


def write_json(pieces: Iterable[bytes]) -> None:
    """Writes pieces of JSON text to stdout as they come."""
    for piece in pieces:
        sys.stdout.buffer.write(piece)
    sys.stdout.buffer.flush()
