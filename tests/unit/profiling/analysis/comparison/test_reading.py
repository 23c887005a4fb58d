"""Which steps are compared, what is folded, and what the sides say besides kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.traces import trace
from tests.unit.profiling.analysis.comparison.sides import (
    Kernel,
    compared,
    generated,
    group_of,
    load,
    mm,
    pointwise,
    program,
    rows,
)

from ptx.profiling.analysis.comparison.calls import fusion_of, plain_name
from ptx.profiling.analysis.comparison.changes import changes
from ptx.profiling.analysis.comparison.folding import fold
from ptx.profiling.analysis.comparison.model import difference, round_ratio
from ptx.profiling.analysis.comparison.steps import comparable_steps

if TYPE_CHECKING:
    from pathlib import Path


def _steps(path: Path, *kernels: tuple[str, ...], cold: int | None = None) -> Path:
    builder = trace()
    for step, names in enumerate(kernels):
        begin = step * 1000
        builder.step(step, begin, 999)
        if step == cold:
            builder.op("entire_frame_compile", begin + 1, 5)
        for k, name in enumerate(names):
            correlation = 1 + 10 * step + k
            builder.runtime("cudaLaunchKernel", begin + 10 + 20 * k, 2, correlation=correlation)
            builder.kernel(name, begin + 15 + 20 * k, 5 + step, correlation=correlation)
    return builder.write(path)


def test_the_most_frequent_sequence_is_compared(tmp_path: Path) -> None:
    path = _steps(tmp_path / "t.json", ("a", "b"), ("a",), ("a", "b"), ("b", "a"))
    found = comparable_steps(load(path))
    assert (found.positions, found.signatures) == ((0, 2), 3)
    assert [name for name, _ in found.left_out] == ["ProfilerStep#1", "ProfilerStep#3"]


def test_of_equally_frequent_sequences_the_later_is_compared(tmp_path: Path) -> None:
    path = _steps(tmp_path / "t.json", ("a",), ("b",))
    assert comparable_steps(load(path)).positions == (1,)


def test_steps_that_compile_are_left_out_where_there_are_others(tmp_path: Path) -> None:
    path = _steps(tmp_path / "t.json", ("a",), ("a",), ("a",), cold=0)
    found = comparable_steps(load(path))
    assert found.positions == (1, 2)
    assert found.left_out == (("ProfilerStep#0", "compiles code"),)


def test_a_trace_that_only_compiles_is_compared_all_the_same(tmp_path: Path) -> None:
    path = _steps(tmp_path / "t.json", ("a",), cold=0)
    found = compared(path, path)
    assert [group.kind for group in found.groups] == ["same"]
    assert any("cold start" in note for note in found.notes)


def test_traces_without_device_compare_their_host_side(shared: Path) -> None:
    folder = shared / "traces" / "captured_cpu"
    found = compared(folder / "net_eager.json.gz", folder / "net_compiled_cppkernels.json.gz")
    assert found.groups == ()
    assert "no device activity" in found.verdict
    assert any(name.startswith("Torch-Compiled Region") for name in found.host.added_ops)


def test_different_capture_flags_forbid_comparing_host_times(shared: Path) -> None:
    folder = shared / "traces" / "h200"
    found = compared(folder / "llama_sdpa_eager.json.gz", folder / "llama_sdpa_compile.json.gz")
    assert found.host.dispatch_ns is None
    assert "with_stack" in (found.host.why_not or "")
    assert (found.a.per_step["views"].median, found.b.per_step["views"].median) == (450, 12)
    assert (found.a.per_step["ops"].median, found.b.per_step["ops"].median) == (1039, 146)


def test_equal_layers_fold_into_one_block(tmp_path: Path) -> None:
    layer = [mm(), pointwise("gelu"), pointwise("cos")]
    path = program(tmp_path / "t.json", [*layer * 5, mm(n=64)])
    blocks = fold(compared(path, path).groups)
    assert [(block.repeats, len(block.rows)) for block in blocks] == [(5, 3), (1, 1)]
    assert sum(len(row) for block in blocks for row in block.rows) == 16


def test_equal_changes_count_together(tmp_path: Path) -> None:
    layer = [mm(), pointwise("gelu"), pointwise("cos")]
    compiled = [mm(), generated("cos_gelu")]
    found = compared(
        program(tmp_path / "a.json", layer * 3), program(tmp_path / "b.json", compiled * 3)
    )
    first, same = changes(found.groups)
    assert (first.kind, first.places, first.delta_ns) == ("fused", 3, -75_000)
    assert (same.kind, same.places) == ("same", 3)


def test_a_kernel_that_fuses_what_a_later_gap_holds_claims_it(tmp_path: Path) -> None:
    eager = [mm(), pointwise("gelu"), mm(n=64), pointwise("mul")]
    compiled = [mm(), mm(n=64), generated("gelu_mul")]
    found = compared(program(tmp_path / "a.json", eager), program(tmp_path / "b.json", compiled))
    assert rows(found, "fused") == [((1, 3), (2,), "fused")]


def test_units_in_one_named_range_are_held_together(tmp_path: Path) -> None:
    a = [mm(), Kernel("mine::attend", "attend_kernel", 30, (8, 8), scope="attention")]
    b = [mm(), Kernel("mine::scores", "scores_kernel", 20, (8, 8, 8), scope="attention")]
    found = compared(program(tmp_path / "a.json", a), program(tmp_path / "b.json", b))
    group = group_of(found, "attend_kernel")
    assert (group.how, [p.name for p in group.b]) == ("module", ["scores_kernel"])


def test_an_added_kernel_says_what_it_prepares(shared: Path) -> None:
    folder = shared / "traces" / "h200"
    found = compared(folder / "llama_sdpa_eager.json.gz", folder / "llama_sdpa_compile.json.gz")
    added = [group for group in found.groups if group.kind == "added"]
    assert {detail.split(":")[0] for group in added for detail in group.details} == {
        "prepares k or v for _cudnn_attention_forward",
        "prepares mask for _cudnn_attention_forward",
    }


def test_a_recompile_within_the_trace_is_counted(shared: Path) -> None:
    path = shared / "traces" / "h200" / "recompile_in_window.json.gz"
    found = compared(path, path)
    assert min(found.compiled.recompiles) >= 1
    assert "recompiled" in found.verdict


def test_names_of_generated_kernels_are_read() -> None:
    assert plain_name("triton_poi_fused_gelu_mul_17") == "triton_poi_fused_gelu_mul"
    assert plain_name("ampere_sgemm_128x64_tn_3") == "ampere_sgemm_128x64_tn_3"
    fusion = fusion_of("triton_per_fused__to_copy_mean_view_2")
    assert fusion is not None
    assert fusion.kind == "per"
    assert sorted(fusion.computing) == ["_to_copy", "mean"]
    assert fusion_of("nvjet_sm90_tst_64x64") is None


def test_rounding_is_symmetric() -> None:
    assert [round_ratio(n, 2) for n in (-3, -1, 0, 1, 3)] == [-2, -1, 0, 1, 2]
    assert difference(10, 3, 7, 2) == -difference(7, 2, 10, 3)
