"""What the hook is asked to do, as it travels from `ptx capture` to the user's process."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

VARIABLE = "PTX_CAPTURE"
"""The environment variable that holds the settings; without it the hook stays silent."""


@dataclass(frozen=True)
class Plan:
    """One window: how many steps to record after how many steps of warm-up, and what.

    Args:
        ending: what the names of its files have before `.json`; "" for the main trace.
        warmup: steps in which the profiler is on and its events are thrown away.
        steps: steps to record.
        deep: also write an Execution Trace, which knows the storage of every tensor.
    """

    ending: str = ""
    warmup: int = 1
    steps: int = 3
    shapes: bool = True
    stacks: bool = True
    memory: bool = False
    modules: bool = True
    deep: bool = False


@dataclass(frozen=True)
class Settings:
    """Everything that the hook needs to know.

    Args:
        reports: the private folder in which each process leaves its report.
        target: the path of the traces without `.rankN` and ending.
        skip: whole steps to let pass before the first window.
        plans: the windows, one after the other.
        step_function: `module:qualname` of the function whose calls are the steps, or "".
        slice_s: seconds of a slice of time that serves as a step; 0 for real steps.
        ranks: the ranks to record; None for all.
        follow: whether the processes that the script starts are hooked too.
        compile: whether to compile the root module of a script that compiles nothing.
        seed: the seed to give to torch as soon as it is imported, or None.
    """

    reports: str
    target: str
    skip: int
    plans: tuple[Plan, ...]
    step_function: str = ""
    slice_s: float = 0.0
    ranks: tuple[int, ...] | None = None
    follow: bool = False
    compile: bool = False
    seed: int | None = None

    def to_text(self) -> str:
        """Returns the settings as the value of the environment variable."""
        return json.dumps(asdict(self))


def from_text(text: str) -> Settings:
    """Returns the settings of an environment variable that `Settings.to_text` made.

    Raises:
        ValueError: the text is not JSON.
        TypeError: it has other fields.
    """
    fields = json.loads(text)
    fields["plans"] = tuple(Plan(**plan) for plan in fields["plans"])
    if fields["ranks"] is not None:
        fields["ranks"] = tuple(fields["ranks"])
    return Settings(**fields)
