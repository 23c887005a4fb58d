"""Chains and common subsequences against plain versions that try everything."""

from __future__ import annotations

from itertools import combinations, pairwise

from hypothesis import given
from hypothesis import strategies as st

from ptx.profiling.analysis.comparison.sequences import common_subsequence, heaviest_chain

_WORDS = st.lists(st.sampled_from("abc"), max_size=9)


@given(a=_WORDS, b=_WORDS)
def test_a_common_subsequence_is_as_long_as_any(a: list[str], b: list[str]) -> None:
    pairs = common_subsequence(a, b)
    assert all(a[i] == b[j] for i, j in pairs)
    for (i, j), (k, m) in pairwise(pairs):
        assert i < k
        assert j < m
    assert len(pairs) == _longest(a, b)


def _longest(a: list[str], b: list[str]) -> int:
    best = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            best[i + 1][j + 1] = best[i][j] + 1 if x == y else max(best[i][j + 1], best[i + 1][j])
    return best[-1][-1]


@given(
    values=st.permutations(range(7)), weights=st.lists(st.integers(1, 9), min_size=7, max_size=7)
)
def test_a_chain_is_as_heavy_as_any(values: list[int], weights: list[int]) -> None:
    chain = heaviest_chain(values, weights)
    assert [values[k] for k in chain] == sorted(values[k] for k in chain)
    heaviest = max(
        sum(weights[k] for k in picks)
        for size in range(8)
        for picks in combinations(range(7), size)
        if all(values[i] < values[j] for i, j in pairwise(picks))
    )
    assert sum(weights[k] for k in chain) == heaviest


def test_nothing_has_no_chain() -> None:
    assert heaviest_chain([], []) == []
    assert common_subsequence([], ["a"]) == []


def test_sequences_with_too_many_differences_keep_their_common_ends() -> None:
    a = ["start", *(f"a{k}" for k in range(4000)), "end"]
    b = ["start", *(f"b{k}" for k in range(4000)), "end"]
    assert common_subsequence(a, b) == [(0, 0), (4001, 4001)]
