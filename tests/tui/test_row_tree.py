"""The tree widget: moving, folding, drawing, the mouse, at the sizes that must work."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
import pytest
from rich.cells import cell_len
from textual.app import App
from textual.events import MouseScrollDown

from ptx.tui.state.glyphs import ASCII, UNICODE
from ptx.tui.state.rows import Cell, Column, FlatRows, Row
from ptx.tui.state.tree_index import TreeIndex
from ptx.tui.widgets.row_tree import RowTree

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual.app import ComposeResult

    from ptx.tui.state.glyphs import Glyphs

SIZES = [(80, 24), (120, 40)]
TWO = "字"  # a character two cells wide
LABELS = ["node", TWO * 3, TWO * 60, "x" * 300, "e\u0301" * 4]
LABEL_IDS = ["short", "wide", "wide and long", "long", "combining"]


class Rows:
    """`roots` nodes with `children` each, as text and one column."""

    def __init__(
        self, roots: int = 10, children: int = 10, label: str = "node", tail: str = ""
    ) -> None:
        parent: list[int] = []
        for root in range(roots):
            parent.append(-1)
            parent += [root * (children + 1)] * children
        self.index = TreeIndex(np.array(parent, np.int32))
        self.asked: list[int] = []
        self._label, self._tail = label, tail

    def title(self) -> str:
        return "nodes"

    def columns(self, width: int) -> Sequence[Column]:
        return (
            [Column("value", 8)]
            if width < 100
            else [Column("kind", 10, left=True), Column("value", 8)]
        )

    def row(self, node: int, columns: Sequence[Column]) -> Row:
        self.asked.append(node)
        cells = {"kind": Cell("kind", "kernel"), "value": Cell(str(node), "dim")}
        label = f"{self._label}{node}"
        return Row(label, tuple(cells[column.heading] for column in columns), self._tail)


class TreeApp(App[None]):
    """One tree that fills the screen, and what it said."""

    def __init__(
        self, source: Rows | FlatRows, *, glyphs: Glyphs = UNICODE, mark_cursor: bool = False
    ) -> None:
        super().__init__()
        self.animation_level = "none"
        self._source = source
        self.rows = RowTree(glyphs=glyphs, mark_cursor=mark_cursor)
        self.moved: list[int] = []
        self.activated: list[int] = []
        self.tops: list[int] = []

    def compose(self) -> ComposeResult:
        yield self.rows

    def on_mount(self) -> None:
        self.rows.focus()
        self.rows.show(self._source)

    def on_row_tree_cursor_moved(self, message: RowTree.CursorMoved) -> None:
        self.moved.append(message.node)

    def on_row_tree_activated(self, message: RowTree.Activated) -> None:
        self.activated.append(message.node)

    def on_row_tree_top_changed(self, message: RowTree.TopChanged) -> None:
        self.tops.append(message.node)

    def lines(self) -> list[str]:
        """Returns what stands on the screen."""
        return [self.rows.render_line(y).text for y in range(self.rows.size.height)]

    @property
    def screen_line(self) -> int:
        """Returns the line that the cursor stands on."""
        return self.rows.row - self.rows.scroll_offset.y


def open_all(app: TreeApp) -> None:
    assert app.rows.source is not None
    app.rows.source.index.set_open_below(-1, opened=True)
    app.rows.rows_changed()


@pytest.mark.parametrize("size", SIZES)
async def test_moves_stop_at_the_first_and_the_last_row(size: tuple[int, int]) -> None:
    app = TreeApp(Rows())
    async with app.run_test(size=size) as pilot:
        open_all(app)
        app.rows.move(-1)
        assert app.rows.cursor == 0
        app.rows.move(3)
        assert app.rows.cursor == 3
        app.rows.end()
        app.rows.move(1)
        assert app.rows.cursor == 109
        assert app.screen_line == size[1] - 1
        app.rows.home()
        await pilot.pause()
        assert (app.rows.cursor, app.screen_line) == (0, 0)


@pytest.mark.parametrize("size", SIZES)
async def test_a_page_keeps_the_cursor_on_its_line(size: tuple[int, int]) -> None:
    app = TreeApp(Rows())
    async with app.run_test(size=size):
        open_all(app)
        app.rows.move(5)
        app.rows.page(1)
        assert app.rows.row == 5 + size[1]
        assert app.screen_line == 5
        app.rows.page(-1)
        assert (app.rows.row, app.screen_line) == (5, 5)


async def test_folding_keeps_the_cursor_on_its_line_where_it_can() -> None:
    app = TreeApp(Rows())
    async with app.run_test(size=(80, 24)):
        open_all(app)
        app.rows.goto(60)
        app.rows.move(-8)
        line = app.screen_line
        assert 0 < line < 23
        assert app.rows.source is not None
        app.rows.source.index.set_open(0, opened=False)
        app.rows.rows_changed()
        assert (app.rows.cursor, app.screen_line) == (52, line)


async def test_a_cursor_that_folds_away_goes_to_its_visible_ancestor() -> None:
    app = TreeApp(Rows())
    async with app.run_test(size=(80, 24)):
        open_all(app)
        app.rows.goto(15)
        assert app.rows.source is not None
        app.rows.source.index.set_open(11, opened=False)
        app.rows.rows_changed()
        assert app.rows.cursor == 11


async def test_left_and_right_walk_in_and_out() -> None:
    app = TreeApp(Rows())
    async with app.run_test(size=(80, 24)):
        app.rows.open_or_enter()
        assert (app.rows.cursor, app.rows.row_count) == (0, 20)
        app.rows.open_or_enter()
        assert app.rows.cursor == 1
        app.rows.open_or_enter()  # nothing below
        assert app.rows.cursor == 1
        app.rows.close_or_leave()
        assert (app.rows.cursor, app.rows.row_count) == (0, 20)
        app.rows.close_or_leave()
        assert (app.rows.cursor, app.rows.row_count) == (0, 10)
        app.rows.close_or_leave()  # nothing above
        assert app.rows.cursor == 0
        app.rows.toggle()
        app.rows.toggle()
        assert app.rows.row_count == 10


async def test_going_far_puts_the_row_in_the_middle_and_near_does_not_scroll() -> None:
    app = TreeApp(Rows())
    async with app.run_test(size=(80, 24)):
        open_all(app)
        app.rows.goto(3, center=True)
        assert app.screen_line == 3
        app.rows.goto(80, center=True)
        assert app.screen_line == 12


async def test_messages_say_what_changed() -> None:
    app = TreeApp(Rows())
    async with app.run_test(size=(80, 24)) as pilot:
        open_all(app)
        await pilot.pause()
        app.moved.clear()
        app.tops.clear()
        app.rows.move(1)
        app.rows.activate()
        await pilot.pause()
        assert (app.moved, app.activated, app.tops) == ([1], [1], [])
        app.rows.end()
        await pilot.pause()
        assert app.moved == [1, 109]
        assert app.tops == [86]


async def test_the_top_is_told_when_rows_change_under_it() -> None:
    app = TreeApp(Rows())
    async with app.run_test(size=(80, 24)) as pilot:
        open_all(app)
        app.rows.end()
        await pilot.pause()
        assert app.rows.source is not None
        app.rows.source.index.set_open_below(-1, opened=False)
        app.rows.rows_changed()
        await pilot.pause()
        assert app.tops[-1] == 0


async def test_a_move_asks_only_for_two_rows_and_a_page_only_for_a_screen() -> None:
    source = Rows()
    app = TreeApp(source)
    async with app.run_test(size=(80, 24)) as pilot:
        open_all(app)
        await pilot.pause()
        source.asked.clear()
        app.rows.move(1)
        await pilot.pause()
        assert sorted(source.asked) == [0, 1]
        source.asked.clear()
        app.rows.page(1)
        await pilot.pause()
        assert set(source.asked) == set(range(24, 48))


async def test_folding_draws_the_screen_once() -> None:
    source = Rows()
    app = TreeApp(source)
    async with app.run_test(size=(80, 24)) as pilot:
        for opened in (True, False):
            source.asked.clear()
            source.index.set_open_below(-1, opened)
            app.rows.rows_changed()
            await pilot.pause()
            assert len(source.asked) == min(24, app.rows.row_count)


@pytest.mark.parametrize("key", ["down", "pagedown", "end", "right", "space", "enter"])
async def test_keys_are_left_to_the_screen(key: str) -> None:
    app = TreeApp(Rows())
    async with app.run_test(size=(80, 24)) as pilot:
        open_all(app)
        await pilot.press(key)
        assert (app.rows.cursor, app.rows.scroll_offset.y, app.rows.row_count) == (0, 0, 110)
        assert app.activated == []


async def test_a_shorter_source_starts_at_the_top() -> None:
    app = TreeApp(Rows())
    async with app.run_test(size=(80, 24)) as pilot:
        open_all(app)
        app.rows.end()
        await pilot.pause()
        app.rows.show(Rows(roots=3))
        await pilot.pause()
        assert app.rows.scroll_offset.y == 0
        assert [line.split() for line in app.lines()[:4]] == [
            ["▸", "node0", "0"], ["▸", "node11", "11"], ["▸", "node22", "22"], [],
        ]  # fmt: skip


@pytest.mark.parametrize("size", SIZES)
async def test_every_line_is_as_wide_as_the_widget(size: tuple[int, int]) -> None:
    for label in ("node", TWO * 30, "x" * 300, TWO, "e\u0301"):
        app = TreeApp(Rows(label=label, tail="12x34"))
        async with app.run_test(size=size):
            open_all(app)
            assert {cell_len(line) for line in app.lines()} == {size[0]}


@pytest.mark.parametrize("label", LABELS, ids=LABEL_IDS)
@pytest.mark.parametrize("tail", ["", "12x34"], ids=["no tail", "tail"])
async def test_columns_stand_below_each_other_whatever_the_label(label: str, tail: str) -> None:
    app = TreeApp(Rows(label=label, tail=tail))
    async with app.run_test(size=(80, 24)):
        open_all(app)
        for node, line in enumerate(app.lines()):
            assert line.endswith(f" {node:>8}")
            assert cell_len(line[: -len(f" {node:>8}")]) == 80 - 9


async def test_a_label_that_fits_is_shown_whole() -> None:
    for label in ("node", TWO * 5):
        app = TreeApp(Rows(label=label, tail="12x34"))
        async with app.run_test(size=(80, 24)):
            assert f"{label}0 12x34" in app.lines()[0]


async def test_a_long_label_is_cut_before_its_tail() -> None:
    app = TreeApp(Rows(label="x" * 300, tail="12x34"))
    async with app.run_test(size=(80, 24)):
        assert "xx… 12x34 " in app.lines()[0]


async def test_ascii_draws_no_other_sign() -> None:
    app = TreeApp(Rows(label="x" * 300), glyphs=ASCII)
    async with app.run_test(size=(80, 24)):
        app.rows.toggle()
        text = "".join(app.lines())
        assert text.isascii()
        assert text.lstrip().startswith("v x")
        assert "> x" in text
        assert "~" in text


async def test_deep_rows_stop_indenting() -> None:
    rows = Rows(roots=1, children=0)
    rows.index = TreeIndex(np.arange(-1, 20, dtype=np.int32))
    app = TreeApp(rows)
    async with app.run_test(size=(80, 24)):
        open_all(app)
        starts = [line.index("node") for line in app.lines()[:21]]
        assert starts[:9] == list(range(starts[0], starts[0] + 18, 2))
        assert set(starts[8:]) == {starts[8]}
        assert "⋯" not in app.lines()[8]
        assert "⋯" in app.lines()[9]


async def test_the_cursor_is_marked_by_a_sign_where_colours_cannot() -> None:
    app = TreeApp(Rows(), mark_cursor=True)
    async with app.run_test(size=(80, 24)):
        app.rows.move(2)
        assert [line[0] for line in app.lines()[:4]] == [" ", " ", ">", " "]


@pytest.mark.parametrize("theme", ["textual-dark", "ansi-dark"])
async def test_no_color_does_not_fail(theme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = TreeApp(Rows(roots=3), mark_cursor=True)
    async with app.run_test(size=(80, 24)) as pilot:
        app.theme = theme
        open_all(app)
        app.rows.move(1)
        await pilot.pause()
        assert app.no_color
        # what the monochrome filter needs
        for y in range(24):
            assert all(segment.style is not None for segment in app.rows.render_line(y))


async def test_neighbours_of_one_style_are_one_segment() -> None:
    app = TreeApp(Rows())
    async with app.run_test(size=(120, 40)):
        for y in range(40):
            styles = [segment.style for segment in app.rows.render_line(y)]
            assert all(a != b for a, b in itertools.pairwise(styles))


async def test_blank_cells_change_no_style() -> None:
    columns = [Column("a", 10, left=True), Column("b", 10)]
    app = TreeApp(FlatRows("rows", columns, [Row("row", (Cell("", "kernel"), Cell("", "dim")))]))
    async with app.run_test(size=(80, 24)):
        app.rows.blur()
        assert len(list(app.rows.render_line(0))) == 1


async def test_a_resize_chooses_columns_and_keeps_the_cursor_in_sight() -> None:
    app = TreeApp(Rows())
    async with app.run_test(size=(120, 40)) as pilot:
        open_all(app)
        app.rows.move(39)
        assert len(app.rows.columns) == 2
        await pilot.resize_terminal(80, 24)
        await pilot.pause()
        assert len(app.rows.columns) == 1
        assert app.rows.cursor == 39
        assert 0 <= app.screen_line < 24
        assert {cell_len(line) for line in app.lines()} == {80}
        await pilot.resize_terminal(120, 40)
        await pilot.pause()
        assert len(app.rows.columns) == 2
        assert 0 <= app.screen_line < 40


async def test_growing_at_the_end_leaves_no_blank_lines_below() -> None:
    app = TreeApp(Rows())
    async with app.run_test(size=(80, 24)) as pilot:
        open_all(app)
        app.rows.end()
        await pilot.resize_terminal(80, 40)
        await pilot.pause()
        assert app.lines()[-1].split() == ["node109", "109"]


async def test_folding_never_brings_a_scrollbar_that_moves_the_columns() -> None:
    app = TreeApp(Rows())
    async with app.run_test(size=(80, 24)) as pilot:
        for opened in (True, False, True):
            assert app.rows.source is not None
            app.rows.source.index.set_open_below(-1, opened)
            app.rows.rows_changed()
            await pilot.pause()
            assert app.rows.size == (80, 24)


async def test_a_click_moves_and_a_click_on_the_sign_folds() -> None:
    app = TreeApp(Rows())
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.click(RowTree, offset=(10, 2))
        assert (app.rows.cursor, app.rows.row_count) == (22, 10)
        await pilot.click(RowTree, offset=(1, 1))
        assert (app.rows.cursor, app.rows.row_count) == (11, 20)
        await pilot.click(RowTree, offset=(1, 1))
        assert (app.rows.cursor, app.rows.row_count) == (11, 10)
        await pilot.click(RowTree, offset=(10, 20))  # below the last row
        assert app.rows.cursor == 11


async def test_the_wheel_scrolls_and_leaves_the_cursor() -> None:
    app = TreeApp(Rows())
    async with app.run_test(size=(80, 24)) as pilot:
        open_all(app)
        await pilot.pause()
        app.rows.post_message(
            MouseScrollDown(app.rows, 10, 10, 0, 1, 0, shift=False, meta=False, ctrl=False)
        )
        await pilot.pause()
        assert app.rows.scroll_offset.y > 0
        assert app.rows.cursor == 0
        app.rows.move(1)
        assert (app.rows.cursor, app.screen_line) == (1, 0)


@pytest.mark.parametrize("size", SIZES)
async def test_an_empty_source_takes_every_key(size: tuple[int, int]) -> None:
    app = TreeApp(Rows(roots=0))
    async with app.run_test(size=size) as pilot:
        rows = app.rows
        acts: list[Callable[[], None]] = [
            *(lambda: rows.move(1), lambda: rows.page(-1), lambda: rows.goto(0, center=True)),
            *(rows.home, rows.end, rows.toggle, rows.open_or_enter, rows.close_or_leave),
            *(rows.activate, rows.rows_changed),
        ]
        for act in acts:
            act()
        await pilot.click(RowTree, offset=(3, 3))
        assert rows.cursor == -1
        assert (app.moved, app.activated) == ([], [])
        assert {line.strip() for line in app.lines()} == {""}


async def test_the_heading_stands_over_its_columns() -> None:
    app = TreeApp(Rows())
    async with app.run_test(size=(120, 40)):
        heading = app.rows.heading()
        assert cell_len(heading) == 120
        assert heading.split() == ["nodes", "kind", "value"]
        assert heading.index("kind") == app.lines()[0].index("kind")
        assert app.rows.heading("… root").split() == ["…", "root", "kind", "value"]


async def test_a_flat_list_drops_columns_that_leave_no_room_for_labels() -> None:
    columns = [Column("a", 20), Column("b", 20), Column("c", 20)]
    rows = [Row(f"row {n}", (Cell("1"), Cell("2"), Cell("3"))) for n in range(3)]
    app = TreeApp(FlatRows("rows", columns, rows))
    async with app.run_test(size=(80, 24)) as pilot:
        assert [column.heading for column in app.rows.columns] == ["a", "b"]
        assert app.lines()[2].split() == ["row", "2", "1", "2"]
        await pilot.resize_terminal(120, 24)
        await pilot.pause()
        assert app.lines()[2].split() == ["row", "2", "1", "2", "3"]
