"""Folding: repeats, many alike, small neighbours; each on a hand-made forest."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ptx.tui.state.folding import Folded, Weights, fold, signatures
from ptx.tui.state.tree_index import TreeIndex, preorder

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Shape = tuple[str, int, list["Shape"]]  # label, own cost, children; a lower-case label: no kernel


def leaf(label: str, cost: int = 100) -> Shape:
    return label, cost, []


def row(label: str, *children: Shape) -> Shape:
    return label, 100, list(children)


class Forest:
    """A forest of shapes below one root, as arrays."""

    def __init__(self, shapes: Sequence[Shape]) -> None:
        self.names: list[str] = []
        self.parent: list[int] = []
        self.cost: list[int] = []
        self._add(("Root", 0, list(shapes)), -1)

    def _add(self, shape: Shape, parent: int) -> int:
        label, own, children = shape
        at = len(self.names)
        self.names.append(label)
        self.parent.append(parent)
        self.cost.append(own)
        self.cost[at] += sum(self._add(child, at) for child in children)
        return self.cost[at]

    def weights(self, limit_ns: float = 0) -> Weights:
        codes = {name: code for code, name in enumerate(dict.fromkeys(self.names))}
        cost = np.array(self.cost, np.int64)
        return Weights(
            label=np.array([codes[name] for name in self.names], np.int64),
            bears=np.array([not name.islower() for name in self.names]),
            cost_ns=cost,
            busy_ns=np.zeros_like(cost),
            limit_ns=limit_ns,
            busy_limit_ns=1,
        )

    def fold(
        self, limit_ns: float = 0, split: Callable[[int], bool] = lambda _: False
    ) -> list[tuple[int, str]]:
        """Returns (depth, text) of the folded rows below the root: `3x A`, `2 small`."""
        folded = fold(np.array(self.parent, np.int32), self.weights(limit_ns), split)
        parent = folded.parent
        members = defaultdict(list)
        for holder, member in pairs(folded):
            members[holder].append(member)
        order = preorder(parent, folded.rank)
        place = np.append(np.argsort(order), -1)
        depth = TreeIndex(place[parent[order]].astype(np.int32)).depth
        found = []
        for at, k in enumerate(order.tolist()):
            mine = members[k]
            if not mine:
                text = f"{(parent == k).sum()} small"
            else:
                text = (
                    self.names[mine[0]] if len(mine) == 1 else f"{len(mine)}x {self.names[mine[0]]}"
                )
            found.append((int(depth[at]) - 1, text))
        return found[1:]


def pairs(folded: Folded) -> list[tuple[int, int]]:
    """Returns (row, row of the forest that it stands for)."""
    rows, members = folded.members
    return list(zip(rows.tolist(), members.tolist(), strict=True))


def folded(*shapes: Shape, limit_ns: float = 0) -> list[tuple[int, str]]:
    return Forest(shapes).fold(limit_ns)


def flat(*labels: str) -> list[str]:
    return [text for _, text in folded(*map(leaf, labels))]


def test_equal_neighbours_share_a_row() -> None:
    assert flat("A", "A", "A", "B") == ["3x A", "B"]


def test_period_of_several_folds_into_one_row_each() -> None:
    assert flat("A", "B", "C", "A", "B", "C") == ["2x A", "2x B", "2x C"]


def test_incomplete_period_at_the_end_keeps_its_rows() -> None:
    assert flat("A", "B", "C", "A", "B", "C", "A") == ["2x A", "2x B", "2x C", "A"]


def test_repeats_within_repeats_fold_first() -> None:
    assert flat("A", "A", "B", "A", "A", "B", "C") == ["4x A", "2x B", "C"]


def test_equal_rows_apart_stay_apart() -> None:
    assert flat("A", "B", "A") == ["A", "B", "A"]


def test_children_of_a_repeat_are_merged_the_same_way() -> None:
    layer = row("Layer", leaf("Norm"), leaf("Mm"), leaf("Norm"))
    assert folded(layer, layer) == [
        (0, "2x Layer"),
        (1, "2x Norm"),
        (1, "2x Mm"),
        (1, "2x Norm"),
    ]


def test_one_that_differs_below_is_no_repeat() -> None:
    one, other = row("Layer", leaf("Mm")), row("Layer", leaf("Mm"), leaf("Cast"))
    assert [text for _, text in folded(one, one, other) if "Layer" in text] == ["2x Layer", "Layer"]


def test_host_work_between_does_not_tell_repeats_apart() -> None:
    plain, noisy = row("Layer", leaf("Mm")), row("Layer", leaf("wait"), leaf("Mm"))
    assert folded(plain, noisy, leaf("gc"), plain) == [
        (0, "3x Layer"),
        (1, "3x Mm"),
        (1, "wait"),
        (0, "gc"),
    ]


def test_many_siblings_merge_by_label_wherever_they_stand_dearest_first() -> None:
    kinds = [leaf(f"K{k}", 10 + k) for k in range(12)]
    shapes = [shape for kind in kinds for shape in (kind, leaf("Copy", 50))][:-1]
    texts = [text for _, text in folded(*shapes)]
    assert texts == ["11x Copy", *(f"K{k}" for k in range(11, -1, -1))]


def test_twelve_siblings_keep_their_places() -> None:
    labels = [f"K{k}" for k in range(11)]
    assert flat("Copy", *labels[:10], "Copy") == ["Copy", *labels[:10], "Copy"]


def test_small_neighbours_share_a_row() -> None:
    shapes = [leaf("A", 500), leaf("B", 5), leaf("C", 5), leaf("D", 500), leaf("E", 5)]
    assert folded(*shapes, limit_ns=10) == [
        (0, "A"),
        (0, "2 small"),
        (1, "B"),
        (1, "C"),
        (0, "D"),
        (0, "E"),
    ]


def test_run_of_small_ones_hides_no_more_than_five_times_the_limit() -> None:
    shapes = [leaf("Big", 500), *(leaf(f"S{k}", 9) for k in range(7)), leaf("S7", 8)]
    texts = folded(*shapes, limit_ns=10)
    hidden = [text for depth, text in texts if depth == 1]
    assert len(hidden) * 9 <= 50 + 9
    assert {text for depth, text in texts if depth == 0} >= {"Big"}
    assert {t for _, t in texts if "small" not in t} == {s[0] for s in shapes}


def test_children_that_are_all_small_need_no_row_of_their_own() -> None:
    assert folded(row("Norm", leaf("B", 5), leaf("C", 5)), leaf("A", 500), limit_ns=10) == [
        (0, "Norm"),
        (1, "B"),
        (1, "C"),
        (0, "A"),
    ]


def test_instances_stand_below_the_row_that_is_asked_to_list_them() -> None:
    layer = row("Layer", leaf("Mm"))
    forest = Forest([layer, layer, leaf("Head")])
    assert forest.fold(split=lambda first: first == 1) == [
        (0, "2x Layer"),
        (1, "Layer"),
        (2, "Mm"),
        (1, "Layer"),
        (2, "Mm"),
        (0, "Head"),
    ]


# --- properties -----------------------------------------------------------------------------------

SHAPES = st.recursive(
    st.builds(leaf, st.sampled_from(["A", "B", "c"]), st.integers(0, 30)),
    lambda inner: st.builds(
        lambda label, children: (label, 1, children),
        st.sampled_from(["A", "B", "L"]),
        st.lists(inner, max_size=6),
    ),
    max_leaves=30,
)
FORESTS = st.lists(SHAPES, max_size=16).map(Forest)


def naive_signature(forest: Forest, at: int) -> tuple[str, frozenset[object]]:
    children = [k for k, above in enumerate(forest.parent) if above == at]
    bearing = (k for k in children if not forest.names[k].islower())
    return forest.names[at], frozenset(naive_signature(forest, k) for k in bearing)


@given(FORESTS)
def test_signatures_are_equal_where_labels_and_sets_of_children_are(forest: Forest) -> None:
    weights = forest.weights()
    found = signatures(np.array(forest.parent, np.int32), weights.label, weights.bears).tolist()
    naive = [naive_signature(forest, k) for k in range(len(found))]
    for k in range(len(found)):
        for j in range(k):
            assert (found[k] == found[j]) == (naive[k] == naive[j])


@given(FORESTS, st.sampled_from([0, 10, 40]), st.booleans())
def test_every_row_stands_in_one_place_below_its_parent(
    forest: Forest, limit_ns: int, listed: bool
) -> None:
    result = fold(np.array(forest.parent, np.int32), forest.weights(limit_ns), lambda _: listed)
    parent = result.parent
    innermost = {member: holder for holder, member in pairs(result)}
    assert sorted(innermost) == list(range(len(forest.names)))
    counts = np.bincount(result.members[0], minlength=result.count)
    if listed:
        assert all(counts[holder] == 1 for holder in innermost.values())
    for member, holder in innermost.items():
        above = int(parent[holder])
        while above >= 0 and innermost[forest.parent[member]] != above:
            above = int(parent[above])  # over a run of small rows, or the row of all instances
        assert (above < 0) == (forest.parent[member] < 0)


@given(FORESTS)
def test_rows_that_share_one_have_the_same_label(forest: Forest) -> None:
    result = fold(np.array(forest.parent, np.int32), forest.weights(), lambda _: False)
    names = defaultdict(set)
    for holder, member in pairs(result):
        names[holder].add(forest.names[member])
    assert all(len(labels) == 1 for labels in names.values())
