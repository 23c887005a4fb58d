"""Real pairs against answers that were worked out by hand, kernel by kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.unit.profiling.analysis.comparison.sides import compared, gpu_sums, rows, sums

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.profiling.analysis.comparison.sides import Row


_SMALL_LLAMA = ("llama_small_train_eager", "llama_small_train_compile")


def _pair(shared: Path, a: str, b: str) -> list[Row]:
    found = compared(_file(shared, a), _file(shared, b))
    assert sums(found) == gpu_sums(found)
    return rows(found)


def _file(shared: Path, name: str) -> Path:
    return shared / "traces" / "h200" / f"{name}.json.gz"


def test_geglu_fuses_gelu_into_mul(shared: Path) -> None:
    assert _pair(shared, "geglu_eager", "geglu_compile") == [
        ((0, 1), (0, 1), "same"),
        ((3, 4), (2, 3), "same"),
        ((2, 5), (4,), "fused"),
        ((6,), (5,), "same"),
    ]


def test_a_replayed_graph_has_an_input_copy_more(shared: Path) -> None:
    assert _pair(shared, "geglu_eager", "geglu_compile_reduce-overhead") == [
        ((), (0,), "added"),
        ((0, 1), (1, 2), "same"),
        ((3, 4), (3, 4), "same"),
        ((2, 5), (5,), "fused"),
        ((6,), (6,), "same"),
    ]


def test_a_replayed_graph_matches_the_same_code_without_graph(shared: Path) -> None:
    found = _pair(shared, "geglu_compile", "geglu_compile_reduce-overhead")
    assert [row[2] for row in found] == ["added", "same", "same", "same", "same"]


def test_a_template_replaces_a_product(shared: Path) -> None:
    assert _pair(shared, "geglu_eager", "geglu_compile_max-autotune-no-cudagraphs") == [
        ((0, 1), (0, 1), "same"),
        ((3, 4), (2, 3), "same"),
        ((2, 5), (4,), "fused"),
        ((6,), (5,), "replaced"),
    ]


@pytest.mark.parametrize("size", ["small", "large"])
def test_a_single_linear_layer_stays_the_same(shared: Path, size: str) -> None:
    found = _pair(shared, f"linear_{size}_eager", f"linear_{size}_compile")
    assert [row[2] for row in found] == ["same"]


def test_a_training_step_of_an_mlp(shared: Path) -> None:
    same = [
        ((0, 1), (0, 1)), ((3, 4), (2, 3)), ((6,), (5,)), ((7,), (6,)), ((8, 9), (7, 8)),
        ((10,), (9,)), ((11,), (10,)), ((12,), (11,)), ((13, 14), (12, 13)), ((15,), (14,)),
        ((20,), (18,)), ((24,), (20,)), *(((27 + k,), (22 + k,)) for k in range(8)),
    ]  # fmt: skip
    fused = [
        ((2, 5), (4,)),
        ((16, 17), (15, 16)),
        ((18, 19, 21, 22, 23, 25, 26), (17, 19, 21)),
    ]
    found = _pair(shared, "mlp_train_eager", "mlp_train_compile")
    assert sorted(row[:2] for row in found if row[2] == "same") == sorted(same)
    assert sorted(row[:2] for row in found if row[2] == "fused") == fused
    assert len(found) == len(same) + len(fused)


def test_a_graph_break_at_item(shared: Path) -> None:
    assert _pair(shared, "graph_break_item_eager", "graph_break_item_compile") == [
        ((0, 1), (0, 1), "same"),
        ((2,), (2,), "replaced"),
        ((3, 4), (3, 4), "fused"),
        ((5,), (5,), "same"),
        ((6, 7), (6,), "fused"),
    ]


def test_every_layer_of_a_llama(shared: Path) -> None:
    found = _pair(shared, "llama_sdpa_eager", "llama_sdpa_compile")
    assert sorted(found) == sorted(_llama())


def _llama() -> list[Row]:
    want: list[Row] = [
        ((0, *range(12, 20)), (0,), "fused"),
        ((1, 2, 3), (2,), "fused"),
        ((4,), (3,), "moved"),
        ((266, 267), (105, 106), "same"),
    ]
    for layer in range(6):
        want += _layer(layer, 20 + 41 * layer)
    return want


def _layer(layer: int, a: int) -> list[Row]:
    """Returns the groups of a layer: the first compiled one has other places than the rest."""
    b = 20 + 17 * (layer - 1)
    place = [1, 4, 5, 6, 7, 8, 9, 10, 11, 12, *range(13, 20)]
    if layer:
        place = [b, b + 1, b + 2, b + 3, b + 4, *range(b + 5, b + 17)]
    rotated = tuple(range(a + 8, a + 13))
    return [
        ((a,), (place[0],), "same"),
        ((a + 1,), (place[1],), "same"),
        ((a + 2,), (place[3],), "same"),
        ((*range(5, 12), *rotated) if layer == 0 else rotated, (place[2],), "fused"),
        (tuple(range(a + 3, a + 8)), (place[4],), "fused"),
        *(((), (place[k],), "added") for k in (5, 6, 7)),
        *(((k,), (), "removed") for k in (a + 13, a + 14)),
        ((a + 15, a + 16), (place[8], place[9]), "same*"),
        ((a + 17,), (place[10],), "same"),
        (tuple(range(a + 18, a + 27)), (place[11],), "fused"),
        ((a + 27,), (place[12],), "same"),
        ((a + 29,), (place[13],), "same"),
        ((a + 28, a + 30), (place[14],), "fused"),
        ((a + 31,), (place[15],), "same"),
        (tuple(range(a + 32, a + 41)), (place[16],), "fused"),
    ]


def test_a_training_step_of_a_llama_forward(shared: Path) -> None:
    # what each generated kernel computes was checked against the compiler's own log of origins
    found = {row[1]: row[0] for row in _pair(shared, *_SMALL_LLAMA) if row[2] == "fused"}
    assert found[(0,)] == (0, *range(12, 20))
    assert found[(1,)] == (1, 2, 3)
    rotated = [(6, 7, 16, 18), (22, 23, 31, 33), (37, 38, 46, 48)]
    for layer, (query, key, product, norm) in enumerate(rotated):
        a = 20 + 41 * layer
        first = tuple(range(5, 12)) if layer == 0 else ()
        assert found[(query,)] == (*first, *range(a + 3, a + 8))
        assert found[(key,)] == tuple(range(a + 8, a + 13))
        assert found[(product,)] == (a + 28, a + 30)
        assert found[(norm,)] == tuple(range(a + 32, a + 41))


def test_a_loss_outside_the_compiled_code_stays_the_same(shared: Path) -> None:
    found = {row[:2] for row in _pair(shared, *_SMALL_LLAMA) if row[2] == "same"}
    assert {((143,), (49,)), ((144,), (50,)), ((145, 146), (51, 52))} <= found


def test_a_weight_gradient_and_its_input_gradient_are_told_apart(shared: Path) -> None:
    found = {row[1]: row[0] for row in _pair(shared, *_SMALL_LLAMA) if row[2] == "fused"}
    assert found[(59, 60)] == (154, 155, 156)
    assert found[(61,)] == (153, *range(157, 170))


def test_attention_behind_an_equal_kernel_name_is_told_apart_by_its_operands(shared: Path) -> None:
    found = compared(_file(shared, "llama_sdpa_eager"), _file(shared, "llama_sdpa_compile"))
    details = {detail for g in found.groups if g.kind == "same*" for detail in g.details}
    assert "is_causal True -> False" in details
    assert "k (4,4,512,64) -> (4,16,512,64)" in details


def test_another_memory_format_replaces_convolutions_and_norms(shared: Path) -> None:
    found = _pair(shared, "resnet18_nchw_eager", "resnet18_nhwc_eager")
    kinds = [row[2] for row in found]
    assert (len(kinds), kinds.count("replaced")) == (88, 42)


def test_two_vendors_run_one_bert(shared: Path) -> None:
    found = compared(
        shared / "traces" / "nv-h100-bert.json.gz", shared / "traces" / "amd-mi300-bert.json.gz"
    )
    kinds = [group.kind for group in found.groups]
    assert (kinds.count("replaced"), kinds.count("same*")) == (47, 14)


def test_attention_in_one_kernel_or_three_is_held_together_by_its_range(shared: Path) -> None:
    name = "amd-pair-attention-fused-vs-unfused-trace"
    a, b = (shared / "traces" / f"{name}{k}.json" for k in (1, 2))
    found = compared(a, b)
    assert [(row[2], len(row[0]), len(row[1])) for row in rows(found)] == [("fused", 1, 3)]
    assert found.groups[0].how == "module"


@pytest.mark.parametrize(
    ("a", "b"),
    [("llama_sdpa_eager", "mlp_train_eager"), ("resnet18_nchw_eager", "llama_sdpa_eager")],
)
def test_different_programs_are_not_matched(shared: Path, a: str, b: str) -> None:
    found = compared(_file(shared, a), _file(shared, b))
    assert not found.similar
    assert found.groups == ()
    assert sums(found) == gpu_sums(found)
    assert found.verdict.startswith("different programs")


def test_modelled_bytes_that_fusion_saves(shared: Path) -> None:
    found = compared(_file(shared, "geglu_eager"), _file(shared, "geglu_compile"))
    (fused,) = [group for group in found.groups if group.kind == "fused"]
    assert fused.delta_bytes == -2 * 8192 * 3072 * 2


@pytest.mark.parametrize(
    ("a", "b", "words"),
    [
        ("linear_small_eager", "linear_small_compile", ("nothing to fuse", "CPU dispatch grew")),
        ("geglu_eager", "geglu_compile", ("compile saves 27 us of 241 us", "idles")),
        (
            "geglu_eager",
            "geglu_compile_max-autotune-no-cudagraphs",
            ("compile saves", "loses in addmm: replaced"),
        ),
        ("graph_break_item_eager", "graph_break_item_compile", ("compile saves", "1 graph break")),
        ("llama_sdpa_eager", "llama_sdpa_compile", ("compile saves 643 us", "is_causal")),
    ],
)
def test_the_verdict_names_gain_and_loss(
    shared: Path, a: str, b: str, words: tuple[str, ...]
) -> None:
    verdict = compared(_file(shared, a), _file(shared, b)).verdict
    assert [word for word in words if word not in verdict] == []
