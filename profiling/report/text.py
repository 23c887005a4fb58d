"""The plain-text twins: what a pipe, a log or a screen reader gets."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from ptx.profiling.analysis.accounting.buckets import account
from ptx.profiling.analysis.doctor import find_problems, is_sound
from ptx.profiling.analysis.findings.find import find
from ptx.profiling.analysis.ranks import rank_of
from ptx.profiling.analysis.summary import format_of, summarise
from ptx.profiling.report.account_text import account_table
from ptx.profiling.report.findings_text import findings_text
from ptx.profiling.report.remarks import remarks_of
from ptx.profiling.report.table import Column, table
from ptx.profiling.report.tops_text import op_table, slice_table, thread_table
from ptx.profiling.report.units import format_count, format_ns, format_share
from ptx.profiling.sanitise import clean
from ptx.profiling.structure.tree import NodeKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

    from ptx.profiling.analysis.selection import Choice
    from ptx.profiling.analysis.summary import StepRow, Summary
    from ptx.profiling.analysis.tables import KernelRow
    from ptx.profiling.structure.structure import Structure

_SHOWN_STEPS = 8
_NO_GPU = "no device activity in this trace: add ProfilerActivity.CUDA to the profiler"


def summary_text(structure: Structure, choice: Choice | None = None) -> Iterator[str]:
    """Yields the lines of one screen about a trace; `choice` as in `summarise`."""
    summary = summarise(structure, choice)
    yield from _heading(structure, summary)
    if structure.steps.source != "trace" or format_of(structure.trace) != "chrome":
        yield ""
        yield from _steps(summary, structure.steps.source)
    if (accounted := account(structure)) is not None:
        yield ""
        yield from account_table(accounted, structure.steps)
    if findings := find(structure):
        yield ""
        yield from findings_text(findings)
    if summary.top_kernels:
        yield ""
        yield from kernel_table(list(summary.top_kernels), summary.time.gpu_sum_ns)
    if summary.top_ops:
        yield ""
        yield from op_table(summary.top_ops)
    if summary.top_slices:
        yield ""
        yield from slice_table(summary.top_slices)
    if summary.threads:
        yield ""
        yield from thread_table(summary.threads)
    if summary.warnings:
        yield ""
        for warning in summary.warnings:
            yield f"{warning.code} ({format_count(warning.count)}): {warning.message}"


def _heading(structure: Structure, summary: Summary) -> Iterator[str]:
    header, counts, links, time = (
        structure.trace.header,
        summary.counts,
        summary.links,
        summary.time,
    )
    line = [clean(structure.trace.path.name)]
    line += [
        clean(d.name or f"device {d.index}")
        + (f" (compute {d.capability})" if d.capability else "")
        for d in summary.devices
    ] or ["no GPU"]
    if header.torch_version:
        line.append(f"torch {clean(header.torch_version)}")
    yield "  ".join([*line, *_rank(structure)])
    if format_of(structure.trace) == "chrome":
        slices = format_count(len(structure.tree))
        yield (
            f"{format_count(counts.events)} events: {slices} slices; "
            "no trace of PyTorch's profiler, shown as it is"
        )
        yield f"span {format_ns(time.span_ns)}"
        return
    yield (
        f"{format_count(counts.events)} events: {format_count(counts.ops)} ops, "
        f"{format_count(counts.launches)} launches, {format_count(counts.kernels)} kernels, "
        f"{format_count(counts.memcpy)} memcpy, {format_count(counts.memset)} memset"
    )
    if not summary.devices:
        advice = f"   {_NO_GPU}" if counts.ops else ""
        yield f"span {format_ns(time.span_ns)}{advice}"
        return
    whole = time.span_ns * len(summary.devices)
    yield (
        f"span {format_ns(time.span_ns)}   GPU busy {format_ns(time.gpu_busy_ns)} "
        f"{format_share(time.gpu_busy_ns, whole)}   GPU sum {format_ns(time.gpu_sum_ns)}"
        + (f"   on {len(summary.devices)} devices" if len(summary.devices) > 1 else "")
    )
    activities = links.activities_linked + links.activities_without_launch
    yield (
        f"{format_count(links.activities_linked)} of {format_count(activities)} activities "
        f"linked to a launch, {format_count(activities - links.activities_without_op)} to an op"
    )


def _rank(structure: Structure) -> Iterator[str]:
    rank = rank_of(structure.trace)
    if rank is not None:
        yield f"rank {rank} of {structure.trace.header.world_size or '?'}"


def _steps(summary: Summary, source: str) -> Iterator[str]:
    left_out = len(summary.steps) - _SHOWN_STEPS
    if left_out > 0:
        yield f"the last {_SHOWN_STEPS} of {len(summary.steps)} steps"
    devices = max(1, len(summary.devices))
    yield from table(
        (
            Column("step" if source != "trace" else "whole trace", left=True),
            Column("time"),
            Column("GPU busy"),
            Column("%"),
            Column("idle"),
            Column("kernels"),
            Column("launches"),
            Column("ops"),
            Column("", left=True),
        ),
        (
            (
                step.name,
                format_ns(step.dur_ns),
                "-" if step.clock_busy_ns is None else format_ns(step.clock_busy_ns),
                format_share(step.clock_busy_ns or 0, step.dur_ns * devices),
                "-" if step.idle_ns is None else format_ns(step.idle_ns),
                format_count(step.kernels),
                format_count(step.launches),
                format_count(step.ops),
                _late(step),
            )
            for step in summary.steps[-_SHOWN_STEPS:]
        ),
    )


def _late(step: StepRow) -> str:
    """Says until when the step's own kernels ran, where that is after the step's end."""
    if step.gpu_end_ns is None or step.gpu_end_ns <= step.start_ns + step.dur_ns:
        return ""
    after = step.gpu_end_ns - step.start_ns - step.dur_ns
    return f"its kernels ran until {format_ns(after)} after its end"


def doctor_text(structure: Structure, width: int = 80) -> Iterator[str]:
    """Yields the lines of `ptx doctor`: links, problems worst first, what was not recorded.

    Prose is wrapped to `width` cells; a line of code to copy is never broken.
    """
    verdict = "sound" if is_sound(find_problems(structure)) else "NOT SOUND"
    title = "  ".join([clean(structure.trace.path.name), *_rank(structure), verdict])
    yield from _hanging("", title, width)
    for remark in remarks_of(structure):
        first = ", ".join(str(event) for event in remark.events[:3])
        more = ", ..." if len(remark.events) > 3 else ""
        where = f" (first events: {first}{more})" if first else ""
        yield from _hanging(remark.weight, remark.text + where, width)
        if remark.code:
            yield f"{'':<12}{remark.code}"


def _hanging(word: str, text: str, width: int) -> Iterator[str]:
    """Yields text wrapped behind a word in a column of its own; the title has none."""
    indent = " " * (8 if word else 0)
    yield from textwrap.wrap(
        text,
        width,
        initial_indent=word.ljust(len(indent)),
        subsequent_indent=indent,
        break_on_hyphens=False,
    )


def kernel_table(rows: list[KernelRow], whole_ns: int) -> Iterator[str]:
    """Yields the lines of a table of activities summed by name; `whole_ns` is 100 %."""
    yield from table(
        (
            Column("n"),
            Column("GPU"),
            Column("each"),
            Column("%"),
            Column("kernel", left=True),
        ),
        (
            (
                format_count(row.calls),
                format_ns(row.gpu_sum_ns),
                format_ns(row.gpu_sum_ns // row.calls),
                format_share(row.gpu_sum_ns, whole_ns),
                row.name,
            )
            for row in rows
        ),
    )


def activity_table(structure: Structure, rows: NDArray[np.intp]) -> Iterator[str]:
    """Yields the lines of a table with one line an activity (positions in `Activities`)."""
    events, activities = structure.trace.table, structure.activities
    yield from table(
        (
            Column("event"),
            Column("start"),
            Column("GPU"),
            Column("queued"),
            Column("stream"),
            Column("op", left=True),
            Column("kernel", left=True),
        ),
        (
            (
                str(event := int(activities.event[k])),
                format_ns(int(events.start_ns[event])),
                format_ns(int(activities.counted_ns[k])),
                format_ns(int(activities.queue_delay_ns[k])) if activities.launch[k] >= 0 else "?",
                f"{events.device[event]}/{events.stream[event]}",
                events.name_of(int(activities.op[k])) if activities.op[k] >= 0 else "-",
                events.name_of(event),
            )
            for k in rows.tolist()
        ),
    )


def tree_text(
    structure: Structure, nodes: NDArray[np.intp], indent: NDArray[np.int32]
) -> Iterator[str]:
    """Yields one line a node: times, kernels, and the name set in by `indent` (one a node)."""
    events, tree, sums = structure.trace.table, structure.tree, structure.sums
    yield f"{'CPU':>8}  {'self':>8}  {'GPU':>8}  {'kernels':>7}  name"
    for node, level in zip(nodes.tolist(), indent.tolist(), strict=True):
        event = int(tree.event[node])
        activity = tree.kind[node] == NodeKind.ACTIVITY
        cpu = "-" if activity else format_ns(int(events.dur_ns[event]))
        own = "-" if activity else format_ns(int(sums.self_ns[node]))
        gpu = _or_dash(int(sums.gpu_sum_ns[node]))
        kernels = str(sums.kernels[node] or "-")
        mark = "> " if activity else ""
        name = clean(events.name_of(event))
        yield f"{cpu:>8}  {own:>8}  {gpu:>8}  {kernels:>7}  {'  ' * level}{mark}{name}"


def _or_dash(ns: int) -> str:
    return format_ns(ns) if ns else "-"
