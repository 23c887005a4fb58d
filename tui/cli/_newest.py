"""The list of recent trace files that `ptx` alone prints."""

from __future__ import annotations

import os
from typing import NamedTuple

from ptx.profiling.sanitise import clean

_ENDINGS = (".json", ".json.gz", ".json.zst")
_PROFILER_NAME = ".pt.trace.json"
_AGES = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))
_SIZES = ((1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB"))


class _Found(NamedTuple):
    modified_s: float
    name: str
    size_bytes: int


def newest_lines(folder: str, now_s: float, limit: int = 5) -> list[str]:
    """Returns one line a file, newest first: its name, size and age. Opens no file.

    Args:
        folder: where to look; not below it.
        now_s: the present time, seconds since the epoch.
        limit: the most lines to return.
    """
    newest = sorted(_candidates(folder), reverse=True)[:limit]
    names = [clean(found.name) for found in newest]
    width = max(map(len, names), default=0)
    return [
        f"{name:<{width}}  {_size(found.size_bytes):>8}  {_age(now_s - found.modified_s):>6} ago"
        for name, found in zip(names, newest, strict=True)
    ]


def _candidates(folder: str) -> list[_Found]:
    found = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if not (entry.name.endswith(_ENDINGS) or _PROFILER_NAME in entry.name):
                    continue
                if entry.is_file():
                    status = entry.stat()
                    found.append(_Found(status.st_mtime, entry.name, status.st_size))
    except OSError:
        # A courtesy list: a folder that cannot be read has nothing to offer.
        return []
    return found


def _age(seconds: float) -> str:
    for unit_s, unit in _AGES:
        if seconds >= unit_s:
            return f"{int(seconds // unit_s)} {unit}"
    return "0 s"


def _size(size_bytes: int) -> str:
    for unit_bytes, unit in _SIZES:
        if size_bytes >= unit_bytes:
            return f"{size_bytes / unit_bytes:.1f} {unit}"
    return f"{size_bytes} B"
