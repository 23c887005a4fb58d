"""Kernel names explained: the text and the JSON document of `ptx decode`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ptx.profiling.kernels.explain import parts_of
from ptx.profiling.sanitise import clean

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ptx.profiling.kernels.model import KernelName

_PART_COLUMNS = 28
_NAME_COLUMNS = 400


def decode_document(kernel: KernelName) -> dict[str, Any]:
    """Returns `ptx.decode/1`."""
    return {
        "schema": "ptx.decode/1",
        "name": kernel.name,
        "family": kernel.family,
        "vendor": kernel.vendor,
        "short": kernel.short,
        "text": kernel.text,
        "fields": {
            key: list(value) if isinstance(value, tuple) else value
            for key, value in kernel.fields.items()
        },
        "notes": list(kernel.notes),
        "complete": kernel.complete,
    }


def decode_text(kernel: KernelName) -> Iterator[str]:
    """Yields the lines that explain one name: a sentence, its parts, what stayed open."""
    yield _shortened(kernel.name, _NAME_COLUMNS)
    yield f"  {clean(kernel.text)}"
    vendor = f", {kernel.vendor}" if kernel.vendor else ""
    whole = "" if kernel.complete else ", not all understood"
    yield f"  {kernel.category} {clean(kernel.short)}  ({kernel.family}{vendor}{whole})"
    parts = parts_of(kernel)
    shown = [_shortened(part.text, _PART_COLUMNS) for part in parts]
    width = max(map(len, shown), default=0)
    for text, part in zip(shown, parts, strict=True):
        yield f"    {text.ljust(width)}  {clean(part.meaning)}"
    for note in kernel.notes:
        yield f"    note: {clean(note)}"
    if kernel.rule:
        yield f"    source: {clean(kernel.rule)}"


def _shortened(text: str, columns: int) -> str:
    text = clean(text)
    if len(text) <= columns:
        return text
    tail = columns * 2 // 5
    return f"{text[: columns - 1 - tail]}…{text[-tail:]}"
