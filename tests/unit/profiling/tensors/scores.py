"""Counts how far the answers by rule agree with an Execution Trace of the same run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ptx.profiling.api import load
from ptx.profiling.structure.tree import NodeKind
from ptx.profiling.tensors.effects import all_effects
from ptx.profiling.tensors.execution_trace import beside, read_execution_trace

if TYPE_CHECKING:
    from pathlib import Path

    from ptx.profiling.structure.structure import Structure
    from ptx.profiling.tensors.effect import Effect
    from ptx.profiling.tensors.execution_trace import ExecutionTrace


@dataclass
class Score:
    """Counts of answers, and a line for each that is not what was recorded."""

    ops: int = 0
    classes_right: int = 0
    views: int = 0
    views_right: int = 0
    offsets_wrong: int = 0
    outputs: int = 0
    outputs_right: int = 0
    misses: list[str] = field(default_factory=list)

    def add(self, name: str, got: Effect | None, truth: Effect) -> None:
        self.ops += 1
        if got is not None and got.kind == truth.kind and got.of_input == truth.of_input:
            self.classes_right += 1
        else:
            self.misses.append(f"{name}: {got and (got.kind, got.of_input)}, truly {truth.kind}")
        if truth.kind == "view":
            self.views += 1
            right = got is not None and got.after == truth.after
            self.views_right += right
            if not right:
                self.misses.append(f"{name}: {got and got.after}, truly {truth.after}")
        elif got is not None and got.after is not None and truth.after is not None:
            self.outputs += 1
            found, true = got.after, truth.after
            right = (found.shape, found.strides) == (true.shape, true.strides)
            right = right and found.dtype in ("", true.dtype)
            self.outputs_right += right
            if not right:
                self.misses.append(f"{name}: output {found}, truly {true}")
        if got is not None and got.storage_offset not in (None, truth.storage_offset):
            self.offsets_wrong += 1
            self.misses.append(f"{name}: offset {got.storage_offset}: {truth.storage_offset}")


def execution_trace_of(path: Path) -> ExecutionTrace:
    found = beside(path) or path.with_name("geglu_eager.et.json")
    return read_execution_trace(found)


def ops_of(structure: Structure) -> list[int]:
    return np.flatnonzero(structure.tree.kind == NodeKind.OP).tolist()


def score_of(path: Path) -> Score:
    structure = load(path).structure
    by_rule, exact = all_effects(structure), all_effects(structure, execution_trace_of(path))
    score = Score()
    for node in ops_of(structure):
        truth = exact.of(node)
        if truth is not None and truth.certainty == "exact":
            name = structure.trace.table.name_of(int(structure.tree.event[node]))
            score.add(f"node {node} {name}", by_rule.of(node), truth)
    return score
