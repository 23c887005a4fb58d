"""One trace in every layout, and cut into blocks anywhere: always the same columns."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rows import codes, expected_row, read_bytes, rows
from tests.traces import LAYOUTS, Layout, render, trace

if TYPE_CHECKING:
    from pathlib import Path

_HOSTILE = st.sampled_from(
    [
        '},{"ph":"X"',
        "}]",
        "]}",
        '"',
        '\\"',
        "\\",
        "\n  },\n  {",
        "\n  }\n  ]",
        '"traceEvents": [',
        "{",
        "[",
        "}, {",
        "\ud7ff",
        "é",
        "\U0001f600",
        "\t",
        "/*",
        "NaN",
        "a, b: c",
    ]
)
_TEXT = st.lists(st.one_of(_HOSTILE, st.text(max_size=5)), max_size=4).map("".join)
_VALUE = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**40), 2**40), _TEXT),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(_TEXT, inner, max_size=3)),
    max_leaves=6,
)
_ID = st.integers(0, 2**62)
_KINDS = {
    "cpu_op": "OP",
    "cuda_runtime": "RUNTIME",
    "user_annotation": "ANNOTATION",
    "kernel": "KERNEL",
    "python_function": "FRAME",
}


@st.composite
def _event(draw: st.DrawFn) -> dict[str, Any]:
    args: dict[str, Any] = {
        f"x{key}": value for key, value in draw(st.dictionaries(_TEXT, _VALUE, max_size=3)).items()
    }
    for key in ("External id", "correlation"):
        if draw(st.booleans()):
            args[key] = draw(_ID)
    event: dict[str, Any] = {
        "ph": "X",
        "cat": draw(st.sampled_from(sorted(_KINDS))),
        "name": "f" + draw(_TEXT).translate({ord(c): "t" for c in "\b\f\n\r\t"}),
        "pid": draw(st.integers(0, 3)),
        "tid": draw(st.one_of(st.integers(-(2**40), 2**40), st.just("Spans"))),
        "ts": draw(st.integers(1, 10**10)) / 1000,
        "dur": draw(st.integers(0, 10**7)) / 1000,
    }
    keys: list[str] = draw(st.permutations(list(event)))
    event = {key: event[key] for key in keys}
    always: bool = draw(st.booleans())
    if args or always:
        event["args"] = args
    return event


_EVENTS = st.lists(_event(), max_size=12)
_MEMBERS = st.dictionaries(_TEXT.map(lambda t: "m" + t), _VALUE, max_size=2)


def _expected(events: list[dict[str, Any]]) -> list[Any]:
    return [expected_row(event, _KINDS[event["cat"]]) for event in events]


@settings(max_examples=150)
@given(_EVENTS, st.sampled_from(LAYOUTS), st.integers(64, 2048), st.booleans(), _MEMBERS, _MEMBERS)
def test_hostile_events_in_blocks_of_any_size(
    scratch: Path,
    events: list[dict[str, Any]],
    layout: Layout,
    block: int,
    packed: bool,
    before: dict[str, Any],
    after: dict[str, Any],
) -> None:
    before = {k: v for k, v in before.items() if "traceEvents" not in json.dumps([k, v])}
    text = render(events, layout, before, after)
    loaded = read_bytes(scratch, gzip.compress(text, 1) if packed else text, block)
    assert rows(loaded) == _expected(events)
    assert codes(loaded) == {}
    if layout != "list":
        assert loaded.header.raw == {**before, **after}
    assert [loaded.args.event(i) for i in range(len(events))] == events


@settings(max_examples=60)
@given(_EVENTS, st.sampled_from(LAYOUTS))
def test_hostile_events_in_one_block(
    scratch: Path, events: list[dict[str, Any]], layout: Layout
) -> None:
    loaded = read_bytes(scratch, render(events, layout))
    assert rows(loaded) == _expected(events)
    assert codes(loaded) == {}


def _many(n: int) -> list[Any]:
    builder = trace()
    for k in range(n):
        builder.op(f"aten::op{k}", 10 * k, 8, External_id=k, Input_Dims=[[k, 3], [], [1]])
        builder.runtime("cudaLaunchKernel", 10 * k + 1, 2, correlation=k)
        builder.kernel(f"kernel{k}", 10 * k + 5, 3, correlation=k, grid=[1, 1, 1])
    return builder.events


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("block", [97, 1024, 4096, 65_536])
def test_each_layout_gives_the_same_columns(scratch: Path, layout: Layout, block: int) -> None:
    events = _many(120)
    whole = rows(read_bytes(scratch, render(events, "list")))
    assert rows(read_bytes(scratch, render(events, layout), block)) == whole
    assert len(whole) == len(events)


def test_text_that_looks_like_an_event_list_in_the_header(scratch: Path) -> None:
    note = 'a "traceEvents": [ {"ph": "X"} ] b'
    text = render(_many(2), "kineto", {"note": note}, {"end": note})
    loaded = read_bytes(scratch, text)
    assert len(loaded.table) == 6
    assert loaded.header.raw == {"note": note, "end": note}


def test_header_devices_with_the_indent_of_events(scratch: Path) -> None:
    devices = [{"id": 0, "name": "A"}, {"id": 1, "name": "B"}]
    for before, after in (({"deviceProperties": devices}, {}), ({}, {"deviceProperties": devices})):
        for block in (None, 200):
            loaded = read_bytes(scratch, render(_many(3), "pretty", before, after), block)
            assert len(loaded.table) == 9
            assert [d.name for d in loaded.header.devices] == ["A", "B"]
            assert codes(loaded) == {}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_empty_list_has_no_events(scratch: Path, layout: Layout) -> None:
    loaded = read_bytes(scratch, render([], layout, {"schemaVersion": 1}, {"traceName": "x"}))
    assert (len(loaded.table), loaded.events, loaded.t0_ns, loaded.span_ns) == (0, 0, 0, 0)
    assert codes(loaded) == {}
    assert loaded.args.event(0) is None


@pytest.mark.parametrize("layout", ["compact", "lines", "list", "pretty"])
def test_elements_without_content_keep_the_numbering(scratch: Path, layout: Layout) -> None:
    events = [None, *_many(1), {}, None, *_many(1), {}, 7, "text"]
    loaded = read_bytes(scratch, render(events, layout))
    assert loaded.events == 6
    assert [r[0] for r in rows(loaded)] == [
        "" if not isinstance(e, dict) else e.get("name", "") for e in events
    ]
    for i, event in enumerate(events):
        assert loaded.args.event(i) == (event if isinstance(event, dict) else None)
    assert loaded.table.flags.any() == 0


def test_byte_order_mark_and_windows_line_ends(scratch: Path) -> None:
    text = b"\xef\xbb\xbf" + render(_many(3), "kineto", {"schemaVersion": 1})
    loaded = read_bytes(scratch, text.replace(b"\n", b"\r\n"), 500)
    assert rows(loaded) == rows(read_bytes(scratch, render(_many(3), "list")))
    assert codes(loaded) == {}


def test_bytes_behind_the_end_are_no_events(scratch: Path) -> None:
    for layout in LAYOUTS:
        text = render(_many(2), layout)
        loaded = read_bytes(scratch, text + b"\n\n  \n")
        assert (len(loaded.table), codes(loaded)) == (6, {})
        loaded = read_bytes(scratch, text + b'garbage {"ph": "X"}')
        assert len(loaded.table) == 6
