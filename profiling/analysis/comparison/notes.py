"""What a reader must know about a comparison: what was left out, and what was not recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptx.profiling.analysis.comparison.host import flags_on

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ptx.profiling.analysis.comparison.program import Program

_LISTED = 4


def notes_of(programs: tuple[Program, Program], *, similar: bool) -> tuple[str, ...]:
    """Returns the remarks about both sides, one line each."""
    found: list[str] = []
    for word, program in zip("AB", programs, strict=True):
        found += [f"{word}: {remark}" for remark in _remarks(program)]
    if not similar:
        found.append("no kernel is matched: the products and attentions of both sides differ")
    found += _flags(programs)
    return tuple(found)


def _remarks(program: Program) -> Iterator[str]:
    steps = program.steps
    total = len(program.structure.steps)
    if not program.units:
        yield "no device activity in its steps, so that no kernel can be matched"
    by_reason: dict[str, list[str]] = {}
    for name, reason in steps.left_out:
        by_reason.setdefault(reason, []).append(name)
    for reason, names in by_reason.items():
        more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
        listed = ", ".join(names[:_LISTED]) + more
        yield f"{len(names)} of {total} steps left out ({reason}): {listed}"
    if steps.signatures > 1:
        yield f"{steps.signatures} different kernel sequences: recompiled, or other shapes"
    if steps.cold and len(steps.cold) == total:
        yield "code was compiled in every step, so that CPU times are those of a cold start"
    if any(unit.call.chain for unit in program.units) and not any(
        unit.call.has_sizes for unit in program.units
    ):
        yield "shapes are not used: matched by names and order only; profile(record_shapes=True)"
    replayed = sum(len(u.places) for u in program.units if u.node < 0)
    if replayed:
        what = f"{replayed} activities of a step have no op, as in a replayed graph"
        yield f"{what}: matched by kernel name"
    if len(steps.unlinked):
        yield f"{len(steps.unlinked)} activities have no launch in the trace: not matched"


def _flags(programs: tuple[Program, Program]) -> Iterator[str]:
    on = [set(flags_on(program.structure)) for program in programs]
    if "with_stack" in on[0] & on[1]:
        yield "stacks were recorded: CPU times are inflated, more so for compiled code"
