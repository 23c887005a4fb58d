from __future__ import annotations

import argparse
import sys
from pathlib import Path

import pytest

from ptx.profiling.analysis.ceilings import ceilings_of
from ptx.profiling.capture import calibrate
from ptx.profiling.errors import EXIT_UNUSABLE, PtxError
from ptx.tui.cli.calibrate import COMMAND

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="stands in for Python by a script")

ANSWER = '{"device": "NVIDIA H200", "memory_gbps": 4300.5, "tflops": {"bf16": 812.0}}'


def stand_in(folder: Path, script: str) -> str:
    """Returns an interpreter that runs a line of shell instead."""
    path = folder / "python"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


def with_torch(folder: Path, source: str) -> str:
    """Returns an interpreter that finds another torch."""
    (folder / "lib").mkdir()
    (folder / "lib" / "torch.py").write_text(source)
    return stand_in(folder, f'PYTHONPATH={folder}/lib exec {sys.executable} "$@"')


def test_the_answer_is_the_last_line_whatever_stands_before(tmp_path: Path) -> None:
    found = calibrate.measure_ceilings(stand_in(tmp_path, f"echo welcome; echo '{ANSWER}'"))
    assert (found.device, found.memory_gbps) == ("NVIDIA H200", 4300.5)
    assert found.tflops == {"bf16": 812.0}
    assert found.source == "measured"


def test_the_program_measures_what_torch_reports(tmp_path: Path) -> None:
    # every call of this device takes 2 ms by its own clock
    source = """
import types
class Anything:
    def __getattr__(self, name): return self
    def __call__(self, *args, **kwargs): return self
class Event:
    def __init__(self, enable_timing): pass
    def record(self): pass
    def elapsed_time(self, other): return 16.0
cuda = types.SimpleNamespace(
    is_available=lambda: True, get_device_name=lambda index: "Fake", synchronize=lambda: None,
    mem_get_info=lambda: (8 << 30, 8 << 30), Event=Event)
version = types.SimpleNamespace(hip=None)
backends = types.SimpleNamespace(cuda=types.SimpleNamespace(matmul=types.SimpleNamespace()))
def __getattr__(name): return Anything()
"""
    found = calibrate.measure_ceilings(with_torch(tmp_path, source))
    assert found.device == "Fake"
    assert found.memory_gbps == pytest.approx(2 * 2**30 / 2e-3 / 1e9)
    assert found.tflops["bf16"] == pytest.approx(2 * 8192**3 / 2e-3 / 1e12)
    assert found.tflops["f64"] == pytest.approx(2 * 4096**3 / 2e-3 / 1e12)
    assert {"f16", "tf32", "f32", "f8"} <= set(found.tflops)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("raise ImportError", "no torch, .*: name the script's own Python"),
        ("", "no GPU, .*: calibrate on the machine whose GPU made the trace"),
        ("raise SystemError('driver too old')", "the measurement failed, .*driver too old"),
    ],
)
def test_what_is_missing_is_said_in_one_line(source: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(PtxError, match=message) as error:
        calibrate.measure_ceilings(with_torch(tmp_path, source))
    assert error.value.exit_code == EXIT_UNUSABLE
    assert "\n" not in str(error.value)


def test_an_interpreter_that_does_not_run_is_said_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(PtxError, match=r"cannot run Python, .*nowhere: No such file"):
        calibrate.measure_ceilings(str(tmp_path / "nowhere"))


def test_the_command_keeps_what_it_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("ptx.profiling.analysis.ceilings.cache_folder", lambda: tmp_path / "kept")
    parser = argparse.ArgumentParser()
    COMMAND.prepare_parser(parser)
    python = stand_in(tmp_path, f"echo '{ANSWER}'")
    assert COMMAND.run(parser.parse_args(["--python", python])) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "NVIDIA H200: 4300 GB/s; TFLOP/s: 812 bf16 (by ptx calibrate)"
    found = ceilings_of("NVIDIA H200")
    assert found is not None
    assert found.source == "measured"
    assert lines[1].startswith("kept in ")
    assert Path(lines[1].removeprefix("kept in ")).is_file()
