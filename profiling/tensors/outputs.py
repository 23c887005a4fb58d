"""The geometry of tensors that ops make: factories, copies, elementwise ops, matrix products.

The rules are those of ATen's `TensorFactories.cpp`, `TensorIterator.cpp` and the shape functions
of the structured kernels. Each returns None rather than guess.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptx.profiling.tensors.arguments import Arguments
from ptx.profiling.tensors.elementwise import elementwise_output
from ptx.profiling.tensors.inputs import Tensor
from ptx.profiling.tensors.layouts import (
    channels_last_strides,
    contiguous_strides,
    preserved_strides,
)
from ptx.profiling.tensors.products import product_output

if TYPE_CHECKING:
    from ptx.profiling.tensors.ops import Op

_SIZED = frozenset(("empty", "zeros", "ones", "rand", "randn", "full"))
_SIZED_BY_OTHER = frozenset(("new_empty", "new_zeros", "new_ones", "new_full", "new_empty_strided"))
_LIKE = frozenset(("empty_like", "zeros_like", "ones_like", "rand_like", "randn_like", "full_like"))
_MEMORY_FORMAT = {"empty": 5, "empty_like": 5, "zeros_like": 5, "ones_like": 5, "clone": 1,
                  "_to_copy": 6, "contiguous": 1, "rand_like": 5, "randn_like": 5,
                  "full_like": 6}  # fmt: skip
_DTYPE = {"empty": 1, "zeros": 1, "ones": 1, "rand": 1, "randn": 1, "full": 2, "empty_like": 1,
          "zeros_like": 1, "ones_like": 1, "rand_like": 1, "randn_like": 1, "full_like": 2,
          "new_empty": 2, "new_zeros": 2, "new_ones": 2, "new_full": 3, "new_empty_strided": 3,
          "empty_strided": 2, "_to_copy": 1, "scalar_tensor": 1}  # fmt: skip
"""Where the dtype and the memory format stand among the arguments."""
_CONTIGUOUS, _PRESERVE = 0, 1


def output_of(op: Op) -> Tensor | None:
    """Returns the geometry of the first tensor that an op makes, None where no rule tells."""
    arguments = Arguments(op.inputs)
    if op.name in _SIZED:
        return _made(op, arguments, arguments.numbers(0))
    if op.name == "empty_strided":
        return _strided(op, arguments, 0)
    if op.name == "new_empty_strided":
        return _strided(op, arguments, 1)
    if op.name in _SIZED_BY_OTHER:
        return _made(op, arguments, arguments.numbers(1))
    if op.name == "scalar_tensor":
        return Tensor(arguments.dtype(1) or "", (), ())
    if op.name in _LIKE or op.name in ("clone", "_to_copy", "contiguous"):
        return _like(op, arguments)
    return elementwise_output(op.name, op.inputs) or product_output(op.name, op.inputs)


def resized(op: Op) -> Tensor | None:
    """Returns the geometry that resize_ gives its tensor."""
    arguments = Arguments(op.inputs)
    tensor, shape = op.tensor(0), arguments.numbers(1)
    if tensor is None or shape is None:
        return None
    if shape == tensor.shape and arguments.number(2) in (None, _PRESERVE):
        return tensor
    return Tensor(tensor.dtype, shape, _formatted(shape, arguments.number(2)))


def _made(op: Op, arguments: Arguments, shape: tuple[int, ...] | None) -> Tensor | None:
    if shape is None:
        return None
    memory_format = arguments.number(_MEMORY_FORMAT.get(op.name, len(arguments)))
    return Tensor(_dtype_of(op, arguments), shape, _formatted(shape, memory_format))


def _strided(op: Op, arguments: Arguments, at: int) -> Tensor | None:
    shape, strides = arguments.numbers(at), arguments.numbers(at + 1)
    if shape is None or strides is None:
        return None
    return Tensor(_dtype_of(op, arguments), shape, strides)


def _like(op: Op, arguments: Arguments) -> Tensor | None:
    tensor = op.tensor(0)
    if tensor is None:
        return None
    chosen = arguments.number(_MEMORY_FORMAT[op.name])
    if op.name == "contiguous" and chosen is None:
        chosen = _CONTIGUOUS
    if chosen not in (None, _PRESERVE):
        strides: tuple[int, ...] | None = _formatted(tensor.shape, chosen)
    elif tensor.strides is None:
        strides = None
    else:
        strides = preserved_strides(tensor.shape, tensor.strides)
    return Tensor(_dtype_of(op, arguments), tensor.shape, strides)


def _dtype_of(op: Op, arguments: Arguments) -> str:
    """Returns the dtype asked for, else the first input's, "" for the default nobody recorded."""
    chosen = arguments.dtype(_DTYPE.get(op.name, len(arguments)))
    if chosen is not None:
        return chosen
    tensor = op.tensor(0)
    if tensor is not None:
        return tensor.dtype
    for inner in op.inside():  # what fills it takes it as a tensor
        filled = inner.tensor(0)
        if filled is not None:
            return filled.dtype
    return ""


def _formatted(shape: tuple[int, ...], memory_format: int | None) -> tuple[int, ...]:
    """Returns strides of a new tensor; c10::MemoryFormat 2 and 3 are channels last."""
    channels_last = channels_last_strides(shape) if memory_format == len(shape) - 2 else None
    return channels_last or contiguous_strides(shape)
