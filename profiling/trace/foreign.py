"""What a file is that holds no events: recognised by its first bytes, and refused with a word."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Foreign:
    """What a file is, and what to open instead."""

    what: str
    hint: str


_EXPORT = "open the .json that export_chrome_trace wrote"
_SCHEMA = re.compile(rb'"schema"\s*:\s*"([^"]{1,40})"')
_NODES = re.compile(rb'"nodes"\s*:\s*\[')
_ROCPROFILER = re.compile(rb'^\s*\{\s*"rocprofiler-sdk-(?:tool|json-tool)"')
_KEY = re.compile(rb'^\s*\{\s*"([^"\\]{1,60})"')
_SINGLE_QUOTES = re.compile(rb"^[\[{\s]*'")
_ONE_EVENT = re.compile(rb'^\{[^{}\[\]]{0,400}"ph"\s*:')
_TAR_MAGIC, _TAR_MAGIC_AT = b"ustar", 257
_LOG_LINE = re.compile(rb"^[VIWE]\d{4} \d\d:\d\d:\d\d")
_BY_START = (
    (b"PK\x03\x04", "a zip archive", "unpack it first"),
    (b"SQLite format 3", "an SQLite database (Nsight Systems?)", "nsys exports no profiler trace"),
    (b"\x80", "a pickle (a memory snapshot?)", "see torch.cuda.memory._dump_snapshot"),
    (b"\xfd7zXZ", "packed by xz", "unpack it first: xz -d"),
    (b"BZh", "packed by bzip2", "unpack it first: bzip2 -d"),
    (b"\x1f\x8b", "packed twice, by gzip inside", "unpack it once: gzip -d"),
    (b"\x28\xb5\x2f\xfd", "packed twice, by zstd inside", "unpack it once"),
    (b"\xff\xfe", "text in UTF-16", "convert it first: iconv -f UTF-16 -t UTF-8"),
    (b"\xfe\xff", "text in UTF-16", "convert it first: iconv -f UTF-16 -t UTF-8"),
    (b"<", "markup (HTML or XML), no JSON", _EXPORT),
)


def recognise(head: bytes) -> Foreign | None:
    """Returns what a file without an event list is, None where its first bytes do not tell."""
    for start, what, hint in _BY_START:
        if head.startswith(start):
            return Foreign(what, hint)
    if head.startswith(_TAR_MAGIC, _TAR_MAGIC_AT):
        return Foreign("a tar archive", "unpack it first: tar -xf")
    if _SINGLE_QUOTES.match(head):
        return Foreign("a Python literal, not JSON", "write it by json.dump")
    if _ONE_EVENT.match(head):
        return Foreign("events without a list around them", "make a list of them: jq -s . FILE")
    if _LOG_LINE.match(head):
        return Foreign("a structured log of torch.compile (TORCH_TRACE)", "tlparse reads it")
    if _ROCPROFILER.match(head):
        return Foreign(
            "rocprofiler-sdk's own output, not a profiler trace",
            "rocprofv3 --output-format pftrace is for Perfetto; " + _EXPORT,
        )
    schema = _SCHEMA.search(head)
    if _NODES.search(head) and schema is not None:
        version = schema[1].decode("ascii", "replace")
        return Foreign(
            f"an Execution Trace (schema {version}), not a profiler trace",
            _EXPORT + " beside it",
        )
    key = _KEY.match(head)
    if key is not None:
        name = key[1].decode("utf-8", "replace")
        return Foreign(
            f'a JSON object (first key "{name}") without a list of events',
            'expected "traceEvents": [...]',
        )
    return None
