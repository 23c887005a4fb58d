from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptx.profiling.report.encode import encode, encode_stream

ANY_TEXT = st.text(st.characters(codec=None, categories=None), max_size=40)


@given(st.recursive(ANY_TEXT | st.integers() | st.booleans() | st.none(), st.lists, max_leaves=20))
def test_what_is_encoded_reads_back_the_same(value: object) -> None:
    assert json.loads(encode(value)) == value


@given(ANY_TEXT)
def test_no_control_character_is_written(text: str) -> None:
    controls = [*range(0x20), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
    written = encode(text).decode("utf-8")
    assert not set(written) & {chr(code) for code in controls}


@pytest.mark.parametrize("rows", [[], [1], [{"a": 1}, {"a": 2}]])
def test_a_stream_is_one_document(rows: list[object]) -> None:
    text = b"".join(encode_stream({"schema": "x"}, "rows", rows))
    assert json.loads(text) == {"schema": "x", "rows": rows}
    assert text.endswith(b"\n")
