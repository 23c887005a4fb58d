"""Nodes in the order asked for: siblings by cost, each in front of what is below it."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from ptx.profiling.analysis.selection import DETAIL_KINDS, select_nodes, sort_siblings
from ptx.profiling.structure.structure import Structure, build_structure
from ptx.profiling.structure.tree import NodeKind
from ptx.profiling.trace.reader import read_trace

SAMPLES = Path(__file__).resolve().parents[4] / "sample_traces"


@cache
def sample() -> Structure:
    return build_structure(read_trace(SAMPLES / "train_step_eager.json.gz"))


def one_by_one(structure: Structure, nodes: list[int], costs: list[int]) -> list[int]:
    """Returns the nodes as `sort_siblings` should, by plain recursion."""
    kept = set(nodes)
    below: dict[int, list[int]] = {}
    for node in nodes:
        parent = int(structure.tree.parent[node])
        while parent >= 0 and parent not in kept:
            parent = int(structure.tree.parent[parent])
        below.setdefault(parent, []).append(node)
    out: list[int] = []

    def visit(parent: int) -> None:
        for node in sorted(below.get(parent, []), key=lambda n: (-costs[n], n)):
            out.append(node)
            visit(node)

    visit(-1)
    return out


@pytest.mark.parametrize("leave_out", [(), DETAIL_KINDS, (NodeKind.OP, NodeKind.ANNOTATION)])
@pytest.mark.parametrize("text", [None, "elementwise"])
@pytest.mark.parametrize("by", ["gpu", "cpu"])
def test_siblings_stand_by_cost_and_each_before_what_is_below_it(
    by: str, text: str | None, leave_out: tuple[NodeKind, ...]
) -> None:
    structure = sample()
    nodes = select_nodes(structure, text=text, leave_out=leave_out)
    costs = structure.sums.gpu_sum_ns
    if by == "cpu":
        costs = structure.trace.table.dur_ns[structure.tree.event]
    found = sort_siblings(structure, nodes, by)
    assert found.tolist() == one_by_one(structure, nodes.tolist(), costs.tolist())
    assert found.tolist() != nodes.tolist()


def test_order_by_start_is_that_of_the_tree() -> None:
    nodes = select_nodes(sample())
    assert sort_siblings(sample(), nodes, "start").tolist() == nodes.tolist()


def test_nothing_selected_stays_nothing() -> None:
    assert len(sort_siblings(sample(), np.zeros(0, np.intp), "gpu")) == 0
