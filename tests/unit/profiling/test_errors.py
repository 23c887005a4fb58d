import pickle
from pathlib import Path

import pytest

from ptx.profiling.errors import PtxError, TraceFormatError, UsageError


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (PtxError("no space left"), "no space left"),
        (PtxError("no space left", where="/tmp"), "no space left, /tmp"),
        (PtxError("no step 9", hint="there are 3"), "no step 9: there are 3"),
        (
            PtxError("no step 9", where="a.json", hint="there are 3"),
            "no step 9, a.json: there are 3",
        ),
        (TraceFormatError(Path("a.json"), "empty file"), "empty file, a.json"),
        (
            TraceFormatError("a.json", "not a trace", hint="expected a list", byte_offset=12),
            "not a trace, a.json at byte 12: expected a list",
        ),
    ],
)
def test_reads_as_what_where_what_to_do(error: PtxError, line: str) -> None:
    assert str(error) == line


def test_unreadable_input_and_wrong_usage_exit_with_2() -> None:
    assert TraceFormatError("a.json", "empty file").exit_code == 2
    assert UsageError("no step 9").exit_code == 2


def test_an_error_can_choose_its_exit_code() -> None:
    assert PtxError("3 kernels more than allowed", exit_code=1).exit_code == 1


def test_an_error_survives_the_way_from_another_process() -> None:
    error = TraceFormatError("a.json", "not a trace", hint="expected a list", byte_offset=12)

    copy = pickle.loads(pickle.dumps(error))

    assert str(copy) == str(error)
    assert copy.byte_offset == 12
