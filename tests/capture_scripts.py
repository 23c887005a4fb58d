"""Scripts that `ptx capture` runs in tests, and a way to run them with and without it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

TIMEOUT_S = 120

TRAIN = """
import sys
import torch

def make():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.Linear(16, 4))
    return model, torch.optim.SGD(model.parameters(), lr=0.1)

def train(steps=12, at_step=lambda step: None):
    model, optimizer = make()
    for step in range(steps):
        loss = model(torch.ones(4, 8)).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        at_step(step)
    return loss.item()
"""
"""A training loop to build scripts on: `train(steps, at_step)`."""

SHOWN = """
import os
print(__name__, __file__ is not None, sys.argv[1:], sorted(set(sys.path)))
print(sorted(k for k in os.environ if "PTX" in k), os.environ.get("PYTHONPATH"))
print("trained to", round(train(), 6))
print("to stderr", file=sys.stderr)
"""
"""The end of a script that shows what it can see of its surroundings."""


@dataclass(frozen=True, slots=True)
class Ran:
    """How a program ended and what it printed; `said` has the lines that ptx added to stderr."""

    code: int
    out: str
    err: str
    said: str


def run(
    *argv: str | Path, cwd: Path, env: Mapping[str, str] | None = None, python: str = sys.executable
) -> Ran:
    """Runs a program to its end."""
    done = subprocess.run(
        [str(word) for word in argv],
        cwd=cwd,
        env=environment(python, env),
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    return ran(done.returncode, done.stdout, done.stderr)


def capture(*words: str | Path, cwd: Path, env: Mapping[str, str] | None = None) -> Ran:
    """Runs `ptx capture` with these words."""
    return run(sys.executable, "-m", "ptx", "capture", *words, cwd=cwd, env=env)


def environment(
    python: str = sys.executable, more: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Returns an environment in which `python` is that interpreter and ptx has said nothing."""
    folder = os.path.dirname(python)  # noqa: PTH120 (a link must stay one)
    found = {k: v for k, v in os.environ.items() if not k.startswith("PTX_") and k != "PYTHONPATH"}
    path = os.pathsep.join([folder, os.environ.get("PATH", "")])
    return {**found, "PATH": path, "OMP_NUM_THREADS": "1", **(more or {})}


def ran(code: int, out: str, err: str) -> Ran:
    """Returns what a program printed, without kineto's own lines."""
    lines = [line for line in err.splitlines(keepends=True) if not line.startswith("USDT:")]
    said = "".join(line for line in lines if line.startswith("ptx: "))
    rest = "".join(line for line in lines if not line.startswith("ptx: "))
    return Ran(code, out, re.sub(r"0x[0-9a-f]+|\d{4}-\d\d-\d\dT\S+", "?", rest), said)
