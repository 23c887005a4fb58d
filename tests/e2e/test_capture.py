"""`ptx capture` on real scripts with the CPU build of torch: the job must not notice."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
import venv
from pathlib import Path

import pytest
from tests.capture_scripts import SHOWN, TRAIN, Ran, capture, environment, ran, run

from ptx.profiling.analysis.doctor import find_problems, is_sound
from ptx.profiling.analysis.missing import missing_flags
from ptx.profiling.structure.structure import build_structure
from ptx.profiling.trace.reader import read_trace

pytestmark = [
    pytest.mark.torch,
    pytest.mark.skipif(sys.platform != "linux", reason="capture runs on Linux only"),
]


def write(folder: Path, text: str, name: str = "job.py") -> Path:
    path = folder / name
    path.write_text(TRAIN + text)
    return path


def traces(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.json.gz"))


def sound(trace: Path) -> bool:
    return is_sound(find_problems(build_structure(read_trace(trace))))


def step_names(trace: Path) -> list[str]:
    return list(build_structure(read_trace(trace)).steps.names)


def same(with_ptx: Ran, without: Ran) -> None:
    assert (with_ptx.code, with_ptx.out, with_ptx.err) == (without.code, without.out, without.err)


def test_a_script_sees_the_same_world_and_leaves_a_trace(tmp_path: Path) -> None:
    script = write(tmp_path, SHOWN)
    found = capture("--", script, "--lr", "3", "--", "x", cwd=tmp_path)
    same(found, run("python", script, "--lr", "3", "--", "x", cwd=tmp_path))
    (trace,) = traces(tmp_path)
    assert re.fullmatch(r"job-\d{8}-\d{6}\.json\.gz", trace.name)
    assert step_names(trace) == ["ProfilerStep#6", "ProfilerStep#7", "ProfilerStep#8"]
    assert sound(trace)
    assert f"wrote {trace.name}: steps 6 to 8, by the optimizer" in found.said
    assert f"next: ptx {trace.name}" in found.said
    assert not list(tmp_path.glob(".ptx-*"))


def test_a_module_runs_as_a_module(tmp_path: Path) -> None:
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "__init__.py").touch()
    write(tmp_path / "pack", "print(__name__, __package__, __spec__.name)\ntrain()", "main.py")
    found = capture("-o", "out.json", "--", "-m", "pack.main", "7", cwd=tmp_path)
    same(found, run("python", "-m", "pack.main", "7", cwd=tmp_path))
    assert step_names(tmp_path / "out.json") == [f"ProfilerStep#{n}" for n in (6, 7, 8)]


def test_an_interpreter_that_ignores_the_environment_is_served_too(tmp_path: Path) -> None:
    script = write(tmp_path, SHOWN)
    found = capture("-o", "out.json", "--", "python", "-I", script, "7", cwd=tmp_path)
    same(found, run("python", "-I", script, "7", cwd=tmp_path))
    assert (tmp_path / "out.json").is_file()


@pytest.mark.parametrize(
    ("end", "code"),
    [
        ("raise ValueError('bad')", 1),
        ("sys.exit(3)", 3),
        ("import os; os.kill(os.getpid(), 15)", 128 + 15),
        ("import os; sys.stdout.flush(); os._exit(7)", 7),
    ],
)
def test_the_exit_is_the_scripts_own_and_finished_windows_stay(
    tmp_path: Path, end: str, code: int
) -> None:
    script = write(tmp_path, f"print('trained', train())\n{end}\n")
    found = capture("-o", "out.json", "--", script, cwd=tmp_path)
    without = run("python", script, cwd=tmp_path)
    assert (found.out, found.err) == (without.out, without.err)
    assert found.code == code
    assert without.code == (code if code < 128 else 128 - code)
    assert sound(tmp_path / "out.json")


@pytest.mark.parametrize(
    ("end", "code"),
    [
        ("raise ValueError('bad')", 1),
        ("import os; os.kill(os.getpid(), 15)", 128 + 15),
        ("raise KeyboardInterrupt", 128 + 2),
    ],
)
def test_an_end_in_the_middle_of_a_window_keeps_what_it_has(
    tmp_path: Path, end: str, code: int
) -> None:
    script = write(tmp_path, f"def end(step):\n    if step == 7:\n        {end}\ntrain(12, end)\n")
    found = capture("-o", "out.json", "--", script, cwd=tmp_path)
    assert found.code == code
    assert "steps 6 to 8, by the optimizer, the last one cut short" in found.said
    assert step_names(tmp_path / "out.json")[0] == "ProfilerStep#6"


@pytest.mark.parametrize("end", ["os._exit(7)", "os.kill(os.getpid(), 9)"])
def test_a_window_lost_with_a_killed_process_is_said(tmp_path: Path, end: str) -> None:
    text = f"import os\ndef end(step):\n    if step == 7:\n        {end}\ntrain(12, end)\n"
    found = capture("--", write(tmp_path, text), cwd=tmp_path)
    assert "ended without a word while step 6 and on was recorded" in found.said
    assert traces(tmp_path) == []


def test_a_handler_of_the_script_keeps_sigterm(tmp_path: Path) -> None:
    text = """
import os, signal
signal.signal(signal.SIGTERM, lambda *_: (print("handled"), sys.exit(143)))
def end(step):
    if step == 7:
        os.kill(os.getpid(), signal.SIGTERM)
train(12, end)
"""
    script = write(tmp_path, text)
    found = capture("-o", "out.json", "--", script, cwd=tmp_path)
    same(found, run("python", script, cwd=tmp_path))
    assert found.code == 143
    assert (tmp_path / "out.json").is_file()


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGUSR1, 138)]
)
def test_a_signal_for_ptx_reaches_the_script(tmp_path: Path, number: int, code: int) -> None:
    text = """
import signal
def wait(step):
    if step == 7:
        print("ready", flush=True)
        signal.pause()
train(12, wait)
"""
    command = [sys.executable, "-m", "ptx", "capture", "-o", "out.json", "--"]
    with subprocess.Popen(
        [*command, str(write(tmp_path, text))],
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        child.send_signal(number)
        found = ran(0, *child.communicate(timeout=60))
    assert child.returncode == code
    if number != signal.SIGUSR1:  # which ends a process without a word
        assert "wrote out.json" in found.said


def test_every_rank_of_a_job_writes_its_file(tmp_path: Path) -> None:
    text = """
import os
import torch.distributed as dist
dist.init_process_group("gloo")
model, _ = make()
model = torch.nn.parallel.DistributedDataParallel(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(12):
    model(torch.ones(4, 8)).sum().backward()
    optimizer.step()
dist.barrier()
dist.destroy_process_group()
left = [name for name in os.environ if "PTX" in name or name == "PYTHONPATH"]
sys.stdout.write(f"{left}\\n")
"""
    script = write(tmp_path, text)
    launch = ["torchrun", "--standalone", "--nproc-per-node=2", str(script)]
    found = capture("-o", "out.json.gz", "--", *launch, cwd=tmp_path)
    assert found.code == 0
    assert found.out == "[]\n[]\n"
    assert [path.name for path in traces(tmp_path)] == ["out.rank0.json.gz", "out.rank1.json.gz"]
    for trace in traces(tmp_path):
        assert step_names(trace) == ["ProfilerStep#6", "ProfilerStep#7", "ProfilerStep#8"]
        assert sound(trace)


def test_only_the_chosen_ranks_are_recorded(tmp_path: Path) -> None:
    script = write(tmp_path, "train()")
    launch = ["python", "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    found = capture("-o", "out.json.gz", "--ranks", "1", "--", *launch, script, cwd=tmp_path)
    assert found.code == 0
    assert [path.name for path in traces(tmp_path)] == ["out.rank1.json.gz"]


WORKERS = """
from torch.utils.data import DataLoader
if __name__ == "__main__":
    model, optimizer = make()
    loader = DataLoader(
        torch.ones(48, 8), batch_size=4, num_workers=2, multiprocessing_context="START"
    )
    for batch in loader:
        model(batch).sum().backward()
        optimizer.step()
    print("done")
"""

CHILDREN = """
import multiprocessing, os, subprocess
def work(number):
    train(7)
    print("child", number, sorted(k for k in os.environ if "PTX" in k), flush=True)
if __name__ == "__main__":
    def children(step):
        if step == 7:
            process = multiprocessing.get_context("START").Process(target=work, args=(step,))
            process.start()
            process.join()
            print("code", process.exitcode, flush=True)
    print(train(12, children))
"""


@pytest.mark.parametrize("start", ["fork", "spawn"])
@pytest.mark.parametrize("text", [WORKERS, CHILDREN], ids=["loader", "children"])
def test_processes_that_the_script_starts_are_left_alone(
    tmp_path: Path, text: str, start: str
) -> None:
    script = write(tmp_path, text.replace("START", start))
    found = capture("-o", "out.json.gz", "--", script, cwd=tmp_path)
    same(found, run("python", script, cwd=tmp_path))
    (trace,) = traces(tmp_path)
    assert step_names(trace) == ["ProfilerStep#6", "ProfilerStep#7", "ProfilerStep#8"]


def test_follow_records_the_processes_that_the_script_starts(tmp_path: Path) -> None:
    write(tmp_path, "train()", "inner.py")
    script = tmp_path / "outer.py"
    script.write_text("import subprocess; subprocess.check_call(['python', 'inner.py'])")
    assert "did not import torch" in capture("-o", "a.json", "--", script, cwd=tmp_path).said
    assert "wrote b.json" in capture("-o", "b.json", "--follow", "--", script, cwd=tmp_path).said


PROFILED = """
def inner(step):
    if step == AT:
        with torch.PROFILER.profile() as own:
            torch.ones(3).add(1)
        print(any("aten::add" == event.key for event in own.key_averages()))
train(16, inner)
"""


@pytest.mark.parametrize("at", [5, 6], ids=["warm-up", "recording"])
@pytest.mark.parametrize("profiler", ["profiler", "autograd.profiler"])
def test_a_script_that_profiles_itself_gets_its_events(
    tmp_path: Path, profiler: str, at: int
) -> None:
    script = write(tmp_path, PROFILED.replace("AT", str(at)).replace("PROFILER", profiler))
    found = capture("--warmup", "2", "--skip", "5", "-o", "out.json", "--", script, cwd=tmp_path)
    same(found, run("python", script, cwd=tmp_path))
    assert found.out == "True\n"
    assert f"the script profiles itself: ptx made way in step {at + 1}" in found.said
    assert sound(tmp_path / "out.json")


def test_a_script_that_profiles_all_of_itself_is_left_alone(tmp_path: Path) -> None:
    text = """
with torch.profiler.profile() as own:
    train()
print(sum(event.name == "aten::addmm" for event in own.events()))
"""
    script = write(tmp_path, text)
    found = capture("--", script, cwd=tmp_path)
    same(found, run("python", script, cwd=tmp_path))
    assert traces(tmp_path) == []
    assert "its own profiler was on" in found.said


@pytest.mark.parametrize(
    ("text", "source"),
    [
        (
            "m = torch.nn.Linear(8, 8)\nfor _ in range(10): m(torch.ones(1, 8))",
            "by the outermost module's forward",
        ),
        (
            "import ptx\nfor _ in range(10):\n    torch.ones(8).add(1)\n    ptx.step()",
            "as the script marks them",
        ),
    ],
)
def test_the_best_source_of_steps_is_found(tmp_path: Path, text: str, source: str) -> None:
    found = capture("-o", "out.json", "--", write(tmp_path, text), cwd=tmp_path)
    assert source in found.said
    assert len(step_names(tmp_path / "out.json")) == 3


@pytest.mark.parametrize("name", ["__main__:work", "job:work", "job:Job.work"])
def test_a_named_function_makes_the_steps(tmp_path: Path, name: str) -> None:
    text = """
class Job:
    def work(self):
        return torch.ones(8).add(1)
def work():
    return Job().work()
for _ in range(12):
    work()
"""
    script = write(tmp_path, text)
    found = capture("--step-fn", name, "-o", "out.json", "--", script, cwd=tmp_path)
    assert "steps 6 to 8, by the calls of --step-fn" in found.said
    assert sound(tmp_path / "out.json")


def test_a_compiled_module_is_compiled_once(tmp_path: Path) -> None:
    text = """
import torch._dynamo
model, _ = make()
compiled = torch.compile(model, backend="eager")
for _ in range(12):
    compiled(torch.ones(4, 8))
counters = torch._dynamo.utils.counters
print(dict(counters["stats"]), dict(counters["graph_break"]))
"""
    script = write(tmp_path, text.replace("model, _ = make()", "model = torch.nn.Linear(8, 8)"))
    found = capture("-o", "out.json", "--", script, cwd=tmp_path)
    same(found, run("python", script, cwd=tmp_path))
    assert "by the outermost module's forward" in found.said


def test_a_deep_step_comes_with_its_execution_trace(tmp_path: Path) -> None:
    script = write(tmp_path, "train(14)")
    assert capture("--deep", "-o", "out.json", "--", script, cwd=tmp_path).code == 0
    assert len(step_names(tmp_path / "out.deep.json")) == 1
    nodes = json.loads((tmp_path / "out.deep.et.json").read_text())["nodes"]
    assert any(node["name"] == "aten::addmm" for node in nodes)


@pytest.mark.parametrize(
    ("flags", "missing"),
    [
        ([], {"ProfilerActivity.CUDA", "profile_memory"}),
        (["--memory"], {"ProfilerActivity.CUDA"}),
        (["--no-shapes", "--no-stacks", "--no-modules"],
         {"ProfilerActivity.CUDA", "profile_memory", "record_shapes", "with_stack"}),
    ],
)  # fmt: skip
def test_flags_choose_what_is_recorded(tmp_path: Path, flags: list[str], missing: set[str]) -> None:
    capture(*flags, "-o", "out.json", "--", write(tmp_path, "train()"), cwd=tmp_path)
    structure = build_structure(read_trace(tmp_path / "out.json"))
    assert {lack.flag for lack in missing_flags(structure)} == missing


def test_a_script_with_too_few_steps_is_told_which_option_helps(tmp_path: Path) -> None:
    found = capture("--", write(tmp_path, "train(6)"), cwd=tmp_path)
    assert (found.code, traces(tmp_path)) == (0, [])
    assert "the script ended after 6 steps and 7 are needed: lower --skip" in found.said
    again = capture("--skip", "1", "--", tmp_path / "job.py", cwd=tmp_path)
    assert "steps 2 to 4" in again.said


def test_slices_of_time_serve_a_script_without_steps(tmp_path: Path) -> None:
    text = """
import glob, time
end = time.monotonic() + 60
while time.monotonic() < end and not glob.glob(".ptx-*/trace.json"):
    torch.ones(64, 64).exp()
"""
    words = ["--slice", "0.05", "--no-stacks", "-o", "out.json"]
    found = capture(*words, "--", write(tmp_path, text), cwd=tmp_path)
    assert "steps 6 to 8, by the clock" in found.said
    assert sound(tmp_path / "out.json")


def test_a_script_without_steps_is_told_what_helps(tmp_path: Path) -> None:
    found = capture("--", write(tmp_path, "torch.ones(8)"), cwd=tmp_path)
    assert "no trace: no steps seen" in found.said
    assert "--step-fn" in found.said
    assert "--slice" in found.said


def test_the_job_outlives_ptx(tmp_path: Path) -> None:
    text = """
def wait(step):
    if step == 10:
        print("ready", flush=True)
        input()
print(train(12, wait))
"""
    with subprocess.Popen(
        [sys.executable, "-m", "ptx", "capture", "--", str(write(tmp_path, text))],
        cwd=tmp_path,
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        child.kill()
        out, _ = child.communicate("go on\n", timeout=60)
    assert float(out) > 0
    (left,) = tmp_path.glob(".ptx-*/trace.json")
    assert sound(left)


def test_without_torch_the_script_still_runs(tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    venv.create(bare, symlinks=True)
    script = tmp_path / "job.py"
    script.write_text("try:\n    import torch\nexcept ImportError as error:\n    print(error)\n")
    python = bare / "bin" / "python"
    found = capture("--python", python, "--", script, cwd=tmp_path)
    same(found, run(python, script, cwd=tmp_path))
    assert f"no trace: {python} has no torch: name the script's own with --python" in found.said


def test_a_sitecustomize_of_the_user_still_runs(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "sitecustomize.py").write_text("import sys; sys.mine = 'there'")
    script = tmp_path / "job.py"
    script.write_text(
        "import os, sys, sitecustomize as s; print(sys.mine, s.__file__, os.environ['PYTHONPATH'])"
    )
    env = {"PYTHONPATH": str(tmp_path / "mine")}
    same(
        capture("--", script, cwd=tmp_path, env=env),
        run("python", script, cwd=tmp_path, env=env),
    )


def old_pythons() -> list[str]:
    """Returns interpreters below 3.10 on this machine."""
    names = ("2.7", "3.6", "3.7", "3.8", "3.9")
    found = [shutil.which(f"python{name}") for name in names]
    managed = sorted(Path.home().glob(".pyenv/versions/*/bin/python"))
    old = [str(path) for path in managed if re.match(r"(2|3\.\d)\.", path.parents[1].name)]
    return [path for path in found if path] + old


def test_an_old_python_does_not_notice(tmp_path: Path) -> None:
    olds = old_pythons()
    if not olds:
        pytest.skip("no Python below 3.10 on this machine")
    script = tmp_path / "job.py"
    script.write_text("import sys; print(sys.version, 'sitecustomize' in sys.modules)")
    for old in olds:
        found = capture("--python", old, "--", script, cwd=tmp_path)
        same(found, run(old, script, cwd=tmp_path))
        assert "no Python took ptx's hook" in found.said


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--", "nowhere.py"], 125),
        (["-o", "nowhere/out.json", "--", "job.py"], 125),
        (["-o", "out.txt", "--", "job.py"], 2),
        (["--steps", "0", "--", "job.py"], 2),
        (["--step-fn", "work", "--", "job.py"], 2),
        (["--ranks", "first", "--", "job.py"], 2),
        ([], 2),
    ],
)
def test_a_failure_of_ptx_is_told_from_the_scripts(
    tmp_path: Path, words: list[str], code: int
) -> None:
    (tmp_path / "job.py").write_text("print('ran')")
    found = capture(*words, cwd=tmp_path)
    assert (found.code, found.out, found.said.count("\n")) == (code, "", 1)
