"""Device activities: what they count, who launched them, how long they waited."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ptx.profiling.trace.columns import Flag

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ptx.profiling.trace.columns import EventTable


@dataclass(frozen=True, slots=True)
class Activities:
    """Kernels, memcpys and memsets as arrays of equal length, ascending by event id.

    `counted_ns` is the duration that every sum uses; it is less than the recorded one where
    `overruns` is set, and 0 for what has no time. `launch`, `op` and `step` are -1 where there is
    none; `op` is the owner op. `queue_delay_ns` (start less the launch's end) means something only
    where launch and time are known; a negative one shows that the clocks of host and device differ.
    """

    event: NDArray[np.int32]
    counted_ns: NDArray[np.int64]
    overruns: NDArray[np.bool_]
    launch: NDArray[np.int32]
    op: NDArray[np.int32]
    step: NDArray[np.int32]
    queue_delay_ns: NDArray[np.int64]

    def __len__(self) -> int:
        """Returns the number of activities."""
        return len(self.event)

    def index_of(self, event: int) -> int:
        """Returns the position of an activity's event id; raises KeyError if it is none."""
        at = int(np.searchsorted(self.event, np.int32(event)))
        if at == len(self.event) or self.event[at] != event:
            raise KeyError(event)
        return at


def counted_durations(
    table: EventTable, activities: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Returns (counted ns, overruns) of each activity.

    Work on one stream is serial. An activity that contains the whole next activity of its stream
    has a wrong duration: it counts up to that start. Overlap in part is real (programmatic
    dependent launch) and stays. What has no time counts nothing and comes behind no other.
    """
    start = table.start_ns[activities]
    dur = table.dur_ns[activities]
    counted = dur.copy()
    overruns = np.zeros(len(activities), bool)
    timed = (table.flags[activities] & np.uint8(Flag.NO_TIMESTAMP)) == 0
    counted[~timed] = 0
    if len(activities) < 2:
        return counted, overruns
    device, stream = table.device[activities], table.stream[activities]
    order = np.lexsort((activities, -dur, start, stream, device))
    order = order[timed[order]]
    this, following = order[:-1], order[1:]
    end = start + dur
    bad = (
        (device[this] == device[following])
        & (stream[this] == stream[following])
        & (stream[this] >= 0)
        & (start[following] < end[this])
        & (end[following] <= end[this])
    )
    counted[this[bad]] = start[following[bad]] - start[this[bad]]
    overruns[this[bad]] = True
    return counted, overruns
