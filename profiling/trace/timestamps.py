"""Microseconds of the file to exact integer nanoseconds."""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Decimal
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

EXACT_US = float(2**43)
"""Below this many microseconds a float64 holds three decimals exactly enough to restore the ns."""

MISSING_NS = -(2**63)
"""Marks a time that the file does not give (or gives as something that is no number)."""

_MAX_NS = 2**62
_MAX_EXPONENT = 18  # of a time in us; far larger ones would take ages to write out


class ExactFloat(float):
    """A float that keeps the text it was read from."""

    text: str

    def __new__(cls, text: str) -> ExactFloat:
        """Returns the number that `text` states."""
        self = super().__new__(cls, text)
        self.text = text
        return self


def needs_digits(us: NDArray[np.float64], raw: Sequence[object]) -> bool:
    """Returns whether a float64 loses nanoseconds of these values, so that their text must be read.

    Whole numbers are exact up to 2^53; only large values *with* decimals are not.
    """
    large = np.abs(us) > EXACT_US
    if not large.any():
        return False
    if (np.abs(us) > 2**53).any():
        return True
    return any(isinstance(raw[i], float) for i in np.flatnonzero(large).tolist())


def float_us_to_ns(us: NDArray[np.float64]) -> NDArray[np.int64]:
    """Returns int64 ns for float64 us; exact for three decimals up to 2^43 us, NaN -> MISSING_NS.

    A plain `round(us * 1000)` is 1 ns off on a quarter of real values: the product rounds before
    the conversion. Whole and fractional part are converted apart instead.
    """
    bad = ~np.isfinite(us) | (np.abs(us) > _MAX_NS / 1000)
    if bad.any():
        us = np.where(bad, 0.0, us)
    whole = np.floor(us)
    ns = whole.astype(np.int64) * 1000 + np.rint((us - whole) * 1000).astype(np.int64)
    if bad.any():
        ns[bad] = MISSING_NS
    return ns


def text_us_to_ns(text: bytes) -> int:
    """Returns ns for the JSON text of a time in us (`12.345`, `"12.345"`), else MISSING_NS."""
    text = text.strip().strip(b'"').strip()
    whole, dot, fraction = text.partition(b".")
    try:
        if not dot and whole.isdigit():
            ns = int(whole) * 1000
        elif whole.isdigit() and fraction.isdigit() and len(fraction) <= 3:
            ns = int(whole) * 1000 + int(fraction.ljust(3, b"0"))
        else:
            exact = Decimal(text.decode("ascii"))
            if not exact.is_finite() or exact.adjusted() > _MAX_EXPONENT:
                return MISSING_NS
            ns = int((exact * 1000).to_integral_value(rounding=ROUND_HALF_EVEN))
    except (ValueError, ArithmeticError):
        return MISSING_NS
    return ns if -_MAX_NS < ns < _MAX_NS else MISSING_NS


def object_us_to_ns(value: object) -> int:
    """Returns ns for a decoded JSON value (int, float or text), else MISSING_NS."""
    if isinstance(value, bool):
        return MISSING_NS
    if isinstance(value, int):
        ns = value * 1000
        return ns if -_MAX_NS < ns < _MAX_NS else MISSING_NS
    if isinstance(value, ExactFloat):
        return text_us_to_ns(value.text.encode())
    if isinstance(value, float):
        return int(float_us_to_ns(np.array([value]))[0])
    if isinstance(value, str):
        return text_us_to_ns(value.encode("utf-8", "replace"))
    return MISSING_NS
