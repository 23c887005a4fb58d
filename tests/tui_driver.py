"""Drives the program under test: what stands on its screen, and waiting for it."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from tests.traces import TraceBuilder, trace

from ptx.tui.app import PtxApp
from ptx.tui.screens.explore import ExploreScreen

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from textual.pilot import Pilot


def screen_text(pilot: Pilot[None]) -> str:
    """Returns what stands on the screen."""
    app = pilot.app
    return "\n".join(strip.text for strip in app.screen._compositor.render_strips(app.size))


async def until(pilot: Pilot[None], is_so: Callable[[], bool]) -> None:
    """Lets the program work until a condition holds; fails after many rounds."""
    for _ in range(500):
        if is_so():
            return
        await pilot.pause(0.01)
    raise AssertionError(screen_text(pilot))


class Explorer:
    """The program under test with its explorer on screen."""

    def __init__(self, pilot: Pilot[None]) -> None:
        self.pilot = pilot

    @property
    def screen(self) -> ExploreScreen:
        screen = self.pilot.app.screen_stack[-1]
        return next(
            s for s in (screen, *self.pilot.app.screen_stack) if isinstance(s, ExploreScreen)
        )

    @property
    def is_ready(self) -> bool:
        """Returns whether the tree is composed and filled."""
        return bool(self.screen.query("#tree")) and self.screen.op_tree.source is not None

    @property
    def text(self) -> str:
        return screen_text(self.pilot)

    @property
    def cursor(self) -> str:
        """Returns the label of the tree's row under the cursor."""
        return self.screen.rows.label(self.screen.op_tree.cursor)

    @property
    def labels(self) -> list[str]:
        rows = self.screen.rows
        return [rows.label(row) for row in rows.index.rows.tolist()]

    @property
    def panel_text(self) -> str:
        """Returns the lines of the panels on screen."""
        return "\n".join(found.as_text() for found in self.screen.panels.lists)

    @property
    def panel(self) -> str:
        """Returns the panel that has the focus, else the one in front."""
        return self.screen.panels.present

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def shows(self, *texts: str) -> None:
        await until(self.pilot, lambda: all(text in self.text for text in texts))

    async def shows_no(self, text: str) -> None:
        await until(self.pilot, lambda: text not in self.text)


@asynccontextmanager
async def explorer(
    path: Path, size: tuple[int, int] = (120, 40), *, ascii_only: bool = False
) -> AsyncIterator[Explorer]:
    app = PtxApp(path, ascii_only=ascii_only)
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: isinstance(app.screen, ExploreScreen))
        found = Explorer(pilot)
        await until(pilot, lambda: found.is_ready)
        yield found


def training() -> TraceBuilder:
    """Two steps: two modules with kernels, an idle op, backward on its own thread."""
    builder = trace()
    correlation = 0
    for number in range(2):
        at = 10_000 * number
        builder.thread(1).step(number, at, 9_000)
        for k, (module, op, kernel, dur) in enumerate(
            (
                ("Attention_0", "aten::bmm", "attention_kernel", 700),
                ("MLP_0", "aten::addmm", "gemm_kernel", 900),
            )
        ):
            start = at + 100 + 1_000 * k
            builder.frame(f"nn.Module: {module}", start, 800)
            builder.frame("model.py(7): forward", start + 10, 780)
            builder.op("aten::t", start + 20, 5)
            builder.op(op, start + 100, 100)
            correlation += 1
            builder.runtime("cudaLaunchKernel", start + 110, 5, correlation=correlation)
            builder.kernel(kernel, start + 300, dur, correlation=correlation)
            builder.op("aten::gelu", start + 400, 100)
            correlation += 1
            builder.runtime("cudaLaunchKernel", start + 410, 5, correlation=correlation)
            builder.kernel("gelu_kernel", at + 5_000 + 100 * k, 40, correlation=correlation)
        builder.thread(2)
        builder.op("autograd::engine::evaluate_function: MmBackward0", at + 4_000, 500)
        correlation += 1
        builder.runtime("cudaLaunchKernel", at + 4_100, 5, correlation=correlation)
        builder.kernel("dgrad_kernel", at + 6_000, 300, correlation=correlation)
    return builder
