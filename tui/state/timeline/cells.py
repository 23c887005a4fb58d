"""What each cell of a lane shows: height by the busy share, letter and colour by the dearest work.

The cost follows the cells, not the slices: a binary search at each edge, and names only for the
slices that hold such an edge.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, get_args

import numpy as np

from ptx.tui.state.glyphs import ASCII
from ptx.tui.state.names import CATEGORY_ROLES
from ptx.tui.state.rows import Role

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

    from ptx.tui.state.glyphs import Glyphs
    from ptx.tui.state.timeline.busy import Busy
    from ptx.tui.state.timeline.lanes import CurveLane, Lane

_HEIGHTS = np.array(list(" ▁▂▃▄▅▆▇█"))
_ASCII_HEIGHTS = np.array(list(" .:-=+*%#"))
_FULL = len(_HEIGHTS) - 1
_ROLES: tuple[Role, ...] = get_args(Role)
_DIM = _ROLES.index("dim")
_NAMED_FROM = 4  # cells
_KERNEL_NAMED_FROM = 12  # of a kernel, whose letters say something too


@dataclass(frozen=True, slots=True)
class Look:
    """How a piece of a lane is drawn besides its text.

    `is_dim` sets it back behind what the tree's row did, which `is_linked` underlines; `is_chosen`
    marks the slice under the cursor.
    """

    role: Role = "normal"
    is_dim: bool = False
    is_linked: bool = False
    is_chosen: bool = False


@dataclass(frozen=True, slots=True)
class Run:
    """A text in a number of cells: cut to fit, or followed by the sign `fill`."""

    text: str
    cells: int
    look: Look
    fill: str = " "


@dataclass(frozen=True, slots=True)
class Named:
    """A slice wide enough for its name: its first cell and the one behind its last."""

    first: int
    behind: int
    text: str
    fill: str = " "


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of a line before they are put into runs; arrays with one element a cell.

    `role` is a position in the roles of `ptx.tui.state.rows.Role`.
    """

    signs: NDArray[np.str_]
    role: NDArray[np.intp]
    is_dim: NDArray[np.bool_]
    is_linked: NDArray[np.bool_]
    is_chosen: NDArray[np.bool_]
    named: tuple[Named, ...] = ()

    def runs(self) -> Iterator[Run]:
        """Yields the line from left to right, one run for what looks alike."""
        at = 0
        for named in self.named:
            yield from self._plain(at, named.first)
            middle = (named.first + named.behind) // 2
            yield Run(named.text, named.behind - named.first, self._look(middle), named.fill)
            at = named.behind
        yield from self._plain(at, len(self.signs))

    def _plain(self, first: int, behind: int) -> Iterator[Run]:
        if first >= behind:
            return
        here = slice(first, behind)
        code = self.role[here] * 8
        for bit, flags in ((4, self.is_dim), (2, self.is_linked), (1, self.is_chosen)):
            code = code + bit * flags[here]
        bounds = (np.flatnonzero(np.diff(code)) + 1 + first).tolist()
        text = "".join(self.signs[here].tolist())
        for at, end in zip([first, *bounds], [*bounds, behind], strict=True):
            yield Run(text[at - first : end - first], end - at, self._look(at))

    def _look(self, k: int) -> Look:
        return Look(
            _ROLES[self.role[k]],
            bool(self.is_dim[k]),
            bool(self.is_linked[k]),
            bool(self.is_chosen[k]),
        )


def shares(busy: Busy, edges_ns: NDArray[np.int64]) -> NDArray[np.float64]:
    """Returns the busy share (0 to 1) of each cell."""
    found: NDArray[np.float64] = busy.within(edges_ns) / np.diff(edges_ns)
    return found


def heights(values: NDArray[np.float64], glyphs: Glyphs) -> NDArray[np.str_]:
    """Returns a sign of growing height for values from 0 to 1; blank for nothing at all."""
    level = np.clip(np.rint(values * _FULL), values > 0, _FULL).astype(int)
    signs: NDArray[np.str_] = (_ASCII_HEIGHTS if glyphs is ASCII else _HEIGHTS)[level]
    return signs


def dearest(lane: Lane, edges_ns: NDArray[np.int64]) -> NDArray[np.intp]:
    """Returns which of the lane's categories takes most of each cell, -1 for an idle cell."""
    busy = np.stack([busy.within(edges_ns) for _, busy in lane.categories])
    return np.where(busy.any(axis=0), busy.argmax(axis=0), -1)


def host_cells(
    lane: Lane,
    edges_ns: NDArray[np.int64],
    glyphs: Glyphs,
    name: Callable[[int], str],
    linked: Busy | None,
    chosen: int,
) -> Cells:
    """Returns a lane of the host: names where slices are wide, else their share by height.

    Args:
        lane: the lane.
        edges_ns: the edges of the cells.
        glyphs: the signs.
        name: returns the name of a slice by its position.
        linked: when the tree's row was at work on this thread.
        chosen: the position of the slice under the cursor, -1 for none.
    """
    share = shares(lane.busy, edges_ns)
    role: Role = "host" if lane.group in ("launches", "thread", "threads") else "normal"
    edge = glyphs.vertical if glyphs is ASCII else "▏"
    wide = _wide(lane, edges_ns, _NAMED_FROM)
    return Cells(
        heights(share, glyphs),
        np.full(len(share), _ROLES.index(role)),
        np.zeros(len(share), bool),
        _touched(linked, edges_ns) & (share > 0),
        _cells_of(lane, chosen, edges_ns),
        tuple(
            Named(first, behind, (edge if begins else "") + name(k))
            for k, first, behind, begins in wide
        ),
    )


def height_cells(
    lane: Lane, edges_ns: NDArray[np.int64], glyphs: Glyphs, linked: Busy | None, chosen: int
) -> Cells:
    """Returns the heights of a stream, coloured by category; see `host_cells`."""
    share = shares(lane.busy, edges_ns)
    touched = _touched(linked, edges_ns)
    return Cells(
        heights(share, glyphs),
        _roles_of(lane)[dearest(lane, edges_ns)],
        ~touched & (linked is not None),
        np.zeros(len(share), bool),
        _cells_of(lane, chosen, edges_ns),
    )


def letter_cells(
    lane: Lane,
    edges_ns: NDArray[np.int64],
    glyphs: Glyphs,
    name: Callable[[int], str],
    linked: Busy | None,
    chosen: int,
) -> Cells:
    """Returns a stream's letters, small where less than half a cell is busy; see `host_cells`.

    Wide kernels have their name behind the letter.
    """
    share = shares(lane.busy, edges_ns)
    best = dearest(lane, edges_ns)
    letters = [*(letter for letter, _ in lane.categories), glyphs.idle]  # -1 takes the last
    small = [letter.lower() for letter in letters]
    touched = _touched(linked, edges_ns)
    return Cells(
        np.where(share > 0.5, np.array(letters)[best], np.array(small)[best]),
        _roles_of(lane)[best],
        ~touched & (linked is not None) & (share > 0),
        touched,
        _cells_of(lane, chosen, edges_ns),
        tuple(
            Named(first, behind, f"{name(k)} ", name(k)[:1])
            for k, first, behind, _ in _wide(lane, edges_ns, _KERNEL_NAMED_FROM)
        ),
    )


def curve_cells(lane: CurveLane, edges_ns: NDArray[np.int64], glyphs: Glyphs) -> Iterable[Run]:
    """Returns a curve as heights between 0 (or its lowest value here) and its highest here."""
    if lane.note:
        return [Run(lane.note, len(edges_ns) - 1, Look("dim"))]
    low, high = lane.curve.extremes(int(edges_ns[0]), int(edges_ns[-1]))
    low = min(0.0, low)
    values = (lane.curve.means(edges_ns) - low) / ((high - low) or 1)
    return [Run("".join(heights(values, glyphs).tolist()), len(values), Look("host"))]


def _roles_of(lane: Lane) -> NDArray[np.intp]:
    """Returns the roles of a lane's categories, and last, for -1, that of idle cells."""
    codes = [_ROLES.index(CATEGORY_ROLES[letter]) for letter, _ in lane.categories]
    return np.array([*codes, _DIM], np.intp)


def _touched(linked: Busy | None, edges_ns: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Returns which cells the tree's row was at work in."""
    if linked is None:
        return np.zeros(len(edges_ns) - 1, bool)
    return linked.within(edges_ns) > 0


def _cells_of(lane: Lane, k: int, edges_ns: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Returns which cells a slice lies in."""
    if k < 0:
        return np.zeros(len(edges_ns) - 1, bool)
    end = max(lane.end_ns[k], lane.start_ns[k] + 1)
    inside: NDArray[np.bool_] = (edges_ns[1:] > lane.start_ns[k]) & (edges_ns[:-1] < end)
    return inside


def _wide(lane: Lane, edges_ns: NDArray[np.int64], least: int) -> list[tuple[int, int, int, bool]]:
    """Returns (slice, first cell, cell behind, whether it begins on screen) of wide slices.

    They do not overlap: a later one cuts the one before. A last cell that is not full is left to
    its height.
    """
    cells = len(edges_ns) - 1
    k = np.searchsorted(lane.start_ns, edges_ns, "right") - 1
    k = np.unique(k[k >= 0])
    first = np.searchsorted(edges_ns, lane.start_ns[k], "right") - 1
    behind = np.searchsorted(edges_ns, lane.end_ns[k], "right") - 1  # only whole cells
    touched = np.searchsorted(edges_ns, lane.end_ns[k], "left")
    begins = first >= 0
    first = np.maximum(first, 0)
    last = np.minimum(behind, np.append(first[1:], cells)) if len(k) else behind
    wide = (np.minimum(touched, cells) - first >= least) & (last - first >= least - 1)
    rows = zip(
        k[wide].tolist(),
        first[wide].tolist(),
        last[wide].tolist(),
        begins[wide].tolist(),
        strict=True,
    )
    return list(rows)
