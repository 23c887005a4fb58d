"""Measures a GPU's memory bandwidth and matrix rates, in the Python that has torch."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import orjson

from ptx.profiling.analysis.ceilings import Ceilings
from ptx.profiling.errors import PtxError

_PROGRAM = Path(__file__).with_name("_measure.py")
_TIMEOUT_S = 300


def measure_ceilings(python: str = sys.executable) -> Ceilings:
    """Returns the ceilings of the first GPU; takes some seconds of its time.

    Args:
        python: the interpreter of the scripts that are profiled; it needs torch, not ptx.

    Raises:
        PtxError: the interpreter does not run, has no torch, or sees no GPU.
    """
    try:
        done = subprocess.run(
            [python, str(_PROGRAM)], capture_output=True, timeout=_TIMEOUT_S, check=False
        )
    except OSError as error:
        reason = error.strerror or str(error)
        raise PtxError("cannot run Python", where=python, hint=reason) from error
    except subprocess.TimeoutExpired as error:
        raise PtxError(f"no answer within {_TIMEOUT_S} s", where=python) from error
    answer = _last_object(done.stdout)
    if "error" in answer:
        hint = {
            "no torch": "name the script's own Python: ptx calibrate --python PATH",
            "no GPU": "calibrate on the machine whose GPU made the trace",
        }
        what = str(answer["error"])
        raise PtxError(what, where=python, hint=hint.get(what, ""))
    memory, rates = answer.get("memory_gbps"), answer.get("tflops")
    if not isinstance(memory, float) or not isinstance(rates, dict):
        last = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise PtxError("the measurement failed", where=python, hint=last)
    return Ceilings(str(answer.get("device")), memory, rates, None, "measured")


def _last_object(output: bytes) -> dict[str, object]:
    """Returns the JSON object of the last line; a site's own greeting may stand before it."""
    try:
        found = orjson.loads(output.strip().rpartition(b"\n")[2])
    except orjson.JSONDecodeError:
        return {}
    return found if isinstance(found, dict) else {}
