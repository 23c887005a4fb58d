"""What a key costs in a tree of a million open nodes: milliseconds to the last byte, and bytes.

Run by `python -m tests.benchmarks.bench_keys`. Bytes are exact and repeatable, times are not.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from tests.benchmarks._measure import anonymous_bytes
from tests.benchmarks.pty_probe import DOWN, PAGE_DOWN, PtyProbe, Reply
from textual.app import App

from ptx.tui.state.rows import Cell, Column, Row
from ptx.tui.state.tree_index import TreeIndex
from ptx.tui.widgets.row_tree import RowTree

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from textual.app import ComposeResult

FAN_OUT, LEVELS = 10, 7  # 1,111,111 nodes
PRESSES = 25
BUDGETS = {
    "index_build_s": 0.5,
    "down_ms": 30,
    "down_bytes": 1_000,
    "page_ms": 30,
    "page_bytes": 12_000,
    "fold_all_ms": 30,
    "unfold_all_ms": 30,
}
_NAMES = ("addmm", "LlamaDecoderLayer_0", "conv2d › … › cudnn_convolution", "mul", "linear")  # noqa: RUF001
_KERNELS = ("G nvjet bf16 256x128x64 tn +bias", "P mul bf16 v8", "")


def full_tree(fan_out: int, levels: int) -> NDArray[np.int32]:
    """Returns the parents of a tree in which every node above the last level has `fan_out`."""
    parent = np.array([-1], np.int32)
    for _ in range(levels - 1):
        first = 1 + np.arange(fan_out, dtype=np.int32)[:, None] * np.int32(len(parent))
        below = np.where(parent < 0, 0, parent + first).astype(np.int32)
        parent = np.concatenate((np.array([-1], np.int32), below.ravel()))
    return parent


class _Ops:
    """The tree as rows with the columns of the explorer."""

    def __init__(self, index: TreeIndex) -> None:
        self.index = index

    def title(self) -> str:
        return "step tree"

    def columns(self, width: int) -> Sequence[Column]:
        return [
            Column("kernel", 34, left=True, cut="middle"),
            Column("GPU", 7),
            Column("n", 5),
            Column("share", 5),
            Column("", 11, left=True),
        ]

    def row(self, node: int, columns: Sequence[Column]) -> Row:
        share = node * 7919 % 101
        cells = (
            Cell(_KERNELS[node % 3], "kernel"),
            Cell(f"{node % 997 / 7:.3g}us"),
            Cell(str(node % 13)),
            Cell(f"{share}%"),
            Cell("█" * (share * 11 // 100), "kernel"),
        )
        return Row(_NAMES[node % 5], cells)


class _Keys(App[None]):
    """One tree on the whole screen."""

    BINDINGS: ClassVar = [
        ("down", "move", "down"),
        ("pagedown", "page", "page down"),
        ("e", "fold", "fold or unfold all"),
    ]

    def __init__(self, source: _Ops) -> None:
        super().__init__()
        self.animation_level = "none"
        self._source = source

    def compose(self) -> ComposeResult:
        yield RowTree()

    def on_mount(self) -> None:
        tree = self.query_one(RowTree)
        tree.focus()
        tree.show(self._source)

    def action_move(self) -> None:
        self.query_one(RowTree).move(1)

    def action_page(self) -> None:
        self.query_one(RowTree).page(1)

    def action_fold(self) -> None:
        index = self._source.index
        index.set_open_below(-1, opened=not index.open[0])
        self.query_one(RowTree).rows_changed()


def explore(figures: Path) -> None:
    """Runs the program under test, after it has noted what the index cost."""
    parent = full_tree(FAN_OUT, LEVELS)
    before = anonymous_bytes()
    started = time.perf_counter()
    index = TreeIndex(parent)
    index.set_open_below(-1, opened=True)
    build_s = time.perf_counter() - started
    growth = anonymous_bytes() - before
    figures.write_text(
        json.dumps(
            {
                "nodes": len(index),
                "index_build_s": build_s,
                "index_bytes_per_node": growth / len(index),
            }
        )
    )
    _Keys(_Ops(index)).run()


def measure() -> dict[str, float]:
    """Returns the figures of one run at 120x40 in true colour."""
    with tempfile.TemporaryDirectory() as folder:
        figures = Path(folder) / "figures.json"
        argv = [sys.executable, "-m", "tests.benchmarks.bench_keys", "--explore", str(figures)]
        with PtyProbe(argv) as probe:
            probe.wait_for(b"addmm")
            downs = [probe.press(DOWN) for _ in range(PRESSES)]
            pages = [probe.press(PAGE_DOWN) for _ in range(PRESSES)]
            folds, unfolds = [], []
            for _ in range(PRESSES // 2):
                folds.append(probe.press(b"e"))
                unfolds.append(probe.press(b"e"))
        found: dict[str, float] = json.loads(figures.read_text())
    found |= _figures("down", downs) | _figures("page", pages)
    return found | _figures("fold_all", folds) | _figures("unfold_all", unfolds)


def _figures(name: str, replies: list[Reply]) -> dict[str, float]:
    # other programs can only make a reply slower; bytes are exact, so the worst counts
    return {
        f"{name}_ms": min(reply.last_ms for reply in replies),
        f"{name}_bytes": max(reply.bytes for reply in replies),
    }


def main() -> int:
    """Prints the figures beside their budgets; 1 if one does not hold."""
    missed = 0
    for name, value in measure().items():
        budget = BUDGETS.get(name)
        beside = ""
        if budget is not None:
            beside = f"  <= {budget:,}" if value <= budget else f"  over {budget:,}"
            missed += value > budget
        print(f"{name:22}{value:>12,.6g}{beside}")
    print("budgets hold" if not missed else f"{missed} budgets do not hold")
    return 1 if missed else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--explore"]:
        explore(Path(sys.argv[2]))
    else:
        sys.exit(main())
