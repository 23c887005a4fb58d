"""Measures one load in a process of its own: CPU time and private memory."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

READERS = {
    "ptx": "from ptx.profiling.trace.reader import read_trace\nwork = lambda: read_trace(path)",
    "ptx_structure": (
        "from ptx.profiling.trace.reader import read_trace\n"
        "from ptx.profiling.structure.structure import build_structure\n"
        "def work():\n"
        "    structure = build_structure(read_trace(path))\n"
        "    structure.sums\n"
        "    return structure"
    ),
    "orjson_gc_off": (
        "import gc, orjson\ndef work():\n    gc.disable()\n    return orjson.loads(text())"
    ),
    "orjson": "import orjson\nwork = lambda: orjson.loads(text())",
    "json": "import json\nwork = lambda: json.loads(text())",
}
_CHILD = """
import gzip, json, sys, time
sys.path.insert(0, {root!r})
from tests.benchmarks._measure import PeakAnonymous, anonymous_bytes
path = {path!r}
def text():
    with (gzip.open if path.endswith("gz") else open)(path, "rb") as file:
        return file.read()
{reader}
before = anonymous_bytes()
if {memory}:
    with PeakAnonymous() as peak:
        result = work()
    print(json.dumps([peak.bytes - before, anonymous_bytes() - before]))
else:
    started = time.process_time()
    result = work()
    print(json.dumps(time.process_time() - started))
"""


@dataclass(frozen=True)
class Load:
    """One load: CPU seconds, and growth of private memory at its peak and at rest."""

    cpu_s: float
    peak_bytes: int
    rest_bytes: int


def anonymous_bytes() -> int:
    """Returns the process's private memory (RssAnon), which no mapped file blurs."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("no RssAnon: this needs Linux")


class PeakAnonymous:
    """Samples the process's private memory every 5 ms from a thread of its own."""

    def __init__(self) -> None:
        self.bytes = anonymous_bytes()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)

    def __enter__(self) -> PeakAnonymous:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self.bytes = max(self.bytes, anonymous_bytes())

    def _sample(self) -> None:
        while not self._stop.wait(0.005):
            self.bytes = max(self.bytes, anonymous_bytes())


def load(reader: str, path: Path) -> Load:
    """Returns what loading a file costs, in two fresh processes: sampling memory takes time."""
    peak_bytes, rest_bytes = _child(reader, path, memory=True)
    return Load(_child(reader, path, memory=False), peak_bytes, rest_bytes)


def _child(reader: str, path: Path, *, memory: bool) -> Any:  # noqa: ANN401  (JSON)
    root = str(Path(__file__).parents[2])
    code = _CHILD.format(root=root, path=str(path), reader=READERS[reader], memory=memory)
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)
