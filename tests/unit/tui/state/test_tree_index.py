"""Folding, finding and compacting agree with a plain recursive tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptx.tui.state.tree_index import TreeIndex, compact

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray


class NaiveTree:
    """The same forest as lists of children, walked recursively."""

    def __init__(self, parent: list[int]) -> None:
        self.parent = parent
        self.children: dict[int, list[int]] = {node: [] for node in range(-1, len(parent))}
        for node, above in enumerate(parent):
            self.children[above].append(node)
        self.opened = [False] * len(parent)

    def below(self, node: int) -> list[int]:
        found = [] if node < 0 else [node]
        for child in self.children[node]:
            found += self.below(child)
        return found

    def rows(self, node: int = -1) -> list[int]:
        found = [] if node < 0 else [node]
        if node < 0 or self.opened[node]:
            for child in self.children[node]:
                found += self.rows(child)
        return found

    def ancestors(self, node: int) -> list[int]:
        above = self.parent[node]
        return [] if above < 0 else [*self.ancestors(above), above]

    def depth(self, node: int) -> int:
        return len(self.ancestors(node))

    def set_open(self, node: int, opened: bool) -> None:
        self.opened[node] = opened and bool(self.children[node])


@st.composite
def forests(draw: st.DrawFn, min_size: int = 0) -> list[int]:
    """Draws the parents of a forest in pre-order, with any number of roots."""
    depth = draw(st.lists(st.integers(0, 6), min_size=min_size, max_size=40))
    parent: list[int] = []
    path: list[int] = []
    for node, wanted in enumerate(depth):
        path = path[:wanted]
        parent.append(path[-1] if path else -1)
        path.append(node)
    return parent


def index_of(parent: list[int]) -> TreeIndex:
    return TreeIndex(np.array(parent, np.int32))


@st.composite
def folded(draw: st.DrawFn, min_size: int = 1) -> tuple[TreeIndex, NaiveTree]:
    """Draws a forest in any fold state."""
    parent = draw(forests(min_size))
    index, naive = index_of(parent), NaiveTree(parent)
    opened = draw(st.lists(st.booleans(), min_size=len(parent), max_size=len(parent)))
    index.set_state(np.array(opened, bool))
    for node, is_open in enumerate(opened):
        naive.set_open(node, is_open)
    return index, naive


def assert_alike(index: TreeIndex, naive: NaiveTree) -> None:
    assert index.rows.tolist() == naive.rows()
    assert index.rows.dtype == np.int32
    assert index.open.tolist() == naive.opened


def a_node(data: st.DataObject, index: TreeIndex) -> int:
    return data.draw(st.integers(0, len(index) - 1), label="node")


@given(forests())
def test_a_new_forest_shows_its_roots(parent: list[int]) -> None:
    assert_alike(index_of(parent), NaiveTree(parent))


@given(forests())
def test_depth_and_size_count_levels_and_subtrees(parent: list[int]) -> None:
    index, naive = index_of(parent), NaiveTree(parent)
    assert index.depth.tolist() == [naive.depth(node) for node in range(len(parent))]
    assert index.size.tolist() == [len(naive.below(node)) for node in range(len(parent))]


@given(folded(min_size=0))
def test_rows_follow_any_fold_state(trees: tuple[TreeIndex, NaiveTree]) -> None:
    assert_alike(*trees)


@given(folded(), st.data(), st.booleans())
def test_opening_and_closing_one_node(
    trees: tuple[TreeIndex, NaiveTree], data: st.DataObject, opened: bool
) -> None:
    index, naive = trees
    node = a_node(data, index)
    index.set_open(node, opened)
    naive.set_open(node, opened)
    assert_alike(index, naive)


@given(folded(), st.data())
def test_closing_and_opening_again_brings_the_same_rows_back(
    trees: tuple[TreeIndex, NaiveTree], data: st.DataObject
) -> None:
    index, naive = trees
    node = a_node(data, index)
    before, was_open = index.rows.tolist(), bool(index.open[node])
    index.set_open(node, not was_open)
    index.set_open(node, was_open)
    assert index.rows.tolist() == before
    assert_alike(index, naive)


@given(folded(), st.data(), st.booleans())
def test_opening_and_closing_a_whole_subtree(
    trees: tuple[TreeIndex, NaiveTree], data: st.DataObject, opened: bool
) -> None:
    index, naive = trees
    node = data.draw(st.integers(-1, len(index) - 1), label="node")
    index.set_open_below(node, opened)
    for inside in naive.below(node):
        naive.set_open(inside, opened)
    assert_alike(index, naive)


@given(folded(min_size=0), st.integers(0, 8))
def test_opening_to_a_depth(trees: tuple[TreeIndex, NaiveTree], depth: int) -> None:
    index, naive = trees
    index.open_to_depth(depth)
    for node in range(len(index)):
        naive.set_open(node, naive.depth(node) < depth)
    assert_alike(index, naive)


@given(folded(), st.data())
def test_revealing_opens_just_what_is_closed_above(
    trees: tuple[TreeIndex, NaiveTree], data: st.DataObject
) -> None:
    index, naive = trees
    node = a_node(data, index)
    index.reveal(node)
    for above in naive.ancestors(node):
        naive.set_open(above, opened=True)
    assert_alike(index, naive)
    assert index.is_visible(node)


@given(folded(), st.data())
def test_a_hidden_node_has_the_row_of_its_lowest_visible_ancestor(
    trees: tuple[TreeIndex, NaiveTree], data: st.DataObject
) -> None:
    index, naive = trees
    node = a_node(data, index)
    rows = naive.rows()
    shown = [above for above in [*naive.ancestors(node), node] if above in rows]
    assert index.row_of(node) == rows.index(shown[-1])
    assert index.is_visible(node) == (node in rows)


@given(folded(), st.data())
def test_children_and_ancestors(trees: tuple[TreeIndex, NaiveTree], data: st.DataObject) -> None:
    index, naive = trees
    node = a_node(data, index)
    assert index.children(node).tolist() == naive.children[node]
    assert index.children(-1).tolist() == naive.children[-1]
    assert index.ancestors(node) == naive.ancestors(node)
    assert index.has_children(node) == bool(naive.children[node])


@given(folded(), st.data(), st.sampled_from([1, -1]))
def test_the_next_hit_goes_round_at_the_end(
    trees: tuple[TreeIndex, NaiveTree], data: st.DataObject, step: int
) -> None:
    index, _ = trees
    n = len(index)
    hits = sorted(data.draw(st.sets(st.integers(0, n - 1)), label="hits"))
    node = a_node(data, index)
    round_trip = [(node + step * distance) % n for distance in range(1, n + 1)]
    expected = next((at for at in round_trip if at in hits), None)
    assert index.next_hit(np.array(hits, np.int32), node, step) == expected


@given(forests(), st.data())
def test_compacting_hangs_a_kept_node_under_its_nearest_kept_ancestor(
    parent: list[int], data: st.DataObject
) -> None:
    n = len(parent)
    keep = data.draw(st.lists(st.booleans(), min_size=n, max_size=n), label="keep")
    naive = NaiveTree(parent)
    kept = [node for node in range(n) if keep[node]]
    expected = []
    for node in kept:
        above = [a for a in naive.ancestors(node) if keep[a]]
        expected.append(kept.index(above[-1]) if above else -1)
    parents, nodes = compact(np.array(parent, np.int32), np.array(keep, bool))
    assert nodes.tolist() == kept
    assert parents.tolist() == expected
    assert parents.dtype == nodes.dtype == np.int32


def test_compacting_a_long_chain_of_dropped_nodes() -> None:
    n = 100_000
    keep = np.zeros(n, bool)
    keep[[0, n - 1]] = True
    parents, nodes = compact(np.arange(-1, n - 1, dtype=np.int32), keep)
    assert parents.tolist() == [-1, 0]
    assert nodes.tolist() == [0, n - 1]


def test_an_empty_forest_answers_everything() -> None:
    index = index_of([])
    index.set_open_below(-1, opened=True)
    index.open_to_depth(3)
    assert len(index) == 0
    assert index.rows.tolist() == []
    assert index.row_of(0) == -1
    assert index.children(-1).tolist() == []
    assert index.next_hit(np.zeros(0, np.int32), 0, 1) is None


@pytest.mark.parametrize(
    "look_up",
    [
        lambda index: index.row_of(7),
        lambda index: index.is_visible(7),
        lambda index: index.next_hit(index.rows, 7, 1),
        lambda index: (index.set_open(0, False), index.set_open(0, True)),
    ],
)
def test_a_look_up_never_converts_the_rows(
    look_up: Callable[[TreeIndex], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    # A Python int beside an int32 array makes numpy copy the array to int64 first.
    index = index_of([-1] + [0] * 20)
    index.set_open(0, opened=True)
    searchsorted = np.searchsorted

    def strict(a: NDArray[np.int32], v: object, side: str = "left") -> np.intp:
        assert isinstance(v, np.int32)
        found: np.intp = searchsorted(a, v, side)  # type: ignore[call-overload]
        return found

    monkeypatch.setattr(np, "searchsorted", strict)
    look_up(index)
