"""Short forms of the names in a trace, safe to show."""

from __future__ import annotations

import re
from functools import lru_cache

from ptx.profiling.sanitise import clean

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_NAMESPACES = re.compile(r"\(anonymous namespace\)::|at::native::|at_cuda_detail::|std::|c10::")
_FRAME = re.compile(r"(?P<path>.*?)\((?P<line>\d+)\): (?P<function>.*)\Z")
_FUNCTOR = re.compile(r"(\w+?)(?:Functor|KernelImpl|CUDAKernelImpl|_kernel_cuda|Ops?)\b")
# A name can be as long as its file. What a row can show fits into far less, and searching for a
# functor takes time by the square of the length.
_LONGEST = 1000
_SHELLS = frozenset(("Kernel", "Kernel2", "device_kernel"))  # CUTLASS: the type says all
_WRAPPERS = frozenset(("Binary", "Unary", "AUnary", "BUnary", "BinaryInternal"))


@lru_cache(maxsize=1 << 16)
def short_op(name: str) -> str:
    """Returns an op, module, annotation or frame as the tree shows it."""
    name = clean(name[:_LONGEST])
    for prefix in ("aten::", "nn.Module: ", "autograd::engine::evaluate_function: "):
        if name.startswith(prefix):
            return name[len(prefix) :]
    frame = _FRAME.match(name)
    if frame is not None:
        return f"{frame['path'].rpartition('/')[2]}:{frame['line']} {frame['function']}"
    return _ADDRESS.sub("", name)


@lru_cache(maxsize=1 << 16)
def short_kernel(name: str) -> str:
    """Returns a kernel's name without return type, arguments, namespaces and inner templates.

    Of an ATen kernel that takes its work as a functor, the functor is named too: the kernel's own
    name (`vectorized_elementwise_kernel`) says nothing of it.
    """
    text = _NAMESPACES.sub("", clean(name[:_LONGEST])).removeprefix("void ")
    head, templates = _split(text)
    plain = head.rpartition("::")[2] or head
    if plain in _SHELLS:
        inner = re.match(r"<\s*([\w:]+)", templates)
        plain = inner[1].rpartition("::")[2] if inner else plain
    named = [name for name in _FUNCTOR.findall(templates) if name not in _WRAPPERS]
    return f"{plain} {named[0]}" if named else plain


def _split(text: str) -> tuple[str, str]:
    """Returns (name, template arguments) of a C++ function; text without either as it is."""
    if text.startswith(("Memcpy ", "Memset ")):
        return text, ""
    end = len(text)
    for position, letter in enumerate(text):
        if letter in "<(":
            end = position
            break
    return text[:end].strip() or text, text[end:]
