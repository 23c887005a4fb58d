"""Text of whole events to columns: a pure function of the text and of the interning tables.

The fast way decodes a chunk as a list of typed records, which skips what no column needs (shapes,
strides, grids: two thirds of the bytes). A chunk that this refuses is taken event by event
(`ptx.profiling.trace.salvage`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import msgspec
import numpy as np

from ptx.profiling.trace.columns import ABSENT, Flag, Phase
from ptx.profiling.trace.intern import Interner, ThreadInterner
from ptx.profiling.trace.timestamps import (
    MISSING_NS,
    float_us_to_ns,
    needs_digits,
    object_us_to_ns,
    text_us_to_ns,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

NAN = float("nan")
Number: TypeAlias = "int | float | str | None"
REFUSED_PHASE = "\0refused"  # no file's own letter: a raw NUL is not legal in JSON
EMPTY_PHASE = "\0empty"


class _Phases(dict[str, int]):
    def __missing__(self, letter: str) -> int:
        return Phase.OTHER


_PHASES = _Phases(
    {
        "X": Phase.COMPLETE,
        "M": Phase.METADATA,
        "s": Phase.FLOW_START,
        "t": Phase.FLOW_STEP,
        "f": Phase.FLOW_END,
        "i": Phase.INSTANT,
        "I": Phase.INSTANT,
        "C": Phase.COUNTER,
        "B": Phase.BEGIN,
        "E": Phase.END,
        REFUSED_PHASE: Phase.REFUSED,
        EMPTY_PHASE: Phase.EMPTY,
    }
)
_WITHOUT_BYTES = ("cpu_op", "user_annotation", "cuda_runtime", "cuda_driver", "kernel")
_REPEATED_FLOWS = ("ac2g", "async_cpu_to_gpu")  # arrows that only repeat the correlation


class Args(msgspec.Struct, gc=False):
    """The numbers of an event's `args` that become columns."""

    external_id: int = msgspec.field(default=ABSENT, name="External id")
    correlation: int = ABSENT
    ev_idx: int = msgspec.field(default=ABSENT, name="Ev Idx")
    stream: int = ABSENT
    device: int = ABSENT
    sequence: int = msgspec.field(default=ABSENT, name="Sequence number")
    forward_thread: int = msgspec.field(default=ABSENT, name="Fwd thread id")
    bytes: int = msgspec.field(default=ABSENT, name="bytes")
    memory_bytes: int = msgspec.field(default=ABSENT, name="Bytes")
    python_id: int | None = msgspec.field(default=ABSENT, name="Python id")
    python_parent_id: int | None = msgspec.field(default=ABSENT, name="Python parent id")
    external_id_2021: int = msgspec.field(default=ABSENT, name="external id")
    name: Number = None
    labels: Number = None


class Event(msgspec.Struct, gc=False):
    """One element of the event list; a time that is absent is NaN."""

    ph: str = ""
    cat: str | None = ""
    name: str | None = ""
    pid: int | str | None = None
    tid: int | str | None = None
    ts: Number = NAN
    dur: Number = NAN
    id: int | str | None = None
    args: Args | None = None


class _Times(msgspec.Struct, gc=False):
    ts: msgspec.Raw = msgspec.Raw(b"")
    dur: msgspec.Raw = msgspec.Raw(b"")


_decode_events = msgspec.json.Decoder(list[Event]).decode
_decode_times = msgspec.json.Decoder(list[_Times]).decode
_decode_texts = msgspec.json.Decoder(list[msgspec.Raw]).decode
_NO_ARGS = Args()


@dataclass(frozen=True, slots=True)
class LaneName:
    """A metadata event that names a lane: (kind, thread code, text)."""

    kind: str
    thread: int
    text: str


@dataclass(slots=True)
class Tables:
    """The interning tables of one decoding process; one a worker."""

    names: Interner[str | None] = field(default_factory=Interner)
    categories: Interner[str | None] = field(default_factory=lambda: Interner(2**16))
    threads: ThreadInterner = field(default_factory=ThreadInterner)


@dataclass(frozen=True, slots=True)
class ChunkColumns:
    """The columns of one chunk; times are absolute ns, sparse rows count from the chunk's start."""

    start_ns: NDArray[np.int64]
    dur_ns: NDArray[np.int64]
    name: NDArray[np.int32]
    phase: NDArray[np.uint8]
    category: NDArray[np.uint16]
    thread: NDArray[np.int32]
    external_id: NDArray[np.int64]
    correlation: NDArray[np.int64]
    ev_idx: NDArray[np.int32]
    stream: NDArray[np.int32]
    device: NDArray[np.int32]
    flags: NDArray[np.uint8]
    sparse: dict[str, tuple[NDArray[np.int32], NDArray[np.int64]]]
    lane_names: list[LaneName]

    def __len__(self) -> int:
        """Returns the number of elements."""
        return len(self.start_ns)


def decode_chunk(text: bytes, tables: Tables) -> ChunkColumns:
    """Returns the columns of a chunk (`text`: events without the list's brackets).

    Raises:
        msgspec.MsgspecError: the text does not decode as a list of typed events.
    """
    whole = b"[" + text + b"]"
    events = _decode_events(whole)
    columns = columns_of(events, tables, lambda: _times_from_text(whole))
    if not (columns.phase == Phase.OTHER).any():
        return columns
    # without a phase: an event of another kind, or `{}`, which only its text can tell
    for event, raw in zip(events, _decode_texts(whole), strict=True):
        if not event.ph and not bytes(raw)[1:-1].strip():
            event.ph = EMPTY_PHASE
    return columns_of(events, tables, lambda: _times_from_text(whole))


def columns_of(
    events: Sequence[Event],
    tables: Tables,
    exact_times: Callable[[], tuple[NDArray[np.int64], NDArray[np.int64]]],
) -> ChunkColumns:
    """Returns the columns of decoded events; `exact_times` reads (ts, dur) in ns from text."""
    n = len(events)
    name = [e.name for e in events]
    phase = np.fromiter(map(_PHASES.__getitem__, [e.ph for e in events]), np.uint8, n)
    start_ns, dur_ns = _times([e.ts for e in events], [e.dur for e in events], exact_times)
    flags = _check_times(phase, start_ns, dur_ns)
    args = [e.args or _NO_ARGS for e in events]
    external = _int_column([a.external_id for a in args], n)
    sequence = _int_column([a.sequence for a in args], n)
    lanes = [(e.pid, e.tid) for e in events]
    thread = np.fromiter(map(tables.threads.__getitem__, lanes), np.int32, n)
    cat = [e.cat for e in events]
    category = np.fromiter(map(tables.categories.__getitem__, cat), np.uint16, n)
    return ChunkColumns(
        start_ns=start_ns,
        dur_ns=dur_ns,
        name=np.fromiter(map(tables.names.__getitem__, name), np.int32, n),
        phase=phase,
        category=category,
        thread=thread,
        external_id=_with_2021_ids(external, phase, args),
        correlation=_int_column([a.correlation for a in args], n),
        ev_idx=_int_column([a.ev_idx for a in args], n).astype(np.int32),
        stream=_int_column([a.stream for a in args], n).astype(np.int32),
        device=_int_column([a.device for a in args], n).astype(np.int32),
        flags=flags,
        sparse=_sparse(events, args, phase, _Categories(tables, category), sequence),
        lane_names=_lane_names(args, phase, name, thread),
    )


def _times(
    ts: Sequence[object],
    dur: Sequence[object],
    exact_times: Callable[[], tuple[NDArray[np.int64], NDArray[np.int64]]],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    n = len(ts)
    try:
        ts_us = np.fromiter(ts, np.float64, n)
        dur_us = np.fromiter(dur, np.float64, n)
    except (TypeError, ValueError, OverflowError):
        return exact_times()
    if str in set(map(type, ts)) or str in set(map(type, dur)):
        return exact_times()
    if needs_digits(ts_us, ts) or needs_digits(dur_us, dur):
        return exact_times()
    return float_us_to_ns(ts_us), float_us_to_ns(dur_us)


def _times_from_text(whole: bytes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    times = _decode_times(whole)
    n = len(times)
    return (
        np.fromiter((text_us_to_ns(bytes(t.ts)) for t in times), np.int64, n),
        np.fromiter((text_us_to_ns(bytes(t.dur)) for t in times), np.int64, n),
    )


def times_from_objects(
    events: Sequence[Event],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Returns (ts, dur) in ns of events whose times are already decoded objects."""
    n = len(events)
    return (
        np.fromiter((object_us_to_ns(e.ts) for e in events), np.int64, n),
        np.fromiter((object_us_to_ns(e.dur) for e in events), np.int64, n),
    )


def _check_times(
    phase: NDArray[np.uint8], start_ns: NDArray[np.int64], dur_ns: NDArray[np.int64]
) -> NDArray[np.uint8]:
    """Returns the flags of each row, and sets times that cannot be used to 0 in place."""
    flags = np.zeros(len(phase), np.uint8)
    no_start = start_ns == MISSING_NS
    if no_start.any():
        timed = ~np.isin(phase, (Phase.METADATA, Phase.REFUSED, Phase.EMPTY))
        flags[no_start & timed] |= np.uint8(Flag.NO_TIMESTAMP)
        start_ns[no_start] = 0
    odd = dur_ns < 0
    if odd.any():
        complete = phase == Phase.COMPLETE
        absent = dur_ns == MISSING_NS
        unfinished = dur_ns == -1000
        flags[complete & absent] |= np.uint8(Flag.NO_DURATION)
        flags[complete & unfinished] |= np.uint8(Flag.UNFINISHED)
        flags[complete & odd & ~absent & ~unfinished] |= np.uint8(Flag.NEGATIVE_DURATION)
        dur_ns[odd] = 0
    return flags


def _int_column(values: Sequence[int], n: int) -> NDArray[np.int64]:
    try:
        return np.fromiter(values, np.int64, n)
    except OverflowError:  # an unsigned 64-bit id: keep its bits, which keeps it distinct
        bits = ((v + 2**63) % 2**64 - 2**63 for v in values)
        return np.fromiter(bits, np.int64, n)


def _with_2021_ids(
    external: NDArray[np.int64], phase: NDArray[np.uint8], args: Sequence[Args]
) -> NDArray[np.int64]:
    rows = np.flatnonzero((external == ABSENT) & (phase == Phase.COMPLETE))
    if len(rows):
        external[rows] = _int_column([args[i].external_id_2021 for i in rows.tolist()], len(rows))
    return external


@dataclass(frozen=True, slots=True)
class _Categories:
    tables: Tables
    codes: NDArray[np.uint16]

    def is_one_of(self, *names: str) -> NDArray[np.bool_]:
        codes = self.tables.categories
        wanted = np.zeros(len(codes), bool)
        wanted[[codes[n] for n in names if n in codes]] = True
        return wanted[self.codes]


def _sparse(
    events: Sequence[Event],
    args: Sequence[Args],
    phase: NDArray[np.uint8],
    category: _Categories,
    sequence: NDArray[np.int64],
) -> dict[str, tuple[NDArray[np.int32], NDArray[np.int64]]]:
    found: dict[str, tuple[NDArray[np.int32], NDArray[np.int64]]] = {}

    def put(name: str, rows: NDArray[np.intp], values: Sequence[int]) -> None:
        column = _int_column(values, len(rows))
        present = column != ABSENT
        if present.any():
            found[name] = (rows[present].astype(np.int32), column[present])

    rows = np.flatnonzero(sequence != ABSENT)
    if len(rows):
        found["sequence"] = (rows.astype(np.int32), sequence[rows])
        put("forward_thread", rows, [args[i].forward_thread for i in rows.tolist()])
    frames = category.is_one_of("python_function")
    rows = np.flatnonzero(frames)
    if len(rows):
        mine = [args[i] for i in rows.tolist()]
        put("python_id", rows, [ABSENT if a.python_id is None else a.python_id for a in mine])
        parents = [ABSENT if a.python_parent_id is None else a.python_parent_id for a in mine]
        put("python_parent_id", rows, parents)
    timed = (phase == Phase.INSTANT) | (phase == Phase.COMPLETE)
    rows = np.flatnonzero(timed & ~frames & ~category.is_one_of(*_WITHOUT_BYTES))
    if len(rows):
        mine = [args[i] for i in rows.tolist()]
        put("bytes", rows, [a.bytes if a.bytes != ABSENT else a.memory_bytes for a in mine])
    flows = (phase >= Phase.FLOW_START) & (phase <= Phase.FLOW_END)
    if flows.any():
        flows &= ~category.is_one_of(*_REPEATED_FLOWS)
        rows = np.flatnonzero(flows)
        ids = [events[i].id for i in rows.tolist()]
        put("flow_id", rows, [v if isinstance(v, int) else _flow_id(v) for v in ids])
    return found


def _flow_id(value: str | None) -> int:
    try:
        return int(value or "", 0)
    except ValueError:
        return ABSENT


def _lane_names(
    args: Sequence[Args],
    phase: NDArray[np.uint8],
    name: Sequence[object],
    thread: NDArray[np.int32],
) -> list[LaneName]:
    found = []
    for i in np.flatnonzero(phase == Phase.METADATA).tolist():
        kind = name[i]
        if kind in ("process_name", "thread_name"):
            text = args[i].name
        elif kind == "process_labels":
            text = args[i].labels
        else:
            continue
        if text is not None:
            found.append(LaneName(str(kind), int(thread[i]), str(text)))
    return found
