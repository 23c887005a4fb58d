"""Bytes that hardware counters read: Nsight Compute's CSV joined to the kernels of a trace.

The counters come from a second run under `ncu`, which prints other names (without `native::`), so
kernels are matched by what their names say, by grid and block, and by order.
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from ptx.profiling.errors import PtxError
from ptx.profiling.kernels.decode import decode
from ptx.profiling.trace.columns import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from ptx.profiling.structure.structure import Structure

READ_METRIC, WRITE_METRIC = "dram__bytes_read.sum", "dram__bytes_write.sum"
COMMAND = f"ncu --csv --page raw --metrics {READ_METRIC},{WRITE_METRIC}"
"""What makes a file that this module reads."""

Size: TypeAlias = "tuple[int, ...]"

_NUMBER = re.compile(r"[0-9]+")
_UNITS = {"byte": 1, "kbyte": 10**3, "mbyte": 10**6, "gbyte": 10**9, "tbyte": 10**12}
_MAX_NAME_SHOWN = 5


@dataclass(frozen=True, slots=True)
class CounterRow:
    """One kernel that Nsight Compute measured: its name and launch, and its DRAM bytes."""

    name: str
    grid: Size
    block: Size
    read_bytes: int
    write_bytes: int


@dataclass(frozen=True, eq=False)
class Measured:
    """Measured bytes of the activities of a trace, in the order of `structure.activities`.

    Attributes:
        read_bytes: int64, -1 where nothing was joined.
        write_bytes: int64, -1 where nothing was joined.
        rows: how many kernels the counters hold.
        unjoined: the names of the counters' kernels that no kernel of the trace matches.
        other_launch: the names of those that match by name and order, but ran with another grid
            or block.
        scope: `trace` if the counters' kernels are those of the whole trace, `step` if they are
            those of one step and stand for every step alike.
    """

    read_bytes: NDArray[np.int64]
    write_bytes: NDArray[np.int64]
    rows: int
    unjoined: tuple[str, ...]
    other_launch: tuple[str, ...]
    scope: str

    def lines(self) -> list[str]:
        """Returns what to tell about the join: how many, and which not."""
        joined = int((self.read_bytes >= 0).sum())
        each = ", step by step" if self.scope == "step" else ""
        found = self.rows - len(self.unjoined)
        lines = [f"counters: {found} of {self.rows} kernels joined to {joined} activities{each}"]
        for names, what in (
            (self.unjoined, "not joined"),
            (self.other_launch, "joined by order, another launch configuration"),
        ):
            if names:
                more = len(names) - _MAX_NAME_SHOWN
                shown = ", ".join(decode(name).short for name in names[:_MAX_NAME_SHOWN])
                lines.append(f"  {what}: {shown}" + (f" and {more} more" if more > 0 else ""))
        return lines


def read_counters(path: Path) -> tuple[CounterRow, ...]:
    """Returns the kernels of a CSV file of Nsight Compute in order of launch.

    Args:
        path: the raw or the details page, with or without what the program printed (`==`).

    Raises:
        PtxError: the file is no such CSV, or has no DRAM bytes.
    """
    try:
        with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
            rows = csv.reader(line for line in file if not line.startswith("=="))
            header, found = _after_header(rows)
            if "Metric Name" in header:
                return tuple(_from_details(header, found))
            return tuple(_from_raw(header, found))
    except (csv.Error, KeyError, ValueError) as error:
        raise PtxError("no counters", where=str(path), hint=f"make them with {COMMAND}") from error


def _after_header(rows: Iterator[list[str]]) -> tuple[list[str], Iterator[list[str]]]:
    for row in rows:
        if "Kernel Name" in row:  # a program's own output may stand in front
            return row, rows
    raise KeyError("Kernel Name")


def _from_raw(header: list[str], rows: Iterator[list[str]]) -> Iterator[CounterRow]:
    """Yields the kernels of the raw page: one row each, the metrics in columns, units first."""
    units = dict(zip(header, next(rows, []), strict=False))
    for row in rows:
        cells = dict(zip(header, row, strict=False))
        if cells.get("ID", "").isdecimal():
            yield _row(
                cells,
                _bytes(cells[READ_METRIC], units[READ_METRIC]),
                _bytes(cells[WRITE_METRIC], units[WRITE_METRIC]),
            )


def _from_details(header: list[str], rows: Iterator[list[str]]) -> Iterator[CounterRow]:
    """Yields the kernels of the details page: one row for each metric of a kernel."""
    kernels: dict[str, tuple[dict[str, str], dict[str, int]]] = {}
    for row in rows:
        cells = dict(zip(header, row, strict=False))
        metric = cells.get("Metric Name", "")
        if cells.get("ID", "").isdecimal() and metric in (READ_METRIC, WRITE_METRIC):
            _, values = kernels.setdefault(cells["ID"], (cells, {}))
            values[metric] = _bytes(cells["Metric Value"], cells["Metric Unit"])
    if not kernels:
        raise KeyError(READ_METRIC)
    for cells, values in kernels.values():
        yield _row(cells, values[READ_METRIC], values[WRITE_METRIC])


def _row(cells: Mapping[str, str], read_bytes: int, write_bytes: int) -> CounterRow:
    grid, block = (_size(cells.get(key, "")) for key in ("Grid Size", "Block Size"))
    return CounterRow(cells["Kernel Name"], grid, block, read_bytes, write_bytes)


def _bytes(value: str, unit: str) -> int:
    return round(float(value.replace(",", "")) * _UNITS[unit.strip().lower()])


def _size(text: str) -> Size:
    return tuple(map(int, _NUMBER.findall(text)))


def join_counters(structure: Structure, rows: tuple[CounterRow, ...]) -> Measured:
    """Returns the measured bytes of a trace's kernels; transfers have no counters.

    The n-th kernel of a name and launch configuration in the counters is the n-th such kernel of
    the trace, or of each step, if there are as many.
    """
    kernels = _Kernels(structure)
    whole = np.zeros(len(kernels.rows), np.int64)
    by_trace = _join(kernels, rows, whole)
    by_step = _join(kernels, rows, structure.activities.step[kernels.rows].astype(np.int64))
    better = by_step.joined_rows > by_trace.joined_rows
    join = by_step if better else by_trace
    read = np.full(len(structure.activities), -1, np.int64)
    write = read.copy()
    has = join.row >= 0
    at, of = kernels.rows[has], join.row[has]
    read[at] = np.array([row.read_bytes for row in rows], np.int64)[of]
    write[at] = np.array([row.write_bytes for row in rows], np.int64)[of]
    used = set(of.tolist())
    return Measured(
        read,
        write,
        len(rows),
        tuple(row.name for i, row in enumerate(rows) if i not in used),
        tuple(rows[i].name for i in sorted(set(join.row[join.is_other_launch].tolist()))),
        "step" if better else "trace",
    )


class _Kernels:
    """The kernels of a trace in order of time, equal ones (name, grid, block) numbered alike."""

    def __init__(self, structure: Structure) -> None:
        table, events = structure.trace.table, structure.activities.event
        rows = np.flatnonzero(table.kind[events] == Kind.KERNEL)
        self.rows = rows[np.argsort(table.start_ns[events[rows]], kind="stable")]
        records = structure.trace.args.records(("grid", "block"), len(table))
        mine = events[self.rows]
        pairs = np.stack((table.name[mine], records.code[mine]), axis=1)
        distinct, kind = np.unique(pairs, axis=0, return_inverse=True)
        self.kind: NDArray[np.int64] = kind.ravel().astype(np.int64)
        texts = (*records.texts, (b"", b""))
        self.kinds = [
            (table.names[name], *(_size(text.decode("latin-1")) for text in texts[code]))
            for name, code in distinct.tolist()
        ]


@dataclass(frozen=True, eq=False)
class _Join:
    """The counters' row of each kernel, -1 for none, and whether its launch differs."""

    row: NDArray[np.int64]
    is_other_launch: NDArray[np.bool_]

    @property
    def joined_rows(self) -> int:
        return len(np.unique(self.row[self.row >= 0]))


def _function(name: str, *_: Size) -> Hashable:
    decoded = decode(name)
    found = decoded.fields.get("kernel") or decoded.fields.get("functor")
    return decoded.family, found or decoded.short


def _function_and_launch(name: str, grid: Size, block: Size) -> Hashable:
    return _function(name), grid, block


def _family_and_launch(name: str, grid: Size, block: Size) -> Hashable:
    return decode(name).family, grid, block


def _join(kernels: _Kernels, rows: tuple[CounterRow, ...], scope: NDArray[np.int64]) -> _Join:
    """Joins in three passes: all alike; a functor that one name hides; another launch."""
    found = np.full(len(kernels.rows), -1, np.int64)
    is_other = np.zeros(len(kernels.rows), bool)
    for key_of in (_function_and_launch, _family_and_launch, _function):
        before = found < 0
        _join_by(kernels, rows, scope, found, key_of)
        if key_of is _function:
            is_other = before & (found >= 0)
    return _Join(found, is_other)


def _join_by(
    kernels: _Kernels,
    rows: tuple[CounterRow, ...],
    scope: NDArray[np.int64],
    found: NDArray[np.int64],
    key_of: Callable[[str, Size, Size], Hashable],
) -> None:
    """Joins what is not joined yet, where a key occurs as often on both sides."""
    numbers: dict[Hashable, int] = {}
    used = set(found.tolist())
    wanted: dict[int, list[int]] = {}
    for index, row in enumerate(rows):
        if index not in used:
            key = numbers.setdefault(key_of(row.name, row.grid, row.block), len(numbers))
            wanted.setdefault(key, []).append(index)
    codes = np.array([numbers.get(key_of(*kind), -1) for kind in kernels.kinds], np.int64)
    open_ones = np.flatnonzero((found < 0) & (codes[kernels.kind] >= 0) & (scope >= 0))
    if not len(open_ones):
        return
    group = scope[open_ones] * len(numbers) + codes[kernels.kind[open_ones]]
    order = np.argsort(group, kind="stable")
    _, first, count = np.unique(group[order], return_index=True, return_counts=True)
    for start, length in zip(first.tolist(), count.tolist(), strict=True):
        members = open_ones[order[start : start + length]]
        indices = wanted[int(codes[kernels.kind[members[0]]])]
        if len(indices) == length:
            found[members] = indices
