"""Copies as text and as JSON: classes and causes, modules, and what would avoid them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ptx.profiling.analysis.copies import (
    copies_by_module,
    copies_by_step,
    copies_cost,
    copy_totals,
)
from ptx.profiling.analysis.selection import select_activities
from ptx.profiling.report.table import Column, table
from ptx.profiling.report.units import format_bytes, format_count, format_ns, format_share
from ptx.profiling.sanitise import clean

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ptx.profiling.analysis.copies import CopyRow, CopyTotal
    from ptx.profiling.analysis.traffic import Traffic
    from ptx.profiling.structure.structure import Structure

_SHOWN_MODULES = 10


def copies_text(structure: Structure, rows: Sequence[CopyRow], step: int | None) -> Iterator[str]:
    """Yields the lines of `ptx ops --copies`.

    Args:
        structure: the trace.
        rows: what is listed, in its order.
        step: the step that the totals and modules are of (position), None for the whole trace.
    """
    if not rows:
        yield "no copies here"
        return
    whole_ns, total = _gpu_sum_ns(structure, step), copies_cost(structure, step)
    clock = "GPU" if len(structure.activities) else "CPU"
    yield _headline("copies", total.copied, whole_ns, clock)
    if total.strided.count:
        yield _headline("slowed by strides", total.strided, whole_ns, clock)
    yield ""
    yield from _copy_table(rows, whole_ns, clock)
    yield ""
    yield "what would avoid them"
    yield from _advice(rows)
    modules = copies_by_module(structure, step)
    if len(modules) > 1:
        yield ""
        yield from _module_table(modules, whole_ns, clock)


def _headline(word: str, cost: Traffic, whole_ns: int, clock: str) -> str:
    share = f" ({format_share(cost.ns, whole_ns)})" if whole_ns else ""
    known = format_share(cost.modelled_ns, cost.ns)
    return (
        f"{word}: {format_count(cost.count)} taking {format_ns(cost.ns)} {clock} time{share}, "
        f"{format_bytes(cost.moved_bytes)} read and written (modelled for {known} of that time)"
    )


def _copy_table(rows: Sequence[CopyRow], whole_ns: int, clock: str) -> Iterator[str]:
    left = ("class", "op", "tensor", "change")
    yield from table(
        (
            *map(Column, ("n", clock, "%", "moved")),
            *(Column(word, left=True) for word in left),
        ),
        (
            (
                *_figures(row.cost, whole_ns),
                row.kind.word,
                f"{row.cause} > {row.via}" if row.via else row.cause,
                row.tensor or "-",
                row.change or "-",
            )
            for row in rows
        ),
    )


def _advice(rows: Sequence[CopyRow]) -> Iterator[str]:
    """Yields each advice once, with the ops and tensors that it is for behind it."""
    found: dict[tuple[str, str], dict[str, list[str]]] = {}
    for row in rows:
        causes = found.setdefault((row.avoid, row.kind.word), {})
        causes.setdefault(clean(row.cause), []).append(row.tensor)
    for (avoid, word), causes in found.items():
        yield f"  {avoid}"
        yield f"    {word}: " + ", ".join(map(_with_tensors, causes, causes.values()))


def _with_tensors(cause: str, tensors: Sequence[str]) -> str:
    named = " and ".join(dict.fromkeys(filter(None, tensors)))
    return f"{cause}'s {named}" if named else cause


def _module_table(modules: Sequence[CopyTotal], whole_ns: int, clock: str) -> Iterator[str]:
    columns = ("n", clock, "%", "moved", "strided")
    yield from table(
        (*map(Column, columns), Column("module", left=True)),
        (
            (*_figures(row.copied, whole_ns), format_ns(row.strided.ns), row.name)
            for row in modules[:_SHOWN_MODULES]
        ),
    )
    if len(modules) > _SHOWN_MODULES:
        yield f"and {len(modules) - _SHOWN_MODULES} more modules"


def _figures(cost: Traffic, whole_ns: int) -> tuple[str, ...]:
    return (
        format_count(cost.count),
        format_ns(cost.ns),
        format_share(cost.ns, whole_ns),
        format_bytes(cost.moved_bytes),
    )


def copies_head(structure: Structure, step: int | None) -> dict[str, Any]:
    """Returns the members of `ptx.copies/1` in front of its rows: totals, each its own sum."""
    total = copies_cost(structure, step)
    return {
        "step": None if step is None else structure.steps.names[step],
        "clock": "gpu" if len(structure.activities) else "cpu",
        "gpu_sum_ns": _gpu_sum_ns(structure, step),
        "copied": _cost(total.copied),
        "strided": _cost(total.strided),
        "classes": [_total(row) for row in copy_totals(structure, step)],
        "modules": [_total(row) for row in copies_by_module(structure, step)],
        "steps": [_total(row) for row in copies_by_step(structure)],
    }


def copy_documents(structure: Structure, rows: Sequence[CopyRow]) -> Iterator[dict[str, Any]]:
    """Yields the rows of `ptx.copies/1`; `events` are the copying activities (or CPU ops)."""
    for row in rows:
        yield {
            "class": row.kind.word,
            "cause": row.cause,
            "via": row.via or None,
            "tensor": row.tensor or None,
            "change": row.change or None,
            **_cost(row.cost),
            "avoid": row.avoid,
            "events": structure.tree.event[row.nodes].tolist(),
        }


def _total(row: CopyTotal) -> dict[str, Any]:
    return {"name": row.name, "copied": _cost(row.copied), "strided": _cost(row.strided)}


def _cost(cost: Traffic) -> dict[str, Any]:
    return {
        "count": cost.count,
        "ns": cost.ns,
        "modelled_ns": cost.modelled_ns,
        "read_bytes": cost.read_bytes,
        "write_bytes": cost.write_bytes,
    }


def _gpu_sum_ns(structure: Structure, step: int | None) -> int:
    chosen = select_activities(structure, step=step)
    return int(structure.activities.counted_ns[chosen].sum())
