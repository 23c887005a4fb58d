"""Single lines: the step's header, a heading, the panel's tabs, the footer."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.strip import Strip
from textual.widget import Widget

from ptx.profiling.report.units import format_share
from ptx.tui.state.header import fitting
from ptx.tui.widgets._paint import role_classes, role_css, strip

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.style import Style

    from ptx.tui.state.glyphs import Glyphs
    from ptx.tui.state.header import Band, StepHeader


class Lines(Widget):
    """Draws lines given as pieces of (text, role); repaints only when they change."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {*role_classes("lines"), "lines--reverse"}
    DEFAULT_CSS = f"""
    Lines {{ height: 1; }}
    {role_css("Lines", "lines")}
    Lines > .lines--reverse {{ color: $background; background: $foreground; }}
    """

    def __init__(self, *, glyphs: Glyphs, id: str) -> None:
        super().__init__(id=id)
        self.glyphs = glyphs
        self._lines: list[list[tuple[str, str]]] = []

    def show(self, lines: Sequence[Sequence[tuple[str, str]]]) -> None:
        """Shows other lines."""
        made = [list(line) for line in lines]
        if made != self._lines:
            self._lines = made
            self.refresh()

    def render_line(self, y: int) -> Strip:
        """Returns one line."""
        width = self.size.width
        normal = self._style("normal")
        if y >= len(self._lines):
            return Strip.blank(width, normal)
        pieces = [(text, self._style(role)) for text, role in self._lines[y]]
        return strip(pieces, width, normal)

    def _style(self, role: str) -> Style:
        return self.get_component_rich_style(f"lines--{role}")


class HeaderLines(Lines):
    """Three lines: place, equation, and the step as one bar."""

    DEFAULT_CSS = "HeaderLines { height: 3; }"

    def __init__(self, *, glyphs: Glyphs, letters: bool, id: str) -> None:
        super().__init__(glyphs=glyphs, id=id)
        self._letters = letters
        self._header: StepHeader | None = None

    def show_header(self, header: StepHeader) -> None:
        """Shows a step's header."""
        self._header = header
        self._build()

    def on_resize(self) -> None:
        """Fits the lines to the new width."""
        self._build()

    def _build(self) -> None:
        if self._header is None or self.size.width == 0:
            return
        width = self.size.width
        header = self._header
        place = [(" ptx  ", "strong")]
        place += [(part.text, part.role) for part in fitting(header.place, width - 7)]
        equation = [(" ", "normal")]
        equation += [(part.text, part.role) for part in fitting(header.equation, width - 2)]
        if width >= 100:
            equation += self._legend(header.bands, width - sum(len(t) for t, _ in equation))
        self.show([place, equation, self._bar(header.bands, width - 2)])

    def _legend(self, bands: Sequence[Band], room: int) -> list[tuple[str, str]]:
        """Returns the categories with their shares, as many of the dearest as fit whole."""
        whole = sum(band.ns for band in bands)
        legend: list[tuple[str, str]] = []
        for band in bands:
            text = f"   {band.letter} {band.word} {format_share(band.ns, whole)}"
            room -= len(text)
            if not band.letter or not band.ns or room < 0:
                break
            legend.append((text, band.role))
        return legend

    def _bar(self, bands: Sequence[Band], width: int) -> list[tuple[str, str]]:
        whole = sum(band.ns for band in bands)
        pieces = [(" ", "normal")]
        if whole <= 0:
            return pieces
        done = at = 0
        for band in bands:
            done += band.ns
            end = round(width * done / whole)
            pieces.append((self._stretch(band, end - at), band.role))
            at = end
        return pieces

    def _stretch(self, band: Band, cells: int) -> str:
        if cells <= 0:
            return ""
        if not band.letter:
            label = f" {band.word} " if cells > len(band.word) + 4 else ""
            return label + self.glyphs.idle * (cells - len(label))
        if self._letters:
            return band.letter * cells
        label = f"{band.letter} {band.word} " if cells > len(band.word) + 4 else band.letter
        return label[:cells] + self.glyphs.full * (cells - len(label[:cells]))


class Tabs(Lines):
    """The names of the panels with the present one marked, and a note at the right."""

    def show_tabs(
        self, names: Sequence[str], present: str, note: str, *, focused: bool, also: str = ""
    ) -> None:
        """Shows the names; the present one stands reversed while its panel has the focus.

        Args:
            names: all of them; where they do not fit, one letter stands for the others.
            present: the one in brackets.
            note: what the panels are about, at the right where it fits.
            focused: whether the present one has the focus.
            also: a name that is shown too.
        """
        width = self.size.width
        if sum(len(name) + 3 for name in names) + 1 > width:
            names = [name if name == present else name[:1] for name in names]
            also = also[:1]
        pieces: list[tuple[str, str]] = [(" ", "dim")]
        used = 1
        for name in names:
            chosen = name == present
            text = f"[{name}] " if chosen else f" {name}  "
            strong = "strong" if chosen or name == also else "dim"
            pieces.append((text, "reverse" if chosen and focused else strong))
            used += len(text)
        room = width - used - 1
        if note and room > len(note) + 4:
            pieces.append((self.glyphs.horizontal * (room - len(note) - 1), "dim"))
            pieces.append((f" {note}", "dim"))
        else:
            pieces.append((self.glyphs.horizontal * max(0, room), "dim"))
        self.show([pieces])


class Footer(Lines):
    """The last line: a few keys, or a message in their place."""

    def show_keys(self, keys: Sequence[tuple[str, str]]) -> None:
        """Shows keys with their words; where not all fit, the last two stay."""
        shown = list(keys)
        while self.size.width and len(shown) > 2 and _length(shown) > self.size.width:
            del shown[-3]
        pieces: list[tuple[str, str]] = [(" ", "dim")]
        for key, word in shown:
            pieces += [(key, "strong"), (f" {word}  ", "dim")]
        self.show([pieces])

    def show_text(self, text: str) -> None:
        """Shows a message."""
        self.show([[(" ", "dim"), (text, "normal")]])


def _length(keys: Sequence[tuple[str, str]]) -> int:
    return sum(len(key) + len(word) + 3 for key, word in keys) - 1
