"""The views besides the tree: top, doctor; going there and back, and that the keys agree."""

from __future__ import annotations

import gzip
import json
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

import pytest
from tests.traces import trace
from tests.tui_driver import Explorer, explorer, training, until

from ptx.profiling.report.units import format_ns
from ptx.tui.keymap import (
    DOCTOR_KEYS,
    EXPLORE_KEYS,
    FINDING_KEYS,
    TIMELINE_KEYS,
    TOP_KEYS,
    Key,
)
from ptx.tui.screens.doctor import DoctorScreen
from ptx.tui.screens.top import TopScreen

if TYPE_CHECKING:
    from pathlib import Path

TABLES = {
    "1": EXPLORE_KEYS,
    "2": TIMELINE_KEYS,
    "3": TOP_KEYS,
    "4": FINDING_KEYS,
    "8": DOCTOR_KEYS,
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return training().write(tmp_path / "train.json", "lines")


def top_of(ptx: Explorer) -> TopScreen:
    screen = ptx.pilot.app.screen
    assert isinstance(screen, TopScreen)
    return screen


async def go_to_top(ptx: Explorer) -> TopScreen:
    await ptx.press("3")
    await ptx.shows("[by kernel]", "attention_kernel")
    return top_of(ptx)


async def test_top_ranks_the_kernels_of_the_step_that_the_tree_shows(path: Path) -> None:
    async with explorer(path) as ptx:
        screen = await go_to_top(ptx)
        assert [g.name for g in screen.rows.groups] == [
            "gemm_kernel",
            "attention_kernel",
            "dgrad_kernel",
            "gelu_kernel",
        ]
        assert [g.gpu_sum_ns for g in screen.rows.groups] == [900_000, 700_000, 300_000, 80_000]
        assert [g.calls for g in screen.rows.groups] == [1, 1, 1, 2]


async def test_tab_goes_through_the_groupings_and_round(path: Path) -> None:
    async with explorer(path) as ptx:
        screen = await go_to_top(ptx)
        seen = []
        for _ in range(6):
            await ptx.press("tab")
            seen.append(screen.grouping)
        assert seen == ["op", "module", "class", "category", "shape", "kernel"]
        await ptx.press("shift+tab")
        assert screen.grouping == "shape"


async def test_enter_shows_where_a_group_is_and_q_shows_all_again(path: Path) -> None:
    async with explorer(path) as ptx:
        await go_to_top(ptx)
        await ptx.press("G", "enter")
        await ptx.shows("only places of", "gelu")
        leaves = [label for label in ptx.labels if label in ("gelu", "bmm", "addmm")]
        assert set(leaves) == {"gelu"}
        await ptx.press("q")
        await ptx.shows_no("only places of")
        assert "bmm" in " ".join(ptx.labels)


async def test_another_step_is_taken_along_between_views(path: Path) -> None:
    async with explorer(path) as ptx:
        screen = await go_to_top(ptx)
        assert screen.step == 1
        await ptx.press("less_than_sign", "1")
        await ptx.shows("step 1/2", "step tree")
        assert ptx.screen.step == 0
        await ptx.press("greater_than_sign", "3")
        await ptx.shows("step 2/2", "[by kernel]")


async def test_o_sorts_by_the_next_column(path: Path) -> None:
    async with explorer(path) as ptx:
        screen = await go_to_top(ptx)
        await ptx.press("o")
        await ptx.shows("by number")
        assert screen.rows.groups[0].name == "gelu_kernel"


async def test_filter_of_top_leaves_names_and_q_takes_it_away_first(path: Path) -> None:
    async with explorer(path) as ptx:
        screen = await go_to_top(ptx)
        await ptx.press("ampersand", *"gelu", "enter")
        assert [g.name for g in screen.rows.groups] == ["gelu_kernel"]
        await ptx.press("ampersand", *"nonesuch", "enter")
        await ptx.shows("nothing here is called 'nonesuch'")
        assert [g.name for g in screen.rows.groups] == ["gelu_kernel"]
        await ptx.press("q")
        assert len(screen.rows.groups) == 4
        await ptx.press("q")
        await ptx.shows("step tree")


async def test_find_in_top_goes_round(path: Path) -> None:
    async with explorer(path) as ptx:
        screen = await go_to_top(ptx)
        await ptx.press("slash", *"dgrad", "enter")
        assert screen.rows.groups[screen.list.cursor].name == "dgrad_kernel"
        await ptx.press("n")
        assert screen.rows.groups[screen.list.cursor].name == "dgrad_kernel"


async def test_top_copies_the_command_that_prints_it(path: Path) -> None:
    async with explorer(path) as ptx:
        screen = await go_to_top(ptx)
        await ptx.press("tab")
        screen.copy_command()
        assert ptx.pilot.app.clipboard.endswith(f"ops {path} --by op --step 2")


async def test_cpu_only_trace_ranks_by_cpu_time(tmp_path: Path) -> None:
    builder = trace().thread(1).step(1, 0, 1000).op("aten::mm", 10, 500).op("aten::add", 600, 100)
    async with explorer(builder.write(tmp_path / "t.json", "lines")) as ptx:
        await ptx.press("3", "tab")
        await ptx.shows("[by op]", "mm", "self CPU")
        assert [g.name for g in top_of(ptx).rows.groups] == ["aten::mm", "aten::add"]


async def test_doctor_says_what_is_wrong_and_leads_to_its_events(tmp_path: Path) -> None:
    builder = training()
    builder.kernel("stray_kernel", 7_000, 100, correlation=999)
    async with explorer(builder.write(tmp_path / "t.json", "lines")) as ptx:
        await ptx.press("8")
        await ptx.shows("linked to a launch", "lack")
        screen = ptx.pilot.app.screen
        assert isinstance(screen, DoctorScreen)
        rows = [r.text for r in screen.list.source.remarks]  # type: ignore[union-attr]
        row = next(k for k, text in enumerate(rows) if "launch" in text and k > 0)
        await ptx.press(*(["j"] * row))
        await ptx.shows("first events")
        await ptx.press("enter")
        await ptx.shows("only places of", "no op (launched before the trace")


async def test_doctor_shows_the_line_of_code_of_what_is_lacking(path: Path) -> None:
    async with explorer(path, (80, 24)) as ptx:
        await ptx.press("8", "G")
        await ptx.shows("prof.add_metadata")
        await ptx.press("enter")
        await ptx.shows("this line names no events")
        await ptx.press("q")
        await ptx.shows("step tree")


@pytest.mark.parametrize("view", TABLES)
async def test_every_key_of_a_view_has_its_action(view: str, path: Path) -> None:
    async with explorer(path) as ptx:
        await ptx.press(view)
        screen = ptx.pilot.app.screen
        await until(ptx.pilot, lambda: screen.is_mounted)
        for key in TABLES[view]:
            name = "action_" + key.action.partition("(")[0].rpartition(".")[2]
            assert hasattr(screen, name) or hasattr(ptx.pilot.app, name), key


@pytest.mark.parametrize("view", TABLES)
def test_no_key_is_bound_twice_on_a_screen(view: str) -> None:
    counts = Counter(key for entry in TABLES[view] for key in entry.keys)
    assert not [key for key, count in counts.items() if count > 1]


def test_a_key_means_the_same_on_every_screen() -> None:
    def word(entry: Key) -> str:
        return entry.action.partition("(")[0]

    meanings = defaultdict(set)
    for table in TABLES.values():
        for entry in table:
            for key in entry.keys:
                meanings[key].add(word(entry))
    # the next tab of a list, the next pane or panel of the tree: one habit
    tabs = {"tab", "shift+tab", "left", "right", "h", "l"}
    assert not {k: v for k, v in meanings.items() if len(v) > 1 and k not in tabs}


@pytest.mark.parametrize("view", ["2", "3", "4", "8"])
@pytest.mark.parametrize("size", [(60, 15), (80, 24), (120, 40), (200, 50)])
async def test_views_are_ascii_where_asked_and_fit(
    view: str, size: tuple[int, int], path: Path
) -> None:
    async with explorer(path, size, ascii_only=True) as ptx:
        await ptx.press(view)
        await ptx.shows("back")
        assert ptx.text.isascii(), [c for c in ptx.text if not c.isascii()]
        assert len(ptx.text.splitlines()) == size[1]


async def test_a_view_in_a_small_terminal_says_so(path: Path) -> None:
    async with explorer(path) as ptx:
        await go_to_top(ptx)
        await ptx.pilot.resize_terminal(50, 12)
        await ptx.shows("60x15 needed, this is 50x12")
        await ptx.pilot.resize_terminal(80, 24)
        await ptx.shows("attention_kernel")


async def test_findings_lead_to_their_evidence(shared: Path) -> None:
    path = shared / "traces" / "h200" / "launch_bound_and_syncs.json.gz"
    async with explorer(path, (120, 40)) as ptx:
        await ptx.press("4")
        await ptx.shows("data-wait", "aten::randn on the CPU", "fix:", "open:")
        await ptx.press("enter")
        await ptx.shows("only places of 'data-wait'", "randn", "1 of ")
        assert any("randn" in label for label in ptx.labels)
        await ptx.press("q")
        await ptx.shows_no("only places of")


async def test_cpu_only_trace_says_why_there_are_no_findings(tmp_path: Path) -> None:
    builder = trace().thread(1).step(1, 0, 1000).op("aten::mm", 10, 500)
    async with explorer(builder.write(tmp_path / "t.json", "lines")) as ptx:
        await ptx.press("4")
        await ptx.shows("no device activity")
        await ptx.press("enter")
        await ptx.shows("there is no evidence to show")


SAMPLES = ("geglu_eager", "conv_nchw", "train_step_eager")


@pytest.mark.parametrize("name", SAMPLES)
async def test_top_equals_a_plain_count_of_the_file(name: str, samples: Path) -> None:
    path = samples / f"{name}.json.gz"
    events = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
    expected = plain_kernels_of_last_step(events)
    async with explorer(path) as ptx:
        await ptx.press("3")
        await ptx.shows("[by kernel]")
        groups = top_of(ptx).rows.groups
        assert {g.name: (g.calls, g.gpu_sum_ns) for g in groups} == expected
        assert format_ns(groups[0].gpu_sum_ns) in ptx.text.splitlines()[5]


def plain_kernels_of_last_step(events: list[dict[str, Any]]) -> dict[str, tuple[int, int]]:
    """Returns (number, ns) of each activity name, by launch, with plain loops."""
    steps = [e for e in events if str(e.get("name")).startswith("ProfilerStep#")]
    step = max((e for e in steps if e.get("cat") == "user_annotation"), key=lambda e: e["ts"])
    launches = {
        e["args"]["correlation"]: e
        for e in events
        if e.get("cat") in ("cuda_runtime", "cuda_driver") and "correlation" in e.get("args", {})
    }
    found: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for event in events:
        if event.get("cat") not in ("kernel", "gpu_memcpy", "gpu_memset"):
            continue
        launch = launches[event["args"]["correlation"]]
        if step["ts"] <= launch["ts"] < step["ts"] + step["dur"]:
            found[event["name"]][0] += 1
            found[event["name"]][1] += round(event["dur"] * 1000)
    return {name: (count, ns) for name, (count, ns) in found.items()}
