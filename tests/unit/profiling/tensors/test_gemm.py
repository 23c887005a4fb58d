"""Layout letters predicted from strides, and how they stand beside those of kernel names."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from ptx.profiling.structure.structure import build_structure
from ptx.profiling.tensors.gemm import compare_layout, gemm_of
from ptx.profiling.tensors.inputs import Input, Tensor, op_inputs
from ptx.profiling.trace.reader import read_trace

if TYPE_CHECKING:
    from pathlib import Path

NVJET = "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_{}"


def tensors(*geometries: tuple[tuple[int, ...], tuple[int, ...] | None]) -> tuple[Input, ...]:
    return tuple(Input("tensor", Tensor("bf16", *geometry)) for geometry in geometries)


ROWS = ((64, 768), (768, 1))
PLAIN = ((768, 256), (256, 1))
VIEW = ((768, 256), (1, 768))


@pytest.mark.parametrize(
    ("op", "inputs", "sizes", "letters"),
    [
        ("aten::mm", tensors(ROWS, PLAIN), (1, 64, 256, 768), "nn"),
        ("aten::mm", tensors(ROWS, VIEW), (1, 64, 256, 768), "tn"),
        ("aten::mm", tensors(((768, 64), (1, 768)), ((64, 256), (256, 1))),
         (1, 768, 256, 64), "nt"),
        ("aten::mm", tensors(((64, 768), (1, 64)), VIEW), (1, 64, 256, 768), "tt"),
        ("aten::addmm", tensors(((256,), (1,)), ROWS, VIEW), (1, 64, 256, 768), "tn"),
        ("aten::addmm_", tensors(((64, 256), (256, 1)), ROWS, VIEW), (1, 64, 256, 768), "tn"),
        ("aten::_int_mm", tensors(ROWS, VIEW), (1, 64, 256, 768), "tn"),
        ("aten::_scaled_mm", tensors(ROWS, VIEW, ((), ()), ((), ())), (1, 64, 256, 768), "tn"),
        ("aten::linear", tensors(((4, 16, 768), (12288, 768, 1)), ((256, 768), (768, 1))),
         (1, 64, 256, 768), "tn"),
        ("aten::matmul", tensors(((4, 16, 768), (12288, 768, 1)), PLAIN), (1, 64, 256, 768), "nn"),
        ("aten::bmm", tensors(((8, 32, 64), (2048, 64, 1)), ((8, 64, 48), (3072, 1, 64))),
         (8, 32, 48, 64), "tn"),
        ("aten::baddbmm", tensors(((8, 32, 48), (1536, 48, 1)), ((8, 32, 64), (2048, 64, 1)),
                                  ((8, 64, 48), (3072, 48, 1))), (8, 32, 48, 64), "nn"),
        ("aten::matmul", tensors(((2, 4, 32, 64), (8192, 2048, 64, 1)), ((64, 48), (1, 64))),
         (1, 256, 48, 64), "tn"),
        ("aten::matmul", tensors(((2, 4, 32, 64), (8192, 2048, 64, 1)),
                                 ((2, 4, 64, 48), (12288, 3072, 48, 1))), (8, 32, 48, 64), "nn"),
    ],
)  # fmt: skip
def test_strides_decide_the_letters(
    op: str, inputs: tuple[Input, ...], sizes: tuple[int, ...], letters: str
) -> None:
    gemm = gemm_of(op, inputs)
    assert gemm is not None
    assert (gemm.batch, gemm.m, gemm.n, gemm.k) == sizes
    assert gemm.layouts == {letters}


def test_the_reason_names_the_input_and_its_strides() -> None:
    gemm = gemm_of("aten::addmm", tensors(((256,), (1,)), ROWS, VIEW))
    assert gemm is not None
    assert gemm.reason == "in2 is a view with strides (1,768)"
    plain = gemm_of("aten::mm", tensors(ROWS, PLAIN))
    assert plain is not None
    assert plain.reason == "both factors lie row by row"


def test_a_factor_without_unit_stride_is_copied_row_by_row() -> None:
    gemm = gemm_of("aten::mm", tensors(((64, 768), (1536, 2)), PLAIN))
    assert gemm is not None
    assert gemm.layouts == {"nn"}
    assert "in0 with strides (1536,2) is copied" in gemm.reason


def test_leading_dimensions_that_cannot_be_folded_are_copied() -> None:
    gemm = gemm_of("aten::matmul", tensors(((4, 16, 768), (768, 3072, 1)), VIEW))
    assert gemm is not None
    assert gemm.m == 64
    assert gemm.layouts == {"tn"}


def test_a_dimension_of_size_one_leaves_letters_open() -> None:
    gemm = gemm_of("aten::mm", tensors(((1, 768), (768, 1)), VIEW))
    assert gemm is not None
    assert {"tn", "tt"} <= gemm.layouts
    assert compare_layout(gemm, NVJET.format("TNT")).verdict == "ambiguous"


def test_missing_strides_leave_every_letter_open() -> None:
    gemm = gemm_of("aten::mm", tensors((ROWS[0], None), (PLAIN[0], None)))
    assert gemm is not None
    assert gemm.layouts == {"nn", "nt", "tn", "tt"}
    assert "not recorded" in gemm.reason


@pytest.mark.parametrize(
    ("op", "inputs"),
    [
        ("aten::add", tensors(ROWS, ROWS)),
        ("aten::mm", ()),
        ("aten::mm", (Input("absent"), Input("absent"))),
        ("aten::mm", tensors(ROWS, ROWS)),
    ],
)
def test_what_is_no_product_or_lacks_its_factors_is_none(
    op: str, inputs: tuple[Input, ...]
) -> None:
    assert gemm_of(op, inputs) is None


def test_prediction_and_name_stand_on_one_line() -> None:
    gemm = gemm_of("aten::mm", tensors(ROWS, VIEW))
    assert gemm is not None
    assert compare_layout(gemm, NVJET.format("TNT")).text == "tn = tn agree"
    differ = compare_layout(gemm, NVJET.format("NNT"))
    assert (differ.verdict, differ.text) == ("differ", "predicted tn, name says nn")
    helper = compare_layout(gemm, "void cublasLt::splitKreduce_kernel<32, 16>(int)")
    assert (helper.verdict, helper.named) == ("no letters", None)


def test_a_recorded_name_as_long_as_tools_cut_at_is_whole() -> None:
    gemm = gemm_of("aten::mm", tensors(ROWS, VIEW))
    assert gemm is not None
    name = "nvjet_sm90_tst_128x128_64x6_2x1_v_bz_TNT"
    assert len(name) == 40
    assert compare_layout(gemm, name).verdict == "agree"


def verdicts(path: Path) -> tuple[Counter[str], set[str]]:
    """Returns how often a trace's products agree with their kernels, and what differs."""
    structure = build_structure(read_trace(path))
    table, activities, inputs = structure.trace.table, structure.activities, op_inputs(structure)
    counts, misses = Counter[str](), set[str]()
    for event, op in zip(activities.event.tolist(), activities.op.tolist(), strict=True):
        if op < 0:
            continue
        gemm = gemm_of(table.name_of(op), inputs.at(int(structure.tree.node_of[op])))
        if gemm is None:
            continue
        found = compare_layout(gemm, table.name_of(event))
        counts[found.verdict] += 1
        if found.verdict == "differ":
            misses.add(f"{path.name}: {found.text}, {gemm.reason}, {table.name_of(event)[:80]}")
    return counts, misses


def check_folder(folder: Path) -> Counter[str]:
    counts, misses = Counter[str](), set[str]()
    for path in sorted(folder.glob("*.json.gz")):
        if "60_steps" in path.name:  # the same model as its shorter sibling, many times
            continue
        found, missed = verdicts(path)
        counts += found
        misses |= missed
    print(dict(counts))
    assert not misses, "\n".join(sorted(misses))
    return counts


def test_every_unambiguous_product_of_the_samples_agrees(samples: Path) -> None:
    assert check_folder(samples)["agree"] >= 70


def test_every_unambiguous_product_recorded_on_a_gpu_agrees(shared: Path) -> None:
    counts = check_folder(shared / "traces" / "h200")
    assert counts["agree"] >= 1000
    assert counts["ambiguous"] < counts["agree"] / 20
