"""Communication: NCCL, RCCL, HCCL and symmetric memory.

Source: NVIDIA/nccl src/device/generate.py and src/device/symmetric/generate.py; RCCL's MSCCL
kernels; the names of HCCL in traces. One NCCL kernel serves many algorithms, so all but the
collective of a plain NCCL name is only "as named".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ptx.profiling.kernels.dtypes import cxx_type
from ptx.profiling.kernels.reading import Token

if TYPE_CHECKING:
    from ptx.profiling.kernels.cxx import Cxx
    from ptx.profiling.kernels.reading import Reading

_RULE = "NVIDIA/nccl src/device/generate.py"
_TYPES = {
    "f16": "f16", "half": "f16", "f32": "f32", "float": "f32", "f64": "f64", "double": "f64",
    "bf16": "bf16", "bfloat16": "bf16", "i8": "i8", "int8": "i8", "u8": "u8", "uint8": "u8",
    "i32": "i32", "int32": "i32", "u32": "u32", "uint32": "u32", "i64": "i64", "int64": "i64",
    "u64": "u64", "uint64": "u64", "f8e4m3": "e4m3", "f8e5m2": "e5m2", "fp8": "f8",
    "__nv_bfloat16": "bf16", "nv_bfloat16": "bf16", "hip_bfloat16": "bf16", "rccl_bfloat16": "bf16",
    "rccl_bfloat8": "e5m2", "rccl_float8": "e4m3",
}  # fmt: skip
_REDUCTIONS = ("sum", "prod", "max", "min", "minmax", "avg", "premulsum", "sumpostdiv")
_ALGORITHMS = {
    "ring": "ring", "tree": "tree", "collnet": "collnet", "nvls": "nvls", "nvlstree": "nvlstree",
    "pat": "pat",
}  # fmt: skip
_PROTOCOLS = {"ll": "ll", "ll128": "ll128", "simple": "simple"}
_REDUCING = ("AllReduce", "Reduce", "ReduceScatter")
_HCCL = re.compile(r"hcom_([a-zA-Z]+?)_?_[0-9]+")
_COLLECTIVES = {
    "allreduce": "AllReduce", "allgather": "AllGather", "reducescatter": "ReduceScatter",
    "broadcast": "Broadcast", "reduce": "Reduce", "alltoall": "AllToAll", "alltoallv": "AllToAllV",
    "alltoallvc": "AllToAllVC", "send": "Send", "receive": "Recv", "recv": "Recv",
    "scatter": "Scatter", "gather": "Gather", "batchsendrecv": "BatchSendRecv",
    "allgatherv": "AllGatherV", "reducescatterv": "ReduceScatterV",
}  # fmt: skip
_OLD = re.compile(
    r"nccl(AllReduce|AllGather|ReduceScatter|Broadcast|Reduce|SendRecv)(Ring|Tree|CollNet)?(LL128|LL)?"
    r"Kernel_(sum|prod|max|min|copy)_([a-z0-9]{2,4})(?=\(|\Z)"
)
_GENERIC = re.compile(r"rcclGenericKernel<([0-9]{1,3})")


def read_collective(reading: Reading) -> bool:
    """Reads a kernel of NCCL, RCCL, MSCCL or HCCL; False if the name is none."""
    name, start = reading.name, reading.start
    if name.startswith("hcom_", start):
        _read_hccl(reading)
    elif name.startswith("mscclKernel_", start):
        _read_msccl(reading)
    elif name.startswith(("ncclSymkDevKernel_", "ncclSymDevKernel_"), start):
        _read_symmetric(reading)
    elif name.startswith(("ncclDevKernel_", "ncclKernel_"), start):
        _read_nccl(reading)
    elif generic := _GENERIC.match(name, start, reading.end):
        reading.be("rccl", "amd", "ROCm/rccl src/device")
        reading.put("unroll", int(generic.group(1)), *generic.span(1))
        reading.notes.append("one kernel serves every collective: the name does not tell which")
    elif old := _OLD.match(name, start, reading.end):
        reading.be("nccl", "nvidia", "NVIDIA/nccl before 2.8")
        reading.put("collective", old.group(1), *old.span(1))
        for key, group in (("algo", 2), ("protocol", 3)):
            if old.group(group):
                reading.put(key, old.group(group).lower(), *old.span(group))
        if old.group(1) in _REDUCING and old.group(5) in _TYPES:
            reading.put("redop", old.group(4), *old.span(4))
            reading.put("dtype", _TYPES[old.group(5)], *old.span(5))
    elif name.startswith("rccl", start):
        reading.be("rccl", "amd", "ROCm/rccl src/device")
    elif name.startswith("nccl", start):
        reading.be("nccl", "nvidia", _RULE)
    else:
        return False
    return True


def _plain_words(reading: Reading) -> list[Token]:
    stop = reading.name.find("(", reading.start, reading.end)
    if stop >= 0:
        reading.end = stop
        reading.cut = False
    return reading.words()


def _read_nccl(reading: Reading) -> None:
    words = _plain_words(reading)
    reading.be("nccl", "nvidia", _RULE)
    head, words = words[0], words[1:]
    if not words:
        return
    if words[0].text == "Generic":
        rest = words[1:]
        if rest and rest[0].text.isdigit():
            reading.be("rccl", "amd", "ROCm/rccl src/device")
            reading.take("unroll", int(rest[0].text[:4]), rest[0])
        reading.notes.append("one kernel serves every collective: the name does not tell which")
        return
    reading.take("collective", words[0].text, words[0])
    reducing = words[0].text in _REDUCING
    at = 1
    while at < len(words):
        at += _read_nccl_word(reading, words, at, reducing)
    reading.notes.append("only the collective can be trusted: one kernel runs many algorithms")
    if head.text == "ncclKernel" and not reducing:
        reading.notes.append("the reduction and type in the name are placeholders")


def _read_nccl_word(reading: Reading, words: list[Token], at: int, reducing: bool) -> int:
    word = words[at]
    lower = word.text.lower()
    if lower in _ALGORITHMS:
        reading.take("algo", _ALGORITHMS[lower], word)
    elif lower in _PROTOCOLS:
        reading.take("protocol", _PROTOCOLS[lower], word)
    elif lower in _REDUCTIONS:
        if reducing:
            reading.take("redop", lower, word)
    else:
        found, used, end = _type_at(words, at)
        if not found:
            if lower:
                reading.leave_unread(word.text)
            return 1
        # A cut can fall between `int8` and `_t`, or `uint` and its size, but not change the type.
        if reducing:
            reading.put("dtype", found, word.start, end)
        return used
    return 1


def _type_at(words: list[Token], at: int) -> tuple[str | None, int, int]:
    text = words[at].text
    for count in (1, 2, 3, 4):
        if at + count > len(words):
            break
        text = "_".join(word.text for word in words[at : at + count])
        if text in _TYPES:
            follows = at + count < len(words) and words[at + count].text == "t"
            used = count + follows
            return _TYPES[text], used, words[at + used - 1].end
    return None, 1, words[at].end


def _read_msccl(reading: Reading) -> None:
    words = _plain_words(reading)
    reading.be("rccl", "amd", "ROCm/rccl MSCCL_KERNEL_ENTRY_NAME")
    reading.put("msccl", True, words[0].start, words[0].start + len("msccl"))
    at = 1
    while at < len(words):
        if words[at].text in ("false", "true"):
            at += 1
            continue
        at += _read_nccl_word(reading, words, at, reducing=True)


def _read_symmetric(reading: Reading) -> None:
    words = _plain_words(reading)
    reading.be("nccl", "nvidia", "NVIDIA/nccl src/device/symmetric/generate.py")
    reading.put("symmetric", True, words[0].start, words[0].end)
    words = words[1:]
    if not words:
        return
    reading.take("collective", words[0].text, words[0])
    stop = next((i for i, w in enumerate(words) if i and w.text in _REDUCTIONS), len(words))
    algorithm = words[1:stop]
    if algorithm and not (reading.cut and stop == len(words)):
        start, end = algorithm[0].start, algorithm[-1].end
        reading.put("algo", reading.name[start:end], start, end)
    for at in range(stop, len(words)):
        _read_nccl_word(reading, words, at, reducing=True)


def _read_hccl(reading: Reading) -> None:
    reading.be("hccl", "ascend", "names in traces; numbers are the group and a sequence")
    if match := _HCCL.match(reading.name, reading.start, reading.end):
        found = _COLLECTIVES.get(match.group(1).lower())
        if found:
            reading.put("collective", found, *match.span(1))
        else:
            reading.leave_unread(match.group(1))


_SYMMETRIC_MEMORY = re.compile(
    r"(?:multimem_|one_shot_|two_shot_)+(all_reduce|all_gather|reduce_scatter|broadcast)"
)
_SNAKE = {
    "all_reduce": "AllReduce", "all_gather": "AllGather", "reduce_scatter": "ReduceScatter",
    "broadcast": "Broadcast",
}  # fmt: skip


def read_symmetric_memory(reading: Reading, cxx: Cxx) -> bool:
    """Reads PyTorch's symmetric-memory kernels, by function name; False if it is none."""
    match = _SYMMETRIC_MEMORY.match(cxx.name)
    if not match:
        return False
    spot = Token(cxx.name, cxx.name_start, cxx.name_end)
    reading.be("symm_mem", "nvidia", "pytorch torch/csrc/distributed/c10d/symm_mem")
    reading.take("kernel", cxx.name, spot)
    reading.take("collective", _SNAKE[match.group(1)], spot)
    if cxx.arguments and (found := cxx_type(reading.name[slice(*cxx.arguments[0])])):
        reading.put("dtype", found, *cxx.arguments[0])
    return True
