"""The full JSON of single events, read from the file again on demand."""

from __future__ import annotations

import gzip
import json
import random
from typing import TYPE_CHECKING, Any

import pytest
from tests.rows import block_bytes, codes, read_bytes
from tests.traces import LAYOUTS, Layout, render, render_texts, trace

from ptx.profiling.trace.reader import read_trace

if TYPE_CHECKING:
    from pathlib import Path


def _events(n: int) -> list[Any]:
    builder = trace()
    for k in range(n):
        shapes = [[k, 3], [[1], [2, k]], [], [{"a": {"b": [k]}}]]
        builder.op(f"aten::op{k}", k, 0.5, Input_Dims=shapes, Concrete_Inputs=["", "1", None])
    return builder.events


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("gz", [False, True])
def test_every_event_is_the_element_of_the_list(tmp_path: Path, layout: Layout, gz: bool) -> None:
    events = _events(200)
    path = trace_file = tmp_path / "t.json"
    text = render(events, layout, {"schemaVersion": 1}, {"traceName": "t"})
    trace_file.write_bytes(gzip.compress(text) if gz else text)
    with block_bytes(700):
        loaded = read_trace(path)
        order = list(range(len(events)))
        random.Random(0).shuffle(order)
        for event in order:
            assert loaded.args.event(event) == events[event]
    assert loaded.args.event(len(events)) is None
    assert loaded.args.event(-1) is None


@pytest.mark.parametrize("layout", ["kineto", "compact", "lines", "list"])
@pytest.mark.parametrize("gz", [False, True])
@pytest.mark.parametrize("block", [None, 600])
def test_refused_elements_keep_the_numbers_of_those_behind_them(
    tmp_path: Path, layout: Layout, gz: bool, block: int | None
) -> None:
    events = _events(60)
    texts = [json.dumps(event) for event in events]
    refused = (0, 7, 8, 31, 58)
    for k in refused:
        texts[k] = '{"ph": "X", 5: [}'
    text = render_texts(texts, layout)
    loaded = read_bytes(tmp_path / "t.json", gzip.compress(text) if gz else text, block)
    assert codes(loaded) == {"refused": len(refused)}
    problem = loaded.problems.get("refused")
    assert problem is not None
    assert problem.positions == list(refused)
    for k, event in enumerate(events):
        assert loaded.args.event(k) == (None if k in refused else event)
        assert loaded.table.name_of(k) == ("" if k in refused else event["name"])
    assert loaded.events == len(events)


def test_dropped_stretches_are_where_the_refused_elements_stand(tmp_path: Path) -> None:
    texts = [json.dumps(event) for event in _events(9)]
    texts[4] = '{"ph": "X", 5: [}'
    for layout in ("kineto", "compact"):
        text = render_texts(texts, "kineto" if layout == "kineto" else "compact")
        loaded = read_bytes(tmp_path / "t.json", text)
        problem = loaded.problems.get("refused")
        assert problem is not None
        [(offset, length)] = problem.dropped
        assert b"5: [" in text[offset : offset + length]
        assert b"op3" not in text[offset : offset + length]
        assert b"op5" not in text[offset : offset + length]


def test_numbers_beyond_64_bits_come_back_whole(tmp_path: Path) -> None:
    events = _events(3)
    events[1]["args"]["correlation"] = 2**63 + 5
    events[2]["args"]["huge"] = 2**70
    loaded = read_bytes(tmp_path / "t.json", render(events, "kineto"))
    args = loaded.args.event(1)
    assert args is not None
    assert args["args"]["correlation"] == 2**63 + 5
    assert len(loaded.table) == 3


def test_ids_beyond_int64_stay_distinct_and_equal_only_to_themselves(tmp_path: Path) -> None:
    ids = [2**63 - 1, 2**63, 2**63 + 1, 2**64 - 2, 5]
    builder = trace()
    for k in ids:
        builder.kernel("k", 1, 1, correlation=k)
    for k in ids:
        builder.runtime("cudaLaunchKernel", 0, 1, correlation=k)
    loaded = read_trace(builder.write(tmp_path / "t.json"))
    found = loaded.table.correlation.tolist()
    assert found[: len(ids)] == found[len(ids) :]
    assert len(set(found)) == len(ids)


def test_file_changed_since_gives_an_answer_and_never_an_error(tmp_path: Path) -> None:
    path = trace_path = tmp_path / "t.json"
    loaded = read_bytes(trace_path, render(_events(50), "compact"))
    path.write_bytes(b"{")
    assert loaded.args.event(20) is None


def test_memory_events_keep_their_bytes(tmp_path: Path) -> None:
    builder = trace().op("aten::empty", 0, 9)
    for k, size in enumerate((512, -512, 0)):
        builder.add(
            {
                "ph": "i",
                "cat": "cpu_instant_event",
                "name": "[memory]",
                "pid": 1,
                "tid": 1,
                "s": "t",
                "ts": k,
                "args": {"Bytes": size, "Addr": 2**47 + k},
            }
        )
    loaded = read_trace(builder.write(tmp_path / "t.json"))
    assert loaded.table.bytes.rows.tolist() == [1, 2, 3]
    assert loaded.table.bytes.values.tolist() == [512, -512, 0]


def test_lone_surrogates_do_not_stop_the_reading_of_all_args(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_bytes(
        b'{"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "a\\\\b", "ts": 1, "dur": 1,'
        b' "args": {"Input type": ["\\ud800"], "big": 123456789012345678901234567890}}]}'
    )
    trace = read_trace(path)
    records = trace.args.records(("Input type", "big"), len(trace.table))
    assert b"ud800" in b"".join(records.texts[int(records.code[0])])
