"""Times of the file to exact ns, in each form that a file may state them."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rows import codes, read_bytes
from tests.traces import LAYOUTS, Layout, render_texts

from ptx.profiling.trace.timestamps import MISSING_NS, float_us_to_ns, text_us_to_ns

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def _text(ns: int) -> str:
    return f"{ns // 1000}.{ns % 1000:03d}"


def _event(ts: str, dur: str, name: str = "a") -> str:
    return f'{{"ph":"X","cat":"cpu_op","name":"{name}","pid":1,"tid":1,"ts":{ts},"dur":{dur}}}'


_RELATIVE = st.integers(0, 2**43 * 1000)
_EPOCH = st.integers(1_500_000_000 * 10**9, 2_000_000_000 * 10**9)
_FORMS: dict[str, Callable[[int], str]] = {
    "decimals": _text,
    "quoted": lambda ns: f'"{_text(ns)}"',
    "exponent": lambda ns: f"{Decimal(ns) / 1000:E}",
    "shortest": lambda ns: _text(ns).rstrip("0").rstrip("."),
}


@settings(max_examples=150)
@given(
    st.lists(st.tuples(st.one_of(_RELATIVE, _EPOCH), st.integers(0, 10**12)), min_size=1),
    st.sampled_from(sorted(_FORMS)),
    st.sampled_from(["compact", "kineto", "list"]),
)
def test_every_stated_ns_is_kept(
    scratch: Path, times: list[tuple[int, int]], form: str, layout: Layout
) -> None:
    write = _FORMS[form]
    texts = [_event(write(start), write(dur)) for start, dur in times]
    loaded = read_bytes(scratch, render_texts(texts, layout))
    assert loaded.t0_ns == min(start for start, _ in times)
    assert (loaded.table.start_ns + loaded.t0_ns).tolist() == [start for start, _ in times]
    assert loaded.table.dur_ns.tolist() == [dur for _, dur in times]
    assert loaded.span_ns == max(s + d for s, d in times) - loaded.t0_ns
    assert codes(loaded) == {}


@settings(max_examples=60)
@given(st.lists(st.integers(10**14, 2**52), min_size=1, max_size=5))
def test_whole_epoch_us_are_exact(scratch: Path, times: list[int]) -> None:
    loaded = read_bytes(scratch, render_texts([_event(str(t), "3") for t in times], "compact"))
    assert (loaded.table.start_ns + loaded.t0_ns).tolist() == [t * 1000 for t in times]


def test_forms_may_differ_from_event_to_event(scratch: Path) -> None:
    stamp = 1712195495519689_047
    texts = [_event(_text(stamp), "0.063"), _event(f'"{_text(stamp + 63)}"', '"0.09"')]
    texts.append(_event(str((stamp + 953) // 1000), "1"))
    loaded = read_bytes(scratch, render_texts(texts, "kineto"))
    assert (loaded.table.start_ns + loaded.t0_ns).tolist() == [stamp, stamp + 63, stamp + 953]
    assert loaded.table.dur_ns.tolist() == [63, 90, 1000]


@settings(max_examples=200)
@given(st.integers(-(2**43) * 1000, 2**43 * 1000))
def test_float_and_text_agree_on_any_ns(ns: int) -> None:
    us = float(Decimal(ns) / 1000)
    assert float_us_to_ns(np.array([us])).tolist() == [ns]
    assert text_us_to_ns(str(Decimal(ns) / 1000).encode()) == ns


@settings(max_examples=200)
@given(st.binary(max_size=12))
def test_any_text_is_a_time_or_missing(text: bytes) -> None:
    assert -(2**63) <= text_us_to_ns(text) < 2**63


@pytest.mark.parametrize(
    "text", [b"", b'""', b"null", b"NaN", b"Infinity", b"1e400", b"abc", b"9" * 30, b"[1]"]
)
def test_what_is_no_time_is_missing(text: bytes) -> None:
    assert text_us_to_ns(text) == MISSING_NS


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("word", ["null", '"soon"', '""'])
def test_event_without_usable_time_is_flagged_and_moves_nothing(
    scratch: Path, layout: Layout, word: str
) -> None:
    texts = [_event("100", "5"), _event(word, "7", "b"), _event("120", word, "c")]
    loaded = read_bytes(scratch, render_texts(texts, layout))
    assert codes(loaded)["no-timestamp"] == 1
    assert codes(loaded)["no-duration"] == 1
    assert (loaded.t0_ns, loaded.span_ns) == (100_000, 20_000)
    assert loaded.table.dur_ns.tolist()[2] == 0


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity"])
@pytest.mark.parametrize("layout", ["kineto", "compact", "lines", "list", "pretty"])
def test_numbers_that_are_none_count_as_absent(scratch: Path, layout: Layout, word: str) -> None:
    texts = [_event("100", "5"), _event(word, "7", "b"), _event("120", word, "c")]
    loaded = read_bytes(scratch, render_texts(texts, layout))
    assert codes(loaded) == {"not-a-number": 2, "no-timestamp": 1, "no-duration": 1}
    assert [loaded.table.name_of(i) for i in range(3)] == ["a", "b", "c"]
    assert (loaded.t0_ns, loaded.span_ns) == (100_000, 20_000)


def test_metadata_and_lost_device_events_do_not_set_the_origin(scratch: Path) -> None:
    texts = [
        '{"ph":"M","name":"process_name","pid":1,"tid":1,"ts":0,"args":{"name":"python"}}',
        '{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":0,"dur":0,"args":{}}',
        _event("50", "3"),
    ]
    loaded = read_bytes(scratch, render_texts(texts, "kineto"))
    assert (loaded.t0_ns, loaded.span_ns) == (50_000, 3_000)
    assert codes(loaded) == {"no-timestamp": 1}
