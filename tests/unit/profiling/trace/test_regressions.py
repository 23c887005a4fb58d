"""Kinds of files that were once read wrongly: hostile texts at cuts, odd layouts, absurd values."""

from __future__ import annotations

import gzip
import hashlib
import json
from typing import TYPE_CHECKING
from unittest import mock

import pytest
from tests.rows import an_op, codes, names_of, read_bytes, rows
from tests.traces import LAYOUTS, Layout, render, trace

from ptx.profiling.trace import source
from ptx.profiling.trace.columns import Kind
from ptx.profiling.trace.reader import read_trace

if TYPE_CHECKING:
    from pathlib import Path


# --- text that looks like the end of an event ----------------------------------------------------


@pytest.mark.parametrize(
    "inside", ['"},{"', '"} , {"', '\\"},{}', '"},{"b"},{"', '"}}, {"ph": "X"']
)
@pytest.mark.parametrize("layout", ["compact", "lines", "list"])
def test_cut_inside_a_string_neither_ends_nor_changes_it(
    scratch: Path, layout: Layout, inside: str
) -> None:
    events = [an_op(f"{inside} {k}", k, note=inside) for k in range(30)]
    for block in (40, 64, 100, 333):
        loaded = read_bytes(scratch, render(events, layout), block)
        assert names_of(loaded) == [e["name"] for e in events]
        assert [loaded.args.event(i) for i in range(30)] == events
        assert codes(loaded) == {}


@pytest.mark.parametrize("inside", ['"},{"b": 1', "} , {}", "},{}", '"}, {"z'])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_file_that_ends_inside_a_string_has_no_event_from_it(
    scratch: Path, layout: Layout, inside: str
) -> None:
    events = [an_op("first"), an_op(f"x{inside}", 2, note=inside)]
    text = render(events, layout)
    start = text.index(b'"x')
    for cut in range(start + 1, text.index(b'"pid"', start)):
        loaded = read_bytes(scratch, text[:cut])
        assert names_of(loaded) == ["first"]
        assert codes(loaded) == {"truncated": 1}


@pytest.mark.parametrize("end", [b"tr", b"-", b"1.", b"2e", b'"\\u12', b'"a\\', b"[[1, {"])
def test_file_that_ends_inside_any_value_is_only_truncated(scratch: Path, end: bytes) -> None:
    for layout in LAYOUTS:
        text = render([an_op("} , {} x"), an_op("} , {} y", note=["last"])], layout)
        loaded = read_bytes(scratch, text[: text.rindex(b"[")] + end)
        assert names_of(loaded) == ["} , {} x"]
        assert codes(loaded) == {"truncated": 1}


# --- layouts -------------------------------------------------------------------------------------


def test_indent_of_nothing_is_no_layout_to_cut_by(scratch: Path) -> None:
    events = [an_op(f"op{k}", k, nested=[{"a": 1}, {"b": [{}, {}]}, {"c": 2}]) for k in range(20)]
    text = json.dumps({"traceEvents": events}, indent=0).encode()
    for block in (None, 100, 700):
        loaded = read_bytes(scratch, text, block)
        assert names_of(loaded) == [e["name"] for e in events]
        assert codes(loaded) == {}


@pytest.mark.parametrize("last", ["{}", '{"ph": "M", "name": "last", "args": {"x": [{"y": 1}]}}'])
@pytest.mark.parametrize("damage", ["", '"bad": nan, '])
def test_last_event_on_one_line_of_an_indented_file(scratch: Path, last: str, damage: str) -> None:
    text = render([an_op("a"), an_op("b", 2)], "kineto", after={"deviceProperties": [{"id": 0}]})
    text = text.replace(b"\n  }\n  ]", b"\n  },\n  " + last.encode() + b"\n  ]")
    text = text.replace(b'"name": "b"', damage.encode() + b'"name": "b"')
    loaded = read_bytes(scratch, text)
    assert names_of(loaded) == ["a", "b", json.loads(last).get("name", "")]
    assert loaded.header.raw == {"deviceProperties": [{"id": 0}]}
    assert codes(loaded) == ({"not-a-number": 1} if damage else {})


def test_elements_of_another_layout_between_indented_ones(scratch: Path) -> None:
    text = render([an_op("a"), an_op("b", 2), an_op("c", 3)], "pretty", after={"end": [{"a": 1}]})
    text = text.replace(b"\n    },\n    {", b"\n    },\n    null,\n    {},\n    {")
    loaded = read_bytes(scratch, text)
    assert names_of(loaded) == ["a", "", "", "b", "", "", "c"]
    assert (loaded.events, codes(loaded)) == (3, {})
    assert [loaded.args.event(i) for i in range(7)] == json.loads(text)["traceEvents"]


@pytest.mark.parametrize("element", ["[]", '[{"ph": "X"}, {"ph": "X"}]', "12", '"a"', "true"])
def test_element_that_is_no_object_keeps_its_number(scratch: Path, element: str) -> None:
    text = "[" + ", ".join([json.dumps(an_op("a")), element, json.dumps(an_op("b"))]) + "]"
    loaded = read_bytes(scratch, text.encode())
    assert names_of(loaded) == ["a", "", "b"]
    assert (loaded.events, codes(loaded)) == (2, {"not-an-event": 1})
    [problem] = loaded.problems
    assert problem.positions == [1]
    assert problem.dropped == [(text.index(f", {element}, ") + 2, len(element))]


@pytest.mark.parametrize("layout", ["kineto", "compact", "lines", "pretty"])
def test_members_in_front_of_trailing_bytes_are_kept(scratch: Path, layout: Layout) -> None:
    text = render([an_op("a")], layout, {"before": 1}, {"after": "é"})
    loaded = read_bytes(scratch, text.rstrip() + b" trailing }")
    assert loaded.header.raw == {"before": 1, "after": "é"}
    assert codes(loaded) == {"bad-header": 1}


# --- chunks that are read event by event ---------------------------------------------------------


@pytest.mark.parametrize("layout", ["kineto", "compact", "lines", "list"])
def test_one_damaged_event_costs_its_neighbours_no_digit(scratch: Path, layout: Layout) -> None:
    times = ["1712195495519689.047", "1712195495519689.110", "1712195495519689.2"]
    text = render([an_op("T0", 0), an_op("T1", 1), an_op("T2", 2), an_op("bad", x="NAN")], layout)
    for k, time in enumerate(times):
        text = text.replace(
            f'"T{k}", "pid": 1, "tid": 1, "ts": {k}'.encode(),
            (f'"T{k}", "pid": 1, "tid": 1, "ts": {time}'.encode()),
        )
    text = text.replace(
        b'"bad", "pid": 1, "tid": 1, "ts": 1', b'"bad", "pid": 1, "tid": 1, "ts": nan'
    )
    loaded = read_bytes(scratch, text)
    start = (loaded.table.start_ns[:3] + loaded.t0_ns).tolist()
    assert start == [1712195495519689047, 1712195495519689110, 1712195495519689200]
    assert codes(loaded) == {"not-a-number": 1, "no-timestamp": 1}


def test_numbers_that_rocm_writes_as_text_are_nothing_odd(scratch: Path) -> None:
    builder = trace().runtime("hipMemcpyAsync", 1, 2, correlation=5, stream="0x0", bytes="128")
    loaded = read_bytes(scratch, builder.text())
    assert loaded.table.correlation.tolist() == [5]
    assert codes(loaded) == {}


def test_lanes_as_whole_floats_are_those_of_integers(scratch: Path) -> None:
    events = [
        {**an_op("a"), "tid": tid, "pid": pid} for pid, tid in ((1, 7), (1.0, "7"), ("1", 7.0))
    ]
    loaded = read_bytes(scratch, render(events, "compact"))
    assert loaded.table.thread.tolist() == [0, 0, 0]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_lone_surrogates_anywhere_cost_no_event(scratch: Path, layout: Layout) -> None:
    events = [{**an_op("a\ud800"), "cat": "cpu_op", "tid": "\udc80", "args": {"\ud800": "\udfff"}}]
    loaded = read_bytes(scratch, render(events * 2, layout))
    assert names_of(loaded) == ["a\ufffd"] * 2
    assert loaded.args.event(1) == events[0]
    assert loaded.table.kind.tolist() == [Kind.OP] * 2


# --- absurd values -------------------------------------------------------------------------------

_ABSURD = [
    "1" * 5000,
    "-" + "1" * 5000,
    "1e999",
    "1e99999999999",
    "1e-99999999999",
    str(2**64 - 1),
    str(2**70),
    str(-(2**70)),
    '"1e99999999999"',
    '"' + "9" * 5000 + '"',
    "[" * 3000 + "]" * 3000,
    '{"a":' * 3000 + "1" + "}" * 3000,
    "true",
    '{"a": [{}, {}]}',
]
_PLACES = ["ts", "dur", "id", "pid", "tid", "args", "ph", "cat", "name"]
_ARGS = ["correlation", "External id", "Ev Idx", "stream", "Python id", "Bytes", "anything"]


@pytest.mark.parametrize("value", _ABSURD, ids=lambda v: f"{v[:12]}_{len(v)}")
@pytest.mark.parametrize("layout", ["kineto", "compact", "list"])
def test_absurd_values_cost_at_most_their_own_event(
    scratch: Path, layout: Layout, value: str
) -> None:
    for place in (*_PLACES, *_ARGS):
        for cat in ("cpu_op", "kernel", "python_function", "ac2g"):
            odd = {**an_op("odd"), "cat": cat}
            if place in _PLACES:
                odd[place] = "VALUE"
            else:
                odd["args"] = {place: "VALUE"}
            text = render([an_op("a"), odd, an_op("b")], layout)
            loaded = read_bytes(scratch, text.replace(b'"VALUE"', value.encode()))
            names = names_of(loaded)
            assert (names[0], names[-1], len(names)) == ("a", "b", 3)
            assert loaded.args.event(2) == an_op("b")
            assert loaded.span_ns >= 0


def test_header_of_absurd_depth_is_ignored(scratch: Path) -> None:
    text = b'{"deep": ' + b"[" * 5000 + b"]" * 5000 + b', "traceEvents": [{"ph": "X"}]}'
    loaded = read_bytes(scratch, text)
    assert (len(loaded.table), codes(loaded)) == (
        1,
        {"bad-header": 1, "no-timestamp": 1, "no-duration": 1},
    )


def test_more_categories_than_their_column_can_tell_apart(scratch: Path) -> None:
    events = [{"ph": "X", "cat": f"c{k}", "name": "n", "ts": k, "dur": 1} for k in range(65_600)]
    loaded = read_bytes(scratch, render(events, "list"))
    assert len(loaded.table) == 65_600
    assert len(loaded.table.categories) == 65_536


# --- archives ------------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", [1, 2, 3, 7, 64])
def test_members_may_meet_at_the_end_of_any_read(scratch: Path, unit: int) -> None:
    text = render([an_op(f"op{k}", k) for k in range(9)], "kineto")
    pieces = [text[:100], b"", text[100:101], text[101:]]
    scratch.write_bytes(b"".join(gzip.compress(piece, mtime=0) for piece in pieces))
    with mock.patch.object(source, "_GZIP_INPUT_BYTES", unit):
        loaded = read_trace(scratch)
    assert len(loaded.table) == 9
    assert codes(loaded) == {}


def test_cut_archive_gives_all_text_that_its_bytes_hold(scratch: Path) -> None:
    # long repeats: few packed bytes stand for more text than one block
    events = [an_op("a" * 600, k) for k in range(40)]
    packed = gzip.compress(render(events, "list"), 9, mtime=0)
    counts = []
    for cut in range(len(packed) // 2, len(packed) - 8, 7):
        whole = len(rows(read_bytes(scratch, packed[:cut])))
        assert len(rows(read_bytes(scratch, packed[:cut], 64))) == whole
        counts.append(whole)
    assert counts[0] < counts[-1]


def _noisy(n: int) -> bytes:
    return render([an_op(hashlib.sha256(bytes([k])).hexdigest(), k) for k in range(n)], "kineto")


@pytest.mark.parametrize("back", [1, 5, 8])
def test_archive_with_a_wrong_check_sum_gives_all_its_text(scratch: Path, back: int) -> None:
    packed = bytearray(gzip.compress(_noisy(30), mtime=0))
    packed[-back] ^= 0x55
    loaded = read_bytes(scratch, bytes(packed))
    assert len(loaded.table) == 30
    assert codes(loaded) == {"truncated-archive": 1}


def test_small_archive_damaged_in_the_middle_gives_the_text_before(scratch: Path) -> None:
    packed = bytearray(gzip.compress(_noisy(60), mtime=0))
    packed[len(packed) * 2 // 3 :] = b"\xff" * 80
    loaded = read_bytes(scratch, bytes(packed))
    assert 20 < len(loaded.table) < 60
    assert codes(loaded) == {"truncated": 1, "truncated-archive": 1}


@pytest.mark.parametrize(("behind", "sound"), [(b"\0" * 512, True), (b"junk", False)])
def test_bytes_behind_the_last_member_are_told_unless_they_are_padding(
    scratch: Path, behind: bytes, sound: bool
) -> None:
    loaded = read_bytes(scratch, gzip.compress(_noisy(3), mtime=0) + behind)
    assert codes(loaded) == ({} if sound else {"truncated-archive": 1})


# --- what stands around the event list -----------------------------------------------------------


_FOOTER = {"traceName": "t", "deviceProperties": [{"id": 0}, {"id": 1, "name": "B"}]}


@pytest.mark.parametrize("layout", ["kineto", "compact", "lines", "pretty"])
def test_file_cut_behind_its_events_is_truncated_and_keeps_whole_members(
    scratch: Path, layout: Layout
) -> None:
    text = render([an_op("a"), an_op("b")], layout, {}, _FOOTER).rstrip()
    end = text.rindex(b"]", 0, text.index(b'"traceName"')) + 1
    name_end = text.index(b'"t"') + 3
    for cut in range(end, len(text)):
        loaded = read_bytes(scratch, text[:cut])
        assert (names_of(loaded), codes(loaded)) == (["a", "b"], {"truncated": 1}), text[:cut]
        assert loaded.header.raw.get("traceName") == ("t" if cut >= name_end else None)
        assert loaded.header.raw.get("deviceProperties") in (None, _FOOTER["deviceProperties"])


@pytest.mark.parametrize("layout", ["kineto", "compact", "lines", "list"])
@pytest.mark.parametrize("junk", [b"x", b'{"ph": "X"}', b', {"ph": "X", "name": "late"}]', b"\0\0"])
def test_text_behind_the_end_is_told_to_be_lost(scratch: Path, layout: Layout, junk: bytes) -> None:
    text = render([an_op("a"), an_op("b")], layout).rstrip()
    loaded = read_bytes(scratch, text + junk)
    problem = loaded.problems.get("bad-header")
    assert names_of(loaded) == ["a", "b"]
    assert problem is not None
    assert problem.dropped == [(len(text), len(junk))]


def test_list_that_a_stray_bracket_ends_tells_the_rest_to_be_lost(scratch: Path) -> None:
    first, late = json.dumps(an_op("a")), json.dumps(an_op("b"))
    text = f'{{"traceEvents": [{first}], {late}], "traceName": "t"}}'.encode()
    loaded = read_bytes(scratch, text)
    lost = [place for problem in loaded.problems for place in problem.dropped]
    assert any(at <= text.index(late.encode()) < at + size for at, size in lost)


@pytest.mark.parametrize("key", ["traceEvents", "deviceProperties"])
@pytest.mark.parametrize("damage", ["", '"x": nan, '])
def test_events_in_a_list_behind_the_list_are_told_to_be_lost(
    scratch: Path, key: str, damage: str
) -> None:
    first, late = json.dumps(an_op("a")), json.dumps(an_op("b"))
    text = f'{{"traceEvents": [{first}], {damage}"rank": 1, "{key}": [{late}], "traceName": "t"}}'
    loaded = read_bytes(scratch, text.encode())
    problem = loaded.problems.get("bad-header")
    assert names_of(loaded) == ["a"]
    assert loaded.header.raw["rank"] == 1
    assert problem is not None
    assert any(at <= text.index(late) < at + size for at, size in problem.dropped)


def test_damaged_member_of_the_header_costs_only_what_follows_it(scratch: Path) -> None:
    text = b'{"schemaVersion": 1, "note": "say "hi"", "bad": }x{, "traceEvents": []}'
    loaded = read_bytes(scratch, text)
    problem = loaded.problems.get("bad-header")
    assert loaded.header.raw["schemaVersion"] == 1
    assert loaded.header.raw["note"] == 'say "hi"'
    assert problem is not None
    assert problem.dropped_bytes


def test_header_text_with_half_a_surrogate_can_be_shown(scratch: Path) -> None:
    text = b'{"a": "\\ud800", "b": "\xff", "traceEvents": []}'
    for value in read_bytes(scratch, text).header.raw.values():
        assert value.encode()


def test_file_written_over_another_tells_what_is_lost(scratch: Path) -> None:
    whole = render([an_op(f"op{k}") for k in range(6)], "compact", {}, _FOOTER)
    for cut in range(30, len(whole), 7):
        text = whole[:cut] + whole
        loaded = read_bytes(scratch, text)
        lost = [place for problem in loaded.problems for place in problem.dropped]
        for k in range(6):
            where = text.rindex(f'"op{k}"'.encode())
            told = any(at <= where < at + size for at, size in lost)
            assert told or names_of(loaded).count(f"op{k}") >= 1, (cut, k)
