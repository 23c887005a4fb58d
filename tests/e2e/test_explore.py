"""The explorer as a user meets it: the installed program in a real terminal."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import pytest
from tests.e2e.terminal import PROMPT, PTX, Terminal

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.tmux

BUSY = "GPU busy"
MARKED = {"NO_COLOR": "1"}  # the cursor's row begins with ">"


def explore(trace: Path, *options: str) -> str:
    return " ".join([PTX, "explore", *options, shlex.quote(str(trace))])


def cursor_row(screen: str) -> str:
    rows = [line for line in screen.splitlines() if line.startswith(">")]
    return rows[0] if rows else ""


@pytest.fixture
def geglu(samples: Path) -> Path:
    return samples / "geglu_eager.json.gz"


@pytest.mark.parametrize("size", [(80, 24), (100, 30), (120, 40), (200, 50)])
def test_first_screen_shows_the_step_and_its_ops(geglu: Path, size: tuple[int, int]) -> None:
    with Terminal(*size) as terminal:
        terminal.run(explore(geglu))
        screen = terminal.wait_for(BUSY, "addmm", "gelu", "mul")
        assert "step 3/3" in screen
        assert max(map(len, screen.splitlines())) <= size[0]


def test_digits_and_capitals_show_views_and_panels(geglu: Path) -> None:
    with Terminal(env=MARKED) as terminal:
        terminal.run(explore(geglu))
        terminal.wait_for(BUSY)
        for key, text in (
            *(("K", "[Kernels]"), ("H", "[Host]"), ("T", "[Tensors]"), ("D", "[Decode]")),
            *(("S", "[Source]"), ("I", "[Info]"), ("3", "[by kernel]"), ("8", "lack")),
            *(("2", "queued"), ("1", "step tree")),
        ):
            terminal.press(key)
            terminal.wait_for(text)


def test_quitting_gives_the_shell_back_as_it_was(geglu: Path) -> None:
    with Terminal() as terminal:
        terminal.run("echo before")
        terminal.wait_for("before")
        terminal.run(explore(geglu))
        terminal.wait_for(BUSY)
        terminal.press("q")
        terminal.wait_without(BUSY)
        terminal.run("echo code $?")
        screen = terminal.wait_for("code 0")
        assert "before" in screen


def test_moving_folding_and_steps_by_key(geglu: Path) -> None:
    with Terminal(env=MARKED) as terminal:
        terminal.run(explore(geglu))
        terminal.wait_for(BUSY)
        terminal.press("g")
        terminal.wait_until(lambda s: "ProfilerStep" in cursor_row(s), "cursor on the step")
        terminal.press("j")
        terminal.wait_until(lambda s: "ProfilerStep" not in cursor_row(s), "cursor below it")
        terminal.press("k", "Space")
        terminal.wait_without("gelu ")
        terminal.press("Space")
        terminal.wait_for("gelu")
        terminal.press("<")
        terminal.wait_for("step 2/3")
        terminal.press(">")
        terminal.wait_for("step 3/3")


def test_find_goes_to_the_row_with_the_name(geglu: Path) -> None:
    with Terminal(env=MARKED) as terminal:
        terminal.run(explore(geglu))
        terminal.wait_for(BUSY)
        terminal.press("g", "/")
        terminal.type("gelu")
        terminal.press("Enter")
        terminal.wait_until(lambda s: "gelu" in cursor_row(s).lower(), "cursor on gelu")


def test_help_lists_the_keys_and_goes_away(geglu: Path) -> None:
    with Terminal(120, 40) as terminal:
        terminal.run(explore(geglu))
        terminal.wait_for(BUSY)
        terminal.press("?")
        terminal.wait_for("next page", "costliest")
        terminal.press("q")
        terminal.wait_for(BUSY, "addmm")


def test_the_screen_comes_back_after_ctrl_z_and_fg(geglu: Path) -> None:
    with Terminal() as terminal:
        terminal.run(explore(geglu))
        terminal.wait_for(BUSY)
        terminal.press("C-z")
        terminal.wait_for(PROMPT, "Stopped")
        terminal.run("fg")
        terminal.wait_for(BUSY, "addmm")
        terminal.press("<")
        terminal.wait_for("step 2/3")


def test_another_size_lays_out_anew_and_too_small_says_so(geglu: Path) -> None:
    with Terminal(120, 40) as terminal:
        terminal.run(explore(geglu))
        terminal.wait_for(BUSY, "kernel")
        terminal.resize(80, 24)
        screen = terminal.wait_until(
            lambda s: BUSY in s and max(map(len, s.splitlines())) <= 80, "80 columns"
        )
        assert "addmm" in screen
        terminal.resize(48, 12)
        terminal.wait_for("60x15 needed, this is 48x12")
        terminal.resize(80, 24)
        terminal.wait_for(BUSY, "addmm")


def test_ascii_draws_nothing_but_ascii(geglu: Path) -> None:
    with Terminal(120, 40) as terminal:
        terminal.run("clear; " + explore(geglu, "--ascii"))
        screen = terminal.wait_for(BUSY, "addmm")
        assert screen.isascii(), [c for c in screen if not c.isascii()]


@pytest.mark.parametrize("term", ["xterm", "linux", "screen-256color"])
def test_terminals_of_few_colours_show_the_same(geglu: Path, term: str) -> None:
    with Terminal() as terminal:
        terminal.run(f"TERM={term} {explore(geglu)}")
        terminal.wait_for(BUSY, "addmm")
        terminal.press("<")
        terminal.wait_for("step 2/3")


def test_palette_runs_an_action_by_name(geglu: Path) -> None:
    with Terminal(120, 40) as terminal:
        terminal.run(explore(geglu))
        terminal.wait_for(BUSY)
        terminal.press("C-p")
        terminal.wait_for("Search")
        terminal.type("Previous step")
        terminal.wait_for("key <")
        terminal.press("Enter")
        terminal.wait_for("step 2/3")


def test_raw_events_open_in_the_pager_and_return(geglu: Path) -> None:
    with Terminal() as terminal:
        terminal.run(explore(geglu))
        terminal.wait_for(BUSY)
        terminal.press("R")
        terminal.wait_for('"ph"')
        terminal.press("q")
        terminal.wait_for(BUSY, "addmm")


def test_copied_row_reaches_a_terminal_that_takes_it(geglu: Path) -> None:
    with Terminal(env=MARKED) as terminal:
        terminal.tmux("set-option", "-s", "set-clipboard", "on")
        terminal.run(explore(geglu))
        terminal.wait_for(BUSY)
        terminal.press("g", "y")
        terminal.wait_for("set-clipboard")
        assert "ProfilerStep" in terminal.tmux("show-buffer")


def test_stdin_is_read_and_the_keyboard_still_works(geglu: Path) -> None:
    with Terminal() as terminal:
        terminal.run(f"cat {shlex.quote(str(geglu))} | {PTX} explore -")
        terminal.wait_for(BUSY, "addmm")
        terminal.press("<")
        terminal.wait_for("step 2/3")
        terminal.press("q")
        terminal.wait_without(BUSY)


def test_file_that_is_no_trace_says_so_and_exits_2(tmp_path: Path) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text('{"no": "events"}')
    with Terminal(120, 40) as terminal:
        terminal.run(f"{PTX} explore {bad}; echo code $?")
        terminal.wait_for("not a trace")
        terminal.press("q")
        terminal.wait_for("code 2")


def test_missing_file_never_opens_the_screen(tmp_path: Path) -> None:
    with Terminal() as terminal:
        terminal.run(f"{PTX} explore {tmp_path}/none.json; echo code $?")
        terminal.wait_for("code 2", "none.json")


def test_stderr_elsewhere_prints_text_instead_of_an_empty_screen(
    geglu: Path, tmp_path: Path
) -> None:
    with Terminal(120, 40) as terminal:
        terminal.run(f"{explore(geglu)} 2>{tmp_path}/log; echo code $?")
        terminal.wait_for("code 0", BUSY)


def test_a_big_trace_answers_while_it_loads_and_can_be_given_up(shared: Path) -> None:
    trace = shared / "traces" / "h200" / "llama_train_60_steps_stacks.json.gz"
    with Terminal() as terminal:
        terminal.run(explore(trace) + "; echo code $?")
        terminal.wait_for("reading", " MB")
        terminal.press("q")
        screen = terminal.wait_for("code 0")
        assert BUSY not in screen


def test_a_big_trace_opens(shared: Path) -> None:
    trace = shared / "traces" / "h200" / "llama_train_60_steps.json.gz"
    with Terminal(120, 40) as terminal:
        terminal.run(explore(trace))
        terminal.wait_for("reading", "events")
        terminal.wait_for(BUSY, "step 60/60")
