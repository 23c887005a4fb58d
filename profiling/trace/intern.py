"""Strings and thread ids to small integer codes, handed out in the order of first sight."""

from __future__ import annotations

from typing import TypeVar

Key = TypeVar("Key")


class Interner(dict[Key, int]):
    """Maps a key to its code; looking up a new key gives it the next one.

    Keys beyond the first `limit` share the last code. `map(interner.__getitem__, keys)` interns a
    whole column without a Python-level loop.
    """

    def __init__(self, limit: int = 2**31) -> None:
        super().__init__()
        self._limit = limit

    def __missing__(self, key: Key) -> int:
        if len(self) == self._limit:
            return self._limit - 1
        code = self[key] = len(self)
        return code


ThreadKey = tuple["int | str | None", "int | str | None"]


class ThreadInterner(dict[ThreadKey, int]):
    """Maps (pid, tid) as decoded to a code; spellings of one lane (7 and "7") share the code."""

    def __init__(self) -> None:
        super().__init__()
        self.lanes: dict[ThreadKey, int] = {}

    def __missing__(self, key: ThreadKey) -> int:
        lane = (_plain_id(key[0]), _plain_id(key[1]))
        code = self.lanes.setdefault(lane, len(self.lanes))
        self[key] = code
        return code


def _plain_id(value: object) -> int | str | None:
    if isinstance(value, str):
        digits = value[1:] if value.startswith("-") else value
        if digits.isascii() and digits.isdigit() and len(digits) < 19:
            return int(value)
        return value
    if isinstance(value, float):
        return int(value) if value.is_integer() else str(value)
    if value is None or isinstance(value, int):
        return value
    return str(value)
