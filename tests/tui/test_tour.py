"""The tour: its texts fit, its keys lead on, and what it says stands on the screen."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from tests.tui_driver import screen_text, until

import ptx
from ptx.tui.app import PtxApp
from ptx.tui.cli import main
from ptx.tui.screens.tour import TourScreen
from ptx.tui.state.tour import STOPS, Stop


@pytest.mark.parametrize("stop", STOPS, ids=lambda stop: stop.key)
def test_text_of_a_stop_fits_two_lines_of_80_columns(stop: Stop) -> None:
    assert len(textwrap.wrap(stop.text, 78)) <= 2


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_each_key_leads_to_the_next_stop_which_is_true(
    size: tuple[int, int], samples: Path
) -> None:
    app = PtxApp(samples / "geglu_eager.json.gz", tour=True)
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: isinstance(app.screen, TourScreen))

        async def shows(*texts: str) -> None:
            await until(pilot, lambda: all(text in screen_text(pilot) for text in texts))

        await shows("1/6", "GPU busy", "press c")
        await pilot.press("c")
        await shows("2/6", "addmm", "transpose")
        await pilot.press("T")
        await shows("3/6", "[Tensors]", "(1,768)")
        await pilot.press("D")
        await shows("4/6", "[Decode]", "tn = tn agree")
        await pilot.press("H")
        await shows("5/6", "[Host]", "host in: op")
        await pilot.press("3")
        await shows("[by kernel]")
        await pilot.press("1")
        await shows("6/6", "press ?")
        await pilot.press("question_mark")
        await shows("half a page")
        await pilot.press("q", "q")
        await until(pilot, lambda: app.return_code is not None)


async def test_another_key_works_as_ever_and_the_stop_stays(samples: Path) -> None:
    app = PtxApp(samples / "geglu_eager.json.gz", tour=True)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "1/6" in screen_text(pilot))
        await pilot.press("I")
        await until(pilot, lambda: "[Info]" in screen_text(pilot))
        assert "1/6" in screen_text(pilot)


def test_without_a_terminal_the_tour_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tour"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_the_trace_of_the_tour_comes_with_the_program(samples: Path) -> None:
    packaged = Path(ptx.__file__).parent / "sample_traces" / "geglu_eager.json.gz"
    assert packaged.read_bytes() == (samples / "geglu_eager.json.gz").read_bytes()
