"""An open file read by offset, with the size and time it had when opened.

Files are read by `pread`, never mapped: a mapped file that shrinks kills the process.
"""

from __future__ import annotations

import os
import weakref
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

BLOCK_BYTES = 1 << 20

if hasattr(os, "pread"):
    pread = os.pread
else:  # Windows has no pread; nothing else moves this descriptor's position

    def pread(descriptor: int, length: int, offset: int) -> bytes:
        """Returns up to `length` bytes at `offset`."""
        os.lseek(descriptor, offset, os.SEEK_SET)
        return os.read(descriptor, length)


def window(blocks: Iterable[bytes], position: int, offset: int, length: int) -> bytes:
    """Returns `length` bytes of a text at `offset` from blocks of it that begin at `position`."""
    parts = []
    for block in blocks:
        end = position + len(block)
        if end > offset:
            parts.append(block[max(0, offset - position) : offset + length - position])
        position = end
        if position >= offset + length:
            break
    return b"".join(parts)


class OpenFile:
    """An open descriptor with the size and time it had when opened."""

    def __init__(self, path: Path, descriptor: int, stamp: tuple[int, int]) -> None:
        self.path = path
        self.file_bytes = stamp[0]
        self.truncated_archive = False
        self.descriptor = descriptor
        self._stamp = stamp
        self._closer = weakref.finalize(self, os.close, descriptor)

    def changed(self) -> bool:
        """Returns whether size or time of the file differ from when it was opened."""
        try:
            status = os.fstat(self.descriptor)
        except OSError:
            return True
        return (status.st_size, status.st_mtime_ns) != self._stamp

    def close(self) -> None:
        """Closes the file; closing twice is harmless, and it happens by itself in the end."""
        self._closer()
