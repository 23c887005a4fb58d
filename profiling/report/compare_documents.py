"""The JSON document `ptx.compare/1`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ptx.profiling.analysis.comparison.model import TOTALS
from ptx.profiling.report.documents import envelope
from ptx.profiling.report.encode import encode_stream

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ptx.profiling.analysis.comparison.model import Comparison, Group, Place, Side


def compare_json(found: Comparison) -> Iterator[bytes]:
    """Yields the text of `ptx.compare/1` in pieces, a group a line."""
    return encode_stream(head_document(found), "groups", map(group_document, found.groups))


def head_document(found: Comparison) -> dict[str, Any]:
    """Returns all members of `ptx.compare/1` but `groups`.

    `file` and `t0_ns` are those of B, and `warnings` are those of both sides.
    """
    a, b = (envelope(side.structure, "ptx.compare/1") for side in found.sides)
    return {
        **b,
        "warnings": [*a["warnings"], *b["warnings"]],
        "a": _side(found.a),
        "b": _side(found.b),
        "steps": [len(found.a.steps), len(found.b.steps)],
        "verdict": found.verdict,
        "totals": {word: [found.a.totals[word], found.b.totals[word]] for word in TOTALS},
        "per_step": {
            word: [asdict(side.per_step[word]) for side in found.sides] for word in TOTALS
        },
        "unmatched_ns": [found.a.unmatched_ns, found.b.unmatched_ns],
        "cpu": {
            "removed_ops": dict(found.host.removed_ops),
            "added_ops": dict(found.host.added_ops),
            "dispatch_ns": list(found.host.dispatch_ns or (None, None)),
        },
        "compile": {
            "graphs": list(found.compiled.graphs),
            "graph_breaks": list(found.compiled.graph_breaks),
            "recompiles": list(found.compiled.recompiles),
            "dynamic": None,
        },
        "notes": [*found.notes, *filter(None, [found.host.why_not])],
    }


def group_document(group: Group) -> dict[str, Any]:
    """Returns one entry of `groups`."""
    details = f": {'; '.join(group.details)}" if group.details and group.kind != "same*" else ""
    return {
        "kind": group.kind,
        "a": [_place(place) for place in group.a],
        "b": [_place(place) for place in group.b],
        "delta_ns": group.delta_ns,
        "delta_bytes": group.delta_bytes,
        "confidence": group.confidence,
        "how": group.how,
        "phase": group.phase,
        "text": group.text + details,
    }


def _side(side: Side) -> dict[str, Any]:
    return {
        "file": str(side.structure.trace.path),
        "t0_ns": side.structure.trace.t0_ns,
        "steps": list(side.steps),
    }


def _place(place: Place) -> dict[str, Any]:
    return asdict(place)
