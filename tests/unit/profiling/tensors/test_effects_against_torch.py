"""A program of many kinds of ops, judged by the Execution Trace of the same run."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import pytest
from tests.unit.profiling.tensors.scores import score_of

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.profiling.tensors.view_cases import Torch

pytestmark = pytest.mark.torch


def outputs_given(torch: Torch) -> None:
    y = torch.randn(16, 8)
    torch.add(y, y, out=torch.empty(0))
    torch.add(y, y, out=torch.empty(16, 8))
    torch.mm(y, y.t(), out=torch.empty(16, 16))
    torch.sum(y, 1, out=torch.empty(16))
    torch.cat([y, y], out=torch.empty(32, 8))
    torch.where(y > 0, y, y, out=torch.empty(16, 8))
    torch.abs(y, out=torch.empty(0))


def lists_of_tensors(torch: Torch) -> None:
    torch.meshgrid(torch.arange(3), torch.arange(4), indexing="ij")
    torch.meshgrid(torch.arange(3), torch.arange(4), indexing="xy")
    torch.broadcast_tensors(torch.randn(3, 1), torch.randn(1, 4))
    torch.atleast_3d(torch.randn(2, 3), torch.randn(2, 3))
    torch.stack([torch.randn(2), torch.randn(2)], 1)
    torch.cat([torch.randn(2, 3, 4, 4).to(memory_format=torch.channels_last)] * 2, 1)
    torch._foreach_add_([torch.randn(2), torch.randn(3)], 1.0)
    torch.einsum("ij->ji", torch.randn(2, 3))
    torch.einsum("bij,bjk->bik", torch.randn(2, 3, 4), torch.randn(2, 4, 5))


def memory_changed_in_place(torch: Torch) -> None:
    z = torch.randn(4, 6)
    z.t_()
    z.unsqueeze_(0)
    z.squeeze_(0)
    z.add_(1).clamp_(0, 1).exp_()
    z.copy_(torch.randn(4))
    z.copy_(torch.randn(4, 6).t())
    z.resize_(2, 2)
    z.resize_(8, 8)
    z.set_(torch.randn(3))
    z[1:] = 2.0
    torch.arange(6)[torch.tensor([0, 1])] += 1


def elementwise(torch: Torch) -> None:
    x = torch.randn(2, 8, 4, 4).to(memory_format=torch.channels_last)
    count = torch.arange(4)
    for y in (x[:, :, :1, :1], torch.randn(8, 1, 1), x.half(), x[..., ::2].repeat(1, 1, 1, 2)):
        x.add(y)
    (x.transpose(1, 3) * 2 + x.transpose(1, 3).contiguous()).relu().sigmoid()
    _ = (count / 2, count * 0.5, count // 2, count > 1, ~count, -count, count.float() + 1)
    torch.where(count > 2, count, 0)
    torch.where(count > 2)
    torch.view_as_complex(torch.randn(3, 2)).conj().mul(2).abs()
    _ = x.sum((2, 3)), x.mean(1, keepdim=True), x.flatten(1).softmax(-1).sum()
    _ = torch.zeros_like(x.transpose(1, 2)), torch.empty_strided((2, 3), (1, 2)), x.clone()
    _ = torch.nn.functional.pad(x, (1, 1)), torch.nn.functional.pad(x, (0, 0))
    _ = torch.nn.functional.dropout(x, 0.5, True), torch.nn.functional.dropout(x, 0.5, False)


def training(torch: Torch) -> None:
    nn = torch.nn
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
    optimizer = torch.optim.AdamW(layer.parameters(), foreach=True)
    for _ in range(2):
        optimizer.zero_grad()
        layer(torch.randn(2, 5, 16)).pow(2).mean().backward()
        nn.utils.clip_grad_norm_(layer.parameters(), 1.0)
        optimizer.step()
    nn.GRU(4, 4, batch_first=True)(torch.randn(2, 3, 4))[0].sum().backward()
    with torch.autocast("cpu", torch.bfloat16):
        nn.Linear(8, 8)(torch.randn(2, 8)).sum().backward()


PROGRAMS = (outputs_given, lists_of_tensors, memory_changed_in_place, elementwise, training)


def test_a_program_of_many_ops_is_told_as_its_execution_trace_tells_it(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        observer = torch.profiler.ExecutionTraceObserver()
        observer.register_callback(str(tmp_path / "run.et.json"))
        with torch.profiler.profile(
            record_shapes=True, execution_trace_observer=observer
        ) as profile:
            for program in PROGRAMS:
                program(torch)
        profile.export_chrome_trace(str(tmp_path / "run.json"))
    score = score_of(tmp_path / "run.json")
    print("\n".join(score.misses))
    assert score.views >= 300
    assert score.classes_right >= 0.99 * score.ops
    assert score.views_right >= 0.995 * score.views
    assert score.outputs_right >= 0.99 * score.outputs
    assert score.offsets_wrong == 0
