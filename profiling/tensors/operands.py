"""What a rule about bytes starts from: a call of an op with its operands and its kernels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from ptx.profiling.tensors.arguments import Arguments
from ptx.profiling.tensors.inputs import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ptx.profiling.kernels.model import KernelName
    from ptx.profiling.tensors.inputs import Input


_SECTOR_BYTES = 32
"""What a cache fetches at least (a sector on NVIDIA and AMD devices)."""


class Share(NamedTuple):
    """What one activity moves and computes; None is unknown.

    Bytes are those that must cross the device's memory once, FLOPs count a multiply and an add as
    two.
    """

    read_bytes: int | None = None
    write_bytes: int | None = None
    flops: int | None = None


UNKNOWN = Share()


@dataclass(frozen=True, slots=True)
class Launch:
    """One kernel of a call: its decoded name and its grid, (0, 0, 0) where not recorded."""

    name: KernelName
    grid: tuple[int, int, int] = (0, 0, 0)

    @property
    def function(self) -> str:
        """Returns the kernel's or functor's own name, "" where the name does not state it."""
        found = self.name.fields.get("kernel") or self.name.fields.get("functor") or ""
        return str(found)

    @property
    def blocks(self) -> int:
        """Returns the number of blocks, 0 where the grid is not recorded."""
        return prod(self.grid)


@dataclass(frozen=True)
class Call:
    """One call of an op, or all calls that look the same.

    Attributes:
        op: the op's name without `aten::`.
        inputs: the recorded inputs.
        launches: its kernels in order of launch; memcpys and memsets are left out.
        copies_first: whether the op called `aten::copy_` (a GEMM fills its output that way).
        in_optimizer: whether an optimizer's step made the call.
        in_place: whether the first pointer of a Triton launch is written as well.
    """

    op: str
    inputs: tuple[Input, ...]
    launches: tuple[Launch, ...]
    copies_first: bool = False
    in_optimizer: bool = False
    in_place: bool = False

    @cached_property
    def args(self) -> Arguments:
        """The values of the arguments by position."""
        return Arguments(self.inputs)

    def tensor(self, index: int) -> Tensor | None:
        """Returns the tensor at a position of the arguments, None if there is none."""
        return self.args.tensor(index)

    def is_given(self, index: int) -> bool:
        """Returns whether the argument is recorded as something, known or not."""
        return index < len(self.inputs) and self.inputs[index].kind != "absent"

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """Returns the inputs that are single tensors, in order."""
        return tuple(i.tensor for i in self.inputs if i.tensor is not None)

    def touched(self, *indices: int) -> int | None:
        """Returns the bytes behind the tensors at some positions; an absent one counts nothing."""
        return total(touched_bytes(self.tensor(i)) for i in indices)

    def each(self, rule: Callable[[Launch], Share]) -> list[Share]:
        """Returns one share a launch."""
        return [rule(launch) for launch in self.launches]


Rule: TypeAlias = "Callable[[Call], list[Share]]"
"""What is known of an op: one share for each launch of the call."""


def per_dim(sizes: tuple[int, ...] | None, dims: int) -> tuple[int, ...] | None:
    """Returns a size for each of so many dimensions; one number stands for all of them."""
    if sizes is None or len(sizes) not in (1, dims):
        return None
    return sizes * dims if len(sizes) == 1 else sizes


def total(parts: Iterable[int | None]) -> int | None:
    """Returns the sum, None if a part is unknown."""
    out = 0
    for part in parts:
        if part is None:
            return None
        out += part
    return out


def touched_bytes(tensor: Tensor | None) -> int | None:
    """Returns the bytes of distinct memory that cross when a tensor is gone over, by sectors.

    A dimension of stride 0 counts once; gaps shorter than a sector cross too. No tensor counts
    nothing, nor does one without dimensions: it is an argument of the kernel or one word.
    """
    if tensor is None or not tensor.shape:
        return 0
    size = tensor.itemsize
    if size is None or tensor.strides is None or tensor.numel == 0:
        return tensor.nbytes
    span, stretches = size, 1
    for stride, n in sorted(zip(map(abs, tensor.strides), tensor.shape, strict=True)):
        if stride * size - span < _SECTOR_BYTES:
            span += (n - 1) * stride * size
        else:
            stretches *= n
    return span if stretches == 1 else stretches * -(-span // _SECTOR_BYTES) * _SECTOR_BYTES


def dense_bytes(shape: Sequence[int], dtype: str) -> int | None:
    """Returns the bytes of a new tensor, None for an unknown type."""
    return Tensor(dtype, tuple(shape), None).nbytes


def sized(tensor: Tensor | None, dtype: str | None = None) -> int | None:
    """Returns the bytes of a new tensor of the same shape; None if there is no tensor."""
    return None if tensor is None else dense_bytes(tensor.shape, dtype or tensor.dtype)


def is_whole(dtype: str) -> bool:
    """Returns whether a scalar type is of whole numbers or flags."""
    return dtype == "bool" or dtype[:1] in ("i", "u")


def names(*lines: str) -> tuple[str, ...]:
    """Returns the words of some lines."""
    return tuple(word for line in lines for word in line.split())


def accumulated(dtype: str) -> str:
    """Returns the type that sums and statistics of a floating type are kept in."""
    return "f64" if dtype == "f64" else "f32"


def by_blocks(launches: Sequence[Launch], whole: Share) -> list[Share]:
    """Returns the shares of kernels that each do a stretch of the same work.

    A tensor too large for 32-bit offsets is cut, one launch a piece; blocks tell the pieces'
    sizes. The shares add up to the whole.
    """
    if len(launches) == 1:
        return [whole]
    blocks = [launch.blocks for launch in launches]
    kinds = {launch.name.name for launch in launches}
    if min(blocks) <= 0 or len(kinds) != 1:
        return [UNKNOWN] * len(launches)
    ends = [sum(blocks[: i + 1]) for i in range(len(blocks))]
    starts = [0, *ends[:-1]]
    return [
        Share(*(None if part is None else _piece(part, a, b, ends[-1]) for part in whole))
        for a, b in zip(starts, ends, strict=True)
    ]


def _piece(part: int, start: int, end: int, whole: int) -> int:
    return part * end // whole - part * start // whole


def only(launches: Sequence[Launch], wanted: Callable[[Launch], bool], whole: Share) -> list[Share]:
    """Returns the whole shared by the launches that are wanted; the others are unknown."""
    mine = [launch for launch in launches if wanted(launch)]
    shares = iter(by_blocks(mine, whole)) if mine else iter(())
    return [next(shares) if wanted(launch) else UNKNOWN for launch in launches]
