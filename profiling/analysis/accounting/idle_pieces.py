"""Why a device had nothing to do, over the whole trace: idle time in pieces of one bucket each.

Within the steps this is the idle charge of `analysis.idle`, by name; it goes on outside of them,
and keeps apart what only the profiler's presence costs.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from ptx.profiling.analysis._once import once_per_trace
from ptx.profiling.analysis.idle import CAUSES, at_or_below, causes, host_pieces, names_like
from ptx.profiling.structure.intervals import contains, distinct, merge
from ptx.profiling.trace.columns import Kind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ptx.profiling.structure.structure import Structure

IDLE_BUCKETS = ("idle_data", "idle_sync", "idle_alloc", "idle_host", "profiler", "idle_other")
"""The buckets of idle time, in the order of the codes below."""

_BUCKET_OF_CAUSE = {
    "op": "idle_host",
    "python": "idle_host",
    "launch": "idle_host",
    "sync": "idle_sync",
    "alloc": "idle_alloc",
    "data": "idle_data",
    "other": "idle_other",
}
_CODE_OF_CAUSE = np.array([IDLE_BUCKETS.index(_BUCKET_OF_CAUSE[c]) for c in CAUSES], np.uint8)
_PROFILER = IDLE_BUCKETS.index("profiler")
_OTHER = IDLE_BUCKETS.index("idle_other")
_CLOSED_TO_PROFILER = [CAUSES.index(c) for c in ("op", "launch", "alloc", "data")]

# Overhead records of CUPTI that are its own work. Lazy loading of a function, the compiler of the
# driver and a full command buffer are overhead too, but the program has them without a profiler.
_PROFILER_OVERHEAD = re.compile(r"Activity Buffer Request|Buffer Flush|Instrumentation|Resource")
_PROFILER_FRAME = re.compile(r"(?:.*/)?torch/(?:autograd/profiler|profiler/\w+)\.py\(")
_WINDOW = "PyTorch Profiler"


def idle_pieces(
    structure: Structure, begins: NDArray[np.int64], ends: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint8], NDArray[np.int64]]:
    """Returns disjoint ascending stretches of idle time, cut where their reason changes.

    Args:
        structure: the trace.
        begins: where each stretch begins, in ns.
        ends: where it ends.

    Returns:
        (begins, ends, codes of `IDLE_BUCKETS`, nodes) of the pieces; a node is what the host was
        in, of the op tree, -1 for nothing and for pieces charged to the profiler's records.
    """
    window = _profiler_times(structure)
    edges = distinct(begins, ends, *window)
    left, right = edges[:-1], edges[1:]
    keep = contains(begins, ends, left)
    left, right = left[keep], right[keep]
    recorded = contains(*window, left)
    begins, ends, node = host_pieces(structure, left[~recorded], right[~recorded])
    code = _codes(structure, begins, node)
    begins = np.concatenate((left[recorded], begins))
    ends = np.concatenate((right[recorded], ends))
    of_profiler = np.full(int(recorded.sum()), _PROFILER, np.uint8)
    code = np.concatenate((of_profiler, code))
    node = np.concatenate((np.full(len(of_profiler), -1, np.int64), node))
    order = np.argsort(begins, kind="stable")
    return begins[order], ends[order], code[order], node[order]


def _codes(
    structure: Structure, begins: NDArray[np.int64], node: NDArray[np.int64]
) -> NDArray[np.uint8]:
    """Returns the bucket of each piece by the node that the host was in."""
    code = np.append(_node_codes(structure), np.uint8(_OTHER))[node]
    if structure.steps.source == "ProfilerStep":
        # a step's mark is opened and closed by the profiler itself: outside of them it works
        outside = structure.steps.at(begins) < 0
        cause = np.append(causes(structure), np.uint8(CAUSES.index("other")))[node]
        code[outside & ~np.isin(cause, _CLOSED_TO_PROFILER)] = _PROFILER
    return code


@once_per_trace
def _node_codes(structure: Structure) -> NDArray[np.uint8]:
    """Returns the bucket that each node's own idle time counts for."""
    tree, table = structure.tree, structure.trace.table
    cause = causes(structure)
    code = _CODE_OF_CAUSE[cause]
    is_profiler = names_like(table, _PROFILER_FRAME)[table.name[tree.event]]
    is_profiler &= table.kind[tree.event] == Kind.FRAME
    inside = at_or_below(tree, is_profiler) & ~np.isin(cause, _CLOSED_TO_PROFILER)
    code[inside] = _PROFILER
    return code


@once_per_trace
def _profiler_times(structure: Structure) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Returns when the profiler was at work by its own records, as disjoint (starts, ends).

    That is its overhead, and what lies outside the window that it marks.
    """
    table, span = structure.trace.table, structure.trace.span_ns
    overhead = table.of_kind(Kind.OVERHEAD)
    overhead = overhead[names_like(table, _PROFILER_OVERHEAD)[table.name[overhead]]]
    starts = [table.start_ns[overhead]]
    ends = [table.start_ns[overhead] + table.dur_ns[overhead]]
    marks = table.of_kind(Kind.OTHER)
    marks = marks[table.names_matching(_WINDOW)[table.name[marks]]]
    if len(marks):
        opened = table.start_ns[marks].min()
        closed = (table.start_ns[marks] + table.dur_ns[marks]).max()
        starts.append(np.array([0, closed], np.int64))
        ends.append(np.array([opened, max(span, int(closed))], np.int64))
    return merge(np.concatenate(starts), np.concatenate(ends))
