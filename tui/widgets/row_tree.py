"""A tree or list of any size: draws the rows on screen and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from ptx.tui.state.glyphs import UNICODE
from ptx.tui.widgets._paint import fit, fit_right, role_classes, role_css, strip

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.style import Style
    from textual import events

    from ptx.tui.state.glyphs import Glyphs
    from ptx.tui.state.rows import Column, RowSource

_INDENT_LEVELS = 8


class RowTree(ScrollView, can_focus=True, inherit_bindings=False):
    """Shows a `RowSource` with a cursor.

    The cursor is a node id. A move repaints two lines; scrolling is never animated. Keys are the
    screen's business: it calls the methods.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        *role_classes("row-tree"),
        "row-tree--cursor",
        "row-tree--cursor-blurred",
    }

    DEFAULT_CSS = f"""
    RowTree {{ overflow: hidden scroll; scrollbar-size: 0 0; }}
    {role_css("RowTree", "row-tree")}
    RowTree > .row-tree--cursor {{ background: $primary-muted; }}
    RowTree > .row-tree--cursor-blurred {{ background: $surface; }}
    """

    @dataclass
    class FromTree(Message):
        """What the messages of a tree share: they know their sender."""

        tree: RowTree

        @property
        def control(self) -> RowTree:
            """Returns the sender."""
            return self.tree

    @dataclass
    class CursorMoved(FromTree):
        """The cursor stands on another node."""

        node: int

    @dataclass
    class Activated(FromTree):
        """The row under the cursor was chosen."""

        node: int

    @dataclass
    class LaidOut(FromTree):
        """The columns were chosen anew for another width."""

    @dataclass
    class TopChanged(FromTree):
        """Another node stands in the first visible row."""

        node: int

    def __init__(
        self,
        *,
        glyphs: Glyphs = UNICODE,
        mark_cursor: bool = False,
        cursor_when_blurred: bool = True,
        id: str | None = None,
    ) -> None:
        super().__init__(id=id)
        self._glyphs = glyphs
        self._mark_cursor = mark_cursor
        self._cursor_when_blurred = cursor_when_blurred
        self._source: RowSource | None = None
        self._columns: Sequence[Column] = ()
        self._is_flat = False
        self._top = -1
        self._cursor_row = -1
        self.cursor = -1

    # --- state --------------------------------------------------------------------------------

    @property
    def source(self) -> RowSource | None:
        """Returns what is shown."""
        return self._source

    @property
    def columns(self) -> Sequence[Column]:
        """Returns the columns at the present width."""
        return self._columns

    def show(self, source: RowSource, cursor: int = 0) -> None:
        """Shows another source with the cursor on a node, or on its nearest visible ancestor."""
        used = self.row_count - self.scroll_offset.y
        self._source = source
        self._is_flat = not (source.index.size > 1).any()
        self._lay_out()
        self.cursor = -1
        if len(source.index.rows):
            self.goto(cursor)
        # lines that were empty and stay so are not sent again
        used = max(0, used, self.row_count - self.scroll_offset.y)
        self.refresh(Region(0, 0, self.size.width, min(used, self.size.height)))

    def rows_changed(self) -> None:
        """Follows a change of the visible rows; the cursor stays on its line where it can."""
        if self._source is None:
            return
        index = self._source.index
        # not `row`, which answers for the new rows already
        line = max(0, min(self._cursor_row - self.scroll_offset.y, self.size.height - 1))
        row = index.row_of(self.cursor) if self.cursor >= 0 else -1
        self._lay_out()
        if row >= 0:
            self._set_cursor(int(index.rows[row]))
            self._cursor_row = row
            self._show_from(row - line)
        self._keep_cursor_visible()
        self.refresh()

    @property
    def row(self) -> int:
        """Returns the cursor's row, -1 without rows."""
        if self._source is None or self.cursor < 0:
            return -1
        return self._source.index.row_of(self.cursor)

    @property
    def row_count(self) -> int:
        """Returns the number of visible rows."""
        return 0 if self._source is None else len(self._source.index.rows)

    @property
    def _cursor_line(self) -> int:
        return self.row - self.scroll_offset.y

    # --- moving -------------------------------------------------------------------------------

    def move(self, rows: int) -> None:
        """Moves the cursor by so many rows, at most to the first or last."""
        if self._source is not None and self.row_count:
            self._go_to_row(self.row + rows)

    def page(self, pages: float) -> None:
        """Moves the cursor by pages; it keeps its line on the screen."""
        height = max(1, self.size.height)
        line = self._cursor_line
        distance = int(pages * height) or (1 if pages > 0 else -1)
        row = max(0, min(self.row + distance, self.row_count - 1))
        self._show_from(row - line)
        self._go_to_row(row)

    def home(self) -> None:
        """Moves to the first row."""
        self._go_to_row(0)

    def end(self) -> None:
        """Moves to the last row."""
        self._go_to_row(self.row_count - 1)

    def goto(self, node: int, *, center: bool = False) -> None:
        """Moves to a node or its nearest visible ancestor, centred on the screen if asked."""
        if self._source is None or not self.row_count:
            return
        row = max(0, self._source.index.row_of(node))
        if center and not 0 <= row - self.scroll_offset.y < self.size.height:
            self._show_from(row - self.size.height // 2)
        self._go_to_row(row)

    def toggle(self) -> None:
        """Opens or closes the row under the cursor."""
        if self._source is not None and self.cursor >= 0:
            self._open(self.cursor, not self._source.index.open[self.cursor])

    def open_or_enter(self) -> None:
        """Opens the row under the cursor, or moves into it if it is open."""
        if self._source is None or self.cursor < 0:
            return
        index = self._source.index
        if not index.has_children(self.cursor):
            return
        if index.open[self.cursor]:
            self.move(1)
        else:
            self._open(self.cursor, opened=True)

    def close_or_leave(self) -> None:
        """Closes the row under the cursor, or moves to its parent if there is nothing to close."""
        if self._source is None or self.cursor < 0:
            return
        index = self._source.index
        if index.open[self.cursor] and index.has_children(self.cursor):
            self._open(self.cursor, opened=False)
        elif index.parent[self.cursor] >= 0:
            self.goto(int(index.parent[self.cursor]))

    def activate(self) -> None:
        """Says that the row under the cursor was chosen."""
        if self.cursor >= 0:
            self.post_message(self.Activated(self, self.cursor))

    def _open(self, node: int, opened: bool) -> None:
        if self._source is not None:
            self._source.index.set_open(node, opened)
            self.rows_changed()

    def _go_to_row(self, row: int) -> None:
        if self._source is None or not self.row_count:
            return
        row = max(0, min(row, self.row_count - 1))
        self._set_cursor(int(self._source.index.rows[row]))
        self._keep_cursor_visible()

    def _set_cursor(self, node: int) -> None:
        if node == self.cursor:
            return
        self._refresh_row(self.row)
        self.cursor = node
        self._cursor_row = self.row
        self._refresh_row(self._cursor_row)
        self.post_message(self.CursorMoved(self, node))

    # --- drawing ------------------------------------------------------------------------------

    def render_line(self, y: int) -> Strip:
        """Returns one line of the visible part."""
        width = self.size.width
        row = y + self.scroll_offset.y
        if self._source is None or not 0 <= row < self.row_count:
            return Strip.blank(width, self._style("normal"))
        node = int(self._source.index.rows[row])
        return self._line(node, width)

    def _line(self, node: int, width: int) -> Strip:
        source, glyphs = self._source, self._glyphs
        assert source is not None  # only called with one
        row = source.row(node, self._columns)
        current = node == self.cursor and (self._cursor_when_blurred or self.has_focus)
        columns = self._columns if row.cells else ()  # a text alone has the whole line
        lead = self._lead(node, current=current)
        room = width - len(lead) - sum(c.width + 1 for c in columns)
        tail = f" {row.tail}" if row.tail else ""
        if cell_len(tail) >= room // 2:
            tail = ""
        label, label_room = row.label, room - cell_len(tail)
        if cell_len(label) > label_room:
            label = row.brief or label
        if cell_len(label) > label_room:
            label = fit(label, label_room, glyphs.ellipsis, middle=row.middle)
        parts = [(lead, self._style("dim", current=current))]
        parts.append((label, self._style(row.role, current=current)))
        gap = room - cell_len(label) - cell_len(tail)
        parts.append((tail, self._style("dim", current=current)))
        parts.append((" " * max(0, gap), self._style("normal", current=current)))
        for column, cell in zip(columns, row.cells, strict=True):
            text = (
                fit(cell.text, column.width, glyphs.ellipsis, middle=column.cut == "middle")
                if column.left
                else fit_right(cell.text, column.width, glyphs.ellipsis)
            )
            parts.append((" " + text, self._style(cell.role, current=current)))
        return strip(parts, width, self._style("normal", current=current))

    def _lead(self, node: int, *, current: bool) -> str:
        """Returns what stands in front of a label: the cursor's mark, the depth, open or closed."""
        mark = ">" if current and self._mark_cursor else " "
        if self._is_flat or self._source is None:
            return f"{mark} "
        index, glyphs = self._source.index, self._glyphs
        depth = int(index.depth[node])
        indent = "  " * min(depth, _INDENT_LEVELS)
        if depth > _INDENT_LEVELS:
            indent = indent[:-1] + glyphs.deeper
        sign = " "
        if index.has_children(node):
            sign = glyphs.opened if index.open[node] else glyphs.closed
        return f"{mark}{indent}{sign} "

    def _style(self, role: str, *, current: bool = False) -> Style:
        style = self.get_component_rich_style(f"row-tree--{role}")
        if current:
            name = "row-tree--cursor" if self.has_focus else "row-tree--cursor-blurred"
            style += self.get_component_rich_style(name, partial=True)
        return style

    def heading(self, title: str | None = None, *, room_taken: int = 0) -> str:
        """Returns the line of headings that fits above.

        Args:
            title: stands for the source's own.
            room_taken: how many cells of the line are used by something else.
        """
        if self._source is None:
            return ""
        first = next((k for k, c in enumerate(self._columns) if c.heading), len(self._columns))
        columns = self._columns[first:]  # over columns without a name the title goes on
        room = self.size.width - room_taken - sum(c.width + 1 for c in columns)
        line = fit(f" {title or self._source.title()}", room, self._glyphs.ellipsis)
        for column in columns:
            text = (
                fit(column.heading, column.width, self._glyphs.ellipsis)
                if column.left
                else fit_right(column.heading, column.width, self._glyphs.ellipsis)
            )
            line += " " + text
        return line

    def text_of(self, node: int) -> str:
        """Returns a row as plain text, its columns set apart by two spaces."""
        if self._source is None or node < 0:
            return ""
        row = self._source.row(node, self._columns)
        cells = [cell.text for cell in row.cells if cell.text]
        return "  ".join([f"{row.label} {row.tail}".strip(), *cells])

    def as_text(self) -> str:
        """Returns all visible rows as plain text, set in by their depth."""
        if self._source is None:
            return ""
        index = self._source.index
        return "\n".join(
            "  " * int(index.depth[node]) + self.text_of(node) for node in index.rows.tolist()
        )

    # --- layout and events --------------------------------------------------------------------

    def on_resize(self) -> None:
        """Chooses the columns anew."""
        self._lay_out()
        self.refresh()  # a list that was hidden meanwhile keeps its old lines otherwise
        self._keep_cursor_visible()
        self.post_message(self.LaidOut(self))

    def on_focus(self) -> None:
        """Repaints the cursor in its strong colour."""
        self._refresh_row(self.row)

    def on_blur(self) -> None:
        """Repaints the cursor in its weak colour."""
        self._refresh_row(self.row)

    def on_click(self, event: events.Click) -> None:
        """Moves the cursor to the row; a click on the sign opens or closes it."""
        if self._source is None:
            return
        row = event.y + self.scroll_offset.y
        if not 0 <= row < self.row_count:
            return
        node = int(self._source.index.rows[row])
        self._go_to_row(row)
        sign = 1 + 2 * min(int(self._source.index.depth[node]), _INDENT_LEVELS)
        if event.x in (sign, sign + 1):
            self.toggle()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Says which node stands on top now."""
        super().watch_scroll_y(old_value, new_value)
        self._note_top()

    def _note_top(self) -> None:
        if self._source is None or not self.row_count:
            return
        top = int(self._source.index.rows[min(self.scroll_offset.y, self.row_count - 1)])
        if top != self._top:
            self._top = top
            self.post_message(self.TopChanged(self, top))

    def _lay_out(self) -> None:
        if self._source is None:
            return
        self._columns = self._source.columns(self.size.width)
        # A plain assignment asks for a layout, and so for a second paint of the whole screen.
        self.set_reactive(RowTree.virtual_size, Size(self.size.width, self.row_count))
        self._note_top()

    def _keep_cursor_visible(self) -> None:
        row, height = self.row, self.size.height
        if row < 0 or height <= 0:
            return
        top = self.scroll_offset.y
        if row < top:
            self._show_from(row)
        elif row >= top + height:
            self._show_from(row - height + 1)

    def _show_from(self, top: int) -> None:
        last = max(0, self.row_count - self.size.height)
        self.scroll_to(y=max(0, min(top, last)), animate=False, force=True, immediate=True)

    def _refresh_row(self, row: int) -> None:
        line = row - self.scroll_offset.y
        if 0 <= line < self.size.height:
            self.refresh(Region(0, line, self.size.width, 1))
