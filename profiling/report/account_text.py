"""Where the time went, as text: a device's buckets over the trace and in a step."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ptx.profiling.analysis.accounting.buckets import BUCKETS
from ptx.profiling.report.table import Column, table
from ptx.profiling.report.units import format_ns, format_share

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ptx.profiling.analysis.accounting.buckets import Account
    from ptx.profiling.structure.steps import Steps

BUCKET_WORDS = {
    "compute": "compute",
    "communication_exposed": "communication, nothing computed meanwhile",
    "memory_copy": "memory copies, nothing else meanwhile",
    "idle_data": "idle, host in the data loader",
    "idle_sync": "idle, host waiting for the device",
    "idle_alloc": "idle, host allocating device memory",
    "idle_host": "idle, host in ops, launches and Python",
    "profiler": "idle, profiler starting, stopping or writing",
    "idle_other": "idle, host in other calls or not recorded",
}
"""What each bucket of `BUCKETS` is, in words."""


def account_table(account: Account, steps: Steps) -> Iterator[str]:
    """Yields the lines of "where the time went": one a bucket that is not empty."""
    whole, devices = account.whole, len(account.devices)
    has_steps = steps.source != "trace"
    typical = np.median([account.of_step(k).ns for k in range(len(steps))], axis=0)
    yield from table(
        (
            Column("time"),
            Column("%"),
            *((Column("a step"),) if has_steps else ()),
            Column(
                "where the time went"
                + (f", {devices} devices added up" if devices > 1 else "")
                + (" (a step: the median)" if has_steps else ""),
                left=True,
            ),
        ),
        (
            (
                format_ns(ns),
                format_share(ns, whole.span_ns),
                *((format_ns(round(float(of_step))),) if has_steps else ()),
                BUCKET_WORDS[name],
            )
            for name, ns, of_step in zip(BUCKETS, whole.ns, typical, strict=True)
            if ns
        ),
    )
    if whole.communication_overlapped_ns:
        yield f"communication under compute: {format_ns(whole.communication_overlapped_ns)}"
