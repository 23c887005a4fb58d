"""What the profiler's trace tells on its own, against what an Execution Trace recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.unit.profiling.tensors.scores import ops_of, score_of

from ptx.profiling.api import load
from ptx.profiling.tensors.effects import all_effects, effect_of

if TYPE_CHECKING:
    from pathlib import Path

CPU = ("views_and_copies", "attn_conv_train", "mixed_ops_train")
FILES = [*(f"captured_cpu/{name}" for name in CPU), "h200/geglu_eager_with_et"]


@pytest.mark.parametrize("name", FILES)
def test_class_views_and_outputs_agree_with_the_execution_trace(shared: Path, name: str) -> None:
    score = score_of(shared / "traces" / f"{name}.json.gz")
    print(f"{name}: {score.ops} ops, {score.views} views, {score.outputs} other outputs known")
    print("\n".join(score.misses))
    least = 1.0 if name.startswith("h200") else 0.97
    assert score.ops >= 60
    assert score.views >= 40
    assert score.classes_right >= least * score.ops
    assert score.views_right >= 0.995 * score.views
    assert score.offsets_wrong == 0
    assert score.outputs_right >= 0.99 * score.outputs


def test_the_answers_do_not_come_from_the_execution_trace_that_judges_them(shared: Path) -> None:
    structure = load(shared / "traces" / "captured_cpu" / "views_and_copies.json.gz").structure
    certainties = {
        effect.certainty
        for effect in map(all_effects(structure).of, ops_of(structure))
        if effect is not None
    }
    assert "by rule" in certainties
    assert "exact" not in certainties


def test_alike_ops_answered_once_get_the_answer_of_one_by_one(shared: Path) -> None:
    structure = load(shared / "traces" / "captured_cpu" / "views_and_copies.json.gz").structure
    bulk = all_effects(structure)
    for node in ops_of(structure):
        assert bulk.of(node) == effect_of(structure, node)


def test_a_failed_view_is_said_to_have_failed(shared: Path) -> None:
    structure = load(shared / "traces" / "captured_cpu" / "views_and_copies.json.gz").structure
    effects = all_effects(structure)
    failed = [effect for effect in map(effects.of, ops_of(structure)) if effect and effect.failed]
    assert [effect.text() for effect in failed] == [
        "failed view of input 0: torch refused the call"
    ]
    assert failed[0].after is None
