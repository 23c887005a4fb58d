"""The guided minute: what to read on the screen, and which key goes on."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Stop:
    """A stop of the tour: a text of at most two lines at 80 columns, and the key that goes on."""

    text: str
    key: str
    does: str


STOPS = (
    Stop(
        "Line 2 is the whole step: GPU busy + idle; the bar says what kinds of kernels ran. "
        "A row has its kernels' time, and the idle time meanwhile.",
        "c",
        "down the costliest path",
    ),
    Stop(
        "This addmm is one cuBLAS kernel: bias and all (+bias), one launch. The t above it is a "
        "view: it has no kernel.",
        "T",
        "what tensors it got",
    ),
    Stop(
        "in2 is that view: strides (1,768), no byte moved. cuBLAS reads the weight transposed, "
        "hence tn in the kernel's name.",
        "D",
        "what the name says",
    ),
    Stop(
        "Who made the kernel, its types, tile, stages, layout, epilogue: what the name states, "
        "nothing else.",
        "H",
        "why the GPU waits",
    ),
    Stop(
        "What the host did while the GPU had nothing to do: dispatching ops, Python, launch "
        "calls, waiting in a sync.",
        "3",
        "the costliest kernels; 1 comes back here",
    ),
    Stop(
        "/ finds a name, & filters, < > change the step, x lists what a row like 6x stands for, "
        "8 says what the trace lacks. Your own: ptx trace.json",
        "question_mark",
        "all keys; q ends the tour",
    ),
)
