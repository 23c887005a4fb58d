"""Busy time and curves: equal to a count of every ns, whatever overlaps and wherever cells end."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptx.tui.state.timeline.busy import Busy, Curve

SPAN = 300
slices = st.lists(st.tuples(st.integers(0, SPAN), st.integers(0, 60)), max_size=30)
edges = st.lists(st.integers(-20, SPAN + 100), min_size=2, max_size=40, unique=True).map(sorted)


@given(slices=slices, edges=edges)
def test_busy_time_equals_a_count_of_every_ns(
    slices: list[tuple[int, int]], edges: list[int]
) -> None:
    busy_at = {t for start, dur in slices for t in range(start, start + dur)}
    start = np.array([s for s, _ in slices], np.int64)
    busy = Busy(start, start + np.array([d for _, d in slices], np.int64))
    expected = [sum(t in busy_at for t in range(a, b)) for a, b in itertools.pairwise(edges)]
    assert busy.within(np.array(edges, np.int64)).tolist() == expected
    assert (busy.end_ns - busy.start_ns).sum() == len(busy_at)


changes = st.dictionaries(st.integers(0, SPAN), st.integers(-5, 9), max_size=40)


@given(changes=changes, edges=edges)
def test_curve_means_equal_a_count_of_every_ns(changes: dict[int, int], edges: list[int]) -> None:
    times = sorted(changes)
    curve = Curve(np.array(times, np.int64), np.array([changes[t] for t in times], np.int64))

    def value(time: int) -> int:
        before = [t for t in times if t <= time]
        return changes[before[-1]] if before else 0

    expected = [sum(value(t) for t in range(a, b)) / (b - a) for a, b in itertools.pairwise(edges)]
    assert curve.means(np.array(edges, np.int64)).tolist() == pytest.approx(expected)
    assert [curve.at(t) for t in edges] == [value(t) for t in edges]


@given(st.data())
def test_extremes_are_those_of_the_values_in_force(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 2000))  # several of the blocks that hold ready extremes
    seed = data.draw(st.integers(0, 999))
    values = np.random.default_rng(seed).integers(-50, 50, count)
    curve = Curve(np.arange(count, dtype=np.int64) * 10, values)
    start = data.draw(st.integers(0, count * 10 - 1))
    end = data.draw(st.integers(start + 1, count * 10 + 50))
    in_force = values[start // 10 : -(-end // 10)]
    assert curve.extremes(start, end) == (in_force.min(), in_force.max())


def test_nothing_recorded_is_nothing_busy() -> None:
    none = np.zeros(0, np.int64)
    edges = np.array([0, 5, 10], np.int64)
    assert Busy(none, none).within(edges).tolist() == [0, 0]
    assert Curve(none, none).means(edges).tolist() == [0, 0]
    assert Curve(none, none).extremes(0, 10) == (0, 0)
    assert Curve(none, none).at(5) == 0
