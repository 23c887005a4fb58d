"""What a row of the tree covers on the lanes: its slices, and the kernels below it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from tests.traces import trace

from ptx.profiling.structure.structure import build_structure
from ptx.profiling.trace.reader import read_trace
from ptx.tui.state.timeline.lanes import TraceLanes
from ptx.tui.state.timeline.linked import Linked

if TYPE_CHECKING:
    from pathlib import Path

    from ptx.profiling.structure.structure import Structure

US = 1_000


def built(folder: Path) -> Structure:
    """Two ops with a kernel each, one more kernel from another thread, one from nowhere."""
    builder = trace().thread(1).step(1, 0, 1000)
    builder.op("aten::a", 10, 100).runtime("cudaLaunchKernel", 20, 5, correlation=1)
    builder.op("aten::b", 200, 100).runtime("cudaLaunchKernel", 220, 5, correlation=2)
    builder.thread(2).op("aten::c", 400, 100).runtime("cudaLaunchKernel", 420, 5, correlation=3)
    builder.kernel("ka", 50, 100, correlation=1, stream=7)
    builder.kernel("kb", 300, 50, correlation=2, stream=8)
    builder.kernel("kc", 500, 25, correlation=3, stream=8)
    builder.kernel("stray", 600, 10, stream=8)
    return build_structure(read_trace(builder.write(folder / "t.json", "lines")))


def nodes(structure: Structure, *names: str) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    tree, table = structure.tree, structure.trace.table
    found = [n for n in range(len(tree)) if table.name_of(int(tree.event[n])) in names]
    return np.array(found, np.int64)


def busy_us(structure: Structure, *names: str) -> dict[str, int]:
    lanes = TraceLanes(structure)
    linked = Linked(structure, 0, nodes(structure, *names))
    every = {lane.title: lane for lane in (*lanes.threads.values(), *lanes.streams)}
    whole = np.array([0, 2000 * US], np.int64)
    return {title: linked.busy(lane).within(whole)[0] // US for title, lane in every.items()}


def test_an_op_covers_its_thread_and_its_kernels(tmp_path: Path) -> None:
    assert busy_us(built(tmp_path), "aten::a") == {
        "thread 1": 100,
        "thread 2": 0,
        "GPU 0 stream 7": 100,
        "GPU 0 stream 8": 0,
    }


def test_several_nodes_are_covered_together(tmp_path: Path) -> None:
    assert busy_us(built(tmp_path), "aten::b", "aten::c") == {
        "thread 1": 100,
        "thread 2": 100,
        "GPU 0 stream 7": 0,
        "GPU 0 stream 8": 75,
    }


def test_a_steps_mark_covers_what_its_step_launched_on_any_thread(tmp_path: Path) -> None:
    covered = busy_us(built(tmp_path), "ProfilerStep#1")
    assert (covered["GPU 0 stream 7"], covered["GPU 0 stream 8"]) == (100, 75)


def test_a_kernel_without_an_op_covers_itself(tmp_path: Path) -> None:
    assert busy_us(built(tmp_path), "stray") == {
        "thread 1": 0,
        "thread 2": 0,
        "GPU 0 stream 7": 0,
        "GPU 0 stream 8": 10,
    }


def test_span_reaches_from_the_first_slice_to_the_last_kernel(tmp_path: Path) -> None:
    structure = built(tmp_path)
    assert Linked(structure, 0, nodes(structure, "aten::b")).span == (200 * US, 350 * US)
    assert Linked(structure, 0, nodes(structure)).span is None
