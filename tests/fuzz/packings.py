"""Archives of a text in several members, their damage, and the text that is left in them."""

from __future__ import annotations

import gzip
import importlib
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

_KINDS = ("sound", "members", "cut", "crc", "size", "flip", "zeros", "trail", "drop")


@dataclass(frozen=True)
class Packing:
    """A kind of archive: how it begins, is made and is read; its members end in `end_bytes`.

    `decoder` makes what unpacks one member and raises one of `errors` for a damaged one.
    """

    magic: bytes
    pack: Callable[[bytes], bytes]
    decoder: Callable[[], Any]
    errors: tuple[type[Exception], ...]
    end_bytes: tuple[int, int]

    def is_packed(self, data: bytes) -> bool:
        """Returns whether data begins as such an archive does."""
        return data.startswith(self.magic)

    def unpack(self, data: bytes) -> bytes:
        """Returns all text that an archive gives before its first damage, byte by byte."""
        out: list[bytes] = []
        state = self.decoder()
        at = 0
        while at < len(data):
            try:
                out.append(state.decompress(data[at : at + 1]))
            except self.errors:
                break
            at += 1
            if state.eof:
                if not data.startswith(self.magic, at):
                    break
                state = self.decoder()
        return b"".join(out)


GZIP = Packing(
    magic=b"\x1f\x8b",
    pack=lambda text: gzip.compress(text, 6, mtime=0),
    decoder=lambda: zlib.decompressobj(wbits=31),
    errors=(zlib.error,),
    end_bytes=(5, 1),  # of the check sum, of the size
)


def _zstd() -> Packing | None:
    try:
        package = importlib.import_module("zstandard")
    except ImportError:
        return None
    return Packing(
        magic=b"\x28\xb5\x2f\xfd",
        pack=lambda text: bytes(package.ZstdCompressor(write_checksum=True).compress(text)),
        decoder=lambda: package.ZstdDecompressor(max_window_size=2**31).decompressobj(),
        errors=(package.ZstdError,),
        end_bytes=(1, 4),  # of the check sum, which is the last of a frame
    )


ZSTD = _zstd()
"""None where the extra `fast` is not installed."""


def damaged(text: bytes, packing: Packing, rng: random.Random) -> tuple[str, bytes]:
    """Returns (kind of the damage, an archive of the text in 1 to 4 members with that damage)."""
    kind = rng.choice(_KINDS)
    pieces = rng.randint(1, 4)
    size = -(-len(text) // pieces)
    members = [packing.pack(text[i : i + size]) for i in range(0, len(text), size)]
    data = bytearray(b"".join(members))
    at = rng.randrange(len(data))
    if kind == "cut":
        del data[at:]
    elif kind in ("crc", "size"):
        ends = [sum(map(len, members[: k + 1])) for k in range(len(members))]
        data[rng.choice(ends) - packing.end_bytes[kind == "size"]] ^= 0x55
    elif kind == "flip":
        data[at] ^= 1 << rng.randrange(8)
    elif kind == "zeros":
        data[at : at + 8] = bytes(len(data[at : at + 8]))
    elif kind == "trail":
        trails = (bytes(512), b"\n", rng.randbytes(64), packing.magic, packing.magic + b"xx")
        data += rng.choice(trails)
    elif kind == "drop":
        del data[at : at + rng.randint(1, 20)]
    return kind, bytes(data)
