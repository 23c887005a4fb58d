from __future__ import annotations

import stat
import sys
from typing import TYPE_CHECKING

import orjson
import pytest

from ptx.profiling.analysis.ceilings import Ceilings, cache_folder, ceilings_of, save_ceilings

if TYPE_CHECKING:
    from pathlib import Path

MEASURED = Ceilings("NVIDIA H200", 4321.0, {"bf16": 800.0, "f32": 50.0}, None, "measured")


@pytest.mark.parametrize(
    ("name", "memory", "bf16"),
    [
        ("NVIDIA H200", 4800, 989),
        ("NVIDIA H100 80GB HBM3", 3350, 989),
        ("NVIDIA H100 PCIe", 2000, 756),
        ("NVIDIA H100 NVL", 3900, 835),
        ("NVIDIA A100-SXM4-80GB", 2039, 312),
        ("NVIDIA A100-SXM4-40GB", 1555, 312),
        ("NVIDIA A100 80GB PCIe", 1935, 312),
        ("NVIDIA A100-PCIE-40GB", 1555, 312),
        ("NVIDIA B200", 8000, 2250),
        ("NVIDIA L40S", 864, 362),
        ("NVIDIA L4", 300, 121),
        ("NVIDIA A10G", 600, 70),
        ("AMD Instinct MI300X", 5300, 1307),
        ("AMD Instinct MI300X VF", 5300, 1307),
        ("AMD Instinct MI250X / MI250", 1638, 191),
        ("Intel(R) Data Center GPU Max 1550", 1638, 419),
    ],
)
def test_common_devices_have_a_data_sheet(
    name: str, memory: float, bf16: float, tmp_path: Path
) -> None:
    found = ceilings_of(name, tmp_path)
    assert found is not None
    assert (found.memory_gbps, found.tflops["bf16"]) == (memory, bf16)
    assert found.source == "data sheet"
    assert "not measured here" in found.text


@pytest.mark.parametrize("name", [None, "", "Tesla V100-SXM2-16GB"])
def test_what_a_device_cannot_do_or_is_not_known_has_no_ceiling(
    name: str | None, tmp_path: Path
) -> None:
    found = ceilings_of(name, tmp_path)
    assert found is None or "bf16" not in found.tflops
    assert (found is None) is not bool(name)


def test_an_unknown_device_has_none(tmp_path: Path) -> None:
    assert ceilings_of("Imagined GPU 9000", tmp_path) is None


def test_measured_ceilings_stand_above_the_data_sheet(tmp_path: Path) -> None:
    save_ceilings(MEASURED, tmp_path)
    found = ceilings_of("NVIDIA H200", tmp_path)
    assert found is not None
    assert (found.memory_gbps, found.tflops) == (4321.0, {"bf16": 800.0, "f32": 50.0})
    assert found.source == "measured"
    assert "by ptx calibrate" in found.text
    assert found.cache_bytes == 50 << 20, "what no program measures stays from the sheet"
    other = ceilings_of("NVIDIA H100 PCIe", tmp_path)
    assert other is not None
    assert other.source == "data sheet"


@pytest.mark.skipif(sys.platform == "win32", reason="modes are POSIX's")
def test_the_cache_is_the_users_alone(tmp_path: Path) -> None:
    path = save_ceilings(MEASURED, tmp_path / "new")
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [p.name for p in path.parent.iterdir()] == [path.name], "nothing temporary is left"


def test_the_cache_lies_where_the_user_says(monkeypatch: pytest.MonkeyPatch) -> None:
    if sys.platform in ("win32", "darwin"):
        pytest.skip("the variable is for other systems")
    monkeypatch.setenv("XDG_CACHE_HOME", "/some/where")
    assert str(cache_folder()) == "/some/where/ptx/ceilings"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"{",
        orjson.dumps({"version": 0}),
        orjson.dumps({"version": 1, "device": "NVIDIA H200", "memory_gbps": -1, "tflops": {}}),
        orjson.dumps({"version": 1, "device": "NVIDIA H200", "memory_gbps": "x", "tflops": {}}),
        orjson.dumps({"version": 1, "device": "another", "memory_gbps": 1, "tflops": {}}),
        b" " * 100_000,
    ],
)
def test_a_cache_file_that_is_not_sound_is_ignored(content: bytes, tmp_path: Path) -> None:
    save_ceilings(MEASURED, tmp_path).write_bytes(content)
    found = ceilings_of("NVIDIA H200", tmp_path)
    assert found is not None
    assert found.source == "data sheet"


def test_a_symbolic_link_is_ignored(tmp_path: Path) -> None:
    path = save_ceilings(MEASURED, tmp_path / "a")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / path.name).symlink_to(path)
    found = ceilings_of("NVIDIA H200", tmp_path / "b")
    assert found is not None
    assert found.source == "data sheet"
