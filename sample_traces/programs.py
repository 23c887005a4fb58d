"""The small programs behind the sample traces, each chosen for one fact that its trace shows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn
from torch.profiler import record_function

Step = Callable[[], object]
Product = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


@dataclass(frozen=True)
class Program:
    """One program: `build` makes its step on a device.

    `steps` are recorded. With `synchronise` each of them waits for the device at its end.
    """

    build: Callable[[torch.device], Step]
    needs_cuda: bool = False
    steps: int = 3
    synchronise: bool = True


def _size(device: torch.device, on_gpu: int, on_cpu: int) -> int:
    """Return a size at which the GPU's kernels are visible and a CPU still ends in seconds."""
    return on_gpu if device.type == "cuda" else on_cpu


def _inference(call: Callable[[], torch.Tensor]) -> Step:
    def step() -> None:
        with torch.no_grad(), record_function("forward"):
            call()

    return step


# --- one GEMM ------------------------------------------------------------------------------------


def _linear(device: torch.device, *, compiled: bool) -> Step:
    rows, side = _size(device, 8192, 256), _size(device, 4096, 256)
    module = nn.Linear(side, side, device=device, dtype=torch.bfloat16)
    x = torch.randn(rows, side, device=device, dtype=torch.bfloat16)
    call = torch.compile(module) if compiled else module
    return _inference(lambda: call(x))


def _matmul_add(device: torch.device) -> Step:
    rows, side = _size(device, 8192, 256), _size(device, 4096, 256)
    x = torch.randn(rows, side, device=device, dtype=torch.bfloat16)
    w = torch.randn(side, side, device=device, dtype=torch.bfloat16)
    b = torch.randn(side, device=device, dtype=torch.bfloat16)
    return _inference(lambda: x @ w.T + b)


# --- the GeGLU block, three ways -----------------------------------------------------------------


def gelu_times(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    """Return gelu(gate) * up, as two operators."""
    return F.gelu(gate) * up


class GeGLU(nn.Module):
    """A GeGLU MLP whose pointwise part is given from outside."""

    def __init__(self, width: int, hidden: int, product: Product) -> None:
        super().__init__()
        self.gate = nn.Linear(width, hidden)
        self.up = nn.Linear(width, hidden)
        self.down = nn.Linear(hidden, width)
        self.product = product

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the block's output for a batch of sequences."""
        output: torch.Tensor = self.down(self.product(self.gate(x), self.up(x)))
        return output


def _geglu(device: torch.device, product: Product) -> tuple[GeGLU, torch.Tensor]:
    batch = _size(device, 64, 1)
    module = GeGLU(768, 3072, product).to(device=device, dtype=torch.bfloat16)
    return module, torch.randn(batch, 128, 768, device=device, dtype=torch.bfloat16)


def _geglu_eager(device: torch.device) -> Step:
    module, x = _geglu(device, gelu_times)
    return _inference(lambda: module(x))


def _geglu_compile(device: torch.device) -> Step:
    module, x = _geglu(device, gelu_times)
    compiled = torch.compile(module)
    return _inference(lambda: compiled(x))


def _geglu_triton(device: torch.device) -> Step:
    # Imported here because only this program needs Triton, which a CPU build of torch lacks.
    from sample_traces.triton_geglu import gelu_mul

    module, x = _geglu(device, gelu_mul)
    gate, up = (torch.randn(300, 77, device=device, dtype=torch.bfloat16) for _ in range(2))
    torch.testing.assert_close(gelu_mul(gate, up), gelu_times(gate, up), rtol=2e-2, atol=2e-2)
    return _inference(lambda: module(x))


# --- training ------------------------------------------------------------------------------------


def _train_step(device: torch.device) -> Step:
    width, batch = _size(device, 1024, 64), _size(device, 2048, 32)
    model = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 16)).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    x = torch.randn(batch, width, device=device)
    labels = torch.randint(16, (batch,), device=device)

    def step() -> None:
        optimizer.zero_grad()
        with record_function("forward"):
            loss = F.cross_entropy(model(x), labels)
        with record_function("backward"):
            loss.backward()
        optimizer.step()

    return step


# --- convolutions in two layouts -----------------------------------------------------------------


def _conv(device: torch.device, memory_format: torch.memory_format) -> Step:
    batch, side = _size(device, 32, 1), _size(device, 56, 14)
    layers: list[nn.Module] = []
    for c_in, c_out, stride in ((64, 64, 1), (64, 128, 2), (128, 128, 1)):
        conv = nn.Conv2d(c_in, c_out, 3, stride=stride, padding=1, bias=False)
        layers += [conv, nn.BatchNorm2d(c_out), nn.ReLU(inplace=True)]
    model = nn.Sequential(*layers).to(device=device, dtype=torch.bfloat16).eval()
    model = model.to(memory_format=memory_format)
    x = torch.randn(batch, 64, side, side, device=device, dtype=torch.bfloat16)
    x = x.contiguous(memory_format=memory_format)
    return _inference(lambda: model(x))


# --- a host that runs ahead ----------------------------------------------------------------------


def _async_loop(device: torch.device) -> Step:
    side = 8192
    w = torch.randn(side, side, device=device, dtype=torch.bfloat16) / side**0.5
    x = torch.randn(side, side, device=device, dtype=torch.bfloat16)

    def chain() -> torch.Tensor:
        y = x
        for _ in range(4):
            y = y @ w
        return y

    return _inference(chain)


PROGRAMS: dict[str, Program] = {
    "linear_eager": Program(lambda device: _linear(device, compiled=False)),
    "linear_compile": Program(lambda device: _linear(device, compiled=True)),
    "matmul_add_eager": Program(_matmul_add),
    "geglu_eager": Program(_geglu_eager),
    "geglu_compile": Program(_geglu_compile),
    "geglu_triton": Program(_geglu_triton, needs_cuda=True),
    "train_step_eager": Program(_train_step),
    "conv_nchw": Program(lambda device: _conv(device, torch.contiguous_format)),
    "conv_nhwc": Program(lambda device: _conv(device, torch.channels_last)),
    "async_loop": Program(_async_loop, needs_cuda=True, steps=6, synchronise=False),
}
"""Every program by the name of its trace."""
