"""The lanes of a trace hold what its file says of each thread, level and stream."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.traces import TraceBuilder, trace

from ptx.profiling.structure.structure import build_structure
from ptx.profiling.trace.reader import read_trace
from ptx.tui.state.names import category_of
from ptx.tui.state.timeline.cells import dearest, shares
from ptx.tui.state.timeline.lanes import Lane, TraceLanes
from ptx.tui.state.timeline.window import Window

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from ptx.profiling.structure.structure import Structure

US = 1_000


def built(builder: TraceBuilder, folder: Path) -> Structure:
    return build_structure(read_trace(builder.write(folder / "t.json", "lines")))


def names(lanes: TraceLanes, lane: Lane) -> list[str]:
    return [lanes.name(lane, k) for k in range(len(lane.node))]


def nested() -> TraceBuilder:
    builder = trace().thread(1).step(1, 0, 1000)
    builder.annotation("forward", 10, 500)
    builder.frame("nn.Module: Net_0", 20, 480).frame("model.py(3): forward", 25, 470)
    builder.op("aten::linear", 30, 100).op("aten::addmm", 35, 80)
    builder.runtime("cudaLaunchKernel", 40, 10, correlation=1)
    builder.op("aten::relu", 140, 50).runtime("cudaLaunchKernel", 150, 10, correlation=2)
    builder.runtime("cudaDeviceSynchronize", 600, 300)
    builder.kernel("sgemm", 100, 200, correlation=1).kernel("relu", 310, 50, correlation=2)
    return builder


def test_a_thread_has_lanes_of_modules_ops_and_launches_by_level(tmp_path: Path) -> None:
    lanes = TraceLanes(built(nested(), tmp_path))
    main = lanes.main_thread(0)
    assert [names(lanes, lane) for lane in lanes.modules(main)] == [["forward"], ["Net_0"]]
    assert [names(lanes, lane) for lane in lanes.ops(main)] == [["linear", "relu"], ["addmm"]]
    assert [names(lanes, lane) for lane in lanes.launches(main)] == [
        ["LaunchKernel", "LaunchKernel", "DeviceSynchronize"]
    ]


def test_python_frames_stand_in_where_a_thread_has_nothing_else(tmp_path: Path) -> None:
    builder = trace().thread(1).frame("a.py(1): main", 0, 100).frame("a.py(9): work", 10, 50)
    lanes = TraceLanes(built(builder, tmp_path))
    found = lanes.modules(lanes.main_thread(None))
    assert [names(lanes, lane) for lane in found] == [["a.py:1 main"], ["a.py:9 work"]]
    assert not lanes.threads


def test_marks_of_steps_are_no_slices_whatever_kind_they_are(tmp_path: Path) -> None:
    builder = trace().thread(1)
    for k in range(2):
        builder.op(f"ProfilerStep#{k}", 100 * k, 90).op("aten::mm", 100 * k + 5, 20)
    lanes = TraceLanes(built(builder, tmp_path))
    main = lanes.main_thread(0)
    assert [names(lanes, lane) for lane in lanes.ops(main)] == [["mm", "mm"]]
    assert not lanes.modules(main)


def test_main_thread_is_that_of_the_steps_else_the_one_that_launches(tmp_path: Path) -> None:
    builder = trace().thread(5).op("aten::load", 0, 900)
    for k in range(3):
        builder.op("aten::x", 1000 + 10 * k, 5)
    builder.thread(9).op("aten::mm", 10, 50)
    builder.runtime("cudaLaunchKernel", 20, 5, correlation=1)
    builder.kernel("k", 40, 5, correlation=1)
    structure = built(builder, tmp_path)
    lanes = TraceLanes(structure)
    assert structure.trace.table.threads[lanes.main_thread(None)].tid == 9
    builder.thread(5).step(1, 0, 2000)
    structure = built(builder, tmp_path)
    assert structure.trace.table.threads[TraceLanes(structure).main_thread(0)].tid == 5


def test_the_name_of_a_thread_goes_before_its_number(tmp_path: Path) -> None:
    builder = trace()
    for tid, name in ((1, "thread 1 (python)"), (2, "thread 2 (pt_autograd_0)"), (3, "loader")):
        builder.add(
            {"ph": "M", "name": "thread_name", "pid": 1, "tid": tid, "args": {"name": name}}
        )
        builder.thread(tid).op("aten::mm", 0, 10)
    lanes = TraceLanes(built(builder, tmp_path))
    assert [lane.title for lane in lanes.threads.values()] == [
        *("python 1", "pt_autograd_0 2", "loader"),
    ]


def test_several_threads_as_one_lane_keep_every_slice_in_order_of_time(tmp_path: Path) -> None:
    builder = trace()
    for tid in range(5):
        builder.thread(tid).op(f"aten::op{tid}", 50 - 10 * tid, 30)
    lanes = TraceLanes(built(builder, tmp_path))
    merged = lanes.merged(list(lanes.threads.values()))
    assert names(lanes, merged) == ["op4", "op3", "op2", "op1", "op0"]
    assert merged.busy_ns(Window(0, 1000 * US)) == 70 * US
    assert merged.title == "5 more threads"


def test_streams_are_named_by_device_and_number(tmp_path: Path) -> None:
    builder = trace().thread(1).op("aten::mm", 0, 10)
    for device, stream in ((1, 20), (0, 7), (1, 7)):
        builder.kernel("k", 10, 5, device=device, stream=stream)
    lanes = TraceLanes(built(builder, tmp_path))
    assert [(lane.title, lane.short) for lane in lanes.streams] == [
        ("GPU 0 stream 7", "GPU0 s7"),
        ("GPU 1 stream 7", "GPU1 s7"),
        ("GPU 1 stream 20", "GPU1 s20"),
    ]
    assert [lane.title for lane in lanes.queues] == ["queued kernels GPU 0", "queued kernels GPU 1"]


def test_queue_says_when_launches_are_not_recorded(tmp_path: Path) -> None:
    lanes = TraceLanes(built(trace().thread(1).op("aten::mm", 0, 9).kernel("k", 5, 5), tmp_path))
    assert lanes.queues[0].note == "not known: no launch calls are recorded"


def test_queue_counts_from_the_end_of_a_launch_to_the_start_of_its_kernel(tmp_path: Path) -> None:
    lanes = TraceLanes(built(nested(), tmp_path))
    queue = lanes.queues[0]
    # queued from 50 to 100 and from 160 to 310 us
    edges = np.array([0, 50, 100, 160, 310, 1000], np.int64) * US
    assert queue.curve.means(edges).tolist() == [0, 1, 0, 1, 0]
    assert queue.text(Window(0, 1000 * US)) == (
        "highest 1; 0 in 80% of the time: the host is the limit there"
    )
    assert queue.text(Window(60 * US, 90 * US)) == "highest 1"


def test_moving_between_slices(tmp_path: Path) -> None:
    lanes = TraceLanes(built(nested(), tmp_path))
    ops = lanes.ops(lanes.main_thread(0))[0]  # linear 30..130, relu 140..190 us
    at = [ops.slice_at(t * US) for t in (29, 30, 129, 130, 140, 189, 190)]
    assert at == [-1, 0, 0, -1, 1, 1, -1]
    assert [ops.slice_beside(t * US, 1) for t in (0, 30, 31, 141)] == [0, 0, 1, -1]
    assert [ops.slice_beside(t * US, -1) for t in (30, 31, 999)] == [-1, 0, 1]
    assert [ops.slice_near(a * US, b * US) for a, b in ((0, 20), (0, 40), (50, 60))] == [-1, 0, 0]


def test_an_instant_counts_as_something_in_its_window(tmp_path: Path) -> None:
    builder = trace().thread(1).op("aten::a", 0, 10).op("aten::b", 50, 0)
    lanes = TraceLanes(built(builder, tmp_path))
    lane = lanes.ops(lanes.main_thread(None))[0]
    windows = [Window(a * US, b * US) for a, b in ((5, 6), (10, 50), (50, 51), (51, 60))]
    assert [lane.is_active(window) for window in windows] == [True, False, True, False]


calls = st.lists(
    st.tuples(
        st.integers(0, 2),  # thread or stream
        st.integers(0, 20),  # gap to the one before, ns
        st.integers(1, 30),  # duration, ns
        st.integers(0, 40),  # how long its kernel waits, ns
        st.sampled_from(["ampere_sgemm_128x64_tn", "nccl:all_reduce", "Memcpy DtoD"]),
    ),
    min_size=1,
    max_size=25,
)


@settings(max_examples=60)
@given(
    calls=calls,
    window=st.tuples(st.integers(0, 300), st.integers(60, 400)),
    cells=st.integers(1, 60),
)
def test_cells_of_random_traces_equal_a_count_of_every_ns(
    calls: list[tuple[int, int, int, int, str]],
    window: tuple[int, int],
    cells: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    builder = trace().thread(0).annotation("start", 0, 0)
    assert len({category_of(call[-1]) for call in calls}) == len({call[-1] for call in calls})
    now, free = [0, 0, 0], [0, 0, 0]
    host: dict[int, list[tuple[int, int]]] = {}
    device: dict[int, list[tuple[int, int, str]]] = {}
    for number, (where, gap, dur, wait, kernel) in enumerate(calls):
        start = now[where] + gap + 1
        now[where] = start + dur
        builder.thread(where).op("aten::op", start / US, dur / US)
        builder.runtime("cudaLaunchKernel", start / US, dur / US, correlation=number)
        begin = max(free[where], start + dur + wait)
        free[where] = begin + dur
        builder.kernel(kernel, begin / US, dur / US, correlation=number, stream=where)
        host.setdefault(where, []).append((start, dur))
        device.setdefault(where, []).append((begin, dur, kernel))
    lanes = TraceLanes(built(builder, tmp_path_factory.mktemp("t")))
    edges = Window(window[0], sum(window)).edges(cells)

    def counted(spans: list[tuple[int, int]]) -> list[int]:
        busy = np.zeros(4_000, bool)
        for start, dur in spans:
            busy[start : start + dur] = True
        return [int(busy[a:b].sum()) for a, b in itertools.pairwise(edges)]

    threads = {
        lanes._structure.trace.table.threads[code].tid: lane for code, lane in lanes.threads.items()
    }
    for where, spans in host.items():
        assert threads[where].busy.within(edges).tolist() == counted(spans)
    assert len(lanes.streams) == len(device)
    for lane in lanes.streams:
        assert lane.stream is not None
        mine = device[lane.stream[1]]
        assert lane.busy.within(edges).tolist() == counted([(s, d) for s, d, _ in mine])
        assert (shares(lane.busy, edges) <= 1).all()
        by_letter = {
            letter: counted([(s, d) for s, d, name in mine if category_of(name) == letter])
            for letter in {category_of(name) for *_, name in mine}
        }
        for cell, best in enumerate(dearest(lane, edges).tolist()):
            most = max(counts[cell] for counts in by_letter.values())
            shown = by_letter[lane.categories[best][0]][cell] if best >= 0 else 0
            assert shown == most
