"""Reads a trace file into columns: one pass, bounded memory, never the whole file at once."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from ptx.profiling.errors import TraceFormatError
from ptx.profiling.trace.args import ArgsReader
from ptx.profiling.trace.builder import TableBuilder
from ptx.profiling.trace.columns import Flag, Phase
from ptx.profiling.trace.decode import Tables, columns_of, decode_chunk, times_from_objects
from ptx.profiling.trace.foreign import Foreign, recognise
from ptx.profiling.trace.header import Around, Header, parse_around
from ptx.profiling.trace.problems import FIRST_POSITIONS, Problems
from ptx.profiling.trace.salvage import salvage
from ptx.profiling.trace.source import open_source
from ptx.profiling.trace.split import (
    Head,
    Layout,
    NoEventsError,
    Piece,
    Splitter,
    find_end,
    split_head,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ptx.profiling.trace.columns import EventTable
    from ptx.profiling.trace.decode import ChunkColumns
    from ptx.profiling.trace.source import Source

_FLAG_CODES = {
    Flag.NO_TIMESTAMP: "no-timestamp",
    Flag.NO_DURATION: "no-duration",
    Flag.UNFINISHED: "unfinished",
    Flag.NEGATIVE_DURATION: "negative-duration",
}
_CUT_CODES = ("truncated", "truncated-archive")
_BYTES_PER_EVENT = 120  # the smallest seen on average, so that the table rarely grows
_TAIL_LIMIT_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class LoadProgress:
    """How far reading has come: bytes of the file on disk, and events so far."""

    done_bytes: int
    total_bytes: int
    events: int


@dataclass(frozen=True, slots=True)
class Tail:
    """What follows the event list's bracket, at `offset` of the file's text."""

    offset: int
    text: bytes


class LoadCancelled(Exception):
    """Raised out of `read_trace` by an `on_progress` that wants it to stop."""


@dataclass(frozen=True, slots=True)
class TraceFile:
    """A trace as columns, with what its header says and what was wrong with it.

    `t0_ns` is the absolute time of the columns' origin, `span_ns` the time from there to the last
    end of any event. `events` counts the elements that are objects with content.
    """

    path: Path
    table: EventTable
    header: Header
    problems: Problems
    args: ArgsReader
    t0_ns: int
    span_ns: int
    events: int


def read_trace(
    path: str | Path, on_progress: Callable[[LoadProgress], None] | None = None
) -> TraceFile:
    """Returns the columns of a trace file, plain, gzip or zstd.

    Args:
        path: the file.
        on_progress: called about once per MB of text; may raise `LoadCancelled` to stop.

    Raises:
        TraceFormatError: the file cannot be read or holds no event list.
    """
    source = open_source(Path(path))
    try:
        with _collector_off():
            return _Reader(source, on_progress).run()
    except BaseException:
        source.close()
        raise


@contextmanager
def _collector_off() -> Iterator[None]:
    """Keeps the cycle collector from walking fresh records over and over (1.8x to 3.4x slower)."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class _Reader:
    def __init__(self, source: Source, on_progress: Callable[[LoadProgress], None] | None) -> None:
        self._source = source
        self._on_progress = on_progress
        self._tables = Tables()
        self._problems = Problems()
        self._builder = TableBuilder(source.file_bytes // _BYTES_PER_EVENT)
        self._layout = Layout(None)
        self._is_list = False
        self._args = ArgsReader(source)

    def run(self) -> TraceFile:
        blocks = self._source.blocks()
        try:
            head, rest = split_head(blocks)
        except NoEventsError as error:
            found = recognise(error.head) or Foreign(str(error), 'expected "traceEvents": [...]')
            raise TraceFormatError(
                self._source.path, f"not a trace: {found.what}", hint=found.hint
            ) from error
        self._is_list = head.is_list
        self._layout = Layout.of(rest)
        self._args.layout = self._layout
        tail = self._events(blocks, rest, head.events_offset)
        if self._source.truncated_archive:
            self._problems.add("truncated-archive")
        header = self._around(head, tail)
        if self._source.changed():
            self._problems.add("changed")
        return self._finish(header)

    def _around(self, head: Head, tail: Tail | None) -> Header:
        """Returns what stands outside the event list; notes what of it is cut off or damaged."""
        if head.is_list:
            rest = tail.text if tail is not None else b""
            lost = [(tail.offset, len(rest))] if tail is not None and rest.strip() else []
            around = Around(sound=not lost, lost=lost)
            if tail is None and not any(map(self._problems.get, _CUT_CODES)):
                self._problems.add("open-list")
        else:
            text, offset = (None, 0) if tail is None else (tail.text, tail.offset)
            around = parse_around(head.text, text, offset)
            if (tail is None or around.cut) and self._problems.get("truncated") is None:
                self._problems.add("truncated", positions=[self._builder.count])
        self._problems.add("bad-header", 0 if around.sound else 1)
        for place in around.lost:
            code = "truncated" if around.cut and place is around.lost[-1] else "bad-header"
            self._problems.drop(code, *place)
        return Header(around.members)

    def _events(self, blocks: Iterator[bytes], rest: bytes, offset: int) -> Tail | None:
        """Reads the event list; returns what follows its bracket, None if the file ends before."""
        splitter = Splitter(self._layout, offset)
        block: bytes | None = rest
        while block is not None:
            piece = splitter.feed(block)
            if piece is not None:
                end = self._take(piece, splitter)
                if end is not None:
                    text = piece.text[end - piece.offset :] + splitter.rest()
                    return Tail(end, self._read_tail(text, blocks))
                self._report()
            block = next(blocks, None)
        piece = splitter.finish()
        end = self._take(piece, splitter)
        return None if end is None else Tail(end, piece.text[end - piece.offset :])

    def _read_tail(self, text: bytes, blocks: Iterator[bytes]) -> bytes:
        parts = [text]
        size = len(text)
        for block in blocks:
            size += len(block)
            if size > _TAIL_LIMIT_BYTES:
                break
            parts.append(block)
        return b"".join(parts)

    def _take(self, piece: Piece, splitter: Splitter) -> int | None:
        """Adds the events of a piece; returns the offset behind the list's end if it was met."""
        text = piece.text
        if not piece.last:
            if self._decode(text, piece.offset):
                return None
        else:
            for body_end, list_end in find_end(text, self._layout):
                if self._decode(text[:body_end], piece.offset):
                    return piece.offset + list_end
        found = salvage(text, self._layout, last=piece.last)
        first = self._builder.count
        for code, indices in found.repairs.items():
            self._problems.add(code, len(indices), [first + index for index in indices])
        for code, places in (("refused", found.refused), ("not-an-event", found.foreign)):
            for index, offset, length in places:
                self._problems.add(code, positions=[first + index])
                self._problems.drop(code, piece.offset + offset, length)
        if found.events:
            events = found.events
            columns = columns_of(events, self._tables, lambda: times_from_objects(events))
            self._add_chunk(piece.offset, found.used, columns)
        if found.ended:
            return piece.offset + found.used
        if found.used < len(text):
            if piece.last:
                self._problems.add("truncated", positions=[self._builder.count])
                self._problems.drop("truncated", piece.offset + found.used, len(text) - found.used)
            else:
                splitter.give_back(piece, found.used)
        return None

    def _decode(self, text: bytes, offset: int) -> bool:
        try:
            columns = decode_chunk(text, self._tables)
        except (msgspec.MsgspecError, RecursionError):
            return False
        self._add_chunk(offset, len(text), columns)
        return True

    def _add_chunk(self, offset: int, length: int, columns: ChunkColumns) -> None:
        self._args.add_chunk(offset, length, self._builder.count)
        self._builder.append(columns)

    def _report(self) -> None:
        if self._on_progress is not None:
            source = self._source
            self._on_progress(
                LoadProgress(source.consumed_bytes, source.file_bytes, self._builder.count)
            )

    def _finish(self, header: Header) -> TraceFile:
        built = self._builder.finish(self._tables)
        table = built.table
        damaged = any(self._problems.get(code) for code in ("truncated", "refused"))
        if (
            self._is_list
            and not damaged
            and len(table)
            and np.isin(table.phase, (Phase.OTHER, Phase.EMPTY)).all()
        ):
            raise TraceFormatError(
                self._source.path,
                "not a trace: a JSON list of something else than events",
                hint='every event has a "ph"',
            )
        restored = built.restored_paths
        self._problems.add("backslash", len(restored), restored[:FIRST_POSITIONS].tolist())
        for code, lone in (
            ("unmatched-begin", built.unmatched.begins),
            ("unmatched-end", built.unmatched.ends),
        ):
            self._problems.add(code, len(lone), lone[:FIRST_POSITIONS].tolist())
        for flag, code in _FLAG_CODES.items():
            rows = np.flatnonzero(table.flags & np.uint8(flag))
            self._problems.add(code, len(rows), rows[:FIRST_POSITIONS].tolist())
        self._report()
        return TraceFile(
            path=self._source.path,
            table=table,
            header=header,
            problems=self._problems,
            args=self._args,
            t0_ns=built.t0_ns,
            span_ns=built.end_ns - built.t0_ns,
            events=len(table) - built.empty_elements,
        )
