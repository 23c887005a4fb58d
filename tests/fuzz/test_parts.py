"""The splitter and the lenient parser on generated texts: no crash, no byte lost."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.traces import LAYOUTS, Layout, render

from ptx.profiling.trace.lenient import LenientError, LenientParser
from ptx.profiling.trace.salvage import salvage
from ptx.profiling.trace.split import Layout as Separation
from ptx.profiling.trace.split import Splitter

_SCRAPS = st.sampled_from(
    ['"', "\\", "{", "}", "[", "]", ",", ":", " ", "\n", "\n  },\n  {", "}, {", '"ph": "X"', "1.5"]
)
_TEXTS = st.lists(_SCRAPS | st.text(max_size=3), max_size=40).map("".join)
_VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)
_SEPARATIONS = st.sampled_from([Separation(None), Separation(b"\n  },\n  {")])


@given(_TEXTS, st.booleans())
def test_lenient_parser_gives_a_value_or_its_own_error(text: str, more: bool) -> None:
    try:
        _, end = LenientParser(text, more=more).parse(0)
    except LenientError:
        return
    assert 0 <= end <= len(text)


@given(st.lists(_VALUES, max_size=3))
def test_lenient_parser_repairs_nothing_in_sound_text(value: list[Any]) -> None:
    parser = LenientParser(json.dumps(value))
    found, _ = parser.parse(0)
    assert found == value
    assert parser.repairs == set()


@given(_TEXTS, _SEPARATIONS, st.lists(st.integers(1, 30), min_size=1, max_size=8))
def test_pieces_and_what_stands_between_them_are_the_whole_text(
    text: str, separation: Separation, sizes: list[int]
) -> None:
    data = text.encode("utf-8", "surrogatepass")
    splitter = Splitter(separation, 0)
    pieces = []
    at = 0
    for k in range(len(data)):
        size = sizes[k % len(sizes)]
        if at >= len(data):
            break
        piece = splitter.feed(data[at : at + size])
        at += size
        if piece is not None:
            pieces.append(piece)
    pieces.append(splitter.finish())
    end = 0
    for piece in pieces:
        assert data[end : piece.offset].strip(b", \t\r\n\x0b\x0c") == b""
        end = piece.offset + len(piece.text)
        assert data[piece.offset : end] == piece.text
    assert end == len(data)


@given(st.sampled_from(LAYOUTS), st.lists(_VALUES, max_size=4), _TEXTS, st.booleans())
def test_salvage_accounts_for_elements_in_the_order_of_the_text(
    layout: Layout, values: list[Any], damage: str, last: bool
) -> None:
    events = [{"ph": "X", "name": "a", "args": {"v": value}} for value in values]
    text = render(events, layout)
    body = text[text.index(b"[") + 1 :] + damage.encode("utf-8", "surrogatepass")
    found = salvage(body, Separation.of(body), last=last)
    assert len(found.elements) == len(found.events)
    assert 0 <= found.used <= len(body)
    ends = 0
    for _, offset, length in found.refused:
        assert ends <= offset
        ends = offset + length
    assert ends <= len(body)
