import argparse
import io
import sys

import pytest

from ptx.tui.cli._output import add_ascii_argument, wants_ascii


@pytest.mark.parametrize(
    ("argv", "encoding", "ascii_only"),
    [
        ([], "utf-8", False),
        ([], "UTF8", False),
        ([], "ascii", True),
        ([], "iso-8859-1", True),
        (["--ascii"], "utf-8", True),
    ],
)
def test_ascii_is_for_those_who_ask_and_those_who_cannot_show_more(
    monkeypatch: pytest.MonkeyPatch, argv: list[str], encoding: str, ascii_only: bool
) -> None:
    parser = argparse.ArgumentParser()
    add_ascii_argument(parser)
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding=encoding))

    assert wants_ascii(parser.parse_args(argv)) is ascii_only
