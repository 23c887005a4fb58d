"""`ptx doctor`: its exit code, its two forms, and hostile names in either."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from tests.traces import TraceBuilder, trace

from ptx.tui.cli import main

if TYPE_CHECKING:
    from pathlib import Path

HOSTILE = "k\x1b]0;owned\x07\n\u202eerror   forged"


def sound() -> TraceBuilder:
    builder = trace().op("aten::mm", 0, 9).runtime("cudaLaunchKernel", 2, 3, correlation=1)
    return builder.kernel(HOSTILE, 9, 5, correlation=1)


def skewed() -> TraceBuilder:
    builder = trace().op(HOSTILE, 510, 9).runtime("cudaLaunchKernel", 512, 3, correlation=1)
    return builder.kernel("k", 9, 5, correlation=1)


@pytest.mark.parametrize(
    ("builder", "flags", "code"),
    [
        (sound(), (), 0),
        (sound(), ("--strict",), 0),
        (skewed(), (), 0),
        (skewed(), ("--strict",), 1),
    ],
)
@pytest.mark.parametrize("form", [(), ("--json",)])
def test_only_strict_fails_and_only_for_what_is_not_sound(
    tmp_path: Path,
    capsysbinary: pytest.CaptureFixture[bytes],
    builder: TraceBuilder,
    flags: tuple[str, ...],
    code: int,
    form: tuple[str, ...],
) -> None:
    path = builder.write(tmp_path / "t.json", "lines")
    assert main(["doctor", str(path), *flags, *form]) == code
    out, err = capsysbinary.readouterr()
    assert err == b""
    if form:
        assert json.loads(out)["sound"] == (builder.events[0]["ts"] == 0)
    else:
        assert (b"NOT SOUND" in out.splitlines()[0]) == (builder.events[0]["ts"] != 0)


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_names_of_the_trace_forge_no_line(
    tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes], form: tuple[str, ...]
) -> None:
    builder = skewed().header(pytorch_version=HOSTILE, host_name=HOSTILE)
    main(["doctor", str(builder.write(tmp_path / "t.json", "lines")), *form])
    text = capsysbinary.readouterr().out.decode()
    assert not {"\x1b", "\x07", "\u202e"} & set(text)
    assert not any(line.startswith("error   forged") for line in text.splitlines())


def test_header_secrets_are_not_printed(
    tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    builder = sound().header(PT_PROFILER_JOB="x", HF_TOKEN="hf_abcdef", env={"API_KEY": "s3cret"})
    path = str(builder.write(tmp_path / "t.json", "lines"))
    for form in ([], ["--json"]):
        main(["doctor", path, *form])
        text = capsysbinary.readouterr().out
        assert b"hf_abcdef" not in text
        assert b"s3cret" not in text


def test_piped_text_is_eighty_columns_wide(
    tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    main(["doctor", str(skewed().write(tmp_path / "t.json", "lines"))])
    lines = capsysbinary.readouterr().out.decode().splitlines()
    assert max(map(len, lines)) <= 80
