"""The hand-written Triton kernel of the `geglu_triton` sample; imported only where Triton is."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

BLOCK = 1024


# Triton takes annotations for the types to compile for, so the pointers have none.
@triton.jit
def gelu_mul_kernel(gate_ptr, up_ptr, out_ptr, numel, BLOCK: tl.constexpr):  # noqa: ANN001, ANN201
    """Write gelu(gate) * up, with the exact (erf) form of GELU computed in float32."""
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < numel
    gate = tl.load(gate_ptr + offsets, mask=inside).to(tl.float32)
    up = tl.load(up_ptr + offsets, mask=inside).to(tl.float32)
    gelu = 0.5 * gate * (1.0 + tl.erf(gate * 0.7071067811865476))
    tl.store(out_ptr + offsets, (gelu * up).to(out_ptr.dtype.element_ty), mask=inside)


def gelu_mul(gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    """Return gelu(gate) * up for two contiguous tensors of one shape, in one kernel."""
    out = torch.empty_like(gate)
    grid = (triton.cdiv(out.numel(), BLOCK),)
    gelu_mul_kernel[grid](gate, up, out, out.numel(), BLOCK=BLOCK)
    return out
