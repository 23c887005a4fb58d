from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.tensor_calls import PASS
from tests.traces import trace

from ptx.profiling.analysis.roofline import Bound, modelled, modelled_share, rates_of, roofline
from ptx.profiling.structure.structure import build_structure
from ptx.profiling.trace.reader import read_trace

if TYPE_CHECKING:
    from pathlib import Path

    from ptx.profiling.structure.structure import Structure

GEMM = "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT"
H200 = {"id": 0, "name": "NVIDIA H200"}


@pytest.fixture(autouse=True)
def no_measured_ceilings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(
        "ptx.profiling.analysis.ceilings.cache_folder", lambda: tmp_path / "nothing"
    )


def structure_of(
    folder: Path,
    *calls: tuple[str, str, list[list[int]], float],
    device: dict[str, object] | None = H200,
) -> Structure:
    """Returns a trace of calls on contiguous bf16 tensors: (op, kernel, shapes, us)."""
    builder = trace()
    if device:
        builder.header(deviceProperties=[device])
    at = 0
    for number, (name, kernel, shapes, us) in enumerate(calls, 1):
        at += 5000
        strides = [[int(np.prod(s[i + 1 :])) for i in range(len(s))] for s in shapes]
        builder.op(
            name,
            at,
            10,
            Input_Dims=shapes,
            Input_Strides=strides,
            Input_type=["c10::BFloat16"] * len(shapes),
            Concrete_Inputs=[""] * len(shapes),
        )
        builder.runtime("cudaLaunchKernel", at + 2, 2, correlation=number)
        builder.kernel(kernel, at + 20, us, correlation=number)
    return build_structure(read_trace(builder.write(folder / "t.json")))


COPIES = ("aten::relu", PASS, [[8192, 8192]])
PRODUCT = ("aten::mm", GEMM, [[8192, 8192], [8192, 8192]])


def bounds(structure: Structure) -> list[str | None]:
    return [Bound(b).word for b in roofline(structure).bound.tolist()]


def test_the_ceiling_that_explains_most_of_the_time_is_the_bound(tmp_path: Path) -> None:
    # 268 MB at 4.8 TB/s take 56 us; 1.1 TFLOP at 989 TFLOP/s take 1112 us
    assert bounds(structure_of(tmp_path, (*COPIES, 80))) == ["memory"]
    assert bounds(structure_of(tmp_path, (*PRODUCT, 1400))) == ["compute"]


def test_a_kernel_that_no_ceiling_explains_waits_on_latency(tmp_path: Path) -> None:
    assert bounds(structure_of(tmp_path, (*COPIES, 400))) == ["latency"]
    assert bounds(structure_of(tmp_path, ("aten::relu", PASS, [[8]], 2))) == ["latency"]


def test_rates_are_bytes_and_flops_over_the_time(tmp_path: Path) -> None:
    found = roofline(structure_of(tmp_path, (*COPIES, 80), (*PRODUCT, 1400)))
    assert found.gbps[0] == pytest.approx(2 * 8192**2 * 2 / 80e3)
    assert np.isnan(found.tflops[0])
    assert found.tflops[1] == pytest.approx(2 * 8192**3 / 1400e3 / 1e3)
    assert found.compute_share[1] == pytest.approx(found.tflops[1] / 989)
    assert found.memory_share[0] == pytest.approx(found.gbps[0] / 4800)
    assert found.ceilings[0].source == "data sheet"


def test_an_unknown_device_or_op_has_no_bound(tmp_path: Path) -> None:
    assert bounds(structure_of(tmp_path, (*COPIES, 80), device=None)) == [None]
    assert bounds(structure_of(tmp_path, ("my::op", PASS, [[8192]], 80))) == [None]


def test_a_product_of_unknown_size_is_not_called_bound_by_memory(tmp_path: Path) -> None:
    assert bounds(structure_of(tmp_path, ("my::op", GEMM, [[8192, 8192]], 80))) == [None]


def test_more_than_the_memory_could_move_counts_as_unknown(tmp_path: Path) -> None:
    # 268 MB in 20 us would be 13 TB/s; 17 kB may come from a cache at any rate
    structure = structure_of(tmp_path, (*COPIES, 20), ("aten::relu", PASS, [[4096]], 0.001))
    assert modelled(structure).total_bytes.tolist() == [-1, 4 * 4096]
    assert bounds(structure)[0] is None


def test_the_modelled_share_is_of_gpu_time(tmp_path: Path) -> None:
    structure = structure_of(tmp_path, (*COPIES, 75), ("my::op", PASS, [[8]], 25))
    assert modelled_share(structure) == pytest.approx(0.75)
    assert modelled_share(build_structure(read_trace(trace().write(tmp_path / "e.json")))) == 0


def test_large_products_of_a_real_trace_are_bound_by_compute(samples: Path) -> None:
    structure = build_structure(read_trace(samples / "linear_eager.json.gz"))
    found = roofline(structure)
    products = found.tflops > 100
    assert products.any()
    assert set(found.bound[products].tolist()) == {int(Bound.COMPUTE)}
    assert (found.compute_share[products] < 1).all()


def test_rates_of_several_add_up_bytes_flops_and_the_time_of_what_is_known(tmp_path: Path) -> None:
    unknown = ("aten::sort", "sort_kernel", [[64, 64]])
    structure = structure_of(tmp_path, (*COPIES, 100), (*PRODUCT, 2000), (*unknown, 300))
    rates = rates_of(structure, np.arange(3))
    assert rates is not None
    moved = (2 + 3) * 8192 * 8192 * 2
    assert rates.moved_bytes == moved
    assert rates.flops == 2 * 8192**3
    assert rates.gbps == pytest.approx(moved / 2_100_000)
    assert rates.tflops == pytest.approx(2 * 8192**3 / 2_000_000 / 1e3)
    assert rates.known_share == pytest.approx(2100 / 2400)
    assert rates.bound == "compute"


def test_rates_of_nothing_known_are_none(tmp_path: Path) -> None:
    structure = structure_of(tmp_path, ("aten::sort", "sort_kernel", [[64, 64]], 300))
    assert rates_of(structure, np.arange(1)) is None
    assert rates_of(structure, np.arange(0)) is None


def test_an_answer_is_known_only_once_it_was_computed(tmp_path: Path) -> None:
    structure = structure_of(tmp_path, (*COPIES, 100))
    assert roofline.if_known(structure) is None
    assert roofline(structure) is roofline.if_known(structure)
