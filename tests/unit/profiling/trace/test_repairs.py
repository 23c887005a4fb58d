"""Events that are no valid JSON, among sound ones: repaired or refused, and nothing else harmed."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rows import codes, expected_row, read_bytes, rows
from tests.traces import Layout, render_texts, trace

if TYPE_CHECKING:
    from pathlib import Path

    from ptx.profiling.trace.reader import TraceFile

_LAYOUTS: tuple[Layout, ...] = ("kineto", "compact", "lines", "list")
_N = 9
Damage = tuple[str, str, str]  # code, the name's text in the file, the name as read

_WORD = st.text("abcdxyz019 ._()=", min_size=1, max_size=6)
_QUOTED = st.lists(_WORD, min_size=2, max_size=4).map(
    lambda parts: ("unescaped-quote", '"'.join(parts), '"'.join(parts))
)
# one folder begins with a letter that makes no legal escape: this writer escapes nothing
_PATH = st.lists(st.sampled_from(["new", "train", "data", "u12", "x86"]), max_size=3).map(
    lambda parts: ("backslash", "\\".join(["C:\\code", *parts]), "\\".join(["C:\\code", *parts]))
)
_CONTROL = st.tuples(_WORD, st.integers(0, 31).map(chr), _WORD).map(
    lambda parts: ("control-byte", "".join(parts), "".join(parts))
)
_BAD_BYTES = st.tuples(_WORD, st.sampled_from([b"\xff", b"\xc3", b"\xe2\x82"]), _WORD).map(
    lambda parts: (
        "bad-utf8",
        parts[0] + parts[1].decode("utf-8", "surrogateescape") + parts[2],
        parts[0] + "\ufffd" * len(parts[1]) + parts[2],
    )
)
_DAMAGES = st.one_of(_QUOTED, _PATH, _CONTROL, _BAD_BYTES)


def _events() -> list[dict[str, Any]]:
    builder = trace()
    for k in range(_N):
        nested = [{"name": "a"}, {"b": [k, "}, {"]}]
        builder.op(f"aten::op{k}", 10 * k + 1, 5.25, External_id=k, nested=nested)
    return builder.events


_EVENTS = _events()


def _check_others(
    scratch: Path, texts: list[str], layout: Layout, damaged: set[int], block: int | None
) -> TraceFile:
    """Reads the texts and checks every event that is not damaged; returns the trace."""
    loaded = read_bytes(scratch, render_texts(texts, layout), block)
    found = rows(loaded)
    assert len(found) == len(texts)
    for k, event in enumerate(_EVENTS):
        if k not in damaged:
            assert found[k] == expected_row(event, "OP")
            assert loaded.args.event(k) == event
    return loaded


def _with_raw_name(event: dict[str, Any], raw: str) -> str:
    return json.dumps({**event, "name": "@"}).replace('"@"', f'"{raw}"')


@settings(max_examples=200)
@given(
    st.dictionaries(st.integers(0, _N - 1), _DAMAGES, min_size=1, max_size=4),
    st.sampled_from(_LAYOUTS),
    st.sampled_from([None, 120, 1000]),
)
def test_damaged_names_are_read_as_meant_and_counted(
    scratch: Path, damages: dict[int, Damage], layout: Layout, block: int | None
) -> None:
    texts = [json.dumps(event) for event in _EVENTS]
    for k, (_, raw, _) in damages.items():
        texts[k] = _with_raw_name(_EVENTS[k], raw)
    loaded = _check_others(scratch, texts, layout, set(damages), block)
    found = rows(loaded)
    counted: dict[str, int] = {}
    for k, (code, _, name) in damages.items():
        counted[code] = counted.get(code, 0) + 1
        assert found[k] == expected_row({**_EVENTS[k], "name": name}, "OP")
        problem = loaded.problems.get(code)
        assert problem is not None
        assert k in problem.positions
    assert codes(loaded) == counted


@pytest.mark.parametrize("layout", _LAYOUTS)
@pytest.mark.parametrize("block", [None, 150])
@pytest.mark.parametrize(
    "word", ["NaN", "nan", "-nan", "inf", "-inf", "Infinity", "-Infinity", "nan(ind)", "-1.#IND"]
)
def test_numbers_that_are_none_are_absent(
    scratch: Path, layout: Layout, block: int | None, word: str
) -> None:
    texts = [json.dumps(event) for event in _EVENTS]
    texts[3] = texts[3].replace('"dur": 5.25', f'"dur": {word}')
    texts[6] = texts[6].replace('"External id": 6', f'"External id": 6, "load": [{word}, 1]')
    loaded = _check_others(scratch, texts, layout, {3, 6}, block)
    assert codes(loaded) == {"not-a-number": 2, "no-duration": 1}
    assert rows(loaded)[6] == expected_row(_EVENTS[6], "OP")
    assert rows(loaded)[3][:4] == ("aten::op3", "OP", 31_000, 0)


_SMALL_DAMAGES = {
    "empty-value": ('"External id": 4', '"External id": 4, "x": '),
    "bare-word": ('"External id": 4', '"External id": 4, "x": void'),
    "comma": ('"External id": 4', '"External id": 4,'),
    "odd-types": ('"External id": 4', '"External id": "4"'),
}


@pytest.mark.parametrize("layout", _LAYOUTS)
@pytest.mark.parametrize("code", sorted(_SMALL_DAMAGES))
def test_small_damage_is_repaired_and_counted(scratch: Path, layout: Layout, code: str) -> None:
    texts = [json.dumps(event) for event in _EVENTS]
    before, after = _SMALL_DAMAGES[code]
    texts[4] = texts[4].replace(before, after)
    for block in (None, 150):
        loaded = _check_others(scratch, texts, layout, {4}, block)
        assert codes(loaded) == {code: 1}
        assert rows(loaded)[4] == expected_row(_EVENTS[4], "OP")


@pytest.mark.parametrize("layout", _LAYOUTS)
@pytest.mark.parametrize("change", [('"ts": 41, ', '"ts": 41 '), ('"ts": 41, ', '"ts": 41,, ')])
def test_commas_missing_or_doubled(scratch: Path, layout: Layout, change: tuple[str, str]) -> None:
    texts = [json.dumps(event) for event in _EVENTS]
    texts[4] = texts[4].replace(*change)
    loaded = _check_others(scratch, texts, layout, {4}, None)
    assert codes(loaded) == {"comma": 1}
    assert rows(loaded)[4] == expected_row(_EVENTS[4], "OP")


@pytest.mark.parametrize("layout", _LAYOUTS)
def test_windows_folder_that_ends_in_a_backslash(scratch: Path, layout: Layout) -> None:
    texts = [json.dumps(event) for event in _EVENTS]
    texts[5] = _with_raw_name(_EVENTS[5], "C:\\code\\")
    loaded = _check_others(scratch, texts, layout, {5}, None)
    assert codes(loaded) == {"backslash": 1}
    assert rows(loaded)[5] == expected_row({**_EVENTS[5], "name": "C:\\code\\"}, "OP")


def test_path_of_legal_escapes_is_restored_only_in_python_frames(scratch: Path) -> None:
    text = (
        '[{"ph":"X","cat":"python_function","name":"C:\\new\\train.py(7): f","ts":1,"dur":1},'
        '{"ph":"X","cat":"cpu_op","name":"two\\nlines","ts":3,"dur":1}]'
    )
    loaded = read_bytes(scratch, text.encode())
    assert [row[0] for row in rows(loaded)] == ["C:\\new\\train.py(7): f", "two\nlines"]
    assert codes(loaded) == {"backslash": 1}


_HOPELESS = st.sampled_from(
    [
        '{"ph": "X", 5: [}',
        '{"ph": "X", 5: 1, "args": {"l": [{"a": 1}, {"b": 2}]}}',
        '{"ph": "X", "name": "x, "args": {"l": [{"a": 1}, {"b": 2}]}}',
        '{"ph": "X", "args": {"l": [{"a": 1}, {"b": 2}}}',
    ]
)


@settings(max_examples=100)
@given(
    st.dictionaries(st.integers(0, _N - 1), _HOPELESS, min_size=1, max_size=4),
    st.sampled_from(_LAYOUTS),
    st.sampled_from([None, 120, 1000]),
)
def test_hopeless_elements_are_refused_and_keep_their_number(
    scratch: Path, hopeless: dict[int, str], layout: Layout, block: int | None
) -> None:
    texts = [hopeless.get(k, json.dumps(event)) for k, event in enumerate(_EVENTS)]
    texts.append(json.dumps({**_EVENTS[0], "name": "last"}))
    loaded = _check_others(scratch, texts, layout, set(hopeless), block)
    assert codes(loaded) == {"refused": len(hopeless)}
    problem = loaded.problems.get("refused")
    assert problem is not None
    assert problem.positions == sorted(hopeless)
    assert [row[1] for row in rows(loaded)].count("REFUSED") == len(hopeless)


@pytest.mark.parametrize("layout", _LAYOUTS)
@pytest.mark.parametrize("block", [None, 150])
def test_hopeless_last_element_is_refused_and_no_cut(
    scratch: Path, layout: Layout, block: int | None
) -> None:
    texts = [json.dumps(event) for event in _EVENTS[:-1]]
    texts.append('{"ph": "X", 5: 1, "args": {"l": [{"a": 1}, {"b": 2}]}}')
    loaded = read_bytes(scratch, render_texts(texts, layout), block)
    assert codes(loaded) == {"refused": 1}
    assert [row[1] for row in rows(loaded)] == ["OP"] * (_N - 1) + ["REFUSED"]


@settings(max_examples=200)
@given(
    st.integers(0, _N - 2),
    st.floats(0, 1),
    st.binary(min_size=0, max_size=3),
    st.booleans(),
    st.sampled_from([None, 1000]),
)
def test_any_damage_inside_one_event_of_an_indented_file_harms_no_other(
    scratch: Path, k: int, share: float, noise: bytes, replace: bool, block: int | None
) -> None:
    texts = [json.dumps(event) for event in _EVENTS]
    inside = texts[k][1:-1]
    at = int(share * (len(inside) - 1))
    junk = noise.decode("utf-8", "surrogateescape")
    texts[k] = "{" + inside[:at] + junk + inside[at + replace :] + "}"
    loaded = read_bytes(scratch, render_texts(texts, "kineto"), block)
    others = [expected_row(event, "OP") for i, event in enumerate(_EVENTS) if i != k]
    found = rows(loaded)
    if b"}" in noise:  # a brace that closes the event early can make two of it
        assert [row for row in found if row in others] == others
    else:
        assert len(found) == _N
        assert found[:k] + found[k + 1 :] == others


@pytest.mark.parametrize("layout", ["compact", "lines", "list"])
def test_stray_brackets_and_quotes_in_one_event_lose_no_other(
    scratch: Path, layout: Layout
) -> None:
    rng = random.Random(1)  # hopeless cases exist, so the examples are fixed
    for _ in range(200):
        k = rng.randrange(_N - 1)
        texts = [json.dumps(event) for event in _EVENTS]
        inside = texts[k][1:-1]
        at = rng.randrange(len(inside))
        stray = rng.choice(['"', "\\", "{", "}", "[", "]", ",", ":", "\0", "", "\udcff"])
        texts[k] = "{" + inside[:at] + stray + inside[at + rng.randrange(2) :] + "}"
        _check_others(scratch, texts, layout, {k}, rng.choice([None, 150, 1000]))


@settings(max_examples=300)
@given(st.sampled_from(_LAYOUTS), st.data(), st.sampled_from([None, 150]))
def test_any_damage_anywhere_ends_in_no_error(
    scratch: Path, layout: Layout, data: st.DataObject, block: int | None
) -> None:
    text = bytearray(render_texts([json.dumps(e) for e in _EVENTS], layout, {"a": 1}, {"b": 2}))
    first = text.index(b'"ph"')
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(first, len(text) - 1))
        noise = data.draw(st.one_of(st.binary(max_size=3), st.sampled_from([b'"', b"}", b"]"])))
        text[at : at + data.draw(st.integers(0, 20))] = noise
    loaded = read_bytes(scratch, bytes(text), block)
    for event in range(len(loaded.table)):
        loaded.args.event(event)
