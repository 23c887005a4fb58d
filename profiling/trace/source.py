"""The bytes of a trace file, plain, gzip or zstd: streamed once, read again by offset on demand.

Files are read by `pread`, never mapped: a mapped file that shrinks kills the process.
"""

from __future__ import annotations

import os
import zlib
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from ptx.profiling.errors import TraceFormatError
from ptx.profiling.trace.files import BLOCK_BYTES, OpenFile, pread, window
from ptx.profiling.trace.zstd import ZSTD_MAGICS, ZstdSource

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_GZIP_INPUT_BYTES = 1 << 17
_CHECKPOINT_BYTES = 8 << 20
_GZIP_MAGIC = b"\x1f\x8b"


class Source(Protocol):
    """A file whose (unpacked) text can be streamed and read at any offset."""

    path: Path
    file_bytes: int
    truncated_archive: bool

    @property
    def consumed_bytes(self) -> int:
        """Returns how much of the file on disk the stream has read so far."""

    def blocks(self) -> Iterator[bytes]:
        """Yields the text from its start in blocks of about `BLOCK_BYTES`."""

    def read(self, offset: int, length: int) -> bytes:
        """Returns `length` bytes of the text at `offset`, fewer at its end."""

    def changed(self) -> bool:
        """Returns whether size or time of the file differ from when it was opened."""

    def close(self) -> None:
        """Closes the file."""


def open_source(path: Path) -> Source:
    """Opens a trace file by what it contains, not by its name.

    Raises:
        TraceFormatError: the file cannot be opened, is empty, or has an unknown packing.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    except OSError as error:
        raise TraceFormatError(path, error.strerror or str(error)) from error
    try:
        head = os.read(descriptor, 4)
        status = os.fstat(descriptor)
    except OSError as error:
        os.close(descriptor)
        raise TraceFormatError(path, error.strerror or str(error)) from error
    if not head:
        os.close(descriptor)
        raise TraceFormatError(path, "empty file")
    stamp = (status.st_size, status.st_mtime_ns)
    if head.startswith(ZSTD_MAGICS):
        return ZstdSource(path, descriptor, stamp)
    if head.startswith(_GZIP_MAGIC):
        return GzipSource(path, descriptor, stamp)
    return PlainSource(path, descriptor, stamp)


class PlainSource(OpenFile):
    """A file that holds the text itself."""

    def __init__(self, path: Path, descriptor: int, stamp: tuple[int, int]) -> None:
        super().__init__(path, descriptor, stamp)
        self._position = 0

    @property
    def consumed_bytes(self) -> int:
        """Returns how much of the file on disk the stream has read so far."""
        return self._position

    def blocks(self) -> Iterator[bytes]:
        """Yields the text from its start in blocks of about `BLOCK_BYTES`."""
        self._position = 0
        while block := pread(self.descriptor, BLOCK_BYTES, self._position):
            self._position += len(block)
            yield block

    def read(self, offset: int, length: int) -> bytes:
        """Returns `length` bytes of the text at `offset`, fewer at its end."""
        parts = []
        while length > 0 and (part := pread(self.descriptor, length, offset)):
            parts.append(part)
            offset += len(part)
            length -= len(part)
        return b"".join(parts)


@dataclass(frozen=True, slots=True)
class _Checkpoint:
    """A state of the decompressor from which the text can be unpacked again."""

    text_offset: int
    file_offset: int
    pending: bytes
    state: zlib._Decompress


class GzipSource(OpenFile):
    """A gzip file of one or several members; a cut-off end gives the text up to there.

    Copies of the decompressor's state, one per 8 MB of text, make reading at an offset cost one
    such stretch instead of all that precedes it.
    """

    def __init__(self, path: Path, descriptor: int, stamp: tuple[int, int]) -> None:
        super().__init__(path, descriptor, stamp)
        self._consumed = 0
        self._checkpoints: list[_Checkpoint] = []

    @property
    def consumed_bytes(self) -> int:
        """Returns how much of the file on disk the stream has read so far."""
        return min(self._consumed, self.file_bytes)

    def blocks(self) -> Iterator[bytes]:
        """Yields the text from its start in blocks of at most `BLOCK_BYTES`."""
        self._checkpoints.clear()
        start = _Checkpoint(0, 0, b"", zlib.decompressobj(wbits=31))
        yield from self._unpack(start, record=True)

    def read(self, offset: int, length: int) -> bytes:
        """Returns `length` bytes of the text at `offset`, fewer at its end."""
        start = _Checkpoint(0, 0, b"", zlib.decompressobj(wbits=31))
        for checkpoint in self._checkpoints:
            if checkpoint.text_offset > offset:
                break
            start = checkpoint
        return window(self._unpack(start, record=False), start.text_offset, offset, length)

    def _unpack(self, start: _Checkpoint, *, record: bool) -> Iterator[bytes]:
        state = start.state.copy()
        pending = start.pending
        file_offset = start.file_offset
        text_offset = start.text_offset
        next_checkpoint = text_offset + _CHECKPOINT_BYTES
        while True:
            if not pending:
                pending = pread(self.descriptor, _GZIP_INPUT_BYTES, file_offset)
                file_offset += len(pending)
            # at the file's end the state can still hold text that did not fit into a block
            at_end = not pending
            before = state.copy()
            try:
                block = state.decompress(pending, BLOCK_BYTES)
            except zlib.error:
                self.truncated_archive |= record
                if block := _up_to_damage(before, pending):
                    yield block
                return
            if at_end and not block and not state.eof:
                if record:
                    self.truncated_archive = True
                return
            pending = state.unconsumed_tail
            if state.eof:
                pending = state.unused_data
                while len(pending) < len(_GZIP_MAGIC) and (
                    more := pread(self.descriptor, _GZIP_INPUT_BYTES, file_offset)
                ):
                    file_offset += len(more)
                    pending += more
                if pending.startswith(_GZIP_MAGIC):
                    state = zlib.decompressobj(wbits=31)
                else:  # the end, or padding that archivers leave behind the last member
                    self.truncated_archive |= record and bool(pending.strip(b"\0"))
                    pending = b""
            text_offset += len(block)
            if record:
                self._consumed = file_offset - len(pending)
                if text_offset >= next_checkpoint and not state.eof:
                    self._checkpoints.append(
                        _Checkpoint(text_offset, file_offset, pending, state.copy())
                    )
                    next_checkpoint = text_offset + _CHECKPOINT_BYTES
            if block:
                yield block
            if state.eof:
                return


def _up_to_damage(state: zlib._Decompress, packed: bytes) -> bytes:
    """Returns the text that precedes the damage: the decompressor keeps back all of a bad read."""
    parts = []
    with suppress(zlib.error):
        for at in range(len(packed)):
            parts.append(state.decompress(packed[at : at + 1]))  # noqa: PERF401
    return b"".join(parts)
