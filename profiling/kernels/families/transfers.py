"""Memory copies and fills, which profilers name in words.

Source: pytorch/kineto libkineto/src/CuptiActivity.h; Intel's Level Zero command names.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ptx.profiling.kernels.reading import Reading

_RULE = "pytorch/kineto libkineto/src/CuptiActivity.h"
_COPY = re.compile(r"Memcpy ([HDPA])to([HDPA])(?: \(([A-Za-z ]{1,24}) -> ([A-Za-z ]{1,24})\))?")
_COPY_HEAD = re.compile(r"Memcpy ([HDPA]to[HDPA])\b")
_MEMSET = re.compile(r"Memset \(([A-Za-z ]{1,24})\)")
_LEVEL_ZERO = re.compile(r"zeCommandListAppendMemory(Copy|Fill)\w{0,40}(?:\(([MDSH])2([MDSH])\))?")
_BYTES = re.compile(r"\[([0-9]{1,15})(?: bytes)?\]")
_ROCTRACER = re.compile(r"Copy(Host|Device)To(Host|Device)\Z")
_LEVEL_ZERO_SIDES = {"M": "H", "H": "H", "D": "D"}
_ROCM = re.compile(r"__amd_rocclr_(copy|fill)([A-Za-z]*)")


def read_transfer(reading: Reading) -> bool:
    """Reads `Memcpy HtoD (Pageable -> Device)` and its like; False if the name is none."""
    name, start, end = reading.name, reading.start, reading.end
    if name.startswith(("Memcpy ", "memcpy ", "HtoD", "DtoH", "DtoD"), start, end):
        reading.be("memcpy", None, _RULE)
        if head := _COPY_HEAD.match(name, start, end):
            reading.put("direction", head.group(1), *head.span(1))
        copy = _COPY.match(name, start, end)
        if copy and copy.group(3):
            reading.put("src", copy.group(3).lower(), *copy.span(3))
            reading.put("dst", copy.group(4).lower(), *copy.span(4))
        return True
    if name.startswith(("Memset", "memset "), start, end):
        reading.be("memset", None, _RULE)
        if memset := _MEMSET.match(name, start, end):
            reading.put("dst", memset.group(1).lower(), *memset.span(1))
        return True
    if level_zero := _LEVEL_ZERO.match(name, start, end):
        is_copy = level_zero.group(1) == "Copy"
        reading.be(
            "memcpy" if is_copy else "memset", "intel", "oneapi-src/level-zero command names"
        )
        sides = [_LEVEL_ZERO_SIDES.get(side or "") for side in level_zero.groups()[1:]]
        if all(sides):
            reading.put("direction", "to".join(map(str, sides)), *level_zero.span(2))
        if amount := _BYTES.search(name, level_zero.end(), min(end, level_zero.end() + 40)):
            reading.put("bytes", int(amount.group(1)), *amount.span(1))
        return True
    if name[start : reading.end] in ("MEMCPY_ASYNC", "SDMA"):
        reading.be("memcpy", "ascend", "names in traces of Ascend's run-time")
        return True
    if moved := _ROCTRACER.match(name, start, end):
        reading.be("memcpy", "amd", "ROCm/roctracer operation names")
        way = f"{moved.group(1)[0]}to{moved.group(2)[0]}"
        reading.put("direction", way, moved.start(1), moved.end(2))
        return True
    if rocm := _ROCM.match(name, start, end):
        reading.be(
            "memcpy" if rocm.group(1) == "copy" else "memset", "amd", "ROCm/clr blit kernels"
        )
        reading.notes.append("a kernel does this on the compute units, not a copy engine")
        return True
    return False
