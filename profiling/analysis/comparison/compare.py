"""Compares two traces of one program: eager and compiled, or before and after a change."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ptx.profiling.analysis.comparison.anchors import find_anchors, spine
from ptx.profiling.analysis.comparison.assign import Assignment, assign
from ptx.profiling.analysis.comparison.costs import Costs
from ptx.profiling.analysis.comparison.flow import compiled_flow, eager_flow
from ptx.profiling.analysis.comparison.grouping import UnitGroup, group_units
from ptx.profiling.analysis.comparison.host import HostSide, compile_facts, host_change
from ptx.profiling.analysis.comparison.model import Comparison, Kind
from ptx.profiling.analysis.comparison.naming import Describer
from ptx.profiling.analysis.comparison.notes import notes_of
from ptx.profiling.analysis.comparison.program import Program, read_program
from ptx.profiling.analysis.comparison.scopes import shared_scopes
from ptx.profiling.analysis.comparison.totals import side_of
from ptx.profiling.analysis.comparison.verdict import verdict_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ptx.profiling.analysis.comparison.program import Unit
    from ptx.profiling.structure.structure import Structure

_ALIKE = 0.3
"""Below this share of the matched time of products, two traces are not one program."""

_CONTRACTIONS = "GA"


def compare(a: Structure, b: Structure) -> Comparison:
    """Returns what became of every kernel of `a` in `b`; swapping them mirrors the answer.

    Costs about 20 us a kernel and, at first, one pass over each file.
    """
    programs = read_program(a), read_program(b)
    if _has_shapes(programs[0]) != _has_shapes(programs[1]) and _ops_know(*programs):
        programs = read_program(a, with_shapes=False), read_program(b, with_shapes=False)
    flipped = _is_flipped(*programs)
    first, second = programs[::-1] if flipped else programs
    groups, shares, other_shapes = match_units(first, second, flipped=flipped)
    if flipped:
        groups = [replace(g, a=g.b, b=g.a, kind=_MIRRORED.get(g.kind, g.kind)) for g in groups]
        shares = shares[1], shares[0]
    return _answer(programs, groups, shares, other_shapes)


_MIRRORED: dict[Kind, Kind] = {"removed": "added", "added": "removed"}


def match_units(
    a: Program, b: Program, *, flipped: bool = False
) -> tuple[list[UnitGroup], tuple[float, float], bool]:
    """Returns the groups of units, the matched shares of both sides, and whether shapes differ.

    `b` is the side with more generated kernels; with `flipped` it is the reader's first.
    """
    anchors = find_anchors(a.units, b.units)
    chain = spine(anchors, a.units)
    costs = Costs(a.units, b.units, (eager_flow(a), compiled_flow(b.units)), anchors, chain)
    open_a = [k for k in range(len(a.units)) if k not in costs.match]
    found = assign(costs, open_a) if costs.fused else Assignment({}, {})
    matched_b = {anchor.b for anchor in anchors} | set(found.kernel.values())
    scopes = shared_scopes(
        a,
        b,
        [k for k in open_a if k not in found.kernel],
        [k for k in range(len(b.units)) if k not in matched_b],
    )
    groups = group_units(costs, anchors, chain, found, scopes, flipped=flipped)
    shares = _share(a.units, groups, 0), _share(b.units, groups, 1)
    return groups, shares, any(anchor.level == 5 for anchor in anchors)


def _has_shapes(program: Program) -> bool:
    return any(unit.call.has_sizes for unit in program.units)


def _ops_know(a: Program, b: Program) -> bool:
    """Returns whether both sides have ops: a replayed graph has none, and shapes then help."""
    return all(
        sum(bool(unit.call.chain) for unit in side.units) * 2 > len(side.units) for side in (a, b)
    )


def _is_flipped(a: Program, b: Program) -> bool:
    """Returns whether `a` is the more compiled side; a tie goes by size, then by content."""
    keys = []
    for side in (a, b):
        fused = sum(unit.call.fusion is not None for unit in side.units)
        names = tuple(name for unit in side.units for name in unit.call.kernel_names)
        keys.append((fused, -len(side.units), names, tuple(side.median_ns.tolist())))
    return keys[0] > keys[1]


def _share(units: Sequence[Unit], groups: Sequence[UnitGroup], side: int) -> float:
    """Returns the matched share of the time of products and attention; of all without them."""
    matched = {k for g in groups if g.a and g.b for k in ((g.a, g.b)[side])}
    chosen = [k for k, unit in enumerate(units) if unit.call.category in _CONTRACTIONS]
    chosen = chosen or list(range(len(units)))
    total = sum(units[k].ns for k in chosen)
    return sum(units[k].ns for k in chosen if k in matched) / total if total else 1.0


def _answer(
    programs: tuple[Program, Program],
    groups: list[UnitGroup],
    shares: tuple[float, float],
    other_shapes: bool,
) -> Comparison:
    hosts = [HostSide(p.structure, p.steps) for p in programs]
    sides = [side_of(p, host) for p, host in zip(programs, hosts, strict=True)]
    similar = min(shares) >= _ALIKE
    described = Describer(*programs).groups(groups) if similar else ()
    if not similar:
        sides = [replace(side, unmatched_ns=side.totals["gpu_sum_ns"] or 0) for side in sides]
    structures = programs[0].structure, programs[1].structure
    steps = programs[0].steps, programs[1].steps
    found = Comparison(
        a=sides[0],
        b=sides[1],
        similar=similar,
        matched_share=shares,
        other_shapes=other_shapes,
        groups=described,
        host=host_change(hosts[0], hosts[1], structures),
        compiled=compile_facts(hosts[0], hosts[1], structures, steps),
        verdict="",
        notes=notes_of(programs, similar=similar),
    )
    return replace(found, verdict=verdict_of(found))
