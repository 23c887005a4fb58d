"""Begin and end events become slices; what has no partner is counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.traces import trace

from ptx.profiling.structure.structure import build_structure
from ptx.profiling.trace.columns import Kind, Phase
from ptx.profiling.trace.pairs import pair_events
from ptx.profiling.trace.reader import read_trace

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from ptx.profiling.trace.reader import TraceFile


def _mark(ph: str, ts: float, name: str | None = None, tid: int = 1, **more: str) -> dict[str, Any]:
    named = {} if name is None else {"name": name}
    return {"ph": ph, "ts": ts, "pid": 1, "tid": tid, **named, **more}


def _load(tmp_path: Path, *events: dict[str, Any]) -> TraceFile:
    builder = trace()
    for event in events:
        builder.add(event)
    return read_trace(builder.write(tmp_path / "t.json"))


def _slices(loaded: TraceFile) -> dict[int, tuple[int, int]]:
    table = loaded.table
    rows = table.of_kind(Kind.SLICE, Kind.OP).tolist()
    return {i: (int(table.start_ns[i]), int(table.dur_ns[i])) for i in rows}


def _codes(loaded: TraceFile) -> dict[str, tuple[int, list[int]]]:
    return {p.code: (p.count, p.positions) for p in loaded.problems}


def test_nested_pairs_get_the_time_between_begin_and_end(tmp_path: Path) -> None:
    loaded = _load(
        tmp_path,
        _mark("B", 0, "a"),
        _mark("B", 1, "b"),
        _mark("E", 3.5, "b"),
        _mark("E", 9, "a"),
    )
    assert _slices(loaded) == {0: (0, 9000), 1: (1000, 2500)}
    assert _codes(loaded) == {}
    tree = build_structure(loaded).tree
    assert tree.event.tolist() == [0, 1]
    assert tree.parent.tolist() == [-1, 0]


def test_pairs_of_a_known_category_are_of_its_kind(tmp_path: Path) -> None:
    loaded = _load(tmp_path, _mark("B", 0, "aten::mm", cat="cpu_op"), _mark("E", 4, "aten::mm"))
    assert loaded.table.of_kind(Kind.OP).tolist() == [0]
    assert int(loaded.table.dur_ns[0]) == 4000


def test_threads_do_not_mix_and_time_decides_not_the_files_order(tmp_path: Path) -> None:
    loaded = _load(
        tmp_path,
        _mark("E", 5, "a", tid=2),
        _mark("B", 0, "a", tid=1),
        _mark("E", 8, "a", tid=1),
        _mark("B", 2, "a", tid=2),
    )
    assert _slices(loaded) == {1: (0, 8000), 3: (2000, 3000)}
    assert _codes(loaded) == {}


def test_ends_without_a_name_close_the_innermost(tmp_path: Path) -> None:
    loaded = _load(tmp_path, _mark("B", 0, "a"), _mark("B", 1, "b"), _mark("E", 2), _mark("E", 3))
    assert _slices(loaded) == {0: (0, 3000), 1: (1000, 1000)}


def test_a_shortened_name_closes_the_innermost_but_a_foreign_one_does_not(tmp_path: Path) -> None:
    loaded = _load(
        tmp_path,
        _mark("B", 0, "outer"),
        _mark("B", 1, "inner with a long name"),
        _mark("E", 2, "stranger"),
        _mark("E", 3, "inner"),
        _mark("E", 4, "outer"),
    )
    assert _slices(loaded) == {0: (0, 4000), 1: (1000, 2000)}
    assert _codes(loaded) == {"unmatched-end": (1, [2])}


def test_an_end_in_front_of_its_begin_at_the_same_time_is_a_slice_of_no_time(
    tmp_path: Path,
) -> None:
    loaded = _load(
        tmp_path,
        _mark("B", 0, "a"),
        _mark("E", 2, "c"),
        _mark("B", 2, "c"),
        _mark("E", 5, "a"),
    )
    assert _slices(loaded) == {0: (0, 5000), 2: (2000, 0)}
    assert _codes(loaded) == {}


def test_crossing_pairs_keep_both_their_times(tmp_path: Path) -> None:
    loaded = _load(
        tmp_path,
        _mark("B", 0, "a"),
        _mark("B", 10, "b"),
        _mark("E", 20, "a"),
        _mark("E", 30, "b"),
    )
    assert _slices(loaded) == {0: (0, 20000), 1: (10000, 20000)}
    assert build_structure(loaded).crossing_slices == 1


def test_what_has_no_partner_is_counted_and_takes_no_time(tmp_path: Path) -> None:
    untimed = {"ph": "B", "name": "a", "pid": 1, "tid": 1}
    loaded = _load(tmp_path, _mark("E", 0, "x"), _mark("B", 1, "cut off"), untimed)
    assert _slices(loaded)[1] == (1000, 0)
    assert _codes(loaded) == {
        "unmatched-begin": (2, [1, 2]),
        "unmatched-end": (1, [0]),
        "no-timestamp": (1, [2]),
    }


@given(
    st.lists(
        st.tuples(
            st.sampled_from("BE"), st.integers(0, 5), st.integers(0, 2), st.sampled_from("abc")
        ),
        max_size=30,
    )
)
def test_every_event_is_matched_once_or_counted(events: list[tuple[str, int, int, str]]) -> None:
    names = ("a", "b", "c")
    n = len(events)
    columns: dict[str, NDArray[Any]] = {
        "phase": np.array([Phase.BEGIN if e[0] == "B" else Phase.END for e in events], np.uint8),
        "flags": np.zeros(n, np.uint8),
        "start_ns": np.array([e[1] for e in events], np.int64),
        "dur_ns": np.zeros(n, np.int64),
        "thread": np.array([e[2] for e in events], np.int32),
        "name": np.array([names.index(e[3]) for e in events], np.int32),
    }
    lone = pair_events(columns, names)
    begins = int((columns["phase"] == Phase.BEGIN).sum())
    assert begins - len(lone.begins) == n - begins - len(lone.ends)
    assert (columns["dur_ns"] >= 0).all()
    # with whole and distinct names no begin and later end of one name and thread stay apart
    for b in lone.begins.tolist():
        for e in lone.ends.tolist():
            same = events[b][2:] == events[e][2:]
            assert not (same and events[e][1] >= events[b][1] and e > b)


def test_a_deep_pile_of_open_begins_takes_linear_time() -> None:
    n = 200_000
    columns: dict[str, NDArray[Any]] = {
        "phase": np.repeat(np.array([Phase.BEGIN, Phase.END], np.uint8), n),
        "flags": np.zeros(2 * n, np.uint8),
        "start_ns": np.arange(2 * n),
        "dur_ns": np.zeros(2 * n, np.int64),
        "thread": np.zeros(2 * n, np.int32),
        "name": np.repeat(np.array([0, 1], np.int32), n),
    }
    lone = pair_events(columns, ("a", "b"))
    assert (len(lone.begins), len(lone.ends)) == (n, n)
