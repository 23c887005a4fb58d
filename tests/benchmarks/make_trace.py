"""Writes a trace of any size in Kineto's layout: the same bytes for the same arguments.

One rank of a transformer job: per layer a few aten ops with their launches, kernels and arrows,
`ProfilerStep` around a step. Sizes of events and their mix follow what the profiler writes on a
GPU (op 410 bytes, launch 230, kernel 660, arrow 120).
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_HEAD = """{
  "schemaVersion": 1,
  "deviceProperties": [
    {
      "id": 0, "name": "NVIDIA H200", "computeMajor": 9, "computeMinor": 0, "numSms": 132
    }
  ],
  "record_shapes": 1,
  "displayTimeUnit": "ms",
  "baseTimeNanoseconds": 1790857026000000000,
  "traceEvents": [
"""
_OP = """  {{
    "ph": "X", "cat": "cpu_op", "name": "{name}", "pid": 521, "tid": 521,
    "ts": {ts:.3f}, "dur": {dur:.3f},
    "args": {{
      "External id": {id},"Record function id": 0, "Concrete Inputs": ["", "", "", "1", "1"], \
"Input type": ["c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "Scalar", "Scalar"], \
"Input Strides": [[1], [768, 1], [1, 768], [], []], \
"Input Dims": [[3072], [8192, 768], [768, 3072], [], []], "Ev Idx": {id}
    }}
  }}"""
_LAUNCH = """  {{
    "ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 521, "tid": 521,
    "ts": {ts:.3f}, "dur": 4.321,
    "args": {{
      "External id": {id}, "cbid": 211, "correlation": {correlation}
    }}
  }}"""
_KERNEL = """  {{
    "ph": "X", "cat": "kernel", "name": "{name}", "pid": 0, "tid": 7,
    "ts": {ts:.3f}, "dur": {dur:.3f},
    "args": {{
      "External id": {id}, "queued": 0, "device": 0, "context": 1, "stream": 7, \
"correlation": {correlation}, "registers per thread": 32, "shared memory": 0, \
"blocks per SM": 15.515152, "warps per SM": 62.060608, "grid": [2048, 1, 1], \
"block": [128, 1, 1], "est. achieved occupancy %": 97
    }}
  }}"""
_ARROW = """  {{
    "ph": "{ph}", "id": {correlation}, "pid": {pid}, "tid": {tid}, "ts": {ts:.3f},
    "cat": "ac2g", "name": "ac2g"
  }}"""
_STEP = """  {{
    "ph": "X", "cat": "user_annotation", "name": "ProfilerStep#{step}", "pid": 521, "tid": 521,
    "ts": {ts:.3f}, "dur": {dur:.3f},
    "args": {{
      "External id": {id},"Record function id": 0, "Ev Idx": {id}
    }}
  }}"""
_NAMES = ("aten::linear", "aten::addmm", "aten::mul", "aten::gelu", "aten::add", "aten::view")
_OPS_PER_STEP = 2000
_EPOCH_US = 5_230_527_917_391.0


def write_trace(path: Path, events: int, seed: int = 0) -> None:
    """Writes a trace of about `events` events; every op launches one kernel."""
    rng = random.Random(seed)
    now, gpu, number = _EPOCH_US, _EPOCH_US, 0
    with path.open("w") as file:
        file.write(_HEAD)
        first = True
        for step in range(max(1, events // (_OPS_PER_STEP * 5))):
            cpu, device = [], []
            began = now
            for _ in range(_OPS_PER_STEP):
                number += 1
                dur = rng.randrange(8_000, 60_000) / 1000
                kernel = rng.randrange(1_500, 40_000) / 1000
                launched = now + dur / 2
                gpu = max(gpu, launched + 5)
                name = rng.choice(_NAMES)
                cpu.append(_OP.format(name=name, ts=now, dur=dur, id=number))
                device += [
                    _LAUNCH.format(ts=launched, id=number, correlation=number),
                    _ARROW.format(ph="s", correlation=number, pid=521, tid=521, ts=launched),
                    _KERNEL.format(
                        name=f"kernel_{name[6:]}",
                        ts=gpu,
                        dur=kernel,
                        id=number,
                        correlation=number,
                    ),
                    _ARROW.format(ph="f", correlation=number, pid=0, tid=7, ts=gpu),
                ]
                now += dur + 1
                gpu += kernel
            number += 1
            mark = _STEP.format(step=step, ts=began, dur=now - began, id=number)
            file.write(("" if first else ",\n") + ",\n".join([mark, *cpu, *device]))
            first = False
            now += 30
        file.write('\n  ],\n  "traceName": "trace.json"\n}\n')
