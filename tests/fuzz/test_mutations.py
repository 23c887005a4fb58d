"""Damaged forms of the sample traces: whatever a file holds, it opens or is refused in one line."""

from __future__ import annotations

import pytest
from tests.fuzz.mutate import SAMPLES, input_of, run
from tests.fuzz.mutations import LEVELS
from tests.fuzz.packings import ZSTD
from tests.fuzz.windows import Recording, recordings

_SEED = 20
_INPUTS_A_TEST = 800


@pytest.fixture(scope="module")
def sources() -> list[Recording]:
    """Returns the committed sample traces, so that every run has the same inputs."""
    return recordings(SAMPLES)


@pytest.mark.parametrize("part", range(4))
def test_damaged_traces_open_or_are_refused_and_lose_nothing_silently(
    sources: list[Recording], part: int
) -> None:
    first = part * _INPUTS_A_TEST
    figures = run(sources, _SEED, range(first, first + _INPUTS_A_TEST))
    assert sum(figures.outcomes.values()) == _INPUTS_A_TEST
    assert figures.failures == []


def test_every_level_is_tried(sources: list[Recording]) -> None:
    levels = {input_of(sources, _SEED, number)[1].level for number in range(200)}
    assert levels == set(LEVELS) - (set() if ZSTD else {"zstd"})


def test_input_of_a_number_is_the_same_alone_and_in_a_run(sources: list[Recording]) -> None:
    forms = [input_of(sources, 3, number)[1].data for number in (5, 6, 7)]
    assert [input_of(sources, 3, number)[1].data for number in (7, 6, 5)] == forms[::-1]
    assert len(set(forms)) == 3
