"""Kinds of damage inside the list that once cost a neighbour or went untold."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from tests.rows import an_op, codes, names_of, read_bytes
from tests.traces import Layout, render_texts

if TYPE_CHECKING:
    from pathlib import Path


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
    assert names_of(loaded) == ["e0", "e1", "e2", "last"]
    assert {"refused", "truncated", "bad-header"}.isdisjoint(codes(loaded))
    assert len(loaded.header.devices) == 2


@pytest.mark.parametrize("element", ['"a[b"', '"{]}"', '"a, b"', '"\\u001b[0m"', '"say \\"x\\" ]"'])
@pytest.mark.parametrize("layout", ["compact", "list", "lines"])
def test_text_element_with_brackets_in_it_is_one_element(
    scratch: Path, layout: Layout, element: str
) -> None:
    loaded = read_bytes(
        scratch,
        render_texts([json.dumps(an_op("a")), element, json.dumps(an_op("b"))], layout),
    )
    assert names_of(loaded) == ["a", "", "b"]
    assert codes(loaded) == {"not-an-event": 1}


def test_key_with_quotes_never_takes_the_start_of_the_next_event(scratch: Path) -> None:
    damaged = '{"ph": "X", "t\x8a"\x02'
    text = "[" + ", ".join([json.dumps(an_op("a")), damaged, json.dumps(an_op("b"))]) + "]"
    loaded = read_bytes(scratch, text.encode("latin-1"))
    lost = [place for problem in loaded.problems for place in problem.dropped]
    start = text.index(json.dumps(an_op("b")))
    assert "b" in names_of(loaded) or any(at <= start < at + size for at, size in lost)


@pytest.mark.parametrize("opened", ['"x": [{"id": 0, "y": : 1', '"x": [1, {"y": nan', '"x": [[{'])
@pytest.mark.parametrize("layout", ["compact", "list", "lines"])
def test_list_that_is_never_closed_takes_in_no_other_event(
    scratch: Path, layout: Layout, opened: str
) -> None:
    damaged = '{"ph": "X", "name": "damaged", "ts": 1, ' + opened + ', "dur": 1}'
    texts = [
        json.dumps(an_op("a")),
        damaged,
        json.dumps(an_op("b")),
        json.dumps(an_op("c")),
    ]
    loaded = read_bytes(scratch, render_texts(texts, layout))
    assert names_of(loaded) == ["a", "", "b", "c"]
    assert codes(loaded)["refused"] == 1


@pytest.mark.parametrize("at", ['"nam": [{"y": 1', '"args": {"x": [1'])
@pytest.mark.parametrize("layout", ["compact", "list", "lines"])
def test_event_that_soundly_holds_the_next_ones_is_refused(
    scratch: Path, layout: Layout, at: str
) -> None:
    close = "}, " if at.count("{") == 1 and "args" not in at else ", "
    late = json.dumps(an_op("b"))
    damaged = '{"ph": "X", "ts": 1, ' + at + close + late
    loaded = read_bytes(scratch, render_texts([json.dumps(an_op("a")), damaged], layout))
    text = scratch.read_bytes()
    lost = [place for problem in loaded.problems for place in problem.dropped]
    where = text.index(late.encode())
    assert "b" in names_of(loaded) or any(o <= where < o + size for o, size in lost)


@pytest.mark.parametrize("layout", ["compact", "list", "lines"])
@pytest.mark.parametrize("end", ['"s": "e" ion', '"s": "e"', '"s": "e'])
def test_event_without_its_end_takes_no_other_into_a_text(
    scratch: Path, layout: Layout, end: str
) -> None:
    texts = [json.dumps(an_op("a")), '{"ph": "X", ' + end, json.dumps(an_op("b"))]
    loaded = read_bytes(scratch, render_texts([*texts, json.dumps(an_op("c"))], layout))
    where = scratch.read_bytes().index(texts[2].encode())
    lost = [place for problem in loaded.problems for place in problem.dropped]
    assert "b" in names_of(loaded) or any(at <= where < at + size for at, size in lost)
    assert names_of(loaded)[-1] == "c"


@pytest.mark.parametrize("layout", ["compact", "list", "lines"])
def test_name_that_runs_into_the_next_event_is_no_name(scratch: Path, layout: Layout) -> None:
    late = json.dumps(an_op("b"))
    joined = '{"ph": "X", "cat": "cpu_op", "name": "cut off he' + late
    texts = [json.dumps(an_op("a")), joined, json.dumps(an_op("c"))]
    loaded = read_bytes(scratch, render_texts(texts, layout))
    assert names_of(loaded) == ["a", "", "c"]
    problem = loaded.problems.get("refused")
    assert problem is not None
    assert problem.dropped == [(scratch.read_bytes().index(joined.encode()), len(joined))]


@pytest.mark.parametrize("layout", ["kineto", "compact", "list", "lines"])
def test_text_without_its_end_takes_in_no_members(scratch: Path, layout: Layout) -> None:
    damaged = json.dumps(an_op("damaged", External_id=3)).replace('damaged"', "damaged")
    texts = [json.dumps(an_op("a")), damaged, json.dumps(an_op("c"))]
    loaded = read_bytes(scratch, render_texts(texts, layout))
    assert names_of(loaded) == ["a", "", "c"]
    assert codes(loaded) == {"refused": 1}


@pytest.mark.parametrize("name", ['{"a": 1, "b": 2}', '[{"a": 1}, {"b": 2}]', 'f(1, "x": 2)'])
def test_name_that_looks_like_json_is_repaired(scratch: Path, name: str) -> None:
    event = json.dumps(an_op("NAME")).replace("NAME", name)
    loaded = read_bytes(scratch, render_texts([event, json.dumps(an_op("b"))], "compact"))
    assert names_of(loaded) == [name, "b"]


@pytest.mark.parametrize(
    "name", ["C:\\\\dir", "\\\\", "a\\\\q\\\\", '\\\\"x\\\\d', "\\\\\\\\server"]
)
@pytest.mark.parametrize("layout", ["kineto", "compact", "list"])
def test_escaped_backslashes_of_a_damaged_event_are_no_damage(
    scratch: Path, layout: Layout, name: str
) -> None:
    event = json.dumps(an_op(name)).replace('"dur": 0.5', '"dur": nan')
    loaded = read_bytes(scratch, render_texts([event, json.dumps(an_op("b"))], layout))
    assert names_of(loaded) == [name, "b"]
    assert "backslash" not in codes(loaded)


def test_places_of_what_is_lost_are_bytes_of_the_file(scratch: Path) -> None:
    broken = '{"ph": "X", ]}'
    events = [
        json.dumps(an_op("größe" * 9), ensure_ascii=False),
        broken,
        json.dumps(an_op("b")),
    ]
    text = ("[" + ", ".join(events) + "]").encode()
    problem = read_bytes(scratch, text).problems.get("refused")
    assert problem is not None
    assert problem.dropped[0][0] == text.index(broken.encode())


@pytest.mark.parametrize("layout", ["kineto", "compact", "lines", "list"])
def test_event_of_unknown_keys_alone_counts_and_an_empty_one_does_not(
    scratch: Path, layout: Layout
) -> None:
    texts = [json.dumps(an_op("a")), '{"x": 1}', "{}", "{ }", json.dumps(an_op("b"))]
    loaded = read_bytes(scratch, render_texts(texts, layout))
    assert (len(loaded.table), loaded.events) == (5, 3)
    assert loaded.args.event(1) == {"x": 1}
