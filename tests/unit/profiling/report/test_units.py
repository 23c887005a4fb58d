from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptx.profiling.report.units import (
    format_bytes,
    format_flops,
    format_ns,
    format_number,
    format_share,
)

SCALES = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "0ns"),
        (999, "999ns"),
        (1_000, "1.00us"),
        (1_234, "1.23us"),
        (88_100, "88.1us"),
        (328_415, "328us"),
        (999_499, "999us"),
        (999_600, "1.00ms"),
        (11_300_000, "11.3ms"),
        (2_506_322_738, "2.51s"),
        (-3_900, "-3.90us"),
        (None, "?"),
    ],
)
def test_times_have_three_digits_and_a_unit(ns: int | None, text: str) -> None:
    assert format_ns(ns) == text


@given(st.integers(-(10**12), 10**12))
def test_a_time_is_right_to_half_of_its_last_digit(ns: int) -> None:
    match = re.fullmatch(r"(-?[\d.]+)(ns|us|ms|s)", format_ns(ns))
    assert match is not None
    digits = len(match[1].partition(".")[2])
    step = SCALES[match[2]] / 10**digits
    assert abs(float(match[1]) * SCALES[match[2]] - ns) <= step / 2 * 1.001


def test_sizes_have_decimal_units() -> None:
    assert format_bytes(12_600_000) == "12.6MB"
    assert format_bytes(512) == "512B"


@pytest.mark.parametrize(
    ("part", "whole", "text"),
    [(15, 100, "15%"), (4, 1000, "0.4%"), (0, 10, "0%"), (1, 0, "-"), (99_996, 100_000, "100%")],
)
def test_shares(part: int, whole: int, text: str) -> None:
    assert format_share(part, whole) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1191.3, "1191"),
        (99.96, "100"),
        (38.66, "38.7"),
        (9.996, "10.0"),
        (4.249, "4.25"),
        (0, "0.00"),
    ],
)
def test_plain_numbers_have_three_digits_or_all_that_stand_before_the_point(
    value: float, text: str
) -> None:
    assert format_number(value) == text


@pytest.mark.parametrize(
    ("flops", "text"),
    [(None, "?"), (512, "512FLOP"), (2_400_000_000_000, "2.40TFLOP"), (10**18, "1000PFLOP")],
)
def test_operations_count_in_powers_of_a_thousand(flops: int | None, text: str) -> None:
    assert format_flops(flops) == text
