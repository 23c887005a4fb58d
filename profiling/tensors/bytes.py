"""Modelled memory traffic and FLOPs of every activity of a trace.

Calls that look the same (op, inputs, kernels, grids) are modelled once; everything else is array
passes, so the cost follows the number of distinct calls.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson

from ptx.profiling.kernels.decode import decode
from ptx.profiling.structure.tree import NodeKind
from ptx.profiling.tensors import (
    bytes_contractions,
    bytes_lists,
    bytes_places,
    bytes_pointwise,
    bytes_rows,
)
from ptx.profiling.tensors.bytes_triton import LAUNCH_OP, triton_shares, works_in_place
from ptx.profiling.tensors.inputs import INPUT_KEYS, inputs_of
from ptx.profiling.tensors.operands import UNKNOWN, Call, Launch, Share
from ptx.profiling.trace.columns import Kind

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from ptx.profiling.structure.structure import Structure
    from ptx.profiling.tensors.inputs import Input
    from ptx.profiling.tensors.operands import Rule
    from ptx.profiling.trace.args import Records

RULES: dict[str, Rule] = {
    **bytes_pointwise.RULES,
    **bytes_rows.RULES,
    **bytes_places.RULES,
    **bytes_lists.RULES,
    **bytes_contractions.RULES,
}
"""The rule of each op by its name without `aten::`."""

_KEYS = (*INPUT_KEYS, "grid", "bytes")
_NO_DEVICE_HAS = 1 << 62
_OPTIMIZER_STEP = "Optimizer.step#"
_LONGEST_CALL = 512
"""The most activities of one op call that are told apart: a graph launch has thousands."""

_COPY_ENDS = re.compile(r"Memcpy (\w)to(\w)|(?:Copy|memcpy)\w*?(Host|Device)To(Host|Device)")


@dataclass(frozen=True)
class Modelled:
    """What each activity moves and computes, in the order of `structure.activities`.

    `read_bytes`, `write_bytes` and `flops` are int64, -1 where unknown.
    """

    read_bytes: NDArray[np.int64]
    write_bytes: NDArray[np.int64]
    flops: NDArray[np.int64]

    @property
    def is_known(self) -> NDArray[np.bool_]:
        """Returns which activities have both their bytes modelled."""
        known: NDArray[np.bool_] = (self.read_bytes >= 0) & (self.write_bytes >= 0)
        return known

    @property
    def total_bytes(self) -> NDArray[np.int64]:
        """Returns read and written bytes together, -1 where either is unknown."""
        return np.where(self.is_known, self.read_bytes + self.write_bytes, -1)


def shares_of(call: Call) -> list[Share]:
    """Returns what each kernel of a call moves and computes."""
    if LAUNCH_OP.match(call.op):
        return triton_shares(call)
    rule = RULES.get(call.op)
    return rule(call) if rule else [UNKNOWN] * len(call.launches)


def model_activities(structure: Structure) -> Modelled:
    """Returns the modelled bytes and FLOPs of all activities; one pass over the file.

    Memcpys and memsets have the bytes that the trace records for them.
    """
    trace, activities = structure.trace, structure.activities
    records = trace.args.records(_KEYS, len(trace.table))
    calls = _Calls(structure, records)
    out = np.full((len(activities), 3), -1, np.int64)
    calls.model_kernels(out)
    _model_transfers(structure, records, out)
    return Modelled(*out.T.copy())


class _Calls:
    """The kernels of a trace grouped by the op call that launched them, equal calls together."""

    def __init__(self, structure: Structure, records: Records) -> None:
        self._structure = structure
        self._records = records
        self._inputs: dict[int, tuple[Input, ...]] = {}
        table, activities = structure.trace.table, structure.activities
        kernels = np.flatnonzero(
            (table.kind[activities.event] == Kind.KERNEL) & (activities.op >= 0)
        )
        order = np.lexsort((self._launched_ns(kernels), activities.op[kernels]))
        self._kernels = kernels[order]
        self._ops, self._first, self._count = np.unique(
            activities.op[self._kernels], return_index=True, return_counts=True
        )

    def _launched_ns(self, kernels: NDArray[np.intp]) -> NDArray[np.int64]:
        """Returns when each kernel was launched, its own start where no launch is known."""
        table, activities = self._structure.trace.table, self._structure.activities
        launch = activities.launch[kernels]
        event = np.where(launch >= 0, launch, activities.event[kernels])
        starts: NDArray[np.int64] = table.start_ns[event]
        return starts

    def model_kernels(self, out: NDArray[np.int64]) -> None:
        """Writes (read, write, flops) of each kernel into its row of `out`."""
        if not len(self._ops):
            return
        group = self._groups()
        _, sample, member = np.unique(group, return_index=True, return_inverse=True)
        by_group = np.argsort(member, kind="stable")
        ends = np.cumsum(np.bincount(member, minlength=len(sample)))
        for position, first in enumerate(sample.tolist()):
            shares = self._shares(first)
            if shares is None:
                continue
            calls = by_group[ends[position - 1] if position else 0 : ends[position]]
            rows = self._kernels[self._first[calls][:, None] + np.arange(len(shares))]
            out[rows] = np.array([[_stored(figure) for figure in share] for share in shares])

    def _groups(self) -> NDArray[np.int64]:
        """Returns a number for each call, equal for calls that look the same."""
        table = self._structure.trace.table
        event = self._structure.activities.event[self._kernels]
        kernel = _paired(table.name[event], self._records.code[event])
        group = _paired(table.name[self._ops], self._records.code[self._ops])
        group = _paired(group, self._copies_first + 2 * self._in_optimizer + 4 * self._in_place)
        group = _paired(group, self._count)
        for position in range(int(min(self._count.max(), _LONGEST_CALL))):
            # calls of another length have other numbers already
            longer = np.flatnonzero(self._count > position)
            following = kernel[self._first[longer] + position]
            group[longer] = group.max() + 1 + _paired(group[longer], following)
        return group

    def _shares(self, position: int) -> list[Share] | None:
        """Returns the shares of one call, None where nothing is known."""
        if self._count[position] > _LONGEST_CALL:
            return None
        table = self._structure.trace.table
        inputs = self._inputs_of(int(self._ops[position]))
        if not inputs:
            return None
        name = table.names[table.name[self._ops[position]]]
        first, count = int(self._first[position]), int(self._count[position])
        events = self._structure.activities.event[self._kernels[first : first + count]]
        call = Call(
            name.removeprefix("aten::"),
            inputs,
            tuple(self._launch(event) for event in events.tolist()),
            bool(self._copies_first[position]),
            bool(self._in_optimizer[position]),
            bool(self._in_place[position]),
        )
        return shares_of(call)

    def _launch(self, event: int) -> Launch:
        table = self._structure.trace.table
        grid = _member(self._records, event, "grid")
        sizes = grid if isinstance(grid, list) and len(grid) == 3 else [0, 0, 0]
        x, y, z = (n if type(n) is int else 0 for n in sizes)
        return Launch(decode(table.names[table.name[event]]), (x, y, z))

    def _inputs_of(self, event: int) -> tuple[Input, ...]:
        code = int(self._records.code[event])
        if code not in self._inputs:
            args = {key: _member(self._records, event, key) for key in INPUT_KEYS}
            self._inputs[code] = inputs_of(args)
        return self._inputs[code]

    @cached_property
    def _copies_first(self) -> NDArray[np.int64]:
        """Returns 1 for calls that called `aten::copy_` themselves, else 0."""
        tree, table = self._structure.tree, self._structure.trace.table
        copies = _named(table.names, lambda name: name == "aten::copy_")
        nodes = np.flatnonzero((tree.kind == NodeKind.OP) & copies[table.name[tree.event]])
        above = self._structure.owner_op[nodes]
        callers = tree.event[above[above >= 0]]
        return np.isin(self._ops, callers).astype(np.int64)

    @cached_property
    def _in_optimizer(self) -> NDArray[np.int64]:
        """Returns 1 for calls inside an optimizer's step, else 0."""
        tree, table = self._structure.tree, self._structure.trace.table
        steps = _named(table.names, lambda name: name.startswith(_OPTIMIZER_STEP))
        steps_so_far = np.zeros(len(tree) + 1, np.int64)
        nodes = np.flatnonzero(steps[table.name[tree.event]])
        np.add.at(steps_so_far, nodes, 1)
        np.add.at(steps_so_far, nodes + tree.size[nodes], -1)
        inside = np.cumsum(steps_so_far)[tree.node_of[self._ops]] > 0
        return inside.astype(np.int64)

    @cached_property
    def _in_place(self) -> NDArray[np.int64]:
        """Returns 1 for launch ops of compiled code that write their first pointer, else 0."""
        tree, table = self._structure.tree, self._structure.trace.table
        flags = np.zeros(len(table), np.int64)
        launches = _named(table.names, lambda name: LAUNCH_OP.match(name) is not None)
        is_op = tree.kind == NodeKind.OP
        region = self._structure.owner_op  # Python frames may stand between
        regions = np.unique(region[is_op & launches[table.name[tree.event]]])
        nodes = np.flatnonzero(is_op & np.isin(region, regions))
        nodes = nodes[np.argsort(region[nodes], kind="stable")]
        starts = np.flatnonzero(np.diff(region[nodes], prepend=-2))
        known: dict[bytes, list[bool]] = {}
        for events in np.split(tree.event[nodes], starts[1:]) if len(starts) else ():
            codes = np.stack((table.name[events], self._records.code[events])).tobytes()
            if codes not in known:
                known[codes] = works_in_place(
                    [(table.names[table.name[e]], self._inputs_of(e)) for e in events.tolist()]
                )
            flags[events] = known[codes]
        return flags[self._ops]


def _model_transfers(structure: Structure, records: Records, out: NDArray[np.int64]) -> None:
    """Writes what memcpys and memsets move: a copy from or to the host crosses memory once."""
    table, events = structure.trace.table, structure.activities.event
    rows = np.flatnonzero(np.isin(table.kind[events], (Kind.MEMCPY, Kind.MEMSET)))
    if not len(rows):
        return
    pairs = np.stack((table.name[events[rows]], records.code[events[rows]]), axis=1)
    _, sample, member = np.unique(pairs, axis=0, return_index=True, return_inverse=True)
    shares = []
    for event in events[rows[sample]].tolist():
        size = _member(records, event, "bytes")
        moves = _transfer(table.names[table.name[event]])
        if moves is None or not isinstance(size, int):
            shares.append((-1, -1, 0))
        else:
            shares.append((_stored(moves[0] * size), _stored(moves[1] * size), 0))
    out[rows] = np.array(shares, np.int64)[member.ravel()]


def _transfer(name: str) -> tuple[int, int] | None:
    """Returns how often a transfer's bytes are (read from, written to) device memory."""
    if "memset" in name.lower():
        return 0, 1
    ends = _COPY_ENDS.search(name)
    if ends is None:
        return None
    source, target = (word[0] for word in ends.groups() if word)
    return int(source in "DP"), int(target in "DP")


def _stored(figure: int | None) -> int:
    """Returns a figure as the arrays hold it; what no device could have counts as unknown."""
    return figure if figure is not None and 0 <= figure < _NO_DEVICE_HAS else -1


def _named(names: tuple[str, ...], wanted: Callable[[str], bool]) -> NDArray[np.bool_]:
    """Returns one flag a name."""
    return np.fromiter(map(wanted, names), bool, len(names))


def _paired(first: NDArray[Any], second: NDArray[Any]) -> NDArray[np.int64]:
    """Returns one number for each pair of numbers, equal for equal pairs."""
    _, a = np.unique(first, return_inverse=True)
    _, b = np.unique(second, return_inverse=True)
    pairs = a.astype(np.int64) * (int(b.max(initial=0)) + 1) + b
    codes: NDArray[np.int64] = np.unique(pairs, return_inverse=True)[1].astype(np.int64)
    return codes


def _member(records: Records, event: int, key: str) -> object:
    """Returns one of an event's recorded members, None where it is absent or no JSON."""
    code = int(records.code[event])
    text = records.texts[code][_KEYS.index(key)] if code >= 0 else b""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text.decode("utf-8", "replace") or None
