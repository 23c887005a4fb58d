"""Groups of activities by what names state: sums add up, and silence is a row of its own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ptx.profiling.analysis.kernel_groups import (
    GROUPINGS,
    GroupBy,
    kernel_groups,
    label_of,
    sort_kernel_groups,
)
from ptx.profiling.kernels.decode import decode
from ptx.profiling.structure.structure import Structure, build_structure
from ptx.profiling.trace.reader import read_trace

SAMPLES = Path(__file__).resolve().parents[4] / "sample_traces"


@pytest.fixture(scope="module")
def structure() -> Structure:
    return build_structure(read_trace(SAMPLES / "train_step_eager.json.gz"))


@pytest.mark.parametrize("by", GROUPINGS)
def test_every_activity_is_in_one_group(structure: Structure, by: GroupBy) -> None:
    activities = structure.activities
    rows = np.arange(0, len(activities), 2)
    groups = kernel_groups(structure, rows, by)
    assert sum(group.calls for group in groups) == len(rows)
    assert sum(group.gpu_sum_ns for group in groups) == int(activities.counted_ns[rows].sum())
    names = {structure.trace.table.name_of(int(event)) for event in activities.event[rows]}
    assert sum(group.kinds for group in groups) == len(names)
    assert len({group.label for group in groups}) == len(groups) > 1


@pytest.mark.parametrize("by", GROUPINGS)
def test_no_activity_gives_no_group(structure: Structure, by: GroupBy) -> None:
    assert kernel_groups(structure, np.array([], np.intp), by) == []


def test_groups_sort_by_time_calls_and_name(structure: Structure) -> None:
    groups = kernel_groups(structure, np.arange(len(structure.activities)), "tensor-core")
    sums = [group.gpu_sum_ns for group in groups]
    assert sums == sorted(sums, reverse=True)
    calls = [group.calls for group in sort_kernel_groups(groups, "calls")]
    assert calls == sorted(calls, reverse=True)
    labels = [group.label for group in sort_kernel_groups(groups, "name")]
    assert labels == ["memcpy, memset", "no tensor cores", None]


@pytest.mark.parametrize(
    ("name", "by", "label"),
    [
        ("nvjet_sm90_tst_64x8_64x16_4x1_v_bz_TNN", "tensor-core", "tensor cores"),
        ("ampere_sgemm_64x64_nt", "tensor-core", "no tensor cores"),
        ("triton_poi_fused_add_0", "tensor-core", None),
        ("Memset (Device)", "tensor-core", "memcpy, memset"),
        ("nvjet_sm90_qrtst_64x8_128x16_4x1_v_bz_TNN", "dtype", "e4m3 x e5m2"),
        ("ampere_sgemm_64x64_nt", "dtype", "f32"),
        ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(Args)", "dtype", "bf16 (as named)"),
        ("cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_3_64x64x128_4x1x1_"
         "kernel0_0", "dtype", None),
        ("no rule knows this", "family", None),
        ("Memcpy HtoD (Pinned -> Device)", "family", "memcpy"),
        ("triton_red_fused_sum_1", "category", "reduce"),
    ],
)  # fmt: skip
def test_a_label_is_only_what_the_name_states(name: str, by: GroupBy, label: str | None) -> None:
    assert label_of(decode(name, cut=False), by) == label
