"""Remove what a trace tells about the machine and the person who captured it.

The exported text is edited in place and never serialised again, so a scrubbed file keeps the
layout that the profiler wrote. `scrub` edits, `find_private` checks the result independently.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

HEADER_KEYS = frozenset(
    {
        "schemaVersion",
        "deviceProperties",
        "trace_id",
        "host_name",
        "record_shapes",
        "with_stack",
        "with_modules",
        "with_flops",
        "profile_memory",
        "cupti_version",
        "cuda_driver_version",
        "cuda_runtime_version",
        "displayTimeUnit",
        "baseTimeNanoseconds",
        "traceEvents",
        "traceName",
    }
)
"""Header keys that a sample may hold; any other may come from the environment and is dropped."""

HOST_PLACEHOLDER = "host"

# A path starts where a string or a word starts, so `torch/nn/linear.py`, `(GB/s)`, `0/1` and URLs
# are none. The first form takes a whole file name with blanks up to the `.py(` of a stack frame.
_ABSOLUTE_PATH = re.compile(
    r"""(?<![^\s"'()<=:,\[])/(?:[^\s/"'\\][^"'\\:()<>]*?\.py(?=\()|[^\s/"'\\,:()<>][^\s"'\\,:()<>]*)"""
)
_TAIL_AFTER = (
    re.compile(r".*/(?:site|dist)-packages/(.+)"),
    re.compile(r".*/lib/python\d[\d.]*/(.+)"),
    re.compile(r".*/(sample_traces/.+)"),
)
_INDUCTOR_CACHE = re.compile(r".*/torchinductor[^/]*/(.+)")
_ADDRESS = re.compile(r"\bat 0x[0-9a-fA-F]+")
_DEVICES = re.compile(r'.*?"deviceProperties": \[[^\]]*\],?[ \t]*\n', re.S)
_HEADER_LINE = re.compile(r'^[ \t]*"([^"\\]+)": .*,\n', re.M)
_HOST_NAME = re.compile(r'("host_name": )"[^"]*"')
_TRACE_NAME = re.compile(r'("traceName": )"[^"]*"')

_CREDENTIAL = re.compile(
    r"(?i)(?:token|secret|passw|credential|api_?key)[\w-]*\s*[=:]"
    r"|\b(?:ghp|gho|github_pat|hf|sk|xox[abp])[_-][A-Za-z0-9_-]{16,}|\bAKIA[0-9A-Z]{12,}"
)
_E_MAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")


def scrub(text: str, *, name: str, private_words: Sequence[str] = ()) -> str:
    """Return the trace text without host, user, absolute paths, addresses and unknown metadata.

    Args:
        text: The JSON text as the profiler exported it.
        name: The file name to state as the trace's own.
        private_words: Host and user names; each is replaced where it stands as a word alone.
    """
    text = _drop_unknown_metadata(text)
    text = _HOST_NAME.sub(rf'\1"{HOST_PLACEHOLDER}"', text)
    text = _TRACE_NAME.sub(rf'\1"{name}"', text)
    text = _ABSOLUTE_PATH.sub(lambda m: relative_path(m[0]), text)
    text = _ADDRESS.sub("at 0x0", text)
    for word in private_words:
        text = _alone(word).sub(HOST_PLACEHOLDER, text)
    return text


def relative_path(path: str) -> str:
    """Return the part of an absolute path that says which source it is, not where it was kept."""
    for pattern in _TAIL_AFTER:
        if found := pattern.fullmatch(path):
            return found[1]
    if found := _INDUCTOR_CACHE.fullmatch(path):
        return f"torchinductor/{found[1]}"
    return path.rstrip("/").rpartition("/")[2]


def find_private(text: str, *, private_words: Sequence[str] = ()) -> list[str]:
    """Return a line for everything in a JSON text that a sample must not hold; empty is clean.

    Raises:
        ValueError: The text is not JSON.
    """
    document = json.loads(text)
    problems = []
    if isinstance(document, dict) and "traceEvents" in document:
        problems += [f"header key {key!r}" for key in document if key not in HEADER_KEYS]
        if document.get("host_name", HOST_PLACEHOLDER) != HOST_PLACEHOLDER:
            problems.append("host name")
    checks = [
        ("absolute path", _ABSOLUTE_PATH),
        ("address", re.compile(r"\b0x[0-9a-fA-F]{6,}")),
        ("credential", _CREDENTIAL),
        ("e-mail address", _E_MAIL),
        *(("private word", _alone(word)) for word in private_words),
    ]
    for value in sorted(set(_strings(document))):
        problems += [f"{what} in {value[:120]!r}" for what, found in checks if found.search(value)]
    return problems


def _drop_unknown_metadata(text: str) -> str:
    """Drop the header's lines of unknown keys: metadata before the events, log lines after."""
    head, mark, rest = text.partition('"traceEvents"')
    devices = found.end() if (found := _DEVICES.match(head)) else 0
    after = rest.rfind("\n  ]") + 1

    def known(line: re.Match[str]) -> str:
        return line[0] if line[1] in HEADER_KEYS else ""

    metadata, log = _HEADER_LINE.sub(known, head[devices:]), _HEADER_LINE.sub(known, rest[after:])
    return head[:devices] + metadata + mark + rest[:after] + log


def _alone(word: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w./:-]){re.escape(word)}(?![\w./:-])")


def _strings(node: object) -> Iterator[str]:
    if isinstance(node, str):
        yield node
    elif isinstance(node, list):
        for item in node:
            yield from _strings(item)
    elif isinstance(node, dict):
        for key, value in node.items():
            yield key
            yield from _strings(value)
