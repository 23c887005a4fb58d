"""The rank in the explorer's header: that of the user's pattern goes first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.traces import trace
from tests.tui_driver import explorer

from ptx.profiling.analysis.ranks import rank_pattern, ranks_by

if TYPE_CHECKING:
    from pathlib import Path


async def test_header_shows_the_rank_that_the_pattern_finds(tmp_path: Path) -> None:
    builder = trace().header(distributedInfo={"rank": 1}).step(1, 0, 50).op("aten::mm", 5, 9)
    path = builder.write(tmp_path / "gpu6.json")
    async with explorer(path) as ptx:
        await ptx.shows("rank 1")
    with ranks_by(rank_pattern(r"gpu(\d)")):
        async with explorer(path) as ptx:
            await ptx.shows("rank 6")
