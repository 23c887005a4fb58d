"""The doctor: each code, how much it weighs, its evidence, and what to record next time."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.traces import TraceBuilder, trace

from ptx.profiling.analysis.doctor import DoctorProblem, diagnose, find_problems, severity_of
from ptx.profiling.report.documents import doctor_document
from ptx.profiling.report.encode import encode
from ptx.profiling.report.text import doctor_text
from ptx.profiling.structure.structure import Structure, build_structure
from ptx.profiling.trace.problems import MESSAGES
from ptx.profiling.trace.reader import read_trace

if TYPE_CHECKING:
    from pathlib import Path


def built(builder: TraceBuilder, folder: Path, name: str = "t.json") -> Structure:
    return build_structure(read_trace(builder.write(folder / name, "lines")))


def cut(builder: TraceBuilder, folder: Path) -> Structure:
    path = folder / "cut.json"
    path.write_bytes(builder.text("lines")[:-20])
    return build_structure(read_trace(path))


def problems(structure: Structure) -> dict[str, DoctorProblem]:
    return {problem.code: problem for problem in find_problems(structure)}


def launched(
    builder: TraceBuilder, number: int, launch: float, start: float, dur: float = 5, stream: int = 7
) -> TraceBuilder:
    builder.op("aten::mm", launch - 1, 9)
    builder.runtime("cudaLaunchKernel", launch, 2, correlation=number)
    return builder.kernel("k", start, dur, correlation=number, stream=stream)


def skewed(folder: Path, activities: int, early: int, lead_us: float) -> DoctorProblem:
    """Returns the skew of a trace whose first activities start before their launches."""
    builder = trace()
    for k in range(activities):
        at = 1_000_000 + 20 * k
        builder.runtime("cudaLaunchKernel", at, 2, correlation=k)
        start = at - lead_us if k < early else at + 3
        builder.kernel("k", start, 1, correlation=k, stream=k)
    return problems(built(builder, folder))["clock-skew"]


def healthy() -> TraceBuilder:
    """A trace with nothing to complain of: all flags on, all kernels linked."""
    builder = trace().header(pytorch_version="2.9.0", record_shapes=1, profile_memory=1)
    builder.header(with_stack=1).step(1, 0, 100)
    return launched(builder, 1, 10, 20)


class TestProblems:
    def test_healthy_trace_has_none_and_lacks_nothing(self, tmp_path: Path) -> None:
        diagnosis = diagnose(built(healthy(), tmp_path))
        assert (diagnosis.problems, diagnosis.missing, diagnosis.sound) == ((), (), True)

    def test_launches_without_any_activity(self, tmp_path: Path) -> None:
        builder = trace().op("aten::mm", 0, 9).runtime("cudaLaunchKernel", 2, 3, correlation=1)
        found = problems(built(builder, tmp_path))["no-device-activity"]
        assert (found.severity, found.count, found.events) == ("error", 1, (1,))
        assert "another profiler" in found.message
        assert "ProfilerActivity.CUDA" in found.message

    def test_file_without_a_slice(self, tmp_path: Path) -> None:
        mark = {"ph": "X", "cat": "Trace", "name": "PyTorch Profiler (0)", "pid": "Spans",
                "tid": "PyTorch Profiler", "ts": 0, "dur": 9}  # fmt: skip
        for builder in (trace(), trace().add(mark)):
            found = problems(built(builder, tmp_path))["no-events"]
            assert found.severity == "error"
            assert "prof.step()" in found.message

    def test_clock_skew_is_stated_by_its_middle_and_its_most(self, tmp_path: Path) -> None:
        builder = launched(launched(healthy(), 2, 40, 37), 3, 60, 58.5)
        found = problems(built(builder, tmp_path))["clock-skew"]
        assert found.count == 2
        assert "(2 of 3), by 2,250 ns in the middle and up to 3,000 ns" in found.message

    @pytest.mark.parametrize(
        ("lead_us", "early", "severity"),
        [
            (0.5, 1, "note"),
            (10, 40, "note"),
            (11, 1, "warning"),
            (90, 40, "warning"),
            (150, 1, "error"),
            (5000, 40, "error"),
        ],
    )
    def test_clock_skew_weighs_by_its_size(
        self, tmp_path: Path, lead_us: float, early: int, severity: str
    ) -> None:
        assert skewed(tmp_path, 40, early, lead_us).severity == severity

    @pytest.mark.parametrize(
        ("activities", "early", "severity"),
        [(3000, 2, "note"), (3000, 4, "warning"), (3000, 29, "warning"), (3000, 30, "error")],
    )
    def test_large_clock_skew_weighs_by_its_share(
        self, tmp_path: Path, activities: int, early: int, severity: str
    ) -> None:
        assert skewed(tmp_path, activities, early, 5000).severity == severity

    def test_one_odd_kernel_among_many_does_not_unmake_a_trace(self, tmp_path: Path) -> None:
        found = skewed(tmp_path, 3000, 1, 900_000)
        assert (found.severity, found.count) == ("note", 1)
        assert "(1 of 3,000), by 900,000,000 ns in the middle" in found.message

    def test_start_within_the_launch_is_no_skew(self, tmp_path: Path) -> None:
        assert problems(built(launched(healthy(), 2, 40, 40.5), tmp_path)) == {}

    def test_activity_without_a_time_is_no_skew(self, tmp_path: Path) -> None:
        found = problems(built(launched(healthy(), 2, 40, 0, 0), tmp_path))
        assert list(found) == ["no-timestamp"]

    def test_activities_of_before_the_window(self, tmp_path: Path) -> None:
        builder = trace().kernel("old", 1, 4, correlation=90).kernel("old", 2, 4, stream=8)
        found = problems(built(launched(builder, 1, 10, 20), tmp_path))
        assert found["before-the-trace"].severity == "note"
        assert found["before-the-trace"].events == (0, 1)

    def test_stream_that_still_works_off_its_queue_is_of_before(self, tmp_path: Path) -> None:
        builder = launched(launched(trace(), 1, 10, 20), 2, 30, 60, stream=8)
        found = problems(built(builder.kernel("old", 50, 4, stream=8), tmp_path))
        assert list(found) == ["before-the-trace"]

    def test_activity_whose_launch_is_lost(self, tmp_path: Path) -> None:
        builder = launched(healthy(), 2, 30, 40).kernel("lost", 60, 4, correlation=77)
        found = problems(built(builder, tmp_path))["activities-without-launch"]
        assert (found.severity, found.count, found.events) == ("warning", 1, (7,))

    def test_launch_that_was_captured_into_a_graph(self, tmp_path: Path) -> None:
        builder = healthy().runtime("cudaLaunchKernel", 50, 2, correlation=8)
        found = problems(built(builder, tmp_path))["launches-without-activity"]
        assert (found.severity, found.events) == ("note", (4,))

    def test_correlation_that_two_launches_carry_is_told(self, tmp_path: Path) -> None:
        builder = launched(launched(healthy(), 2, 100, 110), 2, 200, 210)
        found = problems(built(builder, tmp_path))["repeated-correlation"]
        assert (found.severity, found.events) == ("warning", (6, 9))

    def test_driver_call_inside_its_runtime_call_repeats_no_correlation(
        self, tmp_path: Path
    ) -> None:
        builder = healthy().runtime("cudaLaunchKernel", 40, 9, correlation=2)
        builder.host("cuda_driver", "cuLaunchKernelEx", 42, 3, {"correlation": 2})
        found = problems(built(builder.kernel("k", 60, 5, correlation=2), tmp_path))
        assert "repeated-correlation" not in found

    def test_duration_over_the_whole_next_activity(self, tmp_path: Path) -> None:
        builder = launched(launched(healthy(), 2, 30, 40, 50), 3, 45, 60)
        found = problems(built(builder, tmp_path))["bad-duration"]
        assert (found.severity, found.events) == ("warning", (6,))

    def test_event_at_zero_of_an_epoch_is_told_to_stand_far_away(self, tmp_path: Path) -> None:
        epoch = 1_712_195_495_519_689
        builder = trace().op("a", epoch, 5).op("lost", 0, 5).op("b", epoch + 20, 5)
        found = problems(built(builder, tmp_path))["time-gap"]
        assert (found.severity, found.count, found.events) == ("warning", 1, (1,))
        assert "475,610 hours from all others" in found.message

    @pytest.mark.parametrize(
        ("gap_us", "dur_us", "told"),
        [(86_399e6, 5, False), (86_401e6, 5, True), (86_401e6, 9_000e6, False)],
    )
    def test_pause_of_less_than_a_day_or_beside_a_long_run_is_none(
        self, tmp_path: Path, gap_us: float, dur_us: float, told: bool
    ) -> None:
        builder = trace().op("a", 0, dur_us).op("b", dur_us + gap_us, 1).op("c", 1, 1)
        assert ("time-gap" in problems(built(builder, tmp_path))) == told

    def test_file_of_counters_alone_is_not_asked_for_a_step(self, tmp_path: Path) -> None:
        builder = trace().add({"ph": "C", "name": "load", "pid": 1, "ts": 5, "args": {"v": 1}})
        found = problems(built(builder, tmp_path))["no-events"]
        assert "counters, arrows or asynchronous events alone" in found.message

    def test_slices_that_cross(self, tmp_path: Path) -> None:
        builder = healthy().annotation("a", 50.5, 10).annotation("b", 55, 20)
        found = problems(built(builder, tmp_path))["crossing-slices"]
        assert (found.severity, found.count) == ("note", 1)

    def test_cut_file_has_no_evidence_beyond_its_end(self, tmp_path: Path) -> None:
        structure = cut(healthy(), tmp_path)
        found = problems(structure)["truncated"]
        assert (found.severity, found.count, found.events) == ("error", 1, ())
        assert "bytes lost, at byte" in found.message

    def test_worst_stand_first(self, tmp_path: Path) -> None:
        builder = healthy().annotation("a", 50.5, 10).annotation("b", 55, 20)
        builder.kernel("lost", 700, 4, correlation=77)
        found = [p.severity for p in find_problems(built(launched(builder, 2, 600, 30), tmp_path))]
        assert found == ["error", "warning", "note"]

    def test_evidence_is_the_first_events_of_all(self, tmp_path: Path) -> None:
        builder = healthy()
        for k in range(20):
            launched(builder, 2 + k, 200 + 20 * k, 190 + 20 * k)
        found = problems(built(builder, tmp_path))["clock-skew"]
        assert (found.count, len(found.events)) == (20, 8)

    @pytest.mark.parametrize("code", sorted(MESSAGES))
    def test_every_code_of_reading_has_a_message_and_a_weight(self, code: str) -> None:
        assert severity_of(code) in ("error", "warning", "note")
        assert MESSAGES[code]
        assert "\n" not in MESSAGES[code]


class TestMissing:
    def missing(self, builder: TraceBuilder, folder: Path) -> dict[str, str]:
        return {m.flag: m.how for m in diagnose(built(builder, folder)).missing}

    def test_every_flag_that_was_off_comes_with_its_line_of_code(self, tmp_path: Path) -> None:
        assert self.missing(trace().op("aten::mm", 0, 9), tmp_path) == {
            "ProfilerActivity.CUDA": (
                "profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])"
            ),
            "steps": "prof.step()  # at the end of each iteration",
            "record_shapes": "profile(record_shapes=True)",
            "with_stack": "profile(with_stack=True)",
            "profile_memory": "profile(profile_memory=True)",
            "torch version": 'prof.add_metadata("pytorch_version", torch.__version__)',
        }

    def test_every_line_of_code_is_python(self, tmp_path: Path) -> None:
        for how in self.missing(trace().op("aten::mm", 0, 9), tmp_path).values():
            compile(how, "how", "eval")

    def test_what_the_events_show_needs_no_flag_in_the_header(self, tmp_path: Path) -> None:
        builder = trace().op("aten::mm", 0, 9, Input_Dims=[[2, 2]], Input_type=["float"])
        builder.frame("nn.Module: Linear_0", 0, 20)
        builder.add(
            {"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1, "tid": 1,
             "ts": 4, "s": "t", "args": {"Bytes": 64}}
        )  # fmt: skip
        missing = self.missing(builder, tmp_path)
        assert not {"record_shapes", "with_stack", "profile_memory"} & set(missing)

    def test_trace_without_ops_is_asked_for_nothing(self, tmp_path: Path) -> None:
        builder = trace().add({"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 0, "dur": 3})
        assert self.missing(builder, tmp_path) == {}


class TestDocument:
    def document(self, structure: Structure) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(encode(doctor_document(structure)))
        return found

    def test_fields_are_those_of_the_schema(self, tmp_path: Path) -> None:
        document = self.document(built(launched(trace(), 1, 500, 5), tmp_path))
        assert document["schema"] == "ptx.doctor/1"
        assert document["sound"] is False
        [problem] = document["problems"]
        assert set(problem) == {"code", "severity", "count", "message", "events"}
        assert problem["events"] == [2]
        for missing in document["missing"]:
            assert set(missing) == {"flag", "what_it_would_show", "how"}

    def test_warnings_leave_a_trace_sound(self, tmp_path: Path) -> None:
        builder = healthy().kernel("lost", 60, 4, correlation=77)
        document = self.document(built(builder, tmp_path))
        assert [p["severity"] for p in document["problems"]] == ["warning"]
        assert document["sound"] is True


class TestText:
    def test_verdict_links_problems_and_lacks(self, tmp_path: Path) -> None:
        builder = launched(launched(trace(), 1, 10, 20), 2, 400, 36)
        lines = list(doctor_text(built(builder, tmp_path)))
        assert lines[0] == "t.json  NOT SOUND"
        assert lines[1] == "ok      2 of 2 activities linked to a launch, 2 to an op"
        assert lines[2].startswith("error   clock-skew: activities start before")
        assert "            profile(record_shapes=True)" in lines

    def test_counts_above_one_stand_behind_the_code(self, tmp_path: Path) -> None:
        builder = launched(launched(trace(), 1, 400, 30), 2, 600, 50)
        assert any(
            line.startswith("error   clock-skew (2): ")
            for line in doctor_text(built(builder, tmp_path))
        )

    @pytest.mark.parametrize("width", [40, 80, 120])
    def test_prose_keeps_to_the_width_and_code_stays_whole(
        self, tmp_path: Path, width: int
    ) -> None:
        structure = built(launched(trace(), 1, 40, 30), tmp_path)
        lines = list(doctor_text(structure, width))
        code = [missing.how for missing in diagnose(structure).missing]
        assert [line.strip() for line in lines if line.startswith(" " * 12)] == code
        assert all(len(line) <= width for line in lines if line.strip() not in code)
        assert all(len(line) <= 80 for line in doctor_text(structure))

    def test_name_of_the_file_cannot_drive_the_terminal(self, tmp_path: Path) -> None:
        structure = built(healthy(), tmp_path, "a\x1b[2J\nsound\u202e.json")
        [title, *_] = doctor_text(structure)
        assert title == "a␛[2J␊sound\ufffd.json  sound"
