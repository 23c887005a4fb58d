"""Ascend NPUs: aclnn calls and kernels of static graphs.

Source: the Type column of msprof's kernel_details.csv beside the names; types and shapes are in
that file, never in the name.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ptx.profiling.kernels.reading import Reading

_RULE = "Ascend/msprof-analyze kernel_details.csv"
_CAMEL = re.compile(r"[A-Z][A-Za-z0-9]*\Z")
_NUMBERED = re.compile(r"([A-Z][a-z][A-Za-z]*?(?:V[2-9])?)([0-9]{1,6})\Z")
_UNCLEAR = re.compile(r"[0-9]D|V1[0-9]*\Z")
_TRANS = re.compile(r"trans_([A-Z][A-Za-z]*)_([0-9]{1,6})(_MemSet)?\Z")
_FORMATS = re.compile(r"([A-Z][A-Za-z0-9]*)_(?:ND|NZ|NCHW|NHWC|NC1HWC0|FRACTAL_[A-Z]+)_")
_CLEARS = re.compile(r"[A-Z][A-Za-z0-9]*_(MemSet)\Z")
_DYNAMIC = frozenset(
    ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceAll", "ReduceAny",
     "StridedSlice")
)  # fmt: skip
"""Operators whose type in a static graph has a D at its end that the name leaves out."""


def read_ascend(reading: Reading) -> bool:
    """Reads a name of Ascend's run-time; False if it is none."""
    name, start, end = reading.name, reading.start, reading.end
    if name.startswith("aclnn", start, end):
        _read_aclnn(reading)
        return True
    if name.startswith(
        ("trans_TransData", "trans_Cast", "atomic_memset", "trans_Transpose"), start
    ):
        _read_inserted(reading)
        return True
    if reading.cut or not name[start : start + 1].isupper():
        return False
    if clear := _CLEARS.match(name, start, end):
        reading.be("ascend_static", "ascend", _RULE)
        reading.put("op_type", "MemSet", *clear.span(1))
        reading.notes.append("clears the output before an operator that adds to it")
        return True
    words = reading.words()
    if (
        len(words) == 3
        and all(_CAMEL.match(word.text) for word in words)
        and (words[1].text == words[2].text or words[0].text.startswith("Inner"))
    ):
        _read_aclnn(reading)
        return True
    if formats := _FORMATS.match(name, start, end):
        reading.be("ascend_static", "ascend", _RULE)
        reading.put("op_type", formats.group(1), *formats.span(1))
        reading.notes.append("the types in the name are the binary's, not those of the data")
        return True
    return _read_numbered(reading)


def _read_aclnn(reading: Reading) -> None:
    reading.be("ascend_aclnn", "ascend", _RULE)
    words = reading.words()
    for key, word in zip(("api", "l0_op", "op_type"), words, strict=False):
        reading.take(key, word.text, word)
    if len(words) > 1:
        for ending, core in (("AiCore", "aicore"), ("AiCpu", "aicpu")):
            if words[1].text.endswith(ending):
                at = words[1].end - len(ending)
                reading.put("core", core, at, words[1].end)
                if core == "aicpu":
                    reading.notes.append("AiCpu: a slow fallback to the device's CPU")


def _read_inserted(reading: Reading) -> None:
    name, start, end = reading.name, reading.start, reading.end
    reading.be("ascend_static", "ascend", _RULE)
    if name.startswith("atomic_memset", start, end):
        reading.put("op_type", "MemSet", start, min(end, start + len("atomic_memset")))
    elif not reading.cut and (trans := _TRANS.match(name, start, end)):
        reading.put("inserted", True, start, start + len("trans"))
        clear = trans.group(3)
        span = trans.span(3) if clear else trans.span(1)
        reading.put("op_type", "MemSet" if clear else trans.group(1), *span)
        reading.put("index", int(trans.group(2)), *trans.span(2))


def _read_numbered(reading: Reading) -> bool:
    name, start, end = reading.name, reading.start, reading.end
    slash = name.find("/", start, end)
    numbered = _NUMBERED.match(name, start, end if slash < 0 else slash)
    unclear = _UNCLEAR.search(name, start, end if slash < 0 else slash)
    if not numbered and not (unclear and _CAMEL.match(name, start, end)):
        return False
    reading.be("ascend_static", "ascend", _RULE)
    if slash >= 0:
        reading.notes.append("what stands after the slash ran; its type is in kernel_details.csv")
        return True
    if not numbered or unclear:
        reading.notes.append("where the operator's type ends and its number starts is not clear")
        return True
    reading.put("index", int(numbered.group(2)), *numbered.span(2))
    if numbered.group(1) in _DYNAMIC:
        reading.notes.append("the operator's exact type is in kernel_details.csv")
    else:
        reading.put("op_type", numbered.group(1), *numbered.span(1))
    return True
