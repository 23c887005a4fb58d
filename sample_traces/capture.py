"""Capture every sample trace: `python sample_traces/capture.py --out DIR`.

Each program of `programs.py` runs in a process of its own under torch.profiler and leaves
`NAME.json.gz`; `captured.json` states the device, the versions and the command.
"""

from __future__ import annotations

import argparse
import contextlib
import getpass
import gzip
import importlib.metadata
import io
import json
import os
import platform
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Run as a script, Python puts this folder on the path. The repository's root takes its place, so
# that the profiler, which cuts path prefixes off, names frames `sample_traces/capture.py(..)`.
sys.path[:] = [p for p in sys.path if Path(p).resolve() != ROOT / "sample_traces"] + [str(ROOT)]

import torch  # noqa: E402
from sample_traces.programs import PROGRAMS, Program  # noqa: E402
from sample_traces.scrub import find_private, scrub  # noqa: E402
from torch.profiler import ProfilerActivity, profile, schedule  # noqa: E402

MAX_BYTES = 1_000_000
PRE_STEPS = 5
WAIT_STEPS = 1
WARMUP_STEPS = 2
TIMEOUT_S = 150


def record(program: Program, device: torch.device, path: Path) -> None:
    """Run one program's steps under the profiler and export the trace as text to `path`."""
    torch.manual_seed(0)
    step = program.build(device)
    for _ in range(PRE_STEPS):
        step()
    activities = [ProfilerActivity.CPU]
    if device.type == "cuda":
        activities.append(ProfilerActivity.CUDA)
        torch.cuda.synchronize()
    before = WAIT_STEPS + WARMUP_STEPS
    with profile(
        activities=activities,
        schedule=schedule(wait=WAIT_STEPS, warmup=WARMUP_STEPS, active=program.steps, repeat=1),
        record_shapes=True,
        with_stack=True,
    ) as profiler:
        for index in range(before + program.steps):
            step()
            # A program that never waits still starts its recorded steps with an idle device.
            if device.type == "cuda" and (program.synchronise or index < before):
                torch.cuda.synchronize()
            profiler.step()
    profiler.export_chrome_trace(str(path))


def capture(name: str, device: torch.device, out: Path) -> None:
    """Write one scrubbed `NAME.json.gz` into `out`, or raise where it would not be fit to share."""
    with tempfile.TemporaryDirectory(prefix="samples-") as scratch:
        raw = Path(scratch) / f"{name}.json"
        record(PROGRAMS[name], device, raw)
        text = raw.read_bytes().decode("utf-8")
    words = private_words()
    text = scrub(text, name=f"{name}.json", private_words=words)
    if problems := find_private(text, private_words=words):
        raise RuntimeError("the scrubbed trace still holds:\n  " + "\n  ".join(problems[:20]))
    packed = compress(text.encode("utf-8"))
    if len(packed) >= MAX_BYTES:
        raise RuntimeError(f"{len(packed):,} bytes compressed, {MAX_BYTES:,} are allowed")
    (out / f"{name}.json.gz").write_bytes(packed)


def private_words() -> list[str]:
    """Return the names of this host and user, where they are names and no common words."""
    host = platform.node()
    found = {host, host.partition(".")[0]}
    # A container may run under a user id that has no name.
    with contextlib.suppress(KeyError, OSError):
        found.add(getpass.getuser())
    return sorted(w for w in found if len(w) > 3 and w not in {"root", "user", "host", "localhost"})


def compress(data: bytes) -> bytes:
    """Return gzip bytes that depend on the data alone: no time and no file name in the header."""
    buffer = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", compresslevel=9, fileobj=buffer, mtime=0) as packed:
        packed.write(data)
    return buffer.getvalue()


def capture_apart(name: str, device: torch.device, out: Path) -> bool:
    """Capture one program in a clean process with empty compile caches; return whether it did."""
    with tempfile.TemporaryDirectory(prefix="samples-") as cache:
        environment = {
            **os.environ,
            "TORCHINDUCTOR_CACHE_DIR": f"{cache}/torchinductor",
            "TRITON_CACHE_DIR": f"{cache}/triton",
            "TORCHINDUCTOR_COMPILE_THREADS": "1",
        }
        command = [sys.executable, __file__, "--out", str(out), "--device", device.type]
        try:
            done = subprocess.run(
                [*command, "--only", name], env=environment, timeout=TIMEOUT_S, check=False
            )
        except subprocess.TimeoutExpired:
            print(f"{name}: stopped after {TIMEOUT_S} s", flush=True)
            return False
    return done.returncode == 0


def describe(device: torch.device, out: Path) -> dict[str, object]:
    """Return what `captured.json` states: where and how the traces in `out` were made."""
    on_gpu = device.type == "cuda"
    # Only the folder's own name: where it lay on the machine is nobody's business.
    command = ["python", "sample_traces/capture.py", "--out", out.name]
    facts: dict[str, object] = {
        "command": shlex.join(command if on_gpu else [*command, "--device", "cpu"]),
        "device": torch.cuda.get_device_name() if on_gpu else "CPU",
        "python": platform.python_version(),
        "torch": torch.__version__,
        "triton": version_of("triton"),
        "cuda": torch.version.cuda if on_gpu else None,
        "cudnn": torch.backends.cudnn.version() if on_gpu else None,
        "driver": driver_version() if on_gpu else None,
    }
    return {**facts, "traces": {p.name: count(p) for p in sorted(out.glob("*.json.gz"))}}


def count(path: Path) -> dict[str, int]:
    """Return the size of a captured trace in bytes and the events and kernels that it holds."""
    events = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
    kernels = sum(event.get("cat") == "kernel" for event in events)
    return {"bytes": path.stat().st_size, "events": len(events), "kernels": kernels}


def version_of(distribution: str) -> str | None:
    """Return the version of an installed distribution, or None."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def driver_version() -> str | None:
    """Return the NVIDIA driver's version, or None where its own tool does not say."""
    query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        answer = subprocess.run(query, capture_output=True, text=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return answer.stdout.partition("\n")[0].strip() or None


def main(arguments: list[str]) -> int:
    """Capture one program here or all of them apart; return 1 if any failed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="where to write")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--only", choices=PROGRAMS, help="capture one program, in this process")
    options = parser.parse_args(arguments)
    out: Path = options.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    device = torch.device(options.device)
    if device.type == "cuda" and not torch.cuda.is_available():
        print("no CUDA device here; --device cpu captures what needs none", file=sys.stderr)
        return 1
    if options.only:
        if PROGRAMS[options.only].needs_cuda and device.type != "cuda":
            print(f"{options.only}: needs a CUDA device", file=sys.stderr)
            return 1
        capture(options.only, device, out)
        return 0

    failed = []
    for name, program in PROGRAMS.items():
        if program.needs_cuda and device.type != "cuda":
            print(f"{name}: skipped, needs a CUDA device", flush=True)
            continue
        started_s = time.monotonic()
        target = out / f"{name}.json.gz"
        target.unlink(missing_ok=True)
        if capture_apart(name, device, out):
            took_s = time.monotonic() - started_s
            print(f"{name}: {target.stat().st_size:,} bytes, {took_s:.0f} s", flush=True)
        else:
            print(f"{name}: FAILED", flush=True)
            failed.append(name)
    facts = json.dumps(describe(device, out), indent=2) + "\n"
    (out / "captured.json").write_text(facts, encoding="utf-8")
    print(f"failed: {', '.join(failed)}" if failed else "all captured", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
