"""Traces packed by zstd, and files that grow while they are read."""

from __future__ import annotations

import importlib
import json
from typing import TYPE_CHECKING

import pytest
from tests.traces import trace

from ptx.profiling.errors import TraceFormatError
from ptx.profiling.structure.structure import build_structure
from ptx.profiling.trace.reader import LoadProgress, read_trace

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

zstandard = pytest.importorskip("zstandard", reason="the extra `fast` is not installed")


def _text(ops: int = 2000) -> bytes:
    builder = trace()
    for i in range(ops):
        builder.op(f"aten::op{i}", i * 10, 5, External_id=i, words="x" * (i % 700))
    return builder.text()


def _pack(text: bytes, *, frames: int = 1) -> bytes:
    size = -(-len(text) // frames)
    pack = zstandard.ZstdCompressor().compress
    return b"".join(pack(text[at : at + size]) for at in range(0, len(text), size))


def _codes(path: Path) -> dict[str, int]:
    return {p.code: p.count for p in read_trace(path).problems}


@pytest.mark.parametrize("frames", [1, 3])
def test_a_zstd_file_equals_the_plain_one(tmp_path: Path, frames: int) -> None:
    text = _text()
    (tmp_path / "plain.json").write_bytes(text)
    (tmp_path / "t.json.zst").write_bytes(_pack(text, frames=frames))
    plain, packed = (read_trace(tmp_path / n) for n in ("plain.json", "t.json.zst"))
    assert packed.table.names == plain.table.names
    assert packed.table.start_ns.tolist() == plain.table.start_ns.tolist()
    assert len(packed.problems) == 0
    for event in (1999, 0, 1000):
        assert packed.args.event(event) == plain.args.event(event)


def test_what_follows_the_frames_is_ignored_and_skippable_frames_are_skipped(
    tmp_path: Path,
) -> None:
    skipped = b"\x50\x2a\x4d\x18\x03\x00\x00\x00abc"
    path = tmp_path / "t.zst"
    path.write_bytes(skipped + _pack(_text(5), frames=2) + b"\0" * 9)
    loaded = read_trace(path)
    assert (loaded.events, len(loaded.problems)) == (5, 0)


@pytest.mark.parametrize("share", [0.3, 0.9])
def test_a_cut_zstd_file_gives_the_events_up_to_the_cut(tmp_path: Path, share: float) -> None:
    packed = _pack(_text(), frames=3)
    path = tmp_path / "t.zst"
    path.write_bytes(packed[: int(len(packed) * share)])
    loaded = read_trace(path)
    assert 0 < loaded.events < 2000
    assert "truncated-archive" in _codes(path)
    assert "truncated" in _codes(path)


def test_a_damaged_zstd_file_gives_the_events_up_to_the_damage(tmp_path: Path) -> None:
    packed = _pack(_text(), frames=3)
    path = tmp_path / "t.zst"
    path.write_bytes(packed[: len(packed) // 2] + b"\xff" * 64 + packed[len(packed) // 2 + 64 :])
    assert 0 < read_trace(path).events < 2000
    assert "truncated-archive" in _codes(path)


@pytest.mark.parametrize("behind", [b"junk", b"\x28\xb5", b"\0\0x"])
def test_bytes_behind_the_last_frame_are_told_unless_they_are_padding(
    tmp_path: Path, behind: bytes
) -> None:
    path = tmp_path / "t.zst"
    path.write_bytes(_pack(_text(5), frames=2) + behind)
    assert (read_trace(path).events, _codes(path)) == (5, {"truncated-archive": 1})


def test_small_zstd_file_damaged_in_its_last_frame_gives_the_text_of_those_before(
    tmp_path: Path,
) -> None:
    text = _text(40)
    frames = [_pack(text[at : at + 2000]) for at in range(0, len(text), 2000)]
    packed = bytearray(b"".join(frames))
    assert len(packed) < 1 << 14  # all of it in one read
    packed[len(packed) - len(frames[-1]) + 12 :] = b"\xff" * 40
    path = tmp_path / "t.zst"
    path.write_bytes(packed)
    loaded = read_trace(path)
    assert 30 <= loaded.events < 40
    assert _codes(path) == {"truncated-archive": 1, "truncated": 1}
    assert [loaded.args.event(k) for k in range(loaded.events)] == [
        json.loads(text)["traceEvents"][k] for k in range(loaded.events)
    ]


def test_zstd_file_with_a_wrong_check_sum_gives_all_its_text(tmp_path: Path) -> None:
    packed = bytearray(zstandard.ZstdCompressor(write_checksum=True).compress(_text(30)))
    packed[-1] ^= 0x55
    path = tmp_path / "t.zst"
    path.write_bytes(packed)
    assert (read_trace(path).events, _codes(path)) == (30, {"truncated-archive": 1})


def test_without_a_decoder_one_line_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = importlib.import_module

    def without(name: str, package: str | None = None) -> ModuleType:
        if "zst" in name:
            raise ImportError(name)
        return real(name, package)

    monkeypatch.setattr(importlib, "import_module", without)
    path = tmp_path / "t.json.zst"
    path.write_bytes(_pack(_text(3)))
    with pytest.raises(TraceFormatError, match=r"packed by zstd.*ptx-explorer\[fast\]"):
        read_trace(path)


def test_a_file_that_grows_while_it_is_read_opens_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    whole = _text(6000)
    path.write_bytes(whole[: len(whole) // 2])
    more = [whole[len(whole) // 2 : len(whole) * 3 // 4]]

    def grow(progress: LoadProgress) -> None:
        if more:
            with path.open("ab") as file:
                file.write(more.pop())

    loaded = read_trace(path, grow)
    codes = [p.code for p in loaded.problems]
    assert "changed" in codes
    assert "truncated" in codes
    assert 3000 < loaded.events < 6000
    assert len(build_structure(loaded).tree) == loaded.events
    last = loaded.args.event(loaded.events - 1)
    assert last is not None
    assert json.dumps(last)
