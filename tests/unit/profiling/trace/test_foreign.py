"""Files that hold no events are refused with a word on what they are."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING

import pytest

from ptx.profiling.errors import TraceFormatError
from ptx.profiling.trace.reader import read_trace

if TYPE_CHECKING:
    from pathlib import Path

_EXECUTION_TRACE = {"schema": "1.1.1-chakra.0.0.4", "pid": 3, "nodes": [{"id": 1, "name": "x"}]}


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (json.dumps(_EXECUTION_TRACE).encode(), "Execution Trace .schema 1.1.1-chakra.0.0.4."),
        (json.dumps(_EXECUTION_TRACE, indent=2).encode(), "export_chrome_trace"),
        (b'{"rocprofiler-sdk-tool": [{"metadata": {"pid": 3}}]}', "rocprofiler-sdk"),
        (b'\xef\xbb\xbf{"model": "x", "layers": []}', 'first key "model"'),
        (b"{}", "a JSON object without a list of events"),
        (b"[1, 2, 3]", "a JSON list of something else than events"),
        (b'[{"id": 1}, {"id": 2}]', "a JSON list of something else than events"),
        (b"PK\x03\x04rest", "zip"),
        (b"SQLite format 3\0", "SQLite"),
        (b"\x80\x04\x95pickle", "pickle"),
        (b"<!DOCTYPE html>", "markup"),
        (b"V1206 12:00:01.000 torch/_dynamo {}", "structured log"),
        (b"hello", "not JSON"),
        (b'{"ph": "X", "name": "a"}\n{"ph": "X", "name": "b"}', "events without a list .* jq -s"),
        (b"{'traceEvents': [{'ph': 'X'}]}", "a Python literal, .* json.dump"),
        ('{"traceEvents": []}'.encode("utf-16"), "UTF-16, .* iconv"),
        (b"\xfe\xff" + '{"traceEvents": []}'.encode("utf-16-be"), "UTF-16"),
        (b"t.json".ljust(257, b"\0") + b"ustar\x0000", "a tar archive"),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_the_refusal_says_what_the_file_is(
    tmp_path: Path, content: bytes, word: str, packed: bool
) -> None:
    path = tmp_path / "file.json"
    path.write_bytes(gzip.compress(content) if packed else content)
    with pytest.raises(TraceFormatError, match=word) as caught:
        read_trace(path)
    assert str(caught.value).startswith("not a trace: ")
    assert "\n" not in str(caught.value)


def test_what_is_packed_twice_is_said_to_be(tmp_path: Path) -> None:
    path = tmp_path / "t.json.gz"
    path.write_bytes(gzip.compress(gzip.compress(b'{"traceEvents": []}')))
    with pytest.raises(TraceFormatError, match="packed twice, by gzip inside"):
        read_trace(path)


def test_an_empty_list_of_events_is_a_trace(tmp_path: Path) -> None:
    for name, text in (("list.json", b"[]"), ("object.json", b'{"traceEvents": []}')):
        (tmp_path / name).write_bytes(text)
        assert read_trace(tmp_path / name).events == 0
