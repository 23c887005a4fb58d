"""The roofline as a plot of characters: what kernels reach against what the device can do."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor, log10
from typing import TYPE_CHECKING

import numpy as np

from ptx.profiling.analysis.roofline import roofline
from ptx.profiling.analysis.traffic import traffic, traffic_by_name
from ptx.profiling.kernels.decode import decode
from ptx.profiling.report.traffic_text import where_bytes_go
from ptx.profiling.report.units import format_share
from ptx.profiling.sanitise import clean

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from ptx.profiling.analysis.ceilings import Ceilings
    from ptx.profiling.analysis.roofline import Roofline
    from ptx.profiling.structure.structure import Structure

_LEFT = 8
_HEIGHT = 18
_MIN_DECADES = 2


@dataclass(frozen=True, slots=True)
class _Point:
    """A kernel name on the plot: FLOP per byte, TFLOP/s, time, category."""

    intensity: float
    tflops: float
    ns: int
    letter: str


@dataclass(frozen=True, slots=True)
class _Roof:
    """One device's ceilings: GB/s, and TFLOP/s by the operand types that the kernels have."""

    gbps: float
    tflops: tuple[tuple[str, float], ...]

    def top(self, intensity: float) -> float:
        """Returns the most TFLOP/s that memory, and the fastest type, allow."""
        slope = intensity * self.gbps / 1e3
        return min(slope, max((rate for _, rate in self.tflops), default=slope))


class _Canvas:
    """A grid of characters with logarithmic axes."""

    def __init__(self, x: Sequence[float], y: Sequence[float], width: int) -> None:
        self._x, self._y = _decades(x), _decades(y)
        self._width = width
        self._cells = [[" "] * width for _ in range(_HEIGHT)]

    def column(self, x: float) -> int:
        """Returns the column of a value, outside the grid for one outside the axis."""
        return _scaled(x, self._x, self._width)

    def row(self, y: float) -> int:
        """Returns the row of a value, counted from the bottom."""
        return _scaled(y, self._y, _HEIGHT)

    def value(self, column: int) -> float:
        """Returns the value in the middle of a column."""
        low, high = self._x
        return float(10 ** (low + (high - low) * (column + 0.5) / self._width))

    def put(self, column: int, row: int, mark: str) -> None:
        """Writes a mark; what lies outside is left out."""
        for k, letter in enumerate(mark):
            if 0 <= row < _HEIGHT and 0 <= column + k < self._width:
                self._cells[row][column + k] = letter

    def lines(self) -> Iterator[str]:
        """Yields the grid with its axes."""
        marks = {self.row(10.0**d): f"{10.0**d:g}" for d in range(self._y[0], self._y[1] + 1)}
        for row in range(_HEIGHT - 1, -1, -1):
            yield f"{marks.get(row, ''):>{_LEFT - 1}}|{''.join(self._cells[row])}".rstrip()
        yield " " * (_LEFT - 1) + "+" + "-" * self._width
        axis = [" "] * (self._width + _LEFT)
        for d in range(self._x[0], self._x[1] + 1):
            word = f"{10.0**d:g}"
            at = min(self.column(10.0**d), self._width - len(word)) + _LEFT
            axis[at : at + len(word)] = word
        yield "".join(axis).rstrip()


def roofline_text(structure: Structure, rows: NDArray[np.intp], width: int = 80) -> Iterator[str]:
    """Yields a roofline plot, the ceilings with their source, and where the bytes go.

    A letter is a kernel name by its category, at its intensity and achieved rate; where two meet,
    the longer one stands. Kernels without counted arithmetic have no intensity: only the table
    below has them.

    Args:
        structure: the trace.
        rows: positions in `structure.activities`.
        width: columns of the plot.
    """
    against = roofline(structure)
    points = _points(structure, rows)
    if points:
        yield "achieved TFLOP/s (up) by FLOP per byte of memory traffic (right), both modelled"
        yield from _plot(points, _roof(structure, rows, against), width - _LEFT)
        drawn = format_share(sum(p.ns for p in points), traffic(structure, rows).ns)
        yield f"{len(points)} kernel names, {drawn} of the GPU time; the others count no FLOPs"
    else:
        yield "no kernel has both bytes and FLOPs modelled (shapes: record_shapes=True)"
    for index in sorted(against.ceilings):
        yield f"ceilings of device {index}: {clean(against.ceilings[index].text)}"
    if not against.ceilings:
        yield "no ceilings are known for this device: ptx calibrate measures them"
    yield ""
    yield from where_bytes_go(structure, rows)


def _points(structure: Structure, rows: NDArray[np.intp]) -> list[_Point]:
    """Returns the kernel names with bytes and FLOPs, the longest last, so that they stay."""
    found = []
    for (name, _), part in traffic_by_name(structure, rows).items():
        moved, tflops = part.moved_bytes, part.tflops
        if moved and tflops and part.flops:
            letter = decode(name, cut=False).category
            found.append(_Point(part.flops / moved, tflops, part.ns, letter))
    return sorted(found, key=lambda p: p.ns)


def _roof(structure: Structure, rows: NDArray[np.intp], against: Roofline) -> _Roof | None:
    """Returns the ceilings of the device that was busy longest, for the types that occur."""
    activities = structure.activities
    device = structure.trace.table.device[activities.event[rows]]
    indices, slot = np.unique(device, return_inverse=True)
    busy = np.bincount(slot, weights=activities.counted_ns[rows], minlength=len(indices))
    ceilings = against.ceilings.get(int(indices[np.argmax(busy)]))
    if ceilings is None:
        return None
    return _Roof(ceilings.memory_gbps, _rates_used(ceilings, against, rows))


def _rates_used(
    ceilings: Ceilings, against: Roofline, rows: NDArray[np.intp]
) -> tuple[tuple[str, float], ...]:
    """Returns the arithmetic ceilings that some kernel was held against."""
    with np.errstate(invalid="ignore", divide="ignore"):
        used = against.tflops[rows] / against.compute_share[rows]
    by_rate: dict[float, list[str]] = {}
    for word, rate in sorted(ceilings.tflops.items()):
        if np.isclose(used, rate).any():
            by_rate.setdefault(rate, []).append(word)
    return tuple(("/".join(words), rate) for rate, words in sorted(by_rate.items()))


def _plot(points: Sequence[_Point], roof: _Roof | None, width: int) -> Iterator[str]:
    rates = [] if roof is None else [rate for _, rate in roof.tflops]
    ridges = [] if roof is None else [1e3 * rate / roof.gbps for rate in rates]
    canvas = _Canvas(
        [*(p.intensity for p in points), *ridges], [*(p.tflops for p in points), *rates], width
    )
    if roof is not None:
        _draw_roof(canvas, roof, width)
    for point in points:
        canvas.put(canvas.column(point.intensity), canvas.row(point.tflops), point.letter)
    yield from canvas.lines()


def _draw_roof(canvas: _Canvas, roof: _Roof, width: int) -> None:
    for column in range(width):
        intensity = canvas.value(column)
        slope = intensity * roof.gbps / 1e3
        for _, rate in roof.tflops:
            if rate <= slope:
                canvas.put(column, canvas.row(rate), "-")
        if slope <= roof.top(intensity):
            canvas.put(column, canvas.row(slope), "/")
    for word, rate in roof.tflops:
        label = f" {word} {rate:.0f}"
        canvas.put(width - len(label), canvas.row(rate), label)


def _decades(values: Sequence[float]) -> tuple[int, int]:
    """Returns the powers of ten around values, at least two decades."""
    low, high = floor(log10(min(values))), ceil(log10(max(values) * 1.01))
    return min(low, high - _MIN_DECADES), high


def _scaled(value: float, decades: tuple[int, int], cells: int) -> int:
    low, high = decades
    return floor((log10(value) - low) / (high - low) * (cells - 1) + 0.5)
