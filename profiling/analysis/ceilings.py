"""The most that a device can do: memory bandwidth and arithmetic rate, measured or by data sheet.

Measured ceilings (`ptx calibrate`) are kept in the user's cache folder, one file a device. Where
there are none, a table of data-sheet figures answers and says that it is one: rates are dense, not
sparse, and no program reaches all of them.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import orjson

if TYPE_CHECKING:
    from collections.abc import Mapping

_VERSION = 1
_MAX_FILE_BYTES = 64 << 10
_NOT_IN_FILE_NAMES = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True)
class Ceilings:
    """The ceilings of one device.

    Attributes:
        device: the device's name.
        memory_gbps: GB/s that memory gives, 10^9 bytes, reads and writes together.
        tflops: TFLOP/s by the type of the operands (`bf16`, `f16`, `tf32`, `f32`, `f64`, `f8`,
            `i8`, `f4`), the fastest units that take it.
        cache_bytes: the last-level cache, None where not known.
        source: where the figures come from.
    """

    device: str
    memory_gbps: float
    tflops: Mapping[str, float]
    cache_bytes: int | None
    source: Literal["measured", "data sheet"]

    @property
    def text(self) -> str:
        """Returns one line: the figures and where they come from."""
        rates = ", ".join(f"{rate:.0f} {word}" for word, rate in sorted(self.tflops.items()))
        tail = "by ptx calibrate" if self.source == "measured" else "data sheet, not measured here"
        return f"{self.device}: {self.memory_gbps:.0f} GB/s; TFLOP/s: {rates} ({tail})"


def ceilings_of(device_name: str | None, folder: Path | None = None) -> Ceilings | None:
    """Returns what is known of a device, measured figures first; None for an unknown device.

    Args:
        device_name: the device's name as the trace has it.
        folder: where measured ceilings are kept; the user's cache folder by default.
    """
    if not device_name:
        return None
    sheet = _by_data_sheet(device_name)
    return _measured(device_name, folder or cache_folder(), sheet) or sheet


def cache_folder() -> Path:
    """Returns the folder of measured ceilings; it need not exist."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "ptx" / "ceilings"


def save_ceilings(ceilings: Ceilings, folder: Path | None = None) -> Path:
    """Keeps measured ceilings for the user alone and returns the file.

    Raises:
        OSError: the folder cannot be written.
    """
    folder = folder or cache_folder()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / _file_name(ceilings.device)
    document = {
        "version": _VERSION,
        "device": ceilings.device,
        "memory_gbps": ceilings.memory_gbps,
        "tflops": dict(ceilings.tflops),
    }
    descriptor, temporary = tempfile.mkstemp(dir=folder, prefix=".new-")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(orjson.dumps(document, option=orjson.OPT_INDENT_2))
        Path(temporary).replace(path)
    except OSError:
        Path(temporary).unlink(missing_ok=True)
        raise
    return path


def _file_name(device_name: str) -> str:
    return _NOT_IN_FILE_NAMES.sub("-", device_name.lower()).strip("-")[:80] + ".json"


def _measured(device_name: str, folder: Path, sheet: Ceilings | None) -> Ceilings | None:
    """Returns the ceilings kept for a device; files of others and symbolic links are ignored."""
    path = folder / _file_name(device_name)
    try:
        if path.is_symlink() or not _is_own(path) or path.stat().st_size > _MAX_FILE_BYTES:
            return None
        document = orjson.loads(path.read_bytes())
    except (OSError, orjson.JSONDecodeError):
        return None
    if not isinstance(document, dict) or document.get("version") != _VERSION:
        return None
    memory, rates = _rate(document.get("memory_gbps")), document.get("tflops")
    if document.get("device") != device_name or memory is None or not isinstance(rates, dict):
        return None
    known = {word: rate for word in rates if (rate := _rate(rates[word])) is not None}
    cache = sheet.cache_bytes if sheet else None
    return Ceilings(device_name, memory, known, cache, "measured")


def _is_own(path: Path) -> bool:
    return not hasattr(os, "getuid") or path.stat().st_uid == os.getuid()


def _rate(value: object) -> float | None:
    """Returns a number above 0, None for anything else."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0:
        return float(value)
    return None


def _by_data_sheet(device_name: str) -> Ceilings | None:
    for pattern, memory_gbps, tflops, cache_mb in _DATA_SHEETS:
        if re.search(pattern, device_name, re.IGNORECASE):
            cache = int(cache_mb * 2**20)
            return Ceilings(device_name, memory_gbps, tflops, cache, "data sheet")
    return None


_HOPPER = {"bf16": 989, "f16": 989, "tf32": 494, "f32": 67, "f64": 67, "f8": 1979, "i8": 1979}
_HOPPER_PCIE = {"bf16": 756, "f16": 756, "tf32": 378, "f32": 51, "f64": 51, "f8": 1513, "i8": 1513}
_HOPPER_NVL = {"bf16": 835, "f16": 835, "tf32": 417, "f32": 60, "f64": 60, "f8": 1671, "i8": 1671}
_H20 = {"bf16": 148, "f16": 148, "tf32": 74, "f32": 44, "f64": 1, "f8": 296, "i8": 296}
_B200 = {"bf16": 2250, "f16": 2250, "tf32": 1125, "f32": 75, "f64": 37, "f8": 4500, "i8": 4500,
         "f4": 9000}  # fmt: skip
_GB200 = {"bf16": 2500, "f16": 2500, "tf32": 1250, "f32": 80, "f64": 40, "f8": 5000, "i8": 5000,
          "f4": 10000}  # fmt: skip
_A100 = {"bf16": 312, "f16": 312, "tf32": 156, "f32": 19.5, "f64": 19.5, "i8": 624}
_MI300X = {"bf16": 1307, "f16": 1307, "tf32": 654, "f32": 163, "f64": 163, "f8": 2615, "i8": 2615}
_MI250X = {"bf16": 191, "f16": 191, "f32": 48, "f64": 48, "i8": 191}
_MI250 = {"bf16": 181, "f16": 181, "f32": 45, "f64": 45, "i8": 181}

_DATA_SHEETS: tuple[tuple[str, float, Mapping[str, float], float], ...] = (
    (r"GB200", 8000, _GB200, 126),
    (r"\bB200", 8000, _B200, 126),
    (r"\bB100", 8000, {"bf16": 1750, "f16": 1750, "tf32": 875, "f32": 60, "f8": 3500}, 126),
    (r"\bH200", 4800, _HOPPER, 50),
    (r"GH200.*144", 4900, _HOPPER, 50),
    (r"GH200", 4000, _HOPPER, 50),
    (r"\bH100.*PCIe", 2000, _HOPPER_PCIE, 50),
    (r"\bH100.*NVL", 3900, _HOPPER_NVL, 50),
    (r"\bH[18]00", 3350, _HOPPER, 50),
    (r"\bH20\b", 4000, _H20, 60),
    (r"\bA[18]00.*PCIe.*80|\bA[18]00.*80.*PCIe", 1935, _A100, 40),
    (r"\bA[18]00.*80", 2039, _A100, 40),
    (r"\bA[18]00", 1555, _A100, 40),
    (r"\bA40\b", 696, {"bf16": 150, "f16": 150, "tf32": 75, "f32": 37, "i8": 299}, 6),
    (r"\bA30\b", 933, {"bf16": 165, "f16": 165, "tf32": 82, "f32": 10.3, "f64": 10.3}, 24),
    (r"\bA10G\b", 600, {"bf16": 70, "f16": 70, "tf32": 35, "f32": 31}, 6),
    (r"\bA10\b", 600, {"bf16": 125, "f16": 125, "tf32": 62, "f32": 31, "i8": 250}, 6),
    (r"\bL40S", 864, {"bf16": 362, "f16": 362, "tf32": 183, "f32": 92, "f8": 733, "i8": 733}, 96),
    (r"\bL40\b", 864, {"bf16": 181, "f16": 181, "tf32": 90, "f32": 90, "f8": 362, "i8": 362}, 96),
    (r"\bL4\b", 300, {"bf16": 121, "f16": 121, "tf32": 60, "f32": 30, "f8": 242, "i8": 242}, 48),
    (r"RTX 6000 Ada", 960, {"bf16": 364, "f16": 364, "tf32": 182, "f32": 91, "f8": 729}, 96),
    (r"RTX A6000", 768, {"bf16": 155, "f16": 155, "tf32": 77, "f32": 39}, 6),
    (r"RTX 5090", 1792, {"bf16": 210, "f16": 210, "tf32": 105, "f32": 105, "f8": 419}, 96),
    (r"RTX 4090", 1008, {"bf16": 165, "f16": 165, "tf32": 83, "f32": 83, "f8": 330}, 72),
    (r"RTX 3090", 936, {"bf16": 71, "f16": 71, "tf32": 36, "f32": 36}, 6),
    (r"V100.*(?:PCIe|FHHL)", 900, {"f16": 112, "f32": 14, "f64": 7}, 6),
    (r"V100", 900, {"f16": 125, "f32": 15.7, "f64": 7.8}, 6),
    (r"\bT4\b", 320, {"f16": 65, "f32": 8.1, "i8": 130}, 4),
    (r"P100", 732, {"f16": 21, "f32": 10.6, "f64": 5.3}, 4),
    (r"MI355X", 8000, {"bf16": 2517, "f16": 2517, "f32": 157, "f64": 79, "f8": 5033}, 256),
    (r"MI350X", 8000, {"bf16": 2307, "f16": 2307, "f32": 144, "f64": 72, "f8": 4614}, 256),
    (r"MI325X", 6000, _MI300X, 256),
    (r"MI300A", 5300, {"bf16": 981, "f16": 981, "tf32": 490, "f32": 123, "f8": 1961}, 256),
    (r"MI300", 5300, _MI300X, 256),
    # one of a card's two dies, which is what a program sees as a device
    (r"MI250X", 1638, _MI250X, 8),
    (r"MI250|MI210", 1638, _MI250, 8),
    (r"MI100", 1228, {"bf16": 92, "f16": 185, "f32": 46, "f64": 11.5}, 8),
    (r"W7900", 864, {"bf16": 123, "f16": 123, "f32": 61}, 96),
    (r"7900 XTX", 960, {"bf16": 123, "f16": 123, "f32": 61}, 96),
    # one of a card's two stacks, likewise
    (r"Max 1550", 1638, {"bf16": 419, "f16": 419, "tf32": 209, "f32": 26, "f64": 26}, 204),
    (r"Max 1100", 1228, {"bf16": 352, "f16": 352, "tf32": 176, "f32": 22, "f64": 22}, 108),
    (r"Arc.*A770", 560, {"bf16": 138, "f16": 138, "f32": 17}, 16),
    (r"Arc.*B580", 456, {"bf16": 117, "f16": 117, "f32": 14.6}, 18),
)
"""Pattern of the name, GB/s, dense TFLOP/s by operand type, last-level cache in MiB.

Source: the vendors' data sheets and architecture papers. The first pattern that fits counts.
"""
