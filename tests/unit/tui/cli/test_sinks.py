"""Every command in every form: no name drives the terminal, no secret of the header is printed."""

from __future__ import annotations

import argparse
import io
import json
import sys
from typing import TYPE_CHECKING

import pytest
from tests.hostile import (
    HOSTILE,
    SECRETS,
    UNSAFE,
    hostile_foreign_trace,
    hostile_trace,
    secretive_trace,
)

from ptx.tui.cli import COMMAND_NAMES, load_command, main

if TYPE_CHECKING:
    from pathlib import Path

    from tests.traces import TraceBuilder

PLAIN = [
    ["explore"],
    ["summary"],
    ["summary", "--step", "1", "--limit", "50"],
    ["tree"],
    ["tree", "--all", "--sort", "gpu"],
    ["tree", "--filter", "evil"],
    ["ops"],
    ["ops", "--by", "shape"],
    ["ops", "--by", "module"],
    ["ops", "--by", "category"],
    ["kernels"],
    ["kernels", "--each"],
    ["doctor"],
]
JSON = [[*argv, "--json"] for argv in PLAIN if argv != ["explore"]]
OF_NAMES = [argv for argv in (*PLAIN, *JSON) if argv[0] != "doctor" and "category" not in argv]


def ran(capsysbinary: pytest.CaptureFixture[bytes], argv: list[str], path: Path) -> str:
    command, *options = argv
    assert main([command, str(path), *options]) == 0
    out, err = capsysbinary.readouterr()
    assert err == b""
    return out.decode()


def lines_of(text: str, argv: list[str]) -> list[str]:
    """Returns lines, of JSON as a parser that goes by line breaks alone sees them."""
    assert not UNSAFE & set(text)
    return text.split("\n") if "--json" in argv else text.splitlines()


def test_every_command_that_reads_a_trace_is_among_those_tried() -> None:
    reading = set()
    for name in COMMAND_NAMES:
        parser = argparse.ArgumentParser()
        load_command(name).prepare_parser(parser)
        if any(action.dest == "file" for action in parser._actions):
            reading.add(name)
    assert {argv[0] for argv in PLAIN} | {"export"} == reading


@pytest.mark.parametrize("argv", OF_NAMES, ids=" ".join)
@pytest.mark.parametrize(
    "builder", [hostile_trace(), hostile_foreign_trace()], ids=["own", "other"]
)
def test_no_name_drives_the_terminal_or_forges_a_line(
    capsysbinary: pytest.CaptureFixture[bytes],
    tmp_path: Path,
    argv: list[str],
    builder: TraceBuilder,
) -> None:
    if "--step" in argv:
        argv = [word if word != "1" else "last" for word in argv]
    text = ran(capsysbinary, argv, builder.write(tmp_path / "t.json"))
    lines = lines_of(text, argv)
    assert not any(line.startswith("forged") for line in lines)
    if builder.before:
        assert "evil" in text
    if "--json" in argv:
        json.loads(text)


@pytest.mark.parametrize("argv", [["doctor"], ["doctor", "--json"]], ids=" ".join)
def test_name_of_a_file_drives_no_terminal_either(
    capsysbinary: pytest.CaptureFixture[bytes], tmp_path: Path, argv: list[str]
) -> None:
    name = HOSTILE.replace("/", "").replace("\x00", "")
    path = hostile_trace().write(tmp_path / f"{name}.json")
    for command in (argv, ["summary", *argv[1:]]):
        lines = lines_of(ran(capsysbinary, command, path), argv)
        assert not any(line.startswith("forged") for line in lines)


@pytest.mark.parametrize("form", [[], ["--json"]])
@pytest.mark.parametrize("by_stdin", [False, True])
def test_kernel_names_to_decode_drive_no_terminal(
    capsysbinary: pytest.CaptureFixture[bytes],
    monkeypatch: pytest.MonkeyPatch,
    form: list[str],
    by_stdin: bool,
) -> None:
    names = [HOSTILE, f"void {HOSTILE}<float, {HOSTILE}>({HOSTILE})", f"triton_poi_{HOSTILE}_0"]
    if by_stdin:
        stdin = io.BytesIO("\n".join(names).encode())
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(stdin, encoding="utf-8"))
        names = ["-"]
    assert main(["decode", *names, *form]) == 0
    out, err = capsysbinary.readouterr()
    assert (err, b"evil" in out) == (b"", True)
    lines_of(out.decode(), form)


@pytest.mark.parametrize("keys", ["", "I", "? escape K"])
def test_picture_holds_no_script_no_control_and_no_secret(
    capsysbinary: pytest.CaptureFixture[bytes], tmp_path: Path, keys: str
) -> None:
    out = tmp_path / "picture.svg"
    for builder, shown in ((hostile_trace(), "evil"), (secretive_trace(), "mm")):
        path = builder.write(tmp_path / "t.json")
        assert main(["export", str(path), "-o", str(out), "--keys", keys]) == 0
        assert not UNSAFE & set(capsysbinary.readouterr().out.decode())
        svg = out.read_text(encoding="utf-8")
        assert shown in svg
        assert "<script" not in svg.lower()
        assert not UNSAFE & set(svg)
        assert not [secret for secret in SECRETS if secret in svg]


@pytest.mark.parametrize(
    "argv",
    [
        ["summary", f"{HOSTILE}.json"],
        ["tree", "FILE", "--step", HOSTILE],
        ["summary", "FILE", "--rank-regex", f"({HOSTILE}"],
        ["ops", "FILE", "--by", HOSTILE],
        ["ops", "FILE", "--limit", HOSTILE],
        [HOSTILE],
    ],
    ids=lambda argv: " ".join(argv)[:24].encode("unicode_escape").decode(),
)
def test_complaints_stay_one_clean_line(
    capsysbinary: pytest.CaptureFixture[bytes], tmp_path: Path, argv: list[str]
) -> None:
    path = str(hostile_trace().write(tmp_path / "t.json"))
    assert main([path if word == "FILE" else word for word in argv]) == 2
    out, err = capsysbinary.readouterr()
    assert out == b""
    assert err.decode().count("\n") == 1
    assert not UNSAFE & set(err.decode())


def test_what_a_refused_file_says_of_itself_stays_one_clean_line(
    capsysbinary: pytest.CaptureFixture[bytes], tmp_path: Path
) -> None:
    path = tmp_path / "t.json"
    first_key = "evil\x1b[31m\r\nforged".replace("\x1b", "\x9b")
    path.write_text(f'{{"{first_key}": 1}}', encoding="utf-8")
    assert main(["summary", str(path)]) == 2
    err = capsysbinary.readouterr().err.decode()
    assert err.count("\n") == 1
    assert not UNSAFE & set(err)


@pytest.mark.parametrize("argv", [*PLAIN, *JSON], ids=" ".join)
@pytest.mark.parametrize("damage", [b"", b'"x": nan, '])
def test_header_secrets_are_not_printed_unless_asked_for(
    capsysbinary: pytest.CaptureFixture[bytes], tmp_path: Path, argv: list[str], damage: bytes
) -> None:
    path = tmp_path / "t.json"
    path.write_bytes(b"{" + damage + secretive_trace().text().removeprefix(b"{"))
    if "evil" in argv:
        argv = [word if word != "evil" else "aten" for word in argv]
    text = ran(capsysbinary, argv, path)
    assert not [secret for secret in SECRETS if secret in text]
    assert "HF_TOKEN" not in text


def test_secrets_of_a_file_that_is_refused_are_not_printed(
    capsysbinary: pytest.CaptureFixture[bytes], tmp_path: Path
) -> None:
    path = tmp_path / "t.json"
    path.write_text(json.dumps({"env": {"HF_TOKEN": SECRETS[0]}, "events": [SECRETS[1]]}))
    assert main(["summary", str(path)]) == 2
    err = capsysbinary.readouterr().err.decode()
    assert not [secret for secret in SECRETS if secret in err]
