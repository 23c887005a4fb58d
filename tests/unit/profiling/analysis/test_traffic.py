"""Bytes and FLOPs summed over activities: against plain sums, and with what is unknown kept so."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ptx.profiling.analysis.kernel_groups import GROUPINGS, GroupBy, kernel_groups
from ptx.profiling.analysis.roofline import modelled
from ptx.profiling.analysis.traffic import (
    add_up,
    split_groups,
    traffic,
    traffic_by_label,
    traffic_by_name,
)
from ptx.profiling.structure.structure import Structure, build_structure
from ptx.profiling.trace.reader import read_trace

SAMPLES = Path(__file__).resolve().parents[4] / "sample_traces"


@pytest.fixture(scope="module", params=["train_step_eager", "geglu_compile"])
def structure(request: pytest.FixtureRequest) -> Structure:
    return build_structure(read_trace(SAMPLES / f"{request.param}.json.gz"))


def test_sums_equal_a_plain_sum_of_what_is_known(structure: Structure) -> None:
    found, counted = modelled(structure), structure.activities.counted_ns
    rows = np.arange(1, len(structure.activities), 3)
    triples = [(int(counted[k]), int(found.read_bytes[k]), int(found.write_bytes[k])) for k in rows]
    known = [triple for triple in triples if min(triple[1:]) >= 0]
    total = traffic(structure, rows)
    assert (total.count, total.ns) == (len(rows), sum(ns for ns, _, _ in triples))
    assert total.modelled_ns == sum(ns for ns, _, _ in known)
    assert total.moved_bytes == sum(read + write for _, read, write in known)
    assert total.flops == sum(int(found.flops[k]) for k in rows if found.flops[k] > 0)


@pytest.mark.parametrize("by", GROUPINGS)
def test_groups_share_out_all_that_moves(structure: Structure, by: GroupBy) -> None:
    rows = np.arange(len(structure.activities))
    parts = traffic_by_label(structure, rows, by)
    whole = traffic(structure, rows)
    for field in ("count", "ns", "modelled_ns", "read_bytes", "write_bytes", "flops"):
        assert sum(getattr(p, field) or 0 for p in parts.values()) == getattr(whole, field)
    groups = kernel_groups(structure, rows, by)
    assert {g.label: (g.calls, g.gpu_sum_ns) for g in groups} == {
        label: (part.count, part.ns) for label, part in parts.items()
    }


def test_names_share_out_all_that_moves(structure: Structure) -> None:
    rows = np.arange(len(structure.activities))
    parts = traffic_by_name(structure, rows).values()
    assert sum(part.moved_bytes or 0 for part in parts) == traffic(structure, rows).moved_bytes


def test_rates_are_over_the_time_whose_bytes_are_known() -> None:
    ns, read = np.array([100, 300, 50]), np.array([4000, -1, 10])
    total = add_up(ns, read, np.array([2000, 5, -1]), np.array([10**6, 0, -1]))
    assert (total.read_bytes, total.write_bytes, total.modelled_ns) == (4000, 2000, 100)
    assert total.gbps == 60
    assert (total.flops, total.tflops) == (10**6, 10)


def test_nothing_known_is_unknown_and_not_zero() -> None:
    unknown = np.array([-1, -1])
    total = add_up(np.array([1, 2]), unknown, unknown, unknown)
    assert (total.ns, total.modelled_ns) == (3, 0)
    assert total.moved_bytes is total.gbps is total.flops is total.tflops is None


def test_groups_keep_the_order_of_their_values() -> None:
    parts = split_groups(np.array([9, 8, 7, 6]), np.array([1, 0, 1, 0]))
    assert [part.tolist() for part in parts] == [[8, 6], [9, 7]]
    assert split_groups(np.array([], np.int64), np.array([], np.int64)) == []
