"""Makes the pictures of the README from the real program on a sample trace.

Run by `make pictures`.
"""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path

from ptx.tui.app import PtxApp
from ptx.tui.screens.explore import ExploreScreen

ROOT = Path(__file__).resolve().parents[1]
SAMPLE = ROOT / "sample_traces" / "geglu_eager.json.gz"
IMAGES = ROOT / "docs" / "images"
SIZE = (120, 22)


async def explorer(keys: list[str]) -> str:
    """Returns the explorer's screen as SVG after some keys."""
    app = PtxApp(SAMPLE)
    async with app.run_test(size=SIZE) as pilot:
        while not isinstance(app.screen, ExploreScreen):
            await pilot.pause(0.05)
        await pilot.pause(0.3)
        await pilot.press(*keys)
        await pilot.pause(0.3)
        svg = app.export_screenshot(title="ptx explore geglu_eager.json.gz", simplify=True)
    # class names hold a random id, which would change the file each time
    return re.sub(r"terminal-\d+", "terminal", svg)


def main() -> None:
    """Writes all pictures, in the colours of a terminal that has them all."""
    os.environ["COLORTERM"] = "truecolor"
    IMAGES.mkdir(parents=True, exist_ok=True)
    (IMAGES / "explore.svg").write_text(asyncio.run(explorer([])), encoding="utf-8")


if __name__ == "__main__":
    main()
