"""The explorer's header says in a few words whether the trace can be trusted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.traces import TraceBuilder, trace

from ptx.profiling.structure.structure import Structure, build_structure
from ptx.profiling.trace.reader import read_trace
from ptx.tui.state.header import fitting, make_header

if TYPE_CHECKING:
    from pathlib import Path


def built(builder: TraceBuilder, folder: Path, missing_bytes: int = 0) -> Structure:
    path = folder / "t.json"
    text = builder.text("lines")
    path.write_bytes(text[: len(text) - missing_bytes])
    return build_structure(read_trace(path))


def notice(structure: Structure) -> str:
    return "".join(part.text for part in make_header(structure, 0).place if part.role == "strong")


def equation(structure: Structure) -> str:
    return "".join(part.text for part in make_header(structure, 0).equation)


def launched(builder: TraceBuilder, start: int) -> TraceBuilder:
    builder.op("aten::mm", 510, 9).runtime("cudaLaunchKernel", 512, 3, correlation=1)
    return builder.kernel("k", start, 5, correlation=1)


def test_sound_trace_says_nothing(tmp_path: Path) -> None:
    assert notice(built(launched(trace(), 520), tmp_path)) == ""


def test_notes_and_warnings_stay_with_the_doctor(tmp_path: Path) -> None:
    builder = launched(trace(), 520).annotation("a", 40.5, 10).annotation("b", 45, 20)
    assert notice(built(builder.kernel("lost", 560, 4), tmp_path)) == ""


def test_clocks_that_differ_by_less_than_a_launch_takes_stay_with_the_doctor(
    tmp_path: Path,
) -> None:
    assert notice(built(launched(trace(), 505), tmp_path)) == ""


def test_unsound_trace_counts_its_problems(tmp_path: Path) -> None:
    structure = built(launched(trace(), 5), tmp_path)
    assert notice(structure) == "   not sound: 1 problem (8: doctor)"


def test_launches_without_kernels_name_the_likely_cause(tmp_path: Path) -> None:
    builder = trace().op("aten::mm", 0, 9).runtime("cudaLaunchKernel", 2, 3, correlation=1)
    assert notice(built(builder, tmp_path)) == (
        "   launches but no kernels: another profiler held the device? (8: doctor)"
    )


def test_cut_file_says_how_much_was_read(tmp_path: Path) -> None:
    structure = built(launched(trace(), 520).op("aten::relu", 30, 4), tmp_path, 10)
    assert notice(structure) == "   file ends early: 3 events read (8: doctor)"


def test_cut_file_with_more_to_tell_says_so(tmp_path: Path) -> None:
    structure = built(launched(trace(), 5).op("aten::relu", 30, 4), tmp_path, 10)
    assert notice(structure) == "   file ends early: 3 events read, 1 more problem (8: doctor)"


def test_empty_trace_asks_for_a_step(tmp_path: Path) -> None:
    lane = {"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "args": {"name": "python"}}
    for builder in (trace(), trace().add(lane)):
        structure = built(builder, tmp_path)
        assert equation(structure) == (
            "0 events. The profiler window held no step: was prof.step() called?"
        )
        assert notice(structure) == ""


def test_narrow_line_keeps_the_verdict_and_drops_the_command(tmp_path: Path) -> None:
    parts = make_header(built(launched(trace(), 5), tmp_path), 0).place
    text = "".join(part.text for part in fitting(parts, 40))
    assert text.endswith("not sound: 1 problem")
