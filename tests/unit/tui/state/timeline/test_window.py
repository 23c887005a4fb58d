"""The window: zoom keeps the cursor's place, nothing leaves the trace, cells fill it."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptx.tui.state.timeline.times import format_offset, ruler
from ptx.tui.state.timeline.window import LEAST_SPAN_NS, Window, fitted

LIMIT = Window(0, 1_000_000)
times = st.integers(0, LIMIT.end_ns - 1)
windows = st.tuples(st.integers(0, 990_000), st.integers(LEAST_SPAN_NS, 10_000)).map(
    lambda pair: Window(pair[0], pair[0] + pair[1])
)


@given(window=windows, cells=st.integers(1, 400))
def test_cells_fill_the_window_and_none_is_empty(window: Window, cells: int) -> None:
    edges = window.edges(cells).tolist()
    assert (edges[0], edges[-1], len(edges)) == (window.start_ns, window.end_ns, cells + 1)
    assert all(a < b for a, b in itertools.pairwise(edges))


@given(window=windows, factor=st.sampled_from([0.5, 2.0]), share=st.floats(0, 0.999))
def test_zoom_keeps_the_place_of_a_time(window: Window, factor: float, share: float) -> None:
    about = window.start_ns + int(share * window.span_ns)
    zoomed = window.zoomed(factor, about, LIMIT)
    assert zoomed.holds(about)
    assert LEAST_SPAN_NS <= zoomed.span_ns <= LIMIT.span_ns
    if LIMIT.start_ns < zoomed.start_ns and zoomed.end_ns < LIMIT.end_ns:
        place = (about - zoomed.start_ns) / zoomed.span_ns
        assert place == pytest.approx((about - window.start_ns) / window.span_ns, abs=0.01)


@given(window=windows, share=st.floats(-200, 200))
def test_pan_stays_in_the_trace_and_keeps_the_length(window: Window, share: float) -> None:
    panned = window.panned(share, LIMIT)
    assert panned.span_ns == window.span_ns
    assert LIMIT.start_ns <= panned.start_ns < panned.end_ns <= LIMIT.end_ns


@given(window=windows, time=times)
def test_a_time_off_screen_is_brought_on(window: Window, time: int) -> None:
    shown = window.showing(time, LIMIT)
    assert shown.holds(time)
    assert shown.span_ns == window.span_ns
    assert (shown == window) == window.holds(time)


def test_fit_shows_the_stretch_with_a_margin() -> None:
    assert fitted(100_000, 200_000, LIMIT) == Window(95_000, 205_000)
    assert fitted(0, LIMIT.end_ns, LIMIT) == LIMIT


def test_fit_of_an_instant_is_the_smallest_window_around_it() -> None:
    window = fitted(5_000, 5_000, LIMIT)
    assert window.span_ns == LEAST_SPAN_NS
    assert window.holds(5_000)


def test_cell_of_a_time_is_the_one_whose_edges_hold_it() -> None:
    window = Window(1_000, 2_000)
    assert [window.cell_of(t, 10) for t in (999, 1_000, 1_099, 1_100, 1_999, 2_000)] == [
        *(-1, 0, 0, 1, 9, -1),
    ]


@pytest.mark.parametrize(
    ("ns", "resolution", "text"),
    [
        (0, 1, "0"),
        (66_000, 1_000, "+66.0us"),
        (-1_500_000, 1_000_000, "-1.50ms"),
        (12_345_678, 100_000, "+12.3ms"),
        (12_345_678, 50, "+12.34568ms"),
        (12_345_678, 1, "+12.345678ms"),
        (1_500_000_000, 1_000_000, "+1.500s"),
        (17, 1, "+17ns"),
    ],
)
def test_times_have_the_digits_that_tell_neighbours_apart(
    ns: int, resolution: int, text: str
) -> None:
    assert format_offset(ns, resolution) == text


def test_ruler_has_a_time_every_twenty_cells_and_signs_over_it() -> None:
    runs = ruler(Window(1_000, 61_000), 1_000, 60, {3: "v", 50: "a"})
    line = "".join(run.text for run in runs)
    assert line == "0  v                +20.0us             +40.0us   a         "
    assert sum(run.cells for run in runs) == 60


def test_a_sign_on_the_text_of_a_time_takes_its_place() -> None:
    line = "".join(run.text for run in ruler(Window(0, 60_000), 0, 60, {21: "v"}))
    assert "+20.0us" not in line
    assert line[21] == "v"
    assert "+40.0us" in line
