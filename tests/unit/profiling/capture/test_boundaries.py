from __future__ import annotations

import threading

import pytest

from ptx.profiling.capture.inside.boundaries import PATIENCE_S, Boundaries, Source


class Clock:
    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


class Optimizer:
    """Stands in for one: something with an identity."""


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def taken() -> list[Source]:
    return []


@pytest.fixture
def boundaries(clock: Clock, taken: list[Source]) -> Boundaries:
    return Boundaries(taken.append, now=clock)


def test_a_better_source_takes_over_and_a_weaker_one_is_ignored(
    boundaries: Boundaries, taken: list[Source]
) -> None:
    order = [Source.FORWARD, Source.OPTIMIZER, Source.FORWARD, Source.SCRIPT, Source.OPTIMIZER]
    for source in order:
        boundaries.hit(source)
    assert taken == [Source.FORWARD, Source.OPTIMIZER, Source.SCRIPT]


def test_forwards_wait_for_an_optimizer_that_exists_but_not_for_ever(
    boundaries: Boundaries, taken: list[Source], clock: Clock
) -> None:
    boundaries.optimizers = 1
    boundaries.hit(Source.FORWARD)
    assert taken == []
    clock.now_s = PATIENCE_S
    boundaries.hit(Source.FORWARD)
    assert taken == [Source.FORWARD]


def test_a_loader_waits_for_anything_better(
    boundaries: Boundaries, taken: list[Source], clock: Clock
) -> None:
    boundaries.hit(Source.LOADER)
    clock.now_s = PATIENCE_S
    boundaries.hit(Source.LOADER)
    assert taken == [Source.LOADER]


def test_of_several_optimizers_the_first_one_counts(
    boundaries: Boundaries, taken: list[Source]
) -> None:
    first, second = Optimizer(), Optimizer()
    for of in (first, second, first, second):
        boundaries.hit(Source.OPTIMIZER, of)
    assert len(taken) == 2


def test_replicas_in_other_threads_do_not_count(
    boundaries: Boundaries, taken: list[Source]
) -> None:
    boundaries.hit(Source.FORWARD)
    thread = threading.Thread(target=boundaries.hit, args=(Source.FORWARD,))
    thread.start()
    thread.join()
    assert len(taken) == 1


def test_nothing_counts_once_all_is_recorded(boundaries: Boundaries, taken: list[Source]) -> None:
    boundaries.hit(Source.OPTIMIZER)
    boundaries.done = True
    boundaries.hit(Source.OPTIMIZER)
    assert len(taken) == 1


def test_slices_of_time_leave_every_other_source_aside(taken: list[Source]) -> None:
    boundaries = Boundaries(taken.append, only=Source.CLOCK)
    for source in Source:
        boundaries.hit(source)
    assert taken == [Source.CLOCK]
