"""The errors that ptx reports to its user in one line.

    PtxError                what went wrong, where, what to do; and the exit code
    +-- UsageError          a wrong command line or a value that the trace does not have
    +-- TraceFormatError    a file that cannot be read as a trace

`ptx.tui.cli.main` prints them, once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import os

EXIT_UNUSABLE = 2
"""The exit code for wrong usage and for input that cannot be read."""


class PtxError(Exception):
    """An error that the user can act on: `str()` gives "what, where: what to do".

    Args:
        what: what went wrong.
        where: the file, option or place; left out when empty.
        hint: what to do about it; left out when empty.
        exit_code: the exit code of the command that stops because of it.
    """

    def __init__(
        self, what: str, /, *, where: str = "", hint: str = "", exit_code: int = EXIT_UNUSABLE
    ) -> None:
        self.what = what
        self.where = where
        self.hint = hint
        self.exit_code = exit_code

    def __str__(self) -> str:
        """Returns "what, where: what to do" as recorded; clean it before any sink."""
        place = f", {self.where}" if self.where else ""
        advice = f": {self.hint}" if self.hint else ""
        return f"{self.what}{place}{advice}"


class UsageError(PtxError):
    """A wrong command line, or a value in it that the trace does not have."""


class TraceFormatError(PtxError):
    """A file that cannot be read as a trace.

    Args:
        path: the file.
        what: what is wrong with it.
        hint: what to do about it; left out when empty.
        byte_offset: where in the (unpacked) text, if known.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        what: str,
        /,
        *,
        hint: str = "",
        byte_offset: int | None = None,
    ) -> None:
        at = "" if byte_offset is None else f" at byte {byte_offset}"
        super().__init__(what, where=f"{path}{at}", hint=hint)
        self.path = path
        self.byte_offset = byte_offset
