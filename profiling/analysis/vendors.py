"""Who made a device, from its name and from the names of the calls that drive it."""

from __future__ import annotations

import re

_BY_DEVICE_NAME = (
    ("nvidia", re.compile(r"nvidia|tesla|geforce|quadro|rtx", re.IGNORECASE)),
    ("amd", re.compile(r"\bamd\b|radeon|instinct", re.IGNORECASE)),
    ("intel", re.compile(r"intel|data center gpu", re.IGNORECASE)),
    ("ascend", re.compile(r"ascend", re.IGNORECASE)),
    ("mtia", re.compile(r"mtia|artemis", re.IGNORECASE)),
    ("mlu", re.compile(r"\bmlu", re.IGNORECASE)),
)
_BY_CALL_NAME = (
    ("amd", re.compile(r"hip[A-Z]")),
    ("nvidia", re.compile(r"cu(da)?[A-Z]")),
    ("intel", re.compile(r"ur[A-Z]|ze[A-Z]|sycl")),
    ("mlu", re.compile(r"cn(rt)?[A-Z]")),
)


def vendor_of(device_name: str | None, call_names: list[str]) -> str | None:
    """Returns the vendor's short name, None where neither the device nor its calls tell.

    ROCm keeps CUDA's category names, so only the names of the calls can tell the two apart.
    """
    for vendor, pattern in _BY_DEVICE_NAME:
        if device_name and pattern.search(device_name):
            return vendor
    for vendor, pattern in _BY_CALL_NAME:
        if any(pattern.match(name) for name in call_names):
            return vendor
    return None
