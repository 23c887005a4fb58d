"""Odd and damaged traces of many kinds, each with the answer that a reader can check by hand."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.rows import codes
from tests.traces import TraceBuilder, render, trace

from ptx.profiling.analysis.doctor import find_problems
from ptx.profiling.analysis.summary import summarise
from ptx.profiling.structure.structure import Structure, build_structure
from ptx.profiling.trace.columns import Kind
from ptx.profiling.trace.reader import read_trace

if TYPE_CHECKING:
    from pathlib import Path

    from ptx.profiling.analysis.doctor import Severity


def opened(folder: Path, content: bytes | TraceBuilder) -> Structure:
    path = folder / "t.json"
    path.write_bytes(content if isinstance(content, bytes) else content.text())
    return build_structure(read_trace(path))


def tree_of(structure: Structure) -> dict[str, str | None]:
    """Returns the name of each node's parent by the node's own name, in the tree's order."""
    tree, table = structure.tree, structure.trace.table
    names = [table.name_of(event) for event in tree.event.tolist()]
    return {
        name: None if parent < 0 else names[parent]
        for name, parent in zip(names, tree.parent.tolist(), strict=True)
    }


def found(structure: Structure) -> dict[str, tuple[Severity, int]]:
    return {p.code: (p.severity, p.count) for p in find_problems(structure)}


def launching(builder: TraceBuilder, name: str, at: float, **numbers: Any) -> TraceBuilder:  # noqa: ANN401
    """Adds an op with a launch and its kernel 20 us later; `numbers` go to both as they are."""
    builder.op(f"op {name}", at, 9).host("cuda_runtime", "cudaLaunchKernel", at + 1, 2, numbers)
    event: dict[str, Any] = {"ph": "X", "cat": "kernel", "name": f"kernel {name}", "pid": 0}
    args = {"device": 0, "stream": 7, **numbers}
    return builder.add({**event, "tid": 7, "ts": at + 20, "dur": 5, "args": args})


def an_op(**changes: object) -> dict[str, object]:
    event = {"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 2}
    return {**event, **changes}


class TestNumbers:
    @pytest.mark.parametrize(
        ("correlation", "told"),
        [
            (0, {}),
            ("7", {"odd-types": ("note", 2)}),
            (7.0, {"odd-types": ("note", 2)}),
            (2**53 + 1, {}),
            (2**63 + 5, {}),
            (2**64 - 7, {}),
        ],
    )
    def test_correlation_of_any_form_links(
        self, tmp_path: Path, correlation: object, told: dict[str, tuple[Severity, int]]
    ) -> None:
        structure = opened(tmp_path, launching(trace(), "x", 10, correlation=correlation))
        assert tree_of(structure)["kernel x"] == "cudaLaunchKernel"
        assert found(structure) == told

    def test_correlations_beyond_2_to_53_stay_apart(self, tmp_path: Path) -> None:
        builder = trace()
        for k in range(4):
            launching(builder, str(k), 100 * k, correlation=2**53 + k)
        structure = opened(tmp_path, builder)
        table, activities = structure.trace.table, structure.activities
        assert [table.name_of(op) for op in activities.op.tolist()] == [f"op {k}" for k in range(4)]

    def test_times_in_exponents_are_exact(self, tmp_path: Path) -> None:
        first = json.dumps(an_op()).replace('"ts": 1,', '"ts": 1.712e15,')
        second = json.dumps(an_op()).replace('"ts": 1,', '"ts": 1.712000000000001e15,')
        second = second.replace('"dur": 2', '"dur": 1e-3')
        text = f"[{first}, {second}]"
        table = opened(tmp_path, text.encode()).trace.table
        assert (table.start_ns.tolist(), table.dur_ns.tolist()) == ([0, 1000], [2000, 1])

    def test_times_before_zero_are_times(self, tmp_path: Path) -> None:
        structure = opened(tmp_path, trace().op("a", -5, 50).op("b", 60, 5))
        assert (structure.trace.t0_ns, structure.trace.span_ns) == (-5000, 70_000)
        assert found(structure) == {}

    def test_last_of_a_key_that_stands_twice_counts(self, tmp_path: Path) -> None:
        text = json.dumps(an_op()).replace('"ts": 1', '"name": "b", "ts": 9, "ts": 5')
        structure = opened(tmp_path, f"[{text}]".encode())
        assert (list(tree_of(structure)), structure.trace.t0_ns) == (["b"], 5000)


class TestFields:
    @pytest.mark.parametrize("args", [None, "text", [1], 7, True])
    def test_args_that_are_no_object_cost_nothing_else(self, tmp_path: Path, args: object) -> None:
        structure = opened(tmp_path, render([an_op(args=args)], "kineto"))
        assert tree_of(structure) == {"a": None}
        assert structure.trace.span_ns == 2000

    def test_first_known_of_several_categories_counts(self, tmp_path: Path) -> None:
        categories = ("cpu_op,x", "x, cpu_op", "kernel,cpu_op", "x,y")
        events = [an_op(cat=cat, tid=tid) for tid, cat in enumerate(categories)]
        table = opened(tmp_path, render(events, "list")).trace.table
        assert table.kind.tolist() == [Kind.OP, Kind.OP, Kind.KERNEL, Kind.SLICE]

    @pytest.mark.parametrize(
        ("pid", "tid", "device", "stream"),
        [
            ("GPU 1", "stream 13", 1, 13),
            ("cuda:3", 20, 3, 20),
            (2, "stream 7", 2, 7),
            ("python", "worker", 0, -1),
        ],
    )
    def test_device_and_stream_are_read_from_words(
        self, tmp_path: Path, pid: object, tid: object, device: int, stream: int
    ) -> None:
        event = an_op(cat="kernel", name="k", pid=pid, tid=tid)
        table = opened(tmp_path, render([event], "kineto")).trace.table
        assert (table.device.tolist(), table.stream.tolist()) == ([device], [stream])

    def test_events_without_a_lane_stand_on_one_of_their_own(self, tmp_path: Path) -> None:
        without = {k: v for k, v in an_op(name="b").items() if k not in ("pid", "tid")}
        inside = {**without, "name": "c", "dur": 1}
        structure = opened(tmp_path, render([an_op(), without, inside], "kineto"))
        assert tree_of(structure) == {"a": None, "b": None, "c": "b"}

    def test_begins_and_ends_of_a_kernel_are_an_activity(self, tmp_path: Path) -> None:
        begin = an_op(ph="B", cat="kernel", pid=0, tid=7)
        structure = opened(tmp_path, render([begin, {**begin, "ph": "E", "ts": 9}], "kineto"))
        assert structure.activities.counted_ns.tolist() == [8000]


class TestRecordings:
    def test_unfinished_op_holds_nothing_and_loses_nothing(self, tmp_path: Path) -> None:
        structure = opened(tmp_path, trace().op("outer", 0, -1).op("inner", 5, 5))
        assert tree_of(structure) == {"outer": None, "inner": None}
        assert found(structure) == {"unfinished": ("warning", 1)}

    def test_kernel_that_is_recorded_twice_counts_once(self, tmp_path: Path) -> None:
        builder = launching(trace(), "x", 10, correlation=1)
        structure = opened(tmp_path, builder.add(builder.events[-1]))
        assert int(structure.activities.counted_ns.sum()) == 5000
        assert found(structure) == {"bad-duration": ("warning", 1)}

    def test_kernels_of_two_devices_on_streams_of_one_number_stay_apart(
        self, tmp_path: Path
    ) -> None:
        builder = trace()
        for device in (0, 1):
            at = 10 + 2 * device
            builder.runtime("cudaLaunchKernel", at, 1, correlation=device)
            builder.kernel("k", 20 + device, 50 - 9 * device, correlation=device, device=device)
        structure = opened(tmp_path, builder)
        assert found(structure) == {}
        times = [(d.device, d.gpu_busy_ns) for d in summarise(structure).devices_time]
        assert times == [(0, 50_000), (1, 41_000)]

    def test_steps_that_overlap_divide_time_at_the_next_start(self, tmp_path: Path) -> None:
        structure = opened(tmp_path, trace().step(1, 0, 100).step(2, 90, 100).op("a", 95, 2))
        steps = structure.steps
        assert list(zip(steps.start_ns, steps.end_ns, strict=True)) == [
            (0, 90_000),
            (90_000, 190_000),
        ]
        assert [step.ops for step in summarise(structure).steps] == [0, 1]

    def test_annotations_copied_to_the_device_are_no_activity(self, tmp_path: Path) -> None:
        builder = launching(trace(), "x", 10, correlation=1)
        builder.kernel("forward", 15, 90, cat="gpu_user_annotation")
        structure = opened(tmp_path, builder)
        assert int(structure.activities.counted_ns.sum()) == 5000
        assert "forward" not in tree_of(structure)

    def test_steps_of_one_name_are_told_apart_by_number(self, tmp_path: Path) -> None:
        structure = opened(tmp_path, trace().step(1, 0, 100).step(1, 100, 100).op("b", 150, 9))
        assert structure.steps.names == ("ProfilerStep#1", "ProfilerStep#1")
        assert [step.ops for step in summarise(structure).steps] == [0, 1]


class TestFiles:
    def test_two_files_in_one_give_the_first_and_tell_of_the_rest(self, tmp_path: Path) -> None:
        first = trace().op("a", 0, 1).text()
        structure = opened(tmp_path, first + trace().op("b", 5, 1).text())
        assert list(tree_of(structure)) == ["a"]
        [problem] = structure.trace.problems
        assert problem.code == "bad-header"
        assert problem.dropped[0][0] <= len(first) + first.index(b"traceEvents")
        assert problem.dropped_bytes > 50

    def test_second_list_of_events_is_told_and_not_taken_for_the_header(
        self, tmp_path: Path
    ) -> None:
        late = json.dumps(an_op())
        structure = opened(tmp_path, f'{{"traceEvents": [], "traceEvents": [{late}]}}'.encode())
        assert structure.trace.header.raw == {}
        assert "bad-header" in codes(structure.trace)

    def test_trace_inside_another_object_is_read(self, tmp_path: Path) -> None:
        inner = trace().op("a", 0, 1).text("compact").decode()
        structure = opened(tmp_path, f'{{"data": {inner}}}'.encode())
        assert list(tree_of(structure)) == ["a"]

    def test_words_of_python_and_javascript_are_read_as_words(self, tmp_path: Path) -> None:
        text = json.dumps(an_op(args={"a": 1}))
        text = text.replace('{"a": 1}', '{"a": True, "b": None, "c": undefined}')
        structure = opened(tmp_path, f"[{text}, {json.dumps(an_op(name='b', ts=9))}]".encode())
        assert list(tree_of(structure)) == ["a", "b"]
        assert codes(structure.trace) == {"bare-word": 1}

    def test_comments_cost_no_event_and_are_told(self, tmp_path: Path) -> None:
        one, other = json.dumps(an_op()), json.dumps(an_op(name="b", ts=9))
        text = f'{{"traceEvents": [ // first\n{one}, /* second */\n{other}]}}'
        structure = opened(tmp_path, text.encode())
        assert list(tree_of(structure)) == ["a", "b"]
        assert not structure.trace.problems.get("truncated")
        assert structure.trace.problems.get("refused")

    def test_members_of_an_archive_may_split_any_text(self, tmp_path: Path) -> None:
        text = trace().op('größe \U0001f600 \\ " name', 0, 1).op("b", 5, 1).text()
        for at in range(0, len(text), 3):
            packed = gzip.compress(text[:at], mtime=0) + gzip.compress(text[at:], mtime=0)
            structure = opened(tmp_path, packed)
            assert list(tree_of(structure)) == ['größe \U0001f600 \\ " name', "b"]
            assert found(structure) == {}
