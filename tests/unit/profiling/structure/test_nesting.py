"""Nesting of slices against a plain loop over all earlier slices."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import naive

from ptx.profiling.structure.nesting import Nesting, depths, nest, sizes

_TIME = st.integers(0, 40)
# short and long slices, so that ties, tolerance and crossing are met often
_SLICE = st.tuples(
    st.integers(0, 2), _TIME, st.one_of(st.integers(0, 4), st.integers(0, 60)), st.integers(-1, 5)
)
Slices = list[tuple[int, int, int, int]]


def _nest(slices: Slices) -> Nesting:
    thread, start, dur, ev_idx = (
        np.array([s[k] for s in slices], dtype)
        for k, dtype in enumerate((np.int32, np.int64, np.int64, np.int32))
    )
    return nest(thread, start, dur, ev_idx)


def _expected(slices: Slices) -> list[naive.Slice]:
    return naive.nest(*([s[k] for s in slices] for k in range(4)))


def _positions_of_parents(nesting: Nesting) -> list[int]:
    order = nesting.order.tolist()
    found = [-1] * len(order)
    for k, parent in enumerate(nesting.parent.tolist()):
        found[order[k]] = -1 if parent < 0 else order[parent]
    return found


@settings(max_examples=200)
@given(st.lists(_SLICE, max_size=30))
def test_parents_are_the_nearest_earlier_slices_that_hold_whole(slices: Slices) -> None:
    nesting = _nest(slices)
    expected = _expected(slices)
    assert nesting.order.tolist() == [s.position for s in expected]
    assert nesting.parent.tolist() == [s.parent for s in expected]


@settings(max_examples=200)
@given(st.lists(_SLICE, max_size=30))
def test_crossing_slices_are_those_that_start_inside_a_sibling(slices: Slices) -> None:
    assert _nest(slices).crossing.tolist() == [s.crossing for s in _expected(slices)]


@settings(max_examples=100)
@given(st.lists(_SLICE, max_size=30))
def test_every_subtree_is_one_stretch_of_the_order(slices: Slices) -> None:
    nesting = _nest(slices)
    parent = nesting.parent.tolist()
    assert nesting.depth.tolist() == naive.depths(parent)
    assert nesting.size.tolist() == naive.sizes(parent)
    for node, size in enumerate(nesting.size.tolist()):
        below = [k for k in range(len(parent)) if node in naive.ancestors(parent, k)]
        assert below == list(range(node + 1, node + size))


@settings(max_examples=100)
@given(st.lists(_SLICE, max_size=20))
def test_shift_of_all_times_changes_no_parent(slices: Slices) -> None:
    shifted = [(t, s + 2**60, d, e) for t, s, d, e in slices]
    assert _positions_of_parents(_nest(shifted)) == _positions_of_parents(_nest(slices))


@given(st.lists(st.integers(0, 30), max_size=40))
def test_depths_and_sizes_of_any_forest_in_pre_order(picks: list[int]) -> None:
    parent: list[int] = []
    path: list[int] = []
    for node, pick in enumerate(picks):
        path = path[: pick % (len(path) + 1)]
        parent.append(path[-1] if path else -1)
        path.append(node)
    array = np.array(parent, np.int32)
    assert depths(array).tolist() == naive.depths(parent)
    assert sizes(array, depths(array)).tolist() == naive.sizes(parent)


def test_nothing_nests_to_nothing() -> None:
    nesting = _nest([])
    assert len(nesting.order) == len(nesting.parent) == len(nesting.crossing) == 0


def test_chain_of_many_levels_keeps_its_depth() -> None:
    n = 70_000
    start = np.arange(n, dtype=np.int64)
    nesting = nest(np.zeros(n, np.int32), start, 2 * (n - start), np.full(n, -1, np.int32))
    assert nesting.depth.tolist() == list(range(n))
    assert int(nesting.size[0]) == n


def test_child_may_outlive_its_parent_by_the_tolerance_but_not_by_more() -> None:
    assert _positions_of_parents(_nest([(0, 0, 10, -1), (0, 5, 7, -1)])) == [-1, 0]
    assert _positions_of_parents(_nest([(0, 0, 10, -1), (0, 5, 8, -1)])) == [-1, -1]


def test_slices_end_to_end_are_siblings_even_within_the_tolerance() -> None:
    assert _positions_of_parents(_nest([(0, 0, 10, -1), (0, 10, 1, -1)])) == [-1, -1]


def test_slice_without_length_at_the_end_lies_inside() -> None:
    assert _positions_of_parents(_nest([(0, 0, 10, -1), (0, 10, 0, -1)])) == [-1, 0]


def test_slices_that_start_together_follow_their_index_over_their_length() -> None:
    assert _positions_of_parents(_nest([(0, 0, 10, 2), (0, 0, 10, 1)])) == [1, -1]


def test_one_slice_without_index_orders_its_ties_longest_first() -> None:
    assert _positions_of_parents(_nest([(0, 0, 5, 1), (0, 0, 10, -1)])) == [1, -1]
