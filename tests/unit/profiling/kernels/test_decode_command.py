"""`ptx decode`: names from arguments and from stdin, as text and as JSON."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING

from ptx.tui.cli import main

if TYPE_CHECKING:
    import pytest

NAMES = ["ampere_sgemm_128x64_nn", "Memset (Device)"]


def test_each_name_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decode", *NAMES]) == 0
    shown = capsys.readouterr().out
    assert "128x64 output tile of one CTA" in shown
    assert "Fills memory" in shown


def test_json_has_the_members_of_its_schema_one_object_a_line(
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    assert main(["decode", "--json", *NAMES]) == 0
    documents = [json.loads(line) for line in capfdbinary.readouterr().out.splitlines()]
    assert [document["name"] for document in documents] == NAMES
    assert documents[0].keys() == {
        "schema", "name", "family", "vendor", "short", "text", "fields", "notes", "complete",
    }  # fmt: skip
    assert documents[0]["fields"]["layout"] == "nn"


def test_a_dash_reads_one_name_a_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(NAMES) + "\n\n"))
    assert main(["decode", "-"]) == 0
    assert all(name in capsys.readouterr().out for name in NAMES[:1])


def test_a_cut_name_is_said_to_be(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decode", "--cut", NAMES[0]]) == 0
    assert "the name is cut" in capsys.readouterr().out


def test_controls_in_a_name_do_not_reach_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decode", "void evil\x1b[31m<int>(int)", "\x9b evil"]) == 0
    shown = capsys.readouterr().out
    assert "\x1b" not in shown
    assert "\x9b" not in shown
