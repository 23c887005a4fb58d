"""The cost of dispatch per op and per launch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.traces import trace

from ptx.profiling.analysis.accounting.dispatch import Dispatch, dispatch_of_steps
from ptx.profiling.structure.structure import Structure, build_structure
from ptx.profiling.structure.tree import NodeKind
from ptx.profiling.trace.reader import read_trace

if TYPE_CHECKING:
    from pathlib import Path

    from tests.traces import TraceBuilder


def built(builder: TraceBuilder, folder: Path) -> Structure:
    return build_structure(read_trace(builder.write(folder / "t.json")))


def test_ops_cost_their_self_time_and_launches_their_length(tmp_path: Path) -> None:
    builder = trace().step(0, 0, 100).step(1, 100, 100)
    builder.op("aten::linear", 0, 40).op("aten::t", 5, 5).op("aten::addmm", 10, 20)
    builder.runtime("cudaLaunchKernel", 15, 4, correlation=1).kernel("k", 20, 5, correlation=1)
    builder.op("aten::item", 100, 60).runtime("cudaStreamSynchronize", 110, 45)
    first, second = dispatch_of_steps(built(builder, tmp_path))
    assert first == Dispatch(ops=3, launches=1, op_self_ns=36_000, launch_ns=4_000)
    assert first.per_op_ns == 12_000
    assert first.per_launch_ns == 40_000
    # the wait is not dispatch
    assert second == Dispatch(ops=1, launches=0, op_self_ns=15_000, launch_ns=0)
    assert second.per_launch_ns is None


def test_a_step_without_ops_costs_nothing(tmp_path: Path) -> None:
    (row,) = dispatch_of_steps(built(trace().step(0, 0, 10), tmp_path))
    assert row == Dispatch(0, 0, 0, 0)
    assert row.per_op_ns is None


@pytest.mark.parametrize("name", ["geglu_eager", "train_step_eager", "async_loop"])
def test_steps_share_out_the_ops_and_launches(name: str, samples: Path) -> None:
    structure = build_structure(read_trace(samples / f"{name}.json.gz"))
    rows = dispatch_of_steps(structure)
    tree, step = structure.tree, structure.step_of_nodes()
    for k, row in enumerate(rows):
        ops = [n for n in range(len(tree)) if tree.kind[n] == NodeKind.OP and step[n] == k]
        assert row.ops == len(ops)
        assert row.op_self_ns == sum(int(structure.sums.self_ns[n]) for n in ops)
        calls = [n for n in range(len(tree)) if tree.kind[n] == NodeKind.LAUNCH and step[n] == k]
        assert row.launches == len(calls)
        assert row.launch_ns == sum(int(structure.trace.table.dur_ns[tree.event[n]]) for n in calls)
