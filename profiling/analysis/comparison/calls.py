"""What is known of one place in a program: its op, its tensors, its kernels, and its keys.

Places that look the same share one `Call`, so that costs can be kept by pairs of calls.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, TypeAlias

from ptx.profiling.analysis.comparison.vocabulary import (
    FACTORIES,
    VIEW_WORDS,
    answers,
    op_class,
)
from ptx.profiling.kernels.decode import decode
from ptx.profiling.kernels.families.inductor import split_operators
from ptx.profiling.tensors.gemm import Gemm, gemm_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ptx.profiling.tensors.inputs import Input, Tensor

Key: TypeAlias = "tuple[object, ...]"

_GENERATED = re.compile(
    r"(?:graph_[0-9]+_)?(?:triton|cpp)_(?:([a-z]{3})_)?fused(?:_(.*?))?(?:_[0-9]+)?\Z"
)
_NUMBER = re.compile(r"_[0-9]+\Z")
_PRIORITY = "GARPXOCM"
_REDUCES = re.compile(
    r"(sum|mean|amax|amin|max|min|prod|argmax|argmin|any|all|var|std|var_mean|norm|logsumexp"
    r"|linalg_vector_norm|cumsum|nansum|count_nonzero|aminmax)$"
)


@dataclass(frozen=True, slots=True)
class Launched:
    """One device activity of a call: its name, and how it was launched as recorded text."""

    name: str
    configuration: tuple[bytes, ...]


@dataclass(frozen=True)
class Fusion:
    """What a generated kernel states: kind (`poi`, `red`, `per`, `tem`, ...) and its ops."""

    kind: str
    ops: frozenset[str]

    @cached_property
    def computing(self) -> frozenset[str]:
        """The ops without those that only view."""
        return self.ops - VIEW_WORDS


@dataclass(frozen=True, eq=False)
class Call:
    """An op with the kernels that it launched, or one kernel that no op is known for.

    Attributes:
        chain: base names of the ops from the innermost to the outermost ATen op; () without op.
        inputs: the innermost op's recorded inputs.
        kernels: what it launched, in order.
        output: the first tensor that it makes, None where that is not known.
        phase: forward, backward, optimizer.
        device: the position of its device among those of the trace.
    """

    chain: tuple[str, ...]
    inputs: tuple[Input, ...]
    kernels: tuple[Launched, ...]
    output: Tensor | None
    phase: str
    device: int

    @cached_property
    def leaf(self) -> str:
        """The innermost op's name, "" without op."""
        return self.chain[0] if self.chain else ""

    @cached_property
    def names(self) -> dict[str, float]:
        """The names that fused kernels may list it by, with a price."""
        return answers(self.chain)

    @cached_property
    def main(self) -> str:
        """The name of the kernel that does the work, without the number of a generated one."""
        ranked = min(
            range(len(self.kernels)),
            key=lambda k: (_PRIORITY.index(decode(self.kernels[k].name, cut=False).category), k),
        )
        return plain_name(self.kernels[ranked].name)

    @cached_property
    def kernel_names(self) -> tuple[str, ...]:
        """The names of all its kernels, without the numbers of generated ones."""
        return tuple(plain_name(kernel.name) for kernel in self.kernels)

    @cached_property
    def category(self) -> str:
        """The letter of the main kernel's category."""
        return decode(self.main, cut=False).category

    @cached_property
    def fusion(self) -> Fusion | None:
        """What its kernel's name says where torch.compile generated it."""
        return fusion_of(self.kernels[-1].name) if len(self.kernels) == 1 else None

    @cached_property
    def tensors(self) -> tuple[Tensor, ...]:
        """All tensors among its inputs, those in lists too."""
        found: list[Tensor] = []
        for item in self.inputs:
            if item.tensor is not None:
                found.append(item.tensor)
            found.extend(item.tensors)
        return tuple(found)

    @cached_property
    def numels(self) -> tuple[int, ...]:
        """The sizes of all its tensors, in elements."""
        return tuple(tensor.numel for tensor in self.tensors)

    @cached_property
    def has_sizes(self) -> bool:
        """Whether the trace tells its tensors."""
        return bool(self.tensors)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The whole numbers at the end of its arguments: a generated kernel's iteration space."""
        found: list[int] = []
        for item in reversed(self.inputs):
            if item.value is None or not item.value.isdecimal():
                break
            found.append(int(item.value))
        return tuple(reversed(found))

    @cached_property
    def iterations(self) -> int | None:
        """The size of a generated kernel's iteration space, None where it is not recorded."""
        if self.fusion is not None and self.fusion.kind == "tem":
            return self.numels[-1] if self.numels else None
        return prod(self.sizes) if self.sizes else None

    @cached_property
    def made(self) -> int | None:
        """The elements of its output, None where they are not known."""
        if self.output is not None:
            return self.output.numel
        return max(self.numels, default=None)

    @cached_property
    def work(self) -> int | None:
        """The elements it goes through: of its input where it reduces, else of its output."""
        if self.reduces and self.numels:
            return self.numels[0]
        return self.made

    @cached_property
    def reduces(self) -> bool:
        """Whether it makes less out of its input."""
        return _REDUCES.match(self.leaf) is not None

    @cached_property
    def is_factory(self) -> bool:
        """Whether it makes something out of nothing."""
        return self.leaf.rstrip("_") in FACTORIES or self.leaf in FACTORIES

    @cached_property
    def kind(self) -> str:
        """The class of its op: gemm, convolution, attention, or ""."""
        return "gemm" if self.gemm is not None else op_class(self.leaf)

    @cached_property
    def gemm(self) -> Gemm | None:
        """The matrix product it computes; a template's from the sizes of its pointers."""
        if self.chain:
            return gemm_of(self.leaf, self.inputs)
        if self.fusion is not None and self.fusion.kind == "tem":
            return _template_gemm(self.fusion, self.tensors)
        return None

    @cached_property
    def is_extern(self) -> bool:
        """Whether it is an op's own kernel (or a template for one), not a fusion."""
        return bool(self.chain) or self.gemm is not None

    @cached_property
    def where(self) -> Key:
        """What both sides of every match must share."""
        return (self.phase, self.device)

    @cached_property
    def op_key(self) -> Key | None:
        """Its op and shapes; None without op."""
        if not self.is_extern:
            return None
        if self.gemm is not None:
            g = self.gemm
            return (*self.where, "gemm", g.batch, g.m, g.k, g.n)
        if not self.chain:
            return None
        shapes = tuple(tensor.shape for tensor in self.tensors)
        if self.kind.startswith("convolution"):
            return (*self.where, self.kind, *shapes[: 3 if self.kind.endswith("backward") else 2])
        if self.kind.startswith("attention"):
            return (*self.where, self.kind, *shapes[:4])
        return (*self.where, self.leaf.rstrip("_"), *sorted(self.numels))

    @cached_property
    def loose_key(self) -> Key | None:
        """Its op and its largest operand (attention: the query)."""
        if not self.chain and self.gemm is None:
            return None
        if self.kind.startswith("attention"):
            return (*self.where, self.kind, *(t.shape for t in self.tensors[:1]))
        name = self.kind or self.leaf.rstrip("_")
        return (*self.where, name, max(self.numels, default=0))

    @cached_property
    def class_key(self) -> Key | None:
        """Its op alone."""
        return (*self.where, self.kind or self.leaf.rstrip("_")) if self.is_extern else None


def plain_name(name: str) -> str:
    """Returns a kernel's name; that of a generated one without its number within the program."""
    return _NUMBER.sub("", name) if _GENERATED.match(name) else name


def fusion_of(kernel_name: str) -> Fusion | None:
    """Returns what a generated kernel's name states, None for any other name.

    A list that cannot be told apart for certain counts as its single words.
    """
    found = _GENERATED.match(kernel_name)
    if found is None:
        return None
    kind, listed = found.groups()
    if not listed:
        return Fusion(kind or "", frozenset())
    operators = split_operators(listed) or tuple(listed.split("_"))
    return Fusion(kind or "", frozenset(operators))


def _template_gemm(fusion: Fusion, tensors: Sequence[Tensor]) -> Gemm | None:
    """Returns the product of a template kernel: three pointers of m k, k n and m n elements."""
    if not any(op_class(op) == "gemm" for op in fusion.ops) or len(tensors) < 3:
        return None
    out = tensors[-1]
    for i, left in enumerate(tensors[:-1]):
        for right in tensors[i + 1 : -1]:
            found = _sizes(left.numel, right.numel, out.numel)
            if found is not None:
                m, n, k = found
                return Gemm(1, m, n, k, left.dtype, frozenset(), "from the sizes of its pointers")
    return None


def _sizes(left: int, right: int, out: int) -> tuple[int, int, int] | None:
    """Returns (m, n, k) with left = m k, right = k n, out = m n; None if there are none."""
    if not (left and right and out) or left * right % out:
        return None
    square = left * right // out
    k = round(square**0.5)
    if k * k != square or left % k or right % k:
        return None
    m, n = left // k, right // k
    return (m, n, k) if m * n == out else None
