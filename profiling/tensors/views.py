"""Where the result of each view op lies: sizes, strides and the shift of its first element.

The rules are those of ATen (`TensorShape.cpp`, `TensorUtils.cpp: computeStride`). All count in
elements. A rule raises ValueError for a call that torch refuses, and returns None where the
trace does not record an argument that it needs.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING, TypeAlias

from ptx.profiling.tensors.arguments import Arguments
from ptx.profiling.tensors.layouts import contiguous_strides
from ptx.profiling.tensors.reshape import Place, solved, view_strides
from ptx.profiling.tensors.view_types import (
    as_dtype,
    imag,
    positive,
    real,
    view_as_complex,
    view_as_real,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ptx.profiling.tensors.inputs import Input


Places: TypeAlias = "list[Place] | None"
Rule: TypeAlias = Callable[["Place", Arguments], "list[Place] | None"]


def places_of(name: str, inputs: Sequence[Input]) -> list[Place] | None:
    """Returns where the results of a view op lie: one, or several for the likes of split.

    Args:
        name: the op without `aten::` and overload, one of `VIEW_RULES`.
        inputs: its recorded inputs; the first is the tensor viewed. If its strides are not
            recorded, they count as row-major, and only the sizes of the answer hold.

    Returns:
        None where the record does not tell.

    Raises:
        ValueError: torch refuses this call: the view failed.
    """
    tensor = inputs[0].tensor if inputs else None
    arguments = Arguments(inputs)
    values = any(item.kind == "scalar" for item in inputs)
    if tensor is None or (values and not arguments.recorded):
        return None
    strides = contiguous_strides(tensor.shape) if tensor.strides is None else tensor.strides
    try:
        return VIEW_RULES[name](Place(tensor.shape, strides), arguments)
    except (IndexError, ZeroDivisionError) as error:
        raise ValueError("an argument is out of range") from error


def _dim(dim: int, rank: int) -> int:
    """Returns a dimension counted from the front; raises ValueError outside the rank."""
    span = max(rank, 1)
    if not -span <= dim < span:
        raise ValueError(f"dimension {dim} of {rank}")
    return dim % span


def _as_strided(_: Place, args: Arguments) -> Places:
    shape, strides = args.numbers(1), args.numbers(2)
    if shape is None or strides is None:
        return None
    if len(shape) != len(strides):
        raise ValueError("as many strides as sizes")
    return [Place(shape, strides)]


def _reshaped(tensor: Place, wanted: tuple[int, ...]) -> list[Place]:
    shape = solved(wanted, prod(tensor.shape))
    strides = view_strides(tensor, shape)
    if strides is None:
        raise ValueError("these strides need a copy")
    return [Place(shape, strides)]


def _view(tensor: Place, args: Arguments) -> Places:
    wanted = args.numbers(1)
    if wanted is not None:
        return _reshaped(tensor, wanted)
    dtype = args.dtype(1)
    return None if dtype is None else as_dtype(tensor, args.tensor(0), dtype)


def _view_as(tensor: Place, args: Arguments) -> Places:
    other = args.tensor(1)
    return None if other is None else _reshaped(tensor, other.shape)


def _same(tensor: Place, _: Arguments) -> Places:
    return [tensor]


def _permuted(tensor: Place, dims: Sequence[int]) -> list[Place]:
    rank = len(tensor.shape)
    order = [_dim(dim, rank) for dim in dims]
    if sorted(order) != list(range(rank)):
        raise ValueError("not an order of the dimensions")
    return [Place(tuple(tensor.shape[d] for d in order), tuple(tensor.strides[d] for d in order))]


def _permute(tensor: Place, args: Arguments) -> Places:
    dims = args.numbers(1)
    return None if dims is None else _permuted(tensor, dims)


def _swapped(tensor: Place, first: int, second: int) -> list[Place]:
    rank = len(tensor.shape)
    first, second = _dim(first, rank), _dim(second, rank)
    order = list(range(rank))
    if rank:
        order[first], order[second] = order[second], order[first]
    return _permuted(tensor, order)


def _transpose(tensor: Place, args: Arguments) -> Places:
    first, second = args.number(1), args.number(2)
    return None if first is None or second is None else _swapped(tensor, first, second)


def _t(tensor: Place, _: Arguments) -> Places:
    if len(tensor.shape) > 2:
        raise ValueError("t() takes at most 2 dimensions")
    return [tensor] if len(tensor.shape) < 2 else _swapped(tensor, 0, 1)


def _last_two(tensor: Place, _: Arguments) -> Places:
    if len(tensor.shape) == 1:
        raise ValueError("a matrix has two dimensions")
    return [tensor] if not tensor.shape else _swapped(tensor, -2, -1)


def _matrix(tensor: Place, args: Arguments) -> Places:
    if len(tensor.shape) > 2:
        raise ValueError("a matrix has two dimensions")
    return _last_two(tensor, args)


def _all_reversed(tensor: Place, _: Arguments) -> Places:
    return _permuted(tensor, range(len(tensor.shape))[::-1])


def _movedim(tensor: Place, args: Arguments) -> Places:
    source, target = args.one_or_more(1), args.one_or_more(2)
    if source is None or target is None:
        return None
    rank = len(tensor.shape)
    moved = dict(zip([_dim(d, rank) for d in target], [_dim(d, rank) for d in source], strict=True))
    rest = iter([d for d in range(rank) if d not in moved.values()])
    return _permuted(tensor, [moved[d] if d in moved else next(rest) for d in range(rank)])


def _expanded(tensor: Place, sizes: Sequence[int]) -> list[Place]:
    rank, lead = len(sizes), len(sizes) - len(tensor.shape)
    if lead < 0:
        raise ValueError("fewer sizes than dimensions")
    if not tensor.shape:
        return [Place(tuple(sizes), (0,) * rank)]
    shape, strides = [0] * rank, [0] * rank
    for dim in reversed(range(rank)):
        inner = dim - lead
        size = tensor.shape[inner] if inner >= 0 else 1
        stride = tensor.strides[inner] if inner >= 0 else shape[dim + 1] * strides[dim + 1]
        target = sizes[dim]
        if target == -1 and inner >= 0:
            target = size
        if size != target:
            if size != 1 or target < 0:
                raise ValueError("only sizes of 1 expand")
            stride = 0
        shape[dim], strides[dim] = target, stride
    return [Place(tuple(shape), tuple(strides))]


def _expand(tensor: Place, args: Arguments) -> Places:
    sizes = args.numbers(1)
    return None if sizes is None else _expanded(tensor, sizes)


def _expand_as(tensor: Place, args: Arguments) -> Places:
    other = args.tensor(1)
    return None if other is None else _expanded(tensor, other.shape)


def _without(tensor: Place, dims: Sequence[int], shift: int = 0) -> Place:
    kept = [d for d in range(len(tensor.shape)) if d not in dims]
    return Place(
        tuple(tensor.shape[d] for d in kept), tuple(tensor.strides[d] for d in kept), shift
    )


def _selected(tensor: Place, dim: int, index: int) -> Place:
    size = tensor.shape[dim]
    if not -size <= index < size:
        raise ValueError("the index is out of range")
    return _without(tensor, (dim,), index % size * tensor.strides[dim])


def _select(tensor: Place, args: Arguments) -> Places:
    dim, index = args.number(1), args.number(2)
    if dim is None or index is None:
        return None
    return [_selected(tensor, _dim(dim, len(tensor.shape)), index)]


def _unbind(tensor: Place, args: Arguments) -> Places:
    dim = _dim(args.number(1) or 0, len(tensor.shape))
    return [_selected(tensor, dim, index) for index in range(tensor.shape[dim])]


def _piece(tensor: Place, dim: int, start: int, length: int, step: int = 1) -> Place:
    shape, strides = list(tensor.shape), list(tensor.strides)
    shape[dim], strides[dim] = length, strides[dim] * step
    return Place(tuple(shape), tuple(strides), start * tensor.strides[dim])


def _slice(tensor: Place, args: Arguments) -> Places:
    step = args.number(4)
    dim = _dim(args.number(1) or 0, len(tensor.shape))
    size = tensor.shape[dim]
    step = 1 if step is None else step
    if step <= 0:
        raise ValueError("the step must be positive")
    start, end = args.number(2), args.number(3)
    start = _clamped(0 if start is None else start, size)
    end = max(_clamped(size if end is None else end, size), start)
    return [_piece(tensor, dim, start, -(-(end - start) // step), step)]


def _clamped(index: int, size: int) -> int:
    return min(max(index + size if index < 0 else index, 0), size)


def _narrow(tensor: Place, args: Arguments) -> Places:
    dim, start, length = args.number(1), args.number(2), args.number(3)
    if dim is None or start is None or length is None:
        return None
    dim = _dim(dim, len(tensor.shape))
    size = tensor.shape[dim]
    start = start + size if start < 0 else start
    if not 0 <= start <= size - length:
        raise ValueError("start and length exceed the dimension")
    return [_piece(tensor, dim, start, length)]


def _pieces(tensor: Place, dim: int, lengths: Sequence[int]) -> list[Place]:
    starts = [sum(lengths[:i]) for i in range(len(lengths))]
    return [
        _piece(tensor, dim, start, length) for start, length in zip(starts, lengths, strict=True)
    ]


def _equal_lengths(size: int, length: int) -> list[int]:
    if length <= 0:
        if size or length < 0:
            raise ValueError("pieces of no length")
        return [0]
    count = max(-(-size // length), 1)
    return [length] * (count - 1) + [size - length * (count - 1)]


def _split(tensor: Place, args: Arguments) -> Places:
    dim = _dim(args.number(2) or 0, len(tensor.shape))
    lengths, length = args.numbers(1), args.number(1)
    if length is not None:
        lengths = tuple(_equal_lengths(tensor.shape[dim], length))
    if lengths is None:
        return None
    if sum(lengths) != tensor.shape[dim]:
        raise ValueError("the pieces do not add up to the dimension")
    return _pieces(tensor, dim, lengths)


def _chunk(tensor: Place, args: Arguments) -> Places:
    chunks, dim = args.number(1), _dim(args.number(2) or 0, len(tensor.shape))
    if chunks is None:
        return None
    size = tensor.shape[dim]
    length = -(-size // chunks)
    return _pieces(tensor, dim, [0] * chunks if length == 0 else _equal_lengths(size, length))


def _sections(tensor: Place, dim: int, args: Arguments, *, even: bool) -> Places:
    """Returns the pieces of a tensor_split: a number of sections, or where to cut."""
    dim = _dim(dim, len(tensor.shape))
    size = tensor.shape[dim]
    count, cuts = args.number(1), args.numbers(1)
    if count is not None:
        if even and size % count:
            raise ValueError("the dimension does not divide evenly")
        small, larger = divmod(size, count)
        return _pieces(tensor, dim, [small + (i < larger) for i in range(count)])
    if cuts is None:
        return None
    bounds = [0, *cuts, size]
    pieces = []
    for low, high in pairwise(bounds):
        start = _clamped(low, size)
        pieces.append(_piece(tensor, dim, start, max(_clamped(high, size) - start, 0)))
    return pieces


def _tensor_split(tensor: Place, args: Arguments) -> Places:
    return _sections(tensor, args.number(2) or 0, args, even=False)


def _split_at(tensor: Place, dim: int, args: Arguments, least: int) -> Places:
    if len(tensor.shape) < least:
        raise ValueError("too few dimensions")
    return _sections(tensor, dim, args, even=True)


def _hsplit(tensor: Place, args: Arguments) -> Places:
    return _split_at(tensor, 0 if len(tensor.shape) == 1 else 1, args, 1)


def _vsplit(tensor: Place, args: Arguments) -> Places:
    return _split_at(tensor, 0, args, 2)


def _dsplit(tensor: Place, args: Arguments) -> Places:
    return _split_at(tensor, 2, args, 3)


def _unsqueeze(tensor: Place, args: Arguments) -> Places:
    dim = args.number(1)
    if dim is None:
        return None
    at = _dim(dim, len(tensor.shape) + 1)
    inner = at < len(tensor.shape)
    stride = tensor.shape[at] * tensor.strides[at] if inner else 1
    shape, strides = list(tensor.shape), list(tensor.strides)
    shape.insert(at, 1)
    strides.insert(at, stride)
    return [Place(tuple(shape), tuple(strides))]


def _squeeze(tensor: Place, args: Arguments) -> Places:
    rank = len(tensor.shape)
    if len(args) > 1:
        named = args.one_or_more(1)
        if named is None:
            return None
        dims = {_dim(dim, rank) for dim in named}
    else:
        dims = set(range(rank))
    return [_without(tensor, [d for d in range(rank) if d in dims and tensor.shape[d] == 1])]


def _diagonal(tensor: Place, args: Arguments, default: tuple[int, int] = (0, 1)) -> Places:
    rank = len(tensor.shape)
    offset, first, second = args.number(1) or 0, args.number(2), args.number(3)
    first = _dim(default[0] if first is None else first, rank)
    second = _dim(default[1] if second is None else second, rank)
    if first == second:
        raise ValueError("a diagonal needs two dimensions")
    rows, columns = tensor.shape[first], tensor.shape[second]
    down, right = max(-offset, 0), max(offset, 0)
    length = max(min(rows - down, columns - right), 0)
    step = tensor.strides[first] + tensor.strides[second]
    shift = down * tensor.strides[first] + right * tensor.strides[second] if length else 0
    rest = _without(tensor, (first, second))
    return [Place((*rest.shape, length), (*rest.strides, step), shift)]


def _linalg_diagonal(tensor: Place, args: Arguments) -> Places:
    return _diagonal(tensor, args, default=(-2, -1))


def _unfold(tensor: Place, args: Arguments) -> Places:
    dim, size, step = args.number(1), args.number(2), args.number(3)
    if dim is None or size is None or step is None:
        return None
    dim = _dim(dim, len(tensor.shape))
    if not tensor.shape:
        if not 0 <= size <= 1:
            raise ValueError("the window exceeds the dimension")
        return [Place((size,), (1,))]
    if not 0 <= size <= tensor.shape[dim] or step <= 0:
        raise ValueError("the window exceeds the dimension")
    windows = _piece(tensor, dim, 0, (tensor.shape[dim] - size) // step + 1, step)
    return [Place((*windows.shape, size), (*windows.strides, tensor.strides[dim]))]


def _flatten(tensor: Place, args: Arguments) -> Places:
    rank = len(tensor.shape)
    if rank == 0:
        return _reshaped(tensor, (1,))
    last = args.number(2)
    first, last = _dim(args.number(1) or 0, rank), _dim(-1 if last is None else last, rank)
    if first > last:
        raise ValueError("the first dimension lies behind the last")
    middle = prod(tensor.shape[first : last + 1])
    return _reshaped(tensor, (*tensor.shape[:first], middle, *tensor.shape[last + 1 :]))


def _unflatten(tensor: Place, args: Arguments) -> Places:
    dim, sizes = args.number(1), args.numbers(2)
    if dim is None or sizes is None:
        return None
    dim = _dim(dim, len(tensor.shape))
    inner = solved(sizes, tensor.shape[dim])
    return _reshaped(tensor, (*tensor.shape[:dim], *inner, *tensor.shape[dim + 1 :]))


def _ravel(tensor: Place, _: Arguments) -> Places:
    return _reshaped(tensor, (-1,)) if 0 not in tensor.shape else _reshaped(tensor, (0,))


VIEW_RULES: dict[str, Rule] = {
    "as_strided": _as_strided, "_reshape_alias": _as_strided,
    "view": _view, "_unsafe_view": _view, "view_as": _view_as,
    "reshape": _view, "reshape_as": _view_as, "_ncf_view": _view,
    "flatten": _flatten, "unflatten": _unflatten, "ravel": _ravel,
    "detach": _same, "alias": _same, "lift_fresh": _same, "_conj": _same, "_neg_view": _same,
    "positive": positive,
    "_fw_primal": _same, "_make_dual": _same, "conj": _same,
    "t": _t, "transpose": _transpose, "swapaxes": _transpose, "swapdims": _transpose,
    "permute": _permute, "movedim": _movedim, "moveaxis": _movedim,
    "numpy_T": _all_reversed, "mT": _last_two, "mH": _last_two, "adjoint": _last_two,
    "matrix_H": _matrix,
    "expand": _expand, "broadcast_to": _expand, "expand_as": _expand_as,
    "select": _select, "slice": _slice, "narrow": _narrow, "unbind": _unbind,
    "split": _split, "split_with_sizes": _split, "unsafe_split": _split,
    "unsafe_split_with_sizes": _split, "chunk": _chunk, "unsafe_chunk": _chunk,
    "tensor_split": _tensor_split, "hsplit": _hsplit, "vsplit": _vsplit, "dsplit": _dsplit,
    "unsqueeze": _unsqueeze, "squeeze": _squeeze,
    "diagonal": _diagonal, "linalg_diagonal": _linalg_diagonal, "unfold": _unfold,
    "view_as_real": view_as_real, "view_as_complex": view_as_complex,
    "real": real, "imag": imag,
}  # fmt: skip
"""The rule of each op whose result may share the memory of its first input."""
