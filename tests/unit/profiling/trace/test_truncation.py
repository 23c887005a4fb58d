"""Files that end early, anywhere: all that is whole is read, and the cut is told."""

from __future__ import annotations

import gzip
import hashlib
import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rows import codes, read_bytes, rows
from tests.traces import LAYOUTS, Layout, render, trace

from ptx.profiling.errors import TraceFormatError

if TYPE_CHECKING:
    from pathlib import Path


def _events() -> list[Any]:
    builder = trace()
    for k in range(14):
        builder.op(f'o"}}, {{{k}]', 10 * k, 5.25, External_id=k, Input_Dims=[[1, 2], []])
        builder.kernel(f"kernel{k}", 10 * k + 2, 3, correlation=k, nested=[{"a": {}}, {"b": []}])
    return builder.events


_EVENTS = _events()
_HEADER = {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "A"}]}
_TEXTS = {layout: render(_EVENTS, layout, _HEADER, {"traceName": "t"}) for layout in LAYOUTS}


def _whole_before(text: bytes, cut: int) -> int:
    """Returns how many events end at or before a cut, by a plain parser."""
    start = text.index(b"[", max(0, text.find(b'"traceEvents"'))) + 1
    decoder = json.JSONDecoder()
    readable = text.decode()
    position, found = start, 0
    while True:
        while readable[position] in " \n,[":
            position += 1
        if readable[position] == "]":
            return found
        _, position = decoder.raw_decode(readable, position)
        if position > cut:
            return found
        found += 1


@settings(max_examples=200)
@given(st.sampled_from(LAYOUTS), st.floats(0, 1), st.sampled_from([None, 150, 1000]))
def test_no_whole_event_is_lost_at_any_cut(
    scratch: Path, layout: Layout, share: float, block: int | None
) -> None:
    text = _TEXTS[layout]
    first = text.index(b"{", text.find(b'"traceEvents"') + 1) if layout != "list" else 1
    cut = first + int(share * (len(text.rstrip()) - 1 - first))
    whole = _whole_before(text, cut)
    loaded = read_bytes(scratch, text[:cut], block)
    found = codes(loaded)
    names = [row[0] for row in rows(loaded)]
    assert names == [event["name"] for event in _EVENTS[:whole]]
    assert [loaded.args.event(i) for i in range(whole)] == _EVENTS[:whole]
    if found != {"truncated": 1}:  # a bare list may lack its end; an object's members are cut
        between = text[:cut].rstrip(b" ,")[-1:] in (b"[", b"}")
        assert found == ({"open-list": 1} if layout == "list" else {"bad-header": 1})
        assert between or layout != "list"


_LAST = b'{"ph": "X", "name": "b", "pid": 1, "tid": 1, "ts": 3, "dur": 1}'


@pytest.mark.parametrize("between", [b", ", b",\n", b",\n  ", b"\n,"])
@pytest.mark.parametrize("end", [b"", b"\n", b",", b",\n", b" ,\n\n", b"\r\n"])
@pytest.mark.parametrize("block", [None, 40])
def test_list_whose_last_element_is_whole_may_lack_its_bracket(
    scratch: Path, between: bytes, end: bytes, block: int | None
) -> None:
    loaded = read_bytes(scratch, b"[" + _LAST + between + _LAST + end, block)
    assert (len(loaded.table), codes(loaded)) == (2, {"open-list": 1})


@pytest.mark.parametrize("layout", ["list", "lines"])
@pytest.mark.parametrize("kept", range(1, len(_LAST)))
def test_list_whose_last_element_is_not_whole_is_truncated(
    scratch: Path, layout: Layout, kept: int
) -> None:
    head = b"[" if layout == "list" else b'{"traceEvents": [\n'
    loaded = read_bytes(scratch, head + _LAST + b",\n" + _LAST[:kept])
    assert (len(loaded.table), codes(loaded)) == (1, {"truncated": 1})


def test_list_of_an_object_needs_its_bracket(scratch: Path) -> None:
    loaded = read_bytes(scratch, b'{"traceEvents": [\n' + _LAST + b",\n" + _LAST + b"\n")
    assert (len(loaded.table), codes(loaded)) == (2, {"truncated": 1})


def test_list_in_an_archive_that_breaks_is_no_matter_of_its_bracket(scratch: Path) -> None:
    packed = gzip.compress(b"[" + _LAST + b",", mtime=0)
    assert codes(read_bytes(scratch, packed)) == {"open-list": 1}
    assert codes(read_bytes(scratch, packed[:-8])) == {"truncated-archive": 1}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_cut_in_front_of_the_events_is_no_trace_or_an_empty_one(
    scratch: Path, layout: Layout
) -> None:
    text = _TEXTS[layout]
    for cut in range(1, text.find(b'"ph"'), 3):
        try:
            loaded = read_bytes(scratch, text[:cut])
        except TraceFormatError:
            continue
        assert len(loaded.table) == 0


@settings(max_examples=60)
@given(st.floats(0.2, 1), st.sampled_from(["kineto", "compact"]))
def test_cut_archive_gives_what_its_text_up_to_the_cut_gives(
    scratch: Path, share: float, layout: Layout
) -> None:
    packed = gzip.compress(_TEXTS[layout], 6, mtime=0)
    cut = packed[: int(len(packed) * share)]
    try:
        loaded = read_bytes(scratch, cut, 256)
    except TraceFormatError:
        return
    names = [row[0] for row in rows(loaded)]
    assert names == [event["name"] for event in _EVENTS[: len(names)]]
    assert ("truncated-archive" in codes(loaded)) == (len(cut) < len(packed))
    assert [loaded.args.event(i) for i in range(len(names))] == _EVENTS[: len(names)]


def test_archive_of_several_members_is_one_text(scratch: Path) -> None:
    text = _TEXTS["kineto"]
    whole = rows(read_bytes(scratch, text))
    for pieces in (2, 3, 7):
        size = -(-len(text) // pieces)
        parts = [gzip.compress(text[i : i + size]) for i in range(0, len(text), size)]
        for block in (None, 100):
            loaded = read_bytes(scratch, b"".join(parts), block)
            assert rows(loaded) == whole
            assert codes(loaded) == {}
            assert [loaded.args.event(i) for i in range(len(_EVENTS))] == _EVENTS
        loaded = read_bytes(scratch, b"".join(parts) + b"\0" * 700)
        assert (rows(loaded), codes(loaded)) == (whole, {})


def test_archive_that_breaks_in_the_middle_keeps_what_was_unpacked(scratch: Path) -> None:
    names = [hashlib.sha256(bytes([k % 256, k // 256])).hexdigest() for k in range(8000)]
    builder = trace()
    for k, name in enumerate(names):
        builder.op(name, k, 1)
    packed = bytearray(gzip.compress(builder.text("compact"), 6, mtime=0))
    middle = len(packed) * 2 // 3
    packed[middle : middle + 50] = bytes(50)
    loaded = read_bytes(scratch, bytes(packed))
    found = [row[0] for row in rows(loaded)]
    assert found[:5000] == names[:5000]
    assert "truncated-archive" in codes(loaded)


@pytest.mark.parametrize("text", [b"", b"{", b"[", b"hello", b"\x00\x01", b'{"a": 1}', b"\x1f\x8b"])
def test_files_that_are_no_trace_say_so_in_one_error(scratch: Path, text: bytes) -> None:
    try:
        loaded = read_bytes(scratch, text)
    except TraceFormatError:
        return
    assert text == b"["
    assert len(loaded.table) == 0
