from __future__ import annotations

import pytest

from ptx.profiling.capture.redaction import redacted


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        (["train.py", "--lr", "3"], ["train.py", "--lr", "3"]),
        (["--api-key", "abc", "x"], ["--api-key", "***", "x"]),
        (["--hf_token=abc"], ["--hf_token=***"]),
        (["WANDB_API_KEY=abc", "run"], ["WANDB_API_KEY=***", "run"]),
        (["--Password", "abc"], ["--Password", "***"]),
        (["--use-auth", "--lr", "3"], ["--use-auth", "--lr", "3"]),
        (["login", "hf_abcdefghijkl"], ["login", "***"]),
        (["https://me:word@host/x"], ["https://***@host/x"]),
        (["--data", "tokens.bin"], ["--data", "tokens.bin"]),
    ],
)
def test_values_that_look_secret_go_and_others_stay(words: list[str], kept: list[str]) -> None:
    assert redacted(words) == kept
