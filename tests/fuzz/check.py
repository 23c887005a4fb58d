"""What must hold for any file at all, and for the parts of a damaged one that are still whole."""

from __future__ import annotations

import json
import re
import signal
import threading
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from unittest import mock

import numpy as np
from tests.rows import block_bytes

from ptx.profiling.errors import PtxError
from ptx.profiling.report.documents import doctor_document, summary_document
from ptx.profiling.report.encode import encode
from ptx.profiling.structure.structure import Structure, build_structure
from ptx.profiling.trace import problems
from ptx.profiling.trace.columns import ACTIVITY_KINDS, HOST_KINDS, Flag, Kind
from ptx.profiling.trace.reader import TraceFile, read_trace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.fuzz.mutations import Mutant
    from tests.fuzz.windows import Window

_SECONDS_AN_INPUT = 10.0
_BETWEEN = re.compile(rb"[\s,]*\Z")
_SAMPLED = 3
Key = tuple[str, int]


class TooSlow(Exception):
    """An input that took longer than any may."""


@contextmanager
def alarm(seconds: float = _SECONDS_AN_INPUT) -> Iterator[None]:
    """Raises `TooSlow` out of the block after a time, where the system has such a timer."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not (
        threading.main_thread()
    ):
        yield
        return

    def late(_signal: int, _frame: object) -> None:
        raise TooSlow(f"longer than {seconds} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def check(path: Path, window: Window, mutant: Mutant, block: int | None) -> str:
    """Reads a mutant and returns "refused" or "opened".

    Raises:
        AssertionError: something that must hold does not.
        TooSlow: reading took longer than it may.
        Exception: reading raised something else than a `PtxError`.
    """
    try:
        whole = _keys(_read(path, window.text, None))
    except PtxError:  # a few elements of a list need not look like a trace
        return "refused"
    assert len(whole) == len(window.elements), "the sound window itself is read wrongly"
    with alarm():
        try:
            trace = _read(path, mutant.data, block)
        except PtxError:
            after = len(window.head)
            sound = mutant.intact and mutant.text.startswith(window.head)
            sound = sound and not any(start <= after for start, _, _ in mutant.edits)
            assert not sound, "refused although its head is sound"
            return "refused"
        check_structure(build_structure(trace))
        check_silence(trace, mutant, whole)
        check_coverage(trace, mutant.text)
        if mutant.events is not None:
            check_events(trace, mutant)
    return "opened"


def _read(path: Path, data: bytes, block: int | None) -> TraceFile:
    path.write_bytes(data)
    # every place that lost text, not only the first ones
    with mock.patch.object(problems, "FIRST_POSITIONS", 1 << 30):
        if block is None:
            return read_trace(path)
        with block_bytes(block):
            return read_trace(path)


def _keys(trace: TraceFile) -> list[Key]:
    """Returns name and absolute start of each event; a length can hang on another event."""
    table = trace.table
    names = [table.names[code] for code in table.name.tolist()]
    timed = (table.flags & np.uint8(Flag.NO_TIMESTAMP)) == 0
    start = np.where(timed, table.start_ns + trace.t0_ns, 0)
    return list(zip(names, start.tolist(), strict=True))


def check_silence(trace: TraceFile, mutant: Mutant, whole: list[Key]) -> None:
    """Every element that the damage left alone is there, or its text is told to be lost."""
    found = Counter(_keys(trace))
    wanted = Counter(whole[number] for number in mutant.intact)
    missing = wanted - found
    if not missing:
        return
    lost = [place for problem in trace.problems for place in problem.dropped]
    for number, (start, end) in mutant.intact.items():
        if any(at < end and start < at + n for at, n in lost):
            missing[whole[number]] -= 1
    silent = [key for key, count in missing.items() if count > 0]
    assert not silent, f"gone and no word says so: {silent[:3]}"


def check_coverage(trace: TraceFile, text: bytes) -> None:
    """All text between the head and the end is events, separators, the tail or told to be lost."""
    lost = [place for problem in trace.problems for place in problem.dropped]
    spans = trace.args.spans
    if not spans:
        return
    at = spans[0][0]
    for start, length in sorted([*spans, *lost]):
        if start < spans[0][0] or start > spans[-1][0]:
            continue
        between = text[at:start] if start > at else b""
        assert _BETWEEN.match(between), f"text at {at} to {start} is in no chunk: {between[:60]!r}"
        at = max(at, start + length)
    if any(start >= at for start, _ in lost) or trace.problems.get("truncated") is not None:
        return
    rest = text[at:].lstrip(b" \t\r\n,")
    if trace.problems.get("bad-header") is not None:
        return
    closed = text[:at].endswith(b"]")  # a salvaged chunk holds the list's bracket too
    is_list = text.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"[")
    if is_list and not rest:
        return
    assert closed or rest.startswith(b"]"), f"the list ends in {rest[:60]!r}"
    behind = rest if closed else rest[1:]
    whole = b"[" + behind + b"]" if is_list else b"{" + behind.strip().removeprefix(b",")
    try:
        json.loads(whole.decode("utf-8", "surrogateescape"), strict=False)
    except ValueError:
        raise AssertionError(f"the end is unsound and no word says so: {rest[:200]!r}") from None


def check_events(trace: TraceFile, mutant: Mutant) -> None:
    """A file of sound JSON has each of its elements at its place, with its own text."""
    events = mutant.events or []
    assert len(trace.table) == len(events), f"{len(trace.table)} rows of {len(events)} elements"
    full = sum(isinstance(event, dict) and bool(event) for event in events)
    assert trace.events == full, f"{trace.events} events of {full}"
    for k in range(0, len(events), max(1, len(events) // _SAMPLED)):
        event = trace.args.event(k)
        if not isinstance(events[k], dict):
            assert event is None
        elif "\\ud800" not in json.dumps(events[k]):
            assert event is not None
            _same(event, events[k])


def _same(found: Any, wanted: Any) -> None:  # noqa: ANN401
    if isinstance(wanted, int) and not isinstance(wanted, bool) and abs(wanted) >= 1 << 63:
        assert float(found) == float(wanted)
    elif isinstance(wanted, dict):
        assert list(found) == list(wanted)
        for key, value in wanted.items():
            _same(found[key], value)
    else:
        assert found == wanted, f"{found!r} is not {wanted!r}"


def check_structure(structure: Structure) -> None:
    """The tree holds each event once, the sums add up, the documents can be written."""
    trace, tree, activities = structure.trace, structure.tree, structure.activities
    table, sums = trace.table, structure.sums
    n = len(tree)
    assert len(np.unique(tree.event)) == n, "an event stands twice in the tree"
    assert (tree.node_of[tree.event] == np.arange(n)).all()
    wanted = np.isin(table.kind, ACTIVITY_KINDS)
    assert (activities.event == np.flatnonzero(wanted)).all(), "an activity is lost"
    timed = (table.flags & np.uint8(Flag.NO_TIMESTAMP)) == 0
    wanted |= np.isin(table.kind, HOST_KINDS) & timed
    assert (np.sort(tree.event) == np.flatnonzero(wanted)).all(), "the tree lacks an event"
    nested = tree.parent >= 0
    parent = tree.parent[nested]
    assert (parent < np.flatnonzero(nested)).all(), "a node precedes its parent"
    assert (np.flatnonzero(nested) < parent + tree.size[parent]).all(), "a node is outside its own"
    _check_times(structure)
    roots = ~nested
    counted = sum(activities.counted_ns.tolist())
    assert sum(sums.gpu_sum_ns[roots].tolist()) == counted, "GPU sums do not add up"
    assert (sums.gpu_busy_ns <= sums.gpu_sum_ns).all(), "busy for longer than the sum"
    assert (sums.gpu_busy_ns >= 0).all()
    assert int(sums.activities[roots].sum()) == len(activities)
    for document in (summary_document(structure), doctor_document(structure)):
        json.loads(encode(document))


def _check_times(structure: Structure) -> None:
    trace, tree, activities = structure.trace, structure.tree, structure.activities
    table, sums = trace.table, structure.sums
    counts = (table.flags & np.uint8(Flag.NO_TIMESTAMP)) == 0
    counts &= (table.kind != Kind.METADATA) & (table.kind != Kind.REFUSED)
    early = np.flatnonzero(counts & (table.start_ns < 0)).tolist()
    assert not early, "an event before the trace's start"
    assert (table.dur_ns >= 0).all()
    end = table.start_ns + table.dur_ns
    assert (end[counts] >= 0).all(), "an end that no int64 holds"
    assert not counts.any() or int(end[counts].max()) == trace.span_ns
    assert trace.span_ns >= 0
    assert (activities.counted_ns >= 0).all()
    assert (activities.counted_ns <= table.dur_ns[activities.event]).all()
    assert (sums.self_ns >= 0).all(), "negative self time"
    assert (sums.self_ns <= table.dur_ns[tree.event]).all(), "self time longer than the event"
    assert len(structure.steps) > 0 or not len(table)
