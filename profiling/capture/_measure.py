"""The program that measures a GPU's ceilings: prints one JSON object on stdout.

It runs by path in the Python that has torch, which need not have ptx, so it imports nothing of it.
Each figure is the best of several rounds: a ceiling, not an average.
"""

from __future__ import annotations

import json
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_ROUNDS = 7
_CALLS = 8
_COPY_SHARE = 1 / 8
_MAX_COPY_BYTES = 4 << 30
_SIDE = 8192
_F32_SIDE = 4096


def main() -> int:
    """Prints the ceilings of the first device and returns 0; 3 where there is no torch or GPU."""
    try:
        import torch
    except ImportError:
        print(json.dumps({"error": "no torch"}))
        return 3
    kind = _accelerator(torch)
    if kind is None:
        print(json.dumps({"error": "no GPU"}))
        return 3
    gpu = getattr(torch, kind)
    result = {
        "device": gpu.get_device_name(0),
        "memory_gbps": _copy_rate(torch, gpu, kind),
        "tflops": _matrix_rates(torch, gpu, kind),
    }
    print(json.dumps(result))
    return 0


def _accelerator(torch: Any) -> str | None:  # noqa: ANN401 (a module)
    """Returns `cuda` (ROCm too) or `xpu`, None where there is neither."""
    for kind in ("cuda", "xpu"):
        module = getattr(torch, kind, None)
        if module is not None and module.is_available():
            return kind
    return None


def _best_seconds(gpu: Any, work: Callable[[], object]) -> float:  # noqa: ANN401
    """Returns the least time of one call, by the device's own clock."""
    work()
    gpu.synchronize()
    best = float("inf")
    for _ in range(_ROUNDS):
        start, end = gpu.Event(enable_timing=True), gpu.Event(enable_timing=True)
        start.record()
        for _ in range(_CALLS):
            work()
        end.record()
        gpu.synchronize()
        best = min(best, start.elapsed_time(end) / 1e3 / _CALLS)
    return best


def _copy_rate(torch: Any, gpu: Any, kind: str) -> float:  # noqa: ANN401
    """Returns GB/s, reads and writes together, of a copy far larger than any cache."""
    free, _ = gpu.mem_get_info() if hasattr(gpu, "mem_get_info") else (_MAX_COPY_BYTES, 0)
    size = min(_MAX_COPY_BYTES, int(free * _COPY_SHARE)) // 4096 * 4096
    source = torch.ones(size, dtype=torch.uint8, device=kind)
    target = torch.empty_like(source)
    seconds = _best_seconds(gpu, lambda: target.copy_(source))
    return float(2 * size / seconds / 1e9)


def _matrix_rates(torch: Any, gpu: Any, kind: str) -> dict[str, float]:  # noqa: ANN401
    """Returns TFLOP/s of square matrix products by operand type, without types that fail."""
    rates = {}
    for word, dtype, side, tf32 in (
        ("bf16", torch.bfloat16, _SIDE, False),
        ("f16", torch.float16, _SIDE, False),
        ("tf32", torch.float32, _SIDE, True),
        ("f32", torch.float32, _F32_SIDE, False),
        ("f64", torch.float64, _F32_SIDE, False),
    ):
        torch.backends.cuda.matmul.allow_tf32 = tf32
        try:
            left = torch.randn(side, side, device=kind).to(dtype)
            right = torch.randn(side, side, device=kind).to(dtype)
            out = torch.empty(side, side, device=kind, dtype=dtype)
            seconds = _best_seconds(gpu, partial(torch.mm, left, right, out=out))
        except (RuntimeError, TypeError):
            continue
        rates[word] = 2 * side**3 / seconds / 1e12
    if kind != "cuda" or torch.version.hip:
        rates.pop("tf32", None)
    rate = _f8_rate(torch, gpu, kind)
    if rate is not None:
        rates["f8"] = rate
    return rates


def _f8_rate(torch: Any, gpu: Any, kind: str) -> float | None:  # noqa: ANN401
    """Returns TFLOP/s of a product of 8-bit floats, None where the device has none."""
    try:
        scale = torch.ones((), device=kind)
        left = torch.randn(_SIDE, _SIDE, device=kind).to(torch.float8_e4m3fn)
        right = torch.randn(_SIDE, _SIDE, device=kind).to(torch.float8_e4m3fn).t()
        seconds = _best_seconds(
            gpu,
            lambda: torch._scaled_mm(
                left, right, scale_a=scale, scale_b=scale, out_dtype=torch.bfloat16,
                use_fast_accum=True,
            ),
        )  # fmt: skip
    except (AttributeError, RuntimeError, TypeError, ValueError):
        return None
    return float(2 * _SIDE**3 / seconds / 1e12)


if __name__ == "__main__":
    sys.exit(main())
