"""What a finding is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Finding:
    """A claim about a trace.

    Attributes:
        code: what kind it is; stable.
        title: one line with the figures it rests on.
        cost_ns_per_step: device time that it explains, a step. All findings of a trace together
            never explain more than the steps last.
        nodes: the evidence as nodes of the op tree, costliest first.
        advice: what would fix it.
        confidence: 1.0 an exact link, 0.9 by name or shape, 0.6 by order; less is not claimed.
        not_checked: what the trace could not tell.
    """

    code: str
    title: str
    cost_ns_per_step: int
    nodes: NDArray[np.int64]
    advice: str
    confidence: float
    not_checked: str
