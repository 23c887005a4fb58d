"""Views that read memory as another scalar type: `view(dtype)`, complex numbers and their parts.

The rules are those of ATen; counts are in elements of the type that the view has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptx.profiling.tensors.arguments import Arguments
from ptx.profiling.tensors.inputs import REAL_PARTS, Tensor
from ptx.profiling.tensors.reshape import Place

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ptx.profiling.tensors.inputs import Input


def as_dtype(tensor: Place, have: Tensor | None, dtype: str) -> list[Place] | None:
    """Returns a tensor's bytes as elements of another type (`view.dtype`)."""
    old = None if have is None else have.itemsize
    new = Tensor(dtype, (), ()).itemsize
    if old is None or new is None:
        return None
    if old == new:
        return [tensor]
    if not tensor.shape or tensor.strides[-1] != 1:
        raise ValueError("the last dimension must have stride 1")
    if old > new:
        ratio = old // new
        shape = (*tensor.shape[:-1], tensor.shape[-1] * ratio)
        return [Place(shape, (*(s * ratio for s in tensor.strides[:-1]), 1))]
    ratio = new // old
    if tensor.shape[-1] % ratio or any(s % ratio for s in tensor.strides[:-1]):
        raise ValueError("sizes and strides must be divisible by the ratio of the types")
    shape = (*tensor.shape[:-1], tensor.shape[-1] // ratio)
    return [Place(shape, (*(s // ratio for s in tensor.strides[:-1]), 1))]


def _is_complex(args: Arguments) -> bool:
    tensor = args.tensor(0)
    return tensor is not None and tensor.dtype in REAL_PARTS


def view_as_real(tensor: Place, args: Arguments) -> list[Place]:
    """Returns complex numbers as pairs; raises ValueError for other types."""
    if not _is_complex(args):
        raise ValueError("the tensor must be complex")
    return [Place((*tensor.shape, 2), (*(2 * s for s in tensor.strides), 1))]


def view_as_complex(tensor: Place, args: Arguments) -> list[Place]:
    """Returns pairs as complex numbers; raises ValueError where they are none."""
    whole = args.tensor(0)
    if whole is None or whole.dtype not in REAL_PARTS.values():
        raise ValueError("the tensor must be of a float type that has a complex one")
    if not tensor.shape or tensor.shape[-1] != 2 or tensor.strides[-1] != 1:
        raise ValueError("the last dimension must hold pairs")
    if any(stride % 2 for stride in tensor.strides[:-1]):
        raise ValueError("the other strides must be even")
    return [Place(tensor.shape[:-1], tuple(s // 2 for s in tensor.strides[:-1]))]


def real(tensor: Place, args: Arguments) -> list[Place]:
    """Returns the real parts; a real tensor is its own."""
    if not _is_complex(args):
        return [tensor]  # a real tensor is its own real part
    return [Place(tensor.shape, tuple(2 * s for s in tensor.strides))]


def imag(tensor: Place, args: Arguments) -> list[Place]:
    """Returns the imaginary parts; raises ValueError for real types."""
    if not _is_complex(args):
        raise ValueError("only complex numbers have an imaginary part")
    return [Place(tensor.shape, tuple(2 * s for s in tensor.strides), 1)]


def positive(tensor: Place, args: Arguments) -> list[Place]:
    """Returns the tensor itself; raises ValueError for bool."""
    whole = args.tensor(0)
    if whole is not None and whole.dtype == "bool":
        raise ValueError("not for bool")
    return [tensor]


def result_dtype(name: str, inputs: Sequence[Input]) -> str:
    """Returns the scalar type of a view: that of its input unless the op reads it as another."""
    tensor = inputs[0].tensor if inputs else None
    dtype = "" if tensor is None else tensor.dtype
    if name in ("view_as_real", "real", "imag"):
        return REAL_PARTS.get(dtype, dtype)
    if name == "view_as_complex":
        return {real: whole for whole, real in REAL_PARTS.items()}.get(dtype, dtype)
    if name == "view":
        arguments = Arguments(inputs)
        return dtype if arguments.numbers(1) is not None else arguments.dtype(1) or dtype
    return dtype
