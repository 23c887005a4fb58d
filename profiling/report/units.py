"""Numbers as short text with units, always three significant digits."""

from __future__ import annotations

_TIMES = ((1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us"))
_FLOPS = ((10**15, "PFLOP"), (10**12, "TFLOP"), (10**9, "GFLOP"), (10**6, "MFLOP"))
_BYTES = ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB"))


def format_ns(ns: int | None) -> str:
    """Returns a time such as `1.45ms`, `328us`, `-3.9us`, `12ns`; `?` for None."""
    if ns is None:
        return "?"
    return _scaled(ns, _TIMES, "ns")


def format_bytes(size: int | None) -> str:
    """Returns a size such as `12.6MB`, `512B`; `?` for None."""
    if size is None:
        return "?"
    return _scaled(size, _BYTES, "B")


def format_flops(flops: int | None) -> str:
    """Returns a number of operations such as `1.20TFLOP`, `512FLOP`; `?` for None."""
    if flops is None:
        return "?"
    return _scaled(flops, _FLOPS, "FLOP")


def format_count(count: int) -> str:
    """Returns a whole number with thousands set apart."""
    return f"{count:,}"


def format_number(value: float) -> str:
    """Returns a number such as `1191`, `38.7`, `4.25`."""
    digits = 2 if abs(value) < 9.995 else 1 if abs(value) < 99.95 else 0
    return f"{value:.{digits}f}"


def format_share(part: int, whole: int) -> str:
    """Returns a percentage such as `15%`, `0.4%`; `-` where the whole is nothing."""
    if whole <= 0:
        return "-"
    percent = 100 * part / whole
    if percent and abs(percent) < 0.95:
        return f"{percent:.1f}%"
    return f"{percent:.0f}%"


def _scaled(value: int, units: tuple[tuple[int, str], ...], smallest: str) -> str:
    size = abs(value)
    for scale, unit in units:
        # 999.6 us would print as "1000us": it belongs to the next unit
        if size >= scale * 0.9995:
            return f"{format_number(value / scale)}{unit}"
    return f"{value}{smallest}"
