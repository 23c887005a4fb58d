"""A trace file packed by zstd; needs a decoder that Python has from 3.14 on, else a package."""

from __future__ import annotations

import importlib
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ptx.profiling.errors import TraceFormatError
from ptx.profiling.trace.files import BLOCK_BYTES, OpenFile, pread, window

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

ZSTD_MAGICS = (
    b"\x28\xb5\x2f\xfd",
    *(bytes((low, 0x2A, 0x4D, 0x18)) for low in range(0x50, 0x60)),  # a frame to be skipped
)
_INPUT_BYTES = 1 << 14  # the decoder's output has no limit of its own
_HINT = "install ptx-explorer[fast], or unpack it first: zstd -d"


class ZstdSource(OpenFile):
    """A zstd file of one or several frames; a cut-off end gives the text up to there.

    Reading at an offset unpacks again from the start of the frame that holds it.
    """

    def __init__(self, path: Path, descriptor: int, stamp: tuple[int, int]) -> None:
        super().__init__(path, descriptor, stamp)
        decoder = _decoder()
        if decoder is None:
            self.close()
            raise TraceFormatError(path, "packed by zstd", hint=_HINT)
        self._decoder = decoder
        self._consumed = 0
        self._frames = [(0, 0)]  # (offset in the text, offset in the file)

    @property
    def consumed_bytes(self) -> int:
        """Returns how much of the file on disk the stream has read so far."""
        return min(self._consumed, self.file_bytes)

    def blocks(self) -> Iterator[bytes]:
        """Yields the text from its start in blocks of at most `BLOCK_BYTES`."""
        self._frames = [(0, 0)]
        yield from self._unpack(0, 0, record=True)

    def read(self, offset: int, length: int) -> bytes:
        """Returns `length` bytes of the text at `offset`, fewer at its end."""
        position, file_offset = max(frame for frame in self._frames if frame[0] <= offset)
        return window(self._unpack(position, file_offset, record=False), position, offset, length)

    def _unpack(self, text_offset: int, file_offset: int, *, record: bool) -> Iterator[bytes]:
        state = self._decoder()
        frame_offset = file_offset
        pending = b""
        while True:
            if not pending:
                pending = pread(self.descriptor, _INPUT_BYTES, file_offset)
                file_offset += len(pending)
            try:
                text = state.decompress(pending) if pending else b""
            except Exception:  # each decoder has an error class of its own
                self.truncated_archive |= record
                yield self._up_to_damage(frame_offset, file_offset - len(pending), pending)
                return
            if not pending:  # the file ends within a frame
                self.truncated_archive |= record
                return
            text_offset += len(text)
            pending = state.unused_data if state.eof else b""
            if record:
                self._consumed = file_offset - len(pending)
            for at in range(0, len(text), BLOCK_BYTES):
                yield text[at : at + BLOCK_BYTES]
            if not state.eof:
                continue
            if len(pending) < len(ZSTD_MAGICS[0]):
                more = pread(self.descriptor, _INPUT_BYTES, file_offset)
                file_offset += len(more)
                pending += more
            if not pending.startswith(ZSTD_MAGICS):
                # the end, or padding behind the last frame
                self.truncated_archive |= record and bool(pending.strip(b"\0"))
                return
            frame_offset = file_offset - len(pending)
            if record:
                self._frames.append((text_offset, frame_offset))
            state = self._decoder()

    def _up_to_damage(self, frame_offset: int, damaged_offset: int, damaged: bytes) -> bytes:
        """Returns the text in a bad read that precedes the damage: a decoder keeps back all of it.

        A decoder that failed can neither go on nor be copied, so the frame is unpacked again.
        """
        state = self._decoder()
        while frame_offset < damaged_offset:
            sound = pread(
                self.descriptor, min(_INPUT_BYTES, damaged_offset - frame_offset), frame_offset
            )
            if not sound:  # the file shrank
                return b""
            state.decompress(sound)
            frame_offset += len(sound)
        parts = []
        with suppress(Exception):  # each decoder has an error class of its own
            for at in range(len(damaged)):
                parts.append(state.decompress(damaged[at : at + 1]))  # noqa: PERF401
        return b"".join(parts)


def _decoder() -> Callable[[], Any] | None:
    """Returns what makes a decoder of one frame, None where nothing can decode."""
    try:
        package = importlib.import_module("zstandard")
    except ImportError:
        pass
    else:
        return lambda: package.ZstdDecompressor(max_window_size=2**31).decompressobj()
    try:
        standard: Any = importlib.import_module("compression.zstd")
    except ImportError:
        return None
    decoder: Callable[[], Any] = standard.ZstdDecompressor
    return decoder
