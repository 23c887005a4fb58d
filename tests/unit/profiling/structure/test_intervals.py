"""Unions of intervals against sets of nanoseconds."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import naive

from ptx.profiling.structure.intervals import covered, fresh_by_group, merge, union_by_group

_INTERVAL = st.tuples(st.integers(-20, 60), st.integers(0, 25)).map(lambda t: (t[0], t[0] + t[1]))
_INTERVALS = st.lists(_INTERVAL, max_size=25)
Intervals = list[tuple[int, int]]


def _arrays(intervals: Intervals) -> tuple[np.ndarray, np.ndarray]:
    return (
        np.array([s for s, _ in intervals], np.int64),
        np.array([e for _, e in intervals], np.int64),
    )


@settings(max_examples=150)
@given(_INTERVALS)
def test_merged_intervals_cover_the_same_nanoseconds_and_never_touch(intervals: Intervals) -> None:
    starts, ends = merge(*_arrays(intervals))
    merged = list(zip(starts.tolist(), ends.tolist(), strict=True))
    assert int((ends - starts).sum()) == naive.union_ns(intervals)
    for start, end in intervals:
        assert any(s <= start and end <= e for s, e in merged)
    assert all(a[1] < b[0] for a, b in pairwise(merged))


@settings(max_examples=150)
@given(_INTERVALS, st.lists(st.integers(-30, 90), max_size=10))
def test_covered_time_before_any_moment(intervals: Intervals, moments: list[int]) -> None:
    starts, ends = merge(*_arrays(intervals))
    found = covered(starts, ends, np.array(moments, np.int64))
    assert found.tolist() == [naive.covered_before(intervals, at) for at in moments]


@settings(max_examples=150)
@given(st.lists(st.tuples(st.integers(0, 4), _INTERVAL), max_size=25))
def test_union_of_each_group_on_its_own(items: list[tuple[int, tuple[int, int]]]) -> None:
    group = np.array([g for g, _ in items], np.int64)
    start, end = _arrays([i for _, i in items])
    expected = [naive.union_ns([i for g, i in items if g == k]) for k in range(6)]
    assert union_by_group(group, start, end, 6).tolist() == expected
    assert union_by_group(group, start + 2**61, end + 2**61, 6).tolist() == expected


@settings(max_examples=100)
@given(st.lists(st.tuples(st.integers(0, 3), _INTERVAL), max_size=25))
def test_fresh_part_of_each_interval_is_what_those_before_it_left(
    items: list[tuple[int, tuple[int, int]]],
) -> None:
    items = sorted(items, key=lambda item: (item[0], item[1][0]))
    group = np.array([g for g, _ in items], np.int64)
    start, end = _arrays([i for _, i in items])
    expected = []
    for k, (mine, interval) in enumerate(items):
        before = [i for g, i in items[:k] if g == mine]
        expected.append(naive.union_ns([*before, interval]) - naive.union_ns(before))
    assert fresh_by_group(group, start, end).tolist() == expected


def test_no_interval_covers_nothing() -> None:
    none = np.zeros(0, np.int64)
    assert covered(none, none, np.array([5], np.int64)).tolist() == [0]
    assert union_by_group(none, none, none, 2).tolist() == [0, 0]
