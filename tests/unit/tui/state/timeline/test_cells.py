"""What a line of cells shows: heights, letters, names, and what is set back or underlined."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptx.tui.state.glyphs import ASCII, UNICODE, Glyphs
from ptx.tui.state.timeline.busy import Busy, Curve
from ptx.tui.state.timeline.cells import (
    Cells,
    Run,
    curve_cells,
    height_cells,
    host_cells,
    letter_cells,
)
from ptx.tui.state.timeline.lanes import CurveLane, Lane
from ptx.tui.state.timeline.window import Window

EDGES = Window(0, 40_000).edges(40)  # 40 cells of 1000 ns


def ints(values: list[int]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(values, np.int64)


def lane_of(*slices: tuple[int, int]) -> Lane:
    start = ints([a for a, _ in slices])
    node = np.arange(len(slices), dtype=np.int32)
    return Lane("ops", "ops", "ops", node, start, ints([b for _, b in slices]), thread=0)


def stream_of(*slices: tuple[int, int, str]) -> Lane:
    start, end = ints([a for a, _, _ in slices]), ints([b for _, b, _ in slices])
    letters = [letter for *_, letter in slices]
    categories = []
    for letter in sorted(set(letters)):
        mine = np.array([found == letter for found in letters])
        categories.append((letter, Busy(start[mine], end[mine])))
    return Lane(
        "stream",
        "GPU 0 stream 7",
        "GPU s7",
        np.arange(len(slices), dtype=np.int32),
        start,
        end,
        stream=(0, 7),
        categories=tuple(categories),
    )


def text(cells: Cells) -> str:
    """Returns the line as it stands on screen, names cut without a sign."""
    found = ""
    for run in cells.runs():
        found += run.text[: run.cells].ljust(run.cells, run.fill)
    return found


def draw(
    lane: Lane, *, linked: Busy | None = None, chosen: int = -1, glyphs: Glyphs = UNICODE
) -> Cells:
    return host_cells(lane, EDGES, glyphs, "name{}".format, linked, chosen)


def test_height_follows_the_busy_share_and_the_least_is_still_seen() -> None:
    lane = lane_of((0, 500), (1_000, 2_000), (2_000, 2_001), (5_000, 5_250))
    assert text(draw(lane)).rstrip() == "▄█▁  ▂"
    assert text(draw(lane, glyphs=ASCII)).rstrip() == "=#.  :"


def test_a_wide_slice_has_its_name_inside_and_its_last_cell_by_height() -> None:
    assert text(draw(lane_of((2_000, 12_500)))).rstrip() == "  ▏name0    ▄"
    assert text(draw(lane_of((2_000, 12_500)), glyphs=ASCII)).rstrip() == "  |name0    ="


def test_a_slice_of_three_cells_has_no_name() -> None:
    assert text(draw(lane_of((1_000, 4_000)))).rstrip() == " ███"
    assert text(draw(lane_of((1_000, 5_000)))).rstrip() == " ▏nam"


def test_a_slice_that_began_before_the_window_has_no_edge() -> None:
    assert text(draw(lane_of((-5_000, 8_000)))).rstrip() == "name0"
    assert text(draw(lane_of((-5_000, 90_000)))) == "name0".ljust(40)


def test_neighbouring_names_do_not_overlap() -> None:
    line = text(draw(lane_of((0, 10_500), (10_500, 20_000), (20_000, 30_000))))
    assert line.rstrip() == "▏name0    ▏name1    ▏name2"


@given(
    st.lists(st.tuples(st.integers(0, 3_000), st.integers(0, 20_000)), max_size=30),
    st.integers(1, 90),
    st.integers(0, 60_000),
)
def test_every_line_fills_its_cells_exactly(
    gaps: list[tuple[int, int]], cells: int, start: int
) -> None:
    slices, now = [], 0
    for gap, dur in gaps:
        slices.append((now + gap, now + gap + dur))
        now += gap + dur
    edges = Window(start, start + 20_000).edges(cells)
    lane = lane_of(*slices)
    runs = list(host_cells(lane, edges, UNICODE, "name{}".format, None, len(slices) - 1).runs())
    assert sum(run.cells for run in runs) == cells
    assert all(run.cells > 0 for run in runs)
    if slices:
        stream = stream_of(*((a, b, "GPX"[k % 3]) for k, (a, b) in enumerate(slices)))
        letters = letter_cells(stream, edges, UNICODE, "G name{}".format, None, 0)
        assert sum(run.cells for run in letters.runs()) == cells


def test_letters_are_those_of_the_dearest_work_small_below_half_a_cell() -> None:
    stream = stream_of((0, 600, "G"), (600, 1_000, "P"), (1_000, 1_400, "P"), (3_000, 4_000, "X"))
    line = text(letter_cells(stream, EDGES, UNICODE, str, None, -1))
    assert line == "Gp·X".ljust(40, "·")
    assert text(letter_cells(stream, EDGES, ASCII, str, None, -1)) == "Gp.X".ljust(40, ".")
    roles = [run.look.role for run in letter_cells(stream, EDGES, UNICODE, str, None, -1).runs()]
    assert roles == ["matmul", "pointwise", "dim", "communication", "dim"]


def test_a_wide_kernel_is_named_and_its_letter_fills_the_rest() -> None:
    stream = stream_of((2_000, 22_000, "G"), (22_000, 27_000, "P"))
    line = text(letter_cells(stream, EDGES, UNICODE, lambda k: f"G gemm{k}", None, -1))
    assert line == "··" + "G gemm0 ".ljust(20, "G") + "PPPPP" + "·" * 13


def test_kernels_of_the_trees_row_are_underlined_and_all_others_set_back() -> None:
    stream = stream_of((0, 2_000, "G"), (2_000, 4_000, "G"), (4_000, 5_000, "P"))
    linked = Busy(ints([2_000]), ints([4_000]))
    runs = list(letter_cells(stream, EDGES, UNICODE, str, linked, -1).runs())
    assert [(run.text[:4], run.look.is_dim, run.look.is_linked) for run in runs] == [
        ("GG", True, False),
        ("GG", False, True),
        ("P", True, False),
        ("····", False, False),
    ]
    heights = list(height_cells(stream, EDGES, UNICODE, linked, -1).runs())
    assert [run.look.is_dim for run in heights[:3]] == [True, False, True]


def test_nothing_is_set_back_while_the_tree_has_no_row() -> None:
    stream = stream_of((0, 2_000, "G"))
    for cells in (
        letter_cells(stream, EDGES, UNICODE, str, None, -1),
        height_cells(stream, EDGES, UNICODE, None, -1),
    ):
        assert not any(run.look.is_dim or run.look.is_linked for run in cells.runs())


def test_a_host_lane_is_underlined_where_it_is_busy_during_the_row() -> None:
    lane = lane_of((0, 2_000), (6_000, 8_000))
    runs = list(draw(lane, linked=Busy(ints([1_000]), ints([7_000]))).runs())
    assert [(run.text.strip(), run.look.is_linked) for run in runs] == [
        *(("█", False), ("█", True), ("", False), ("█", True), ("█", False)),
    ]


def test_the_chosen_slice_is_marked_even_without_length() -> None:
    lane = lane_of((0, 900), (3_000, 3_000))
    marked = [(run.cells, run.look.is_chosen) for run in draw(lane, chosen=1).runs()]
    assert marked == [(3, False), (1, True), (36, False)]


def curve_text(curve: Curve) -> str:
    runs = curve_cells(CurveLane("c", "c", curve), EDGES, UNICODE)
    return "".join(run.text for run in runs)


def test_a_curve_is_scaled_to_its_highest_value_on_screen() -> None:
    line = curve_text(Curve(ints([0, 10_000, 20_000, 30_000]), ints([1, 2, 0, 1])))
    assert line == "▄" * 10 + "█" * 10 + " " * 10 + "▄" * 10


def test_a_curve_below_zero_is_scaled_from_its_lowest_value() -> None:
    line = curve_text(Curve(ints([0, 20_000]), ints([-4, 4])))
    assert line == " " * 20 + "█" * 20


def test_a_curve_of_which_nothing_is_known_says_so() -> None:
    lane = CurveLane("q", "q", Curve(ints([]), ints([])), "kernels", note="not known")
    assert [(run.text, run.cells) for run in curve_cells(lane, EDGES, UNICODE)] == [
        ("not known", 40)
    ]


@pytest.mark.parametrize("glyphs", [UNICODE, ASCII])
def test_a_curve_without_values_is_empty(glyphs: Glyphs) -> None:
    runs: list[Run] = list(
        curve_cells(CurveLane("c", "c", Curve(ints([]), ints([]))), EDGES, glyphs)
    )
    assert runs[0].text == " " * 40
