"""The memory curve and what lived at its peak, against a plain list of blocks."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.traces import TraceBuilder, trace

from ptx.profiling.analysis.accounting.memory import living_at_peak, memory_curves
from ptx.profiling.structure.structure import Structure, build_structure
from ptx.profiling.trace.columns import ABSENT
from ptx.profiling.trace.reader import read_trace

if TYPE_CHECKING:
    from pathlib import Path


def built(builder: TraceBuilder, path: Path) -> Structure:
    return build_structure(read_trace(builder.write(path)))


def memory(builder: TraceBuilder, at: float, size: int, **args: object) -> TraceBuilder:
    """Adds a change of memory; the totals are left out unless given."""
    given_args: dict[str, object] = {"Device_Type": 1, "Device_Id": 0, **args}
    event: dict[str, Any] = {
        "ph": "i",
        "cat": "cpu_instant_event",
        "s": "t",
        "name": "[memory]",
        "pid": 1,
        "tid": 1,
        "ts": at,
        "args": {"Bytes": size, **{k.replace("_", " "): v for k, v in given_args.items()}},
    }
    return builder.add(event)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("memory") / "t.json"


@settings(max_examples=60)
@given(
    changes=st.lists(
        st.tuples(st.integers(0, 5), st.integers(1, 9), st.booleans()), min_size=1, max_size=25
    ),
    before=st.integers(0, 50),
)
def test_the_peak_is_made_of_the_blocks_that_live_at_it(
    changes: list[tuple[int, int, bool]], before: int, path: Path
) -> None:
    builder = trace().op("aten::mm", 0, 1000)
    blocks: dict[int, int] = {}
    total, best, at_best = 1000 + before, -1, {}
    for number, (address, size, is_old) in enumerate(changes):
        if address in blocks:
            change = -blocks.pop(address)
        elif is_old:
            change = -size  # a block of the time before the trace
        else:
            change = blocks[address] = size
        total += change
        memory(
            builder,
            number + 1,
            change,
            Addr=address,
            Total_Allocated=total,
            Total_Reserved=5000,
            Ev_Idx=number,
        )
        if total > best:
            best, at_best = total, dict(blocks)
    structure = built(builder, path)
    (curve,) = memory_curves(structure)
    assert curve.is_absolute
    assert curve.device == 0
    assert (curve.reserved_bytes == 5000).all()
    peak = living_at_peak(structure, curve)
    assert peak is not None
    assert peak.allocated_bytes == best
    assert peak.before_bytes == best - sum(at_best.values())
    assert sum(group.bytes for group in peak.groups) == sum(at_best.values())
    assert [group.op for group in peak.groups] == ["aten::mm"] * bool(at_best)
    sizes = sorted(at_best.values(), reverse=True)
    found = np.concatenate([g.events for g in peak.groups]) if peak.groups else np.zeros(0, int)
    assert structure.trace.table.bytes.at(found).tolist() == sizes


def test_blocks_belong_to_the_op_that_asked_for_them(path: Path) -> None:
    builder = trace().op("aten::zeros", 10, 30).op("aten::empty", 12, 5)
    builder.op("aten::mm", 50, 20)
    memory(builder, 13, 100, Addr=1, Total_Allocated=100)
    memory(builder, 55, 300, Addr=2, Total_Allocated=400)
    memory(builder, 60, 50, Addr=3, Total_Allocated=450)
    memory(builder, 80, 7, Addr=4, Total_Allocated=457)
    structure = built(builder, path)
    (curve,) = memory_curves(structure)
    peak = living_at_peak(structure, curve)
    assert peak is not None
    assert [(g.op, g.bytes, len(g.nodes)) for g in peak.groups] == [
        ("aten::mm", 350, 2),
        ("aten::zeros", 100, 1),
        (None, 7, 1),
    ]
    table, tree = structure.trace.table, structure.tree
    assert [table.name_of(int(tree.event[n])) for n in peak.groups[0].nodes] == ["aten::mm"] * 2
    assert peak.groups[2].nodes.tolist() == [ABSENT]
    assert peak.before_bytes == 0


def test_each_device_and_the_host_have_a_curve_of_their_own(path: Path) -> None:
    builder = trace().op("aten::mm", 0, 10)
    memory(builder, 1, 10, Addr=1, Total_Allocated=10, Device_Type=0, Device_Id=-1)
    memory(builder, 2, 20, Addr=1, Total_Allocated=20, Device_Id=0)
    memory(builder, 3, 30, Addr=1, Total_Allocated=30, Device_Id=1)
    curves = memory_curves(built(builder, path))
    assert [(c.device, c.allocated_bytes.tolist()) for c in curves] == [
        (1, [30]),
        (0, [20]),
        (None, [10]),
    ]


def test_a_curve_without_totals_counts_from_nothing_and_names_no_blocks(path: Path) -> None:
    builder = trace().op("aten::mm", 0, 10)
    for at, size in [(1, 100), (2, -60), (3, 10)]:
        memory(builder, at, size)
    structure = built(builder, path)
    (curve,) = memory_curves(structure)
    assert not curve.is_absolute
    assert curve.allocated_bytes.tolist() == [100, 40, 50]
    assert (curve.reserved_bytes == ABSENT).all()
    assert curve.peak == 0
    assert living_at_peak(structure, curve) is None


@pytest.mark.parametrize("hostile", ["1e30", '"x"', "null", "99999999999999999999", "[1]", "1.5"])
def test_numbers_that_are_none_count_as_not_recorded(hostile: str, path: Path) -> None:
    builder = memory(trace().op("aten::mm", 0, 10), 1, 100, Addr=json.loads(hostile))
    structure = built(builder, path)
    (curve,) = memory_curves(structure)
    assert curve.address.tolist() == [ABSENT]
    assert living_at_peak(structure, curve) is None


def test_a_trace_without_memory_events_has_no_curve(path: Path) -> None:
    assert memory_curves(built(trace().op("aten::mm", 0, 10), path)) == ()


def test_memory_of_a_real_run_is_explained(shared: Path) -> None:
    structure = build_structure(read_trace(shared / "traces/h200/mlp_train_eager.json.gz"))
    device, host = memory_curves(structure)
    assert (device.device, host.device) == (0, None)
    before = device.allocated_bytes[0] - device.change_bytes[0]
    assert (before + np.cumsum(device.change_bytes) == device.allocated_bytes).all()
    peak = living_at_peak(structure, device)
    assert peak is not None
    assert peak.before_bytes is not None
    assert peak.before_bytes + sum(g.bytes for g in peak.groups) == peak.allocated_bytes
    assert 0 < peak.before_bytes <= before
