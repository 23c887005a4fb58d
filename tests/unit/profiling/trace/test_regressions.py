"""Kinds of files that were once read wrongly: hostile texts at cuts, odd layouts, absurd values."""

from __future__ import annotations

import gzip
import hashlib
import json
from typing import TYPE_CHECKING, Any
from unittest import mock

import pytest
from tests.rows import codes, read_bytes, rows
from tests.traces import LAYOUTS, Layout, render, render_texts, trace

from ptx.profiling.trace import source
from ptx.profiling.trace.columns import Kind
from ptx.profiling.trace.reader import TraceFile, read_trace

if TYPE_CHECKING:
    from pathlib import Path


def _op(name: str, start: float = 1, **args: object) -> dict[str, Any]:
    built: dict[str, Any] = trace().op(name, start, 0.5, **args).events[0]
    return built


def _names(loaded: TraceFile) -> list[str]:
    return [loaded.table.name_of(i) for i in range(len(loaded.table))]


# --- text that looks like the end of an event ----------------------------------------------------


@pytest.mark.parametrize(
    "inside", ['"},{"', '"} , {"', '\\"},{}', '"},{"b"},{"', '"}}, {"ph": "X"']
)
@pytest.mark.parametrize("layout", ["compact", "lines", "list"])
def test_cut_inside_a_string_neither_ends_nor_changes_it(
    scratch: Path, layout: Layout, inside: str
) -> None:
    events = [_op(f"{inside} {k}", k, note=inside) for k in range(30)]
    for block in (40, 64, 100, 333):
        loaded = read_bytes(scratch, render(events, layout), block)
        assert _names(loaded) == [e["name"] for e in events]
        assert [loaded.args.event(i) for i in range(30)] == events
        assert codes(loaded) == {}


@pytest.mark.parametrize("inside", ['"},{"b": 1', "} , {}", "},{}", '"}, {"z'])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_file_that_ends_inside_a_string_has_no_event_from_it(
    scratch: Path, layout: Layout, inside: str
) -> None:
    events = [_op("first"), _op(f"x{inside}", 2, note=inside)]
    text = render(events, layout)
    start = text.index(b'"x')
    for cut in range(start + 1, text.index(b'"pid"', start)):
        loaded = read_bytes(scratch, text[:cut])
        assert _names(loaded) == ["first"]
        assert codes(loaded) == {"truncated": 1}


@pytest.mark.parametrize("end", [b"tr", b"-", b"1.", b"2e", b'"\\u12', b'"a\\', b"[[1, {"])
def test_file_that_ends_inside_any_value_is_only_truncated(scratch: Path, end: bytes) -> None:
    for layout in LAYOUTS:
        text = render([_op("} , {} x"), _op("} , {} y", note=["last"])], layout)
        loaded = read_bytes(scratch, text[: text.rindex(b"[")] + end)
        assert _names(loaded) == ["} , {} x"]
        assert codes(loaded) == {"truncated": 1}


# --- layouts -------------------------------------------------------------------------------------


def test_indent_of_nothing_is_no_layout_to_cut_by(scratch: Path) -> None:
    events = [_op(f"op{k}", k, nested=[{"a": 1}, {"b": [{}, {}]}, {"c": 2}]) for k in range(20)]
    text = json.dumps({"traceEvents": events}, indent=0).encode()
    for block in (None, 100, 700):
        loaded = read_bytes(scratch, text, block)
        assert _names(loaded) == [e["name"] for e in events]
        assert codes(loaded) == {}


@pytest.mark.parametrize("last", ["{}", '{"ph": "M", "name": "last", "args": {"x": [{"y": 1}]}}'])
@pytest.mark.parametrize("damage", ["", '"bad": nan, '])
def test_last_event_on_one_line_of_an_indented_file(scratch: Path, last: str, damage: str) -> None:
    text = render([_op("a"), _op("b", 2)], "kineto", after={"deviceProperties": [{"id": 0}]})
    text = text.replace(b"\n  }\n  ]", b"\n  },\n  " + last.encode() + b"\n  ]")
    text = text.replace(b'"name": "b"', damage.encode() + b'"name": "b"')
    loaded = read_bytes(scratch, text)
    assert _names(loaded) == ["a", "b", json.loads(last).get("name", "")]
    assert loaded.header.raw == {"deviceProperties": [{"id": 0}]}
    assert codes(loaded) == ({"not-a-number": 1} if damage else {})


def test_elements_of_another_layout_between_indented_ones(scratch: Path) -> None:
    text = render([_op("a"), _op("b", 2), _op("c", 3)], "pretty", after={"end": [{"a": 1}]})
    text = text.replace(b"\n    },\n    {", b"\n    },\n    null,\n    {},\n    {")
    loaded = read_bytes(scratch, text)
    assert _names(loaded) == ["a", "", "", "b", "", "", "c"]
    assert (loaded.events, codes(loaded)) == (3, {})
    assert [loaded.args.event(i) for i in range(7)] == json.loads(text)["traceEvents"]


@pytest.mark.parametrize("element", ["[]", '[{"ph": "X"}, {"ph": "X"}]', "12", '"a"', "true"])
def test_element_that_is_no_object_keeps_its_number(scratch: Path, element: str) -> None:
    text = "[" + ", ".join([json.dumps(_op("a")), element, json.dumps(_op("b"))]) + "]"
    loaded = read_bytes(scratch, text.encode())
    assert _names(loaded) == ["a", "", "b"]
    assert (loaded.events, codes(loaded)) == (2, {"not-an-event": 1})
    [problem] = loaded.problems
    assert problem.positions == [1]
    assert problem.dropped == [(text.index(f", {element}, ") + 2, len(element))]


@pytest.mark.parametrize("layout", ["kineto", "compact", "lines", "pretty"])
def test_members_in_front_of_trailing_bytes_are_kept(scratch: Path, layout: Layout) -> None:
    text = render([_op("a")], layout, {"before": 1}, {"after": "é"})
    loaded = read_bytes(scratch, text.rstrip() + b" trailing }")
    assert loaded.header.raw == {"before": 1, "after": "é"}
    assert codes(loaded) == {"bad-header": 1}


# --- chunks that are read event by event ---------------------------------------------------------


@pytest.mark.parametrize("layout", ["kineto", "compact", "lines", "list"])
def test_one_damaged_event_costs_its_neighbours_no_digit(scratch: Path, layout: Layout) -> None:
    times = ["1712195495519689.047", "1712195495519689.110", "1712195495519689.2"]
    text = render([_op("T0", 0), _op("T1", 1), _op("T2", 2), _op("bad", x="NAN")], layout)
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
    events = [{**_op("a"), "tid": tid, "pid": pid} for pid, tid in ((1, 7), (1.0, "7"), ("1", 7.0))]
    loaded = read_bytes(scratch, render(events, "compact"))
    assert loaded.table.thread.tolist() == [0, 0, 0]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_lone_surrogates_anywhere_cost_no_event(scratch: Path, layout: Layout) -> None:
    events = [{**_op("a\ud800"), "cat": "cpu_op", "tid": "\udc80", "args": {"\ud800": "\udfff"}}]
    loaded = read_bytes(scratch, render(events * 2, layout))
    assert _names(loaded) == ["a\ufffd"] * 2
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
            odd = {**_op("odd"), "cat": cat}
            if place in _PLACES:
                odd[place] = "VALUE"
            else:
                odd["args"] = {place: "VALUE"}
            text = render([_op("a"), odd, _op("b")], layout)
            loaded = read_bytes(scratch, text.replace(b'"VALUE"', value.encode()))
            names = _names(loaded)
            assert (names[0], names[-1], len(names)) == ("a", "b", 3)
            assert loaded.args.event(2) == _op("b")
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
    text = render([_op(f"op{k}", k) for k in range(9)], "kineto")
    pieces = [text[:100], b"", text[100:101], text[101:]]
    scratch.write_bytes(b"".join(gzip.compress(piece, mtime=0) for piece in pieces))
    with mock.patch.object(source, "_GZIP_INPUT_BYTES", unit):
        loaded = read_trace(scratch)
    assert len(loaded.table) == 9
    assert codes(loaded) == {}


def test_cut_archive_gives_all_text_that_its_bytes_hold(scratch: Path) -> None:
    # long repeats: few packed bytes stand for more text than one block
    events = [_op("a" * 600, k) for k in range(40)]
    packed = gzip.compress(render(events, "list"), 9, mtime=0)
    counts = []
    for cut in range(len(packed) // 2, len(packed) - 8, 7):
        whole = len(rows(read_bytes(scratch, packed[:cut])))
        assert len(rows(read_bytes(scratch, packed[:cut], 64))) == whole
        counts.append(whole)
    assert counts[0] < counts[-1]


# --- what stands around the event list -----------------------------------------------------------


_FOOTER = {"traceName": "t", "deviceProperties": [{"id": 0}, {"id": 1, "name": "B"}]}


@pytest.mark.parametrize("layout", ["kineto", "compact", "lines", "pretty"])
def test_file_cut_behind_its_events_is_truncated_and_keeps_whole_members(
    scratch: Path, layout: Layout
) -> None:
    text = render([_op("a"), _op("b")], layout, {}, _FOOTER).rstrip()
    end = text.rindex(b"]", 0, text.index(b'"traceName"')) + 1
    name_end = text.index(b'"t"') + 3
    for cut in range(end, len(text)):
        loaded = read_bytes(scratch, text[:cut])
        assert (_names(loaded), codes(loaded)) == (["a", "b"], {"truncated": 1}), text[:cut]
        assert loaded.header.raw.get("traceName") == ("t" if cut >= name_end else None)
        assert loaded.header.raw.get("deviceProperties") in (None, _FOOTER["deviceProperties"])


@pytest.mark.parametrize("layout", ["kineto", "compact", "lines", "list"])
@pytest.mark.parametrize("junk", [b"x", b'{"ph": "X"}', b', {"ph": "X", "name": "late"}]', b"\0\0"])
def test_text_behind_the_end_is_told_to_be_lost(scratch: Path, layout: Layout, junk: bytes) -> None:
    text = render([_op("a"), _op("b")], layout).rstrip()
    loaded = read_bytes(scratch, text + junk)
    problem = loaded.problems.get("bad-header")
    assert _names(loaded) == ["a", "b"]
    assert problem is not None
    assert problem.dropped == [(len(text), len(junk))]


def test_list_that_a_stray_bracket_ends_tells_the_rest_to_be_lost(scratch: Path) -> None:
    first, late = json.dumps(_op("a")), json.dumps(_op("b"))
    text = f'{{"traceEvents": [{first}], {late}], "traceName": "t"}}'.encode()
    loaded = read_bytes(scratch, text)
    lost = [place for problem in loaded.problems for place in problem.dropped]
    assert any(at <= text.index(late.encode()) < at + size for at, size in lost)


@pytest.mark.parametrize("key", ["traceEvents", "deviceProperties"])
@pytest.mark.parametrize("damage", ["", '"x": nan, '])
def test_events_in_a_list_behind_the_list_are_told_to_be_lost(
    scratch: Path, key: str, damage: str
) -> None:
    first, late = json.dumps(_op("a")), json.dumps(_op("b"))
    text = f'{{"traceEvents": [{first}], {damage}"rank": 1, "{key}": [{late}], "traceName": "t"}}'
    loaded = read_bytes(scratch, text.encode())
    problem = loaded.problems.get("bad-header")
    assert _names(loaded) == ["a"]
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


# --- the end of an indented list, by another writer's hand --------------------------------------


@pytest.mark.parametrize("odd", ['"ph": true', '"dur": {"a": 1}', '"args": 10', '"ts": []'])
@pytest.mark.parametrize("block", [None, 64])
def test_odd_last_event_of_another_layout_is_read_and_no_cut(
    scratch: Path, odd: str, block: int | None
) -> None:
    body = "\n  },\n  ".join(f'{{\n    "ph": "X", "name": "e{k}", "ts": {k}' for k in range(3))
    devices = '[\n  {\n    "id": 0\n  },\n  {\n    "id": 1\n  }\n  ]'
    text = (
        f'{{\n  "traceEvents": [\n  {body}\n  }},\n  {{"ph": "X", "name": "last", {odd}}}\n  ],\n'
        f'  "deviceProperties": {devices}\n}}\n'
    )
    loaded = read_bytes(scratch, text.encode(), block)
    assert _names(loaded) == ["e0", "e1", "e2", "last"]
    assert {"refused", "truncated", "bad-header"}.isdisjoint(codes(loaded))
    assert len(loaded.header.devices) == 2


@pytest.mark.parametrize("element", ['"a[b"', '"{]}"', '"a, b"', '"\\u001b[0m"', '"say \\"x\\" ]"'])
@pytest.mark.parametrize("layout", ["compact", "list", "lines"])
def test_text_element_with_brackets_in_it_is_one_element(
    scratch: Path, layout: Layout, element: str
) -> None:
    loaded = read_bytes(
        scratch, render_texts([json.dumps(_op("a")), element, json.dumps(_op("b"))], layout)
    )
    assert _names(loaded) == ["a", "", "b"]
    assert codes(loaded) == {"not-an-event": 1}


def test_key_with_quotes_never_takes_the_start_of_the_next_event(scratch: Path) -> None:
    damaged = '{"ph": "X", "t\x8a"\x02'
    text = "[" + ", ".join([json.dumps(_op("a")), damaged, json.dumps(_op("b"))]) + "]"
    loaded = read_bytes(scratch, text.encode("latin-1"))
    lost = [place for problem in loaded.problems for place in problem.dropped]
    start = text.index(json.dumps(_op("b")))
    assert "b" in _names(loaded) or any(at <= start < at + size for at, size in lost)


@pytest.mark.parametrize("opened", ['"x": [{"id": 0, "y": : 1', '"x": [1, {"y": nan', '"x": [[{'])
@pytest.mark.parametrize("layout", ["compact", "list", "lines"])
def test_list_that_is_never_closed_takes_in_no_other_event(
    scratch: Path, layout: Layout, opened: str
) -> None:
    damaged = '{"ph": "X", "name": "damaged", "ts": 1, ' + opened + ', "dur": 1}'
    texts = [json.dumps(_op("a")), damaged, json.dumps(_op("b")), json.dumps(_op("c"))]
    loaded = read_bytes(scratch, render_texts(texts, layout))
    assert _names(loaded) == ["a", "", "b", "c"]
    assert codes(loaded)["refused"] == 1


@pytest.mark.parametrize("at", ['"nam": [{"y": 1', '"args": {"x": [1'])
@pytest.mark.parametrize("layout", ["compact", "list", "lines"])
def test_event_that_soundly_holds_the_next_ones_is_refused(
    scratch: Path, layout: Layout, at: str
) -> None:
    close = "}, " if at.count("{") == 1 and "args" not in at else ", "
    late = json.dumps(_op("b"))
    damaged = '{"ph": "X", "ts": 1, ' + at + close + late
    loaded = read_bytes(scratch, render_texts([json.dumps(_op("a")), damaged], layout))
    text = scratch.read_bytes()
    lost = [place for problem in loaded.problems for place in problem.dropped]
    where = text.index(late.encode())
    assert "b" in _names(loaded) or any(o <= where < o + size for o, size in lost)


def test_file_written_over_another_tells_what_is_lost(scratch: Path) -> None:
    whole = render([_op(f"op{k}") for k in range(6)], "compact", {}, _FOOTER)
    for cut in range(30, len(whole), 7):
        text = whole[:cut] + whole
        loaded = read_bytes(scratch, text)
        lost = [place for problem in loaded.problems for place in problem.dropped]
        for k in range(6):
            where = text.rindex(f'"op{k}"'.encode())
            told = any(at <= where < at + size for at, size in lost)
            assert told or _names(loaded).count(f"op{k}") >= 1, (cut, k)


@pytest.mark.parametrize("layout", ["compact", "list", "lines"])
@pytest.mark.parametrize("end", ['"s": "e" ion', '"s": "e"', '"s": "e'])
def test_event_without_its_end_takes_no_other_into_a_text(
    scratch: Path, layout: Layout, end: str
) -> None:
    texts = [json.dumps(_op("a")), '{"ph": "X", ' + end, json.dumps(_op("b"))]
    loaded = read_bytes(scratch, render_texts([*texts, json.dumps(_op("c"))], layout))
    where = scratch.read_bytes().index(texts[2].encode())
    lost = [place for problem in loaded.problems for place in problem.dropped]
    assert "b" in _names(loaded) or any(at <= where < at + size for at, size in lost)
    assert _names(loaded)[-1] == "c"


@pytest.mark.parametrize("layout", ["compact", "list", "lines"])
def test_name_that_runs_into_the_next_event_is_no_name(scratch: Path, layout: Layout) -> None:
    late = json.dumps(_op("b"))
    joined = '{"ph": "X", "cat": "cpu_op", "name": "cut off he' + late
    texts = [json.dumps(_op("a")), joined, json.dumps(_op("c"))]
    loaded = read_bytes(scratch, render_texts(texts, layout))
    assert _names(loaded) == ["a", "", "c"]
    problem = loaded.problems.get("refused")
    assert problem is not None
    assert problem.dropped == [(scratch.read_bytes().index(joined.encode()), len(joined))]


@pytest.mark.parametrize("layout", ["kineto", "compact", "list", "lines"])
def test_text_without_its_end_takes_in_no_members(scratch: Path, layout: Layout) -> None:
    damaged = json.dumps(_op("damaged", External_id=3)).replace('damaged"', "damaged")
    texts = [json.dumps(_op("a")), damaged, json.dumps(_op("c"))]
    loaded = read_bytes(scratch, render_texts(texts, layout))
    assert _names(loaded) == ["a", "", "c"]
    assert codes(loaded) == {"refused": 1}


@pytest.mark.parametrize("name", ['{"a": 1, "b": 2}', '[{"a": 1}, {"b": 2}]', 'f(1, "x": 2)'])
def test_name_that_looks_like_json_is_repaired(scratch: Path, name: str) -> None:
    event = json.dumps(_op("NAME")).replace("NAME", name)
    loaded = read_bytes(scratch, render_texts([event, json.dumps(_op("b"))], "compact"))
    assert _names(loaded) == [name, "b"]


@pytest.mark.parametrize(
    "name", ["C:\\\\dir", "\\\\", "a\\\\q\\\\", '\\\\"x\\\\d', "\\\\\\\\server"]
)
@pytest.mark.parametrize("layout", ["kineto", "compact", "list"])
def test_escaped_backslashes_of_a_damaged_event_are_no_damage(
    scratch: Path, layout: Layout, name: str
) -> None:
    event = json.dumps(_op(name)).replace('"dur": 0.5', '"dur": nan')
    loaded = read_bytes(scratch, render_texts([event, json.dumps(_op("b"))], layout))
    assert _names(loaded) == [name, "b"]
    assert "backslash" not in codes(loaded)


def test_places_of_what_is_lost_are_bytes_of_the_file(scratch: Path) -> None:
    broken = '{"ph": "X", ]}'
    events = [json.dumps(_op("größe" * 9), ensure_ascii=False), broken, json.dumps(_op("b"))]
    text = ("[" + ", ".join(events) + "]").encode()
    problem = read_bytes(scratch, text).problems.get("refused")
    assert problem is not None
    assert problem.dropped[0][0] == text.index(broken.encode())


@pytest.mark.parametrize("layout", ["kineto", "compact", "lines", "list"])
def test_event_of_unknown_keys_alone_counts_and_an_empty_one_does_not(
    scratch: Path, layout: Layout
) -> None:
    texts = [json.dumps(_op("a")), '{"x": 1}', "{}", "{ }", json.dumps(_op("b"))]
    loaded = read_bytes(scratch, render_texts(texts, layout))
    assert (len(loaded.table), loaded.events) == (5, 3)
    assert loaded.args.event(1) == {"x": 1}


# --- archives ------------------------------------------------------------------------------------


def _noisy(n: int) -> bytes:
    return render([_op(hashlib.sha256(bytes([k])).hexdigest(), k) for k in range(n)], "kineto")


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
