"""What stands outside the event list: devices, versions, flags, rank."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import orjson

_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class DeviceProperties:
    """One entry of the header's device list; a field that the file lacks is None."""

    index: int
    name: str | None
    compute_capability: str | None
    sm_count: int | None
    total_memory_bytes: int | None


@dataclass(frozen=True, slots=True)
class Header:
    """The file's own description of itself.

    `raw` holds everything; it can hold secrets (a process environment), so nothing shows it
    unasked.
    """

    raw: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def devices(self) -> tuple[DeviceProperties, ...]:
        """Returns the devices that the header lists, used or not, without repeats."""
        entries = self.raw.get("deviceProperties", self.raw.get("computeProperties"))
        found: dict[int, DeviceProperties] = {}
        for position, entry in enumerate(entries if isinstance(entries, list) else []):
            if isinstance(entry, dict):
                device = _device(entry, position)
                found.setdefault(device.index, device)
        return tuple(found.values())

    @property
    def is_kineto(self) -> bool:
        """Returns whether the header has the marks of PyTorch's own profiler."""
        return "schemaVersion" in self.raw or "deviceProperties" in self.raw

    @property
    def torch_version(self) -> str | None:
        """Returns the version of PyTorch where the file states it."""
        return self._text("pytorch_version") or self._text("torch_version")

    @property
    def rank(self) -> int | None:
        """Returns the rank within a distributed job."""
        return _as_int(self._distributed().get("rank"))

    @property
    def world_size(self) -> int | None:
        """Returns the number of ranks of the job."""
        return _as_int(self._distributed().get("world_size"))

    def flag(self, name: str) -> bool | None:
        """Returns a capture flag (`record_shapes`, `with_stack`, ...), None where not stated.

        The profiler writes a flag only when it is on; files that state no flag at all are of an
        age that wrote none.
        """
        value = self.raw.get(name)
        if isinstance(value, (bool, int)):
            return bool(value)
        return False if any(f in self.raw for f in _FLAGS) else None

    def _text(self, key: str) -> str | None:
        value = self.raw.get(key)
        return value if isinstance(value, str) else None

    def _distributed(self) -> dict[str, Any]:
        value = self.raw.get("distributedInfo")
        return value if isinstance(value, dict) else {}


_FLAGS = ("record_shapes", "with_stack", "profile_memory", "with_modules", "with_flops")


def _device(entry: dict[str, Any], position: int) -> DeviceProperties:
    index = _as_int(entry.get("id"))
    major, minor = _as_int(entry.get("computeMajor")), _as_int(entry.get("computeMinor"))
    name = entry.get("name")
    return DeviceProperties(
        index=position if index is None else index,
        name=name if isinstance(name, str) and name else None,
        compute_capability=None if major is None or minor is None else f"{major}.{minor}",
        sm_count=_as_int(entry.get("numSms")),
        total_memory_bytes=_as_int(entry.get("totalGlobalMem")),
    )


def _as_int(value: object) -> int | None:
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, (int, float, str)):
        try:
            return int(value)
        except (ValueError, OverflowError):
            return None
    return None


def parse_around(head: bytes, tail: bytes | None) -> tuple[dict[str, Any], bool]:
    """Returns the members that stand before and after the event list, and whether all was valid.

    `head` is the text up to the `"traceEvents"` key, `tail` what follows the list's bracket, None
    where the file ends before it.
    """
    members: dict[str, Any] = {}
    sound = True
    before = head.removeprefix(_BOM).strip().rstrip(b",").strip()
    if before not in (b"", b"{"):
        sound &= _read_into(members, before + b"}")
    after = (tail or b"").strip()
    if after not in (b"", b"}"):
        sound &= _read_into(members, b"{" + after.lstrip(b",").strip())
    return members, sound


def _read_into(members: dict[str, Any], text: bytes) -> bool:
    """Adds the members of an object; returns whether it was valid and nothing followed it."""
    behind = ""
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        readable = text.decode("utf-8", "replace")
        try:
            value, end = json.JSONDecoder(strict=False).raw_decode(readable)
        except (ValueError, RecursionError):
            return False
        behind = readable[end:].strip()
    if not isinstance(value, dict):
        return False
    members.update(value)
    return not behind
