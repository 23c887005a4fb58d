"""Calls of view ops on random tensors, by the name under which the profiler records them."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, TypeAlias

# torch is not installed where types are checked
Torch: TypeAlias = Any
TorchTensor: TypeAlias = Any
Case: TypeAlias = Callable[[TorchTensor, Random], Callable[[], TorchTensor]]


def random_tensor(torch: Torch, rng: Random) -> TorchTensor:
    """Returns a tensor of rank 0 to 4 whose strides went through a few random views."""
    dtype = rng.choice([torch.float32, torch.bfloat16, torch.int64, torch.bool, torch.complex64])
    tensor = torch.zeros([rng.choice([1, 2, 3, 4, 6]) for _ in range(rng.randint(0, 4))])
    tensor = tensor.to(dtype)
    for _ in range(rng.randint(0, 3)):
        tensor = _moved(tensor, rng)
    if tensor.dim() and rng.random() < 0.08:
        tensor = tensor.narrow(rng.randrange(tensor.dim()), 0, 0)
    return tensor


def _moved(tensor: TorchTensor, rng: Random) -> TorchTensor:
    rank = tensor.dim()
    if rank == 0:
        return tensor
    dim = rng.randrange(rank)
    kind = rng.choice(["permute", "step", "expand", "select", "unsqueeze", "narrow"])
    if kind == "permute":
        return tensor.permute(rng.sample(range(rank), rank))
    if kind == "step":
        return tensor[(slice(None),) * dim + (slice(rng.randint(0, 1), None, rng.randint(1, 2)),)]
    if kind == "expand" and tensor.shape[dim] == 1:
        return tensor.expand([3 if d == dim else n for d, n in enumerate(tensor.shape)])
    if kind == "select" and rank > 2 and tensor.shape[dim]:
        return tensor.select(dim, rng.randrange(tensor.shape[dim]))
    if kind == "unsqueeze" and rank < 4:
        return tensor.unsqueeze(rng.randint(0, rank))
    if tensor.shape[dim] > 1:
        return tensor.narrow(dim, 1, tensor.shape[dim] - 1)
    return tensor


def a_dim(tensor: TorchTensor, rng: Random) -> int:
    rank = max(tensor.dim(), 1)
    return rng.randrange(-rank, rank)


def two_dims(tensor: TorchTensor, rng: Random) -> tuple[int, int]:
    return a_dim(tensor, rng), a_dim(tensor, rng)


def an_order(tensor: TorchTensor, rng: Random) -> list[int]:
    return rng.sample(range(tensor.dim()), tensor.dim())


def a_shape(tensor: TorchTensor, rng: Random) -> list[int]:
    """Returns a shape of the same number of elements, now and then with a -1 in it."""
    rest = tensor.numel()
    shape: list[int] = []
    while rest > 1 and len(shape) < 4:
        size = rng.choice([n for n in range(1, rest + 1) if rest % n == 0])
        shape.append(size)
        rest //= size
    shape.append(rest)
    if rng.random() < 0.4:
        shape[rng.randrange(len(shape))] = -1
    return shape


def wider(tensor: TorchTensor, rng: Random) -> list[int]:
    shape = [rng.choice([2, 5, -1]) if n == 1 else rng.choice([n, -1]) for n in tensor.shape]
    return [rng.choice([1, 2, 3]) for _ in range(rng.randint(0, 2))] + shape


def an_index(tensor: TorchTensor, dim: int, rng: Random) -> int:
    size = tensor.shape[dim] if tensor.dim() else 1
    return rng.randrange(-size, size) if size else 0


def a_bound(rng: Random) -> int | None:
    return rng.choice([None, -3, -1, 0, 1, 2, 5, 9])


def some_cuts(tensor: TorchTensor, dim: int, rng: Random) -> list[int]:
    size = tensor.shape[dim] if tensor.dim() else 1
    cuts = sorted(rng.randint(0, size) for _ in range(rng.randint(1, 2)))
    return [b - a for a, b in zip([0, *cuts], [*cuts, size], strict=True)]


def sliced(x: TorchTensor, rng: Random) -> Callable[[], TorchTensor]:
    dim, start, end, step = a_dim(x, rng), a_bound(rng), a_bound(rng), rng.randint(1, 3)
    return lambda: __import__("torch").ops.aten.slice(x, dim, start, end, step)


def pieces(x: TorchTensor, rng: Random) -> Callable[[], TorchTensor]:
    dim = a_dim(x, rng)
    how = rng.choice([rng.randint(1, 4), some_cuts(x, dim, rng)])
    return lambda: x.split(how, dim)


def cut(name: str) -> Case:
    def case(x: TorchTensor, rng: Random) -> Callable[[], TorchTensor]:
        how = rng.choice([rng.randint(1, 3), [1], [1, 2], [-1]])
        return lambda: getattr(x, name)(how)

    return case


def unfolded(x: TorchTensor, rng: Random) -> Callable[[], TorchTensor]:
    dim, size, step = a_dim(x, rng), rng.randint(0, 3), rng.randint(1, 3)
    return lambda: x.unfold(dim, size, step)


def unflattened(x: TorchTensor, rng: Random) -> Callable[[], TorchTensor]:
    dim = a_dim(x, rng)
    size = x.shape[dim] if x.dim() else 1
    outer = rng.choice([n for n in range(1, size + 1) if size % n == 0] or [1])
    return lambda: x.unflatten(dim, rng.choice([(outer, -1), (-1, outer), (1, outer, -1)]))


def diagonal(x: TorchTensor, rng: Random) -> Callable[[], TorchTensor]:
    offset, (first, second) = rng.randint(-3, 3), two_dims(x, rng)
    return lambda: x.diagonal(offset, first, second)


def moved(name: str) -> Case:
    def case(x: TorchTensor, rng: Random) -> Callable[[], TorchTensor]:
        some = rng.randint(0, x.dim())
        source, target = an_order(x, rng)[:some], an_order(x, rng)[:some]
        if rng.random() < 0.5:
            one, other = two_dims(x, rng)
            return lambda: getattr(x, name)(one, other)
        return lambda: getattr(x, name)(source, target)

    return case


def cases(torch: Torch) -> dict[str, Case]:
    """Returns (tensor, random) -> call, by the name of the op that the call runs."""
    aten = torch.ops.aten

    def plain(call: Callable[[TorchTensor], TorchTensor]) -> Case:
        return lambda x, rng: lambda: call(x)

    def with_dim(call: Callable[[TorchTensor, int], TorchTensor]) -> Case:
        def case(x: TorchTensor, rng: Random) -> Callable[[], TorchTensor]:
            dim = a_dim(x, rng)
            return lambda: call(x, dim)

        return case

    def with_dims(call: Callable[[TorchTensor, int, int], TorchTensor]) -> Case:
        def case(x: TorchTensor, rng: Random) -> Callable[[], TorchTensor]:
            first, second = two_dims(x, rng)
            return lambda: call(x, first, second)

        return case

    def with_value(
        make: Callable[[TorchTensor, Random], Any], call: Callable[[TorchTensor, Any], Any]
    ) -> Case:
        def case(x: TorchTensor, rng: Random) -> Callable[[], TorchTensor]:
            value = make(x, rng)
            return lambda: call(x, value)

        return case

    def shaped(x: TorchTensor, rng: Random) -> TorchTensor:
        return torch.zeros([n if n >= 0 else 1 for n in a_shape(x, rng)])

    def widened(x: TorchTensor, rng: Random) -> TorchTensor:
        sizes = wider(x, rng)
        lead = len(sizes) - x.dim()
        return torch.zeros([x.shape[d - lead] if n < 0 else n for d, n in enumerate(sizes)])

    def a_format(x: TorchTensor, rng: Random) -> Torch:
        formats = {4: torch.channels_last, 5: torch.channels_last_3d}
        return rng.choice([torch.contiguous_format, formats.get(x.dim(), torch.contiguous_format)])

    def strided(x: TorchTensor, rng: Random) -> Callable[[], TorchTensor]:
        sizes = [rng.randint(1, 2) for _ in range(rng.randint(0, 3))]
        offset = rng.choice([None, x.storage_offset()])
        return lambda: x.as_strided(sizes, [0] * len(sizes), offset)

    def squeezed(x: TorchTensor, rng: Random) -> Callable[[], TorchTensor]:
        dim, some = a_dim(x, rng), an_order(x, rng)[: rng.randint(0, x.dim())]
        return rng.choice(
            [lambda: x.squeeze(), lambda: x.squeeze(dim), lambda: x.squeeze(tuple(some))]
        )

    def selected(x: TorchTensor, rng: Random) -> Callable[[], TorchTensor]:
        dim = a_dim(x, rng)
        index = an_index(x, dim, rng)
        return lambda: x.select(dim, index)

    def narrowed(x: TorchTensor, rng: Random) -> Callable[[], TorchTensor]:
        dim, start, length = a_dim(x, rng), rng.randint(-2, 3), rng.randint(0, 3)
        return lambda: x.narrow(dim, start, length)

    def sized(x: TorchTensor, rng: Random) -> Callable[[], TorchTensor]:
        dim = a_dim(x, rng)
        lengths = some_cuts(x, dim, rng)
        return lambda: aten.split_with_sizes(x, lengths, dim)

    def tensor_split(x: TorchTensor, rng: Random) -> Callable[[], TorchTensor]:
        dim, how = a_dim(x, rng), rng.choice([rng.randint(1, 4), [1], [2, 1], [-1, 7]])
        return lambda: x.tensor_split(how, dim)

    def chunks(name: str) -> Case:
        def case(x: TorchTensor, rng: Random) -> Callable[[], TorchTensor]:
            count, dim = rng.randint(1, 4), a_dim(x, rng)
            return lambda: getattr(x, name)(count, dim)

        return case

    def unsafe_split(x: TorchTensor, rng: Random) -> Callable[[], TorchTensor]:
        length, dim = rng.randint(1, 3), a_dim(x, rng)
        return lambda: x.unsafe_split(length, dim)

    def flattened(x: TorchTensor, rng: Random) -> Callable[[], TorchTensor]:
        first, last = two_dims(x, rng)
        return lambda: x.flatten(first, last)

    def a_dtype(x: TorchTensor, rng: Random) -> Torch:
        return rng.choice([torch.int8, torch.int16, torch.float32, torch.float64, x.dtype])

    return {
        "adjoint": plain(lambda x: x.adjoint()),
        "alias": plain(aten.alias),
        "as_strided": strided,
        "broadcast_to": with_value(wider, lambda x, sizes: x.broadcast_to(sizes)),
        "chunk": chunks("chunk"),
        "conj": plain(lambda x: x.conj()),
        "contiguous": with_value(a_format, lambda x, f: aten.contiguous(x, memory_format=f)),
        "clone": with_value(
            lambda x, rng: rng.choice([torch.preserve_format, a_format(x, rng)]),
            lambda x, f: x.clone(memory_format=f),
        ),
        "detach": plain(lambda x: x.detach()),
        "diagonal": diagonal,
        "dsplit": cut("dsplit"),
        "expand": with_value(wider, lambda x, sizes: x.expand(sizes)),
        "expand_as": with_value(widened, lambda x, other: x.expand_as(other)),
        "flatten": flattened,
        "hsplit": cut("hsplit"),
        "imag": plain(lambda x: x.imag),
        "linalg_diagonal": plain(lambda x: torch.linalg.diagonal(x)),
        "mH": plain(lambda x: aten.mH(x)),
        "mT": plain(lambda x: aten.mT(x)),
        "matrix_H": plain(lambda x: aten.matrix_H(x)),
        "moveaxis": moved("moveaxis"),
        "movedim": moved("movedim"),
        "narrow": narrowed,
        "numpy_T": plain(lambda x: aten.numpy_T(x)),
        "permute": with_value(an_order, lambda x, order: x.permute(order)),
        "positive": plain(lambda x: x.positive()),
        "ravel": plain(lambda x: x.ravel()),
        "real": plain(lambda x: aten.real(x)),
        "reshape": with_value(a_shape, lambda x, shape: x.reshape(shape)),
        "reshape_as": with_value(shaped, lambda x, other: x.reshape_as(other)),
        "resolve_conj": plain(lambda x: x.resolve_conj()),
        "select": selected,
        "slice": sliced,
        "split": pieces,
        "split_with_sizes": sized,
        "squeeze": squeezed,
        "swapaxes": with_dims(lambda x, a, b: x.swapaxes(a, b)),
        "swapdims": with_dims(lambda x, a, b: x.swapdims(a, b)),
        "t": plain(lambda x: x.t()),
        "tensor_split": tensor_split,
        "to": with_value(a_dtype, lambda x, dtype: aten.to(x, dtype)),
        "transpose": with_dims(lambda x, a, b: x.transpose(a, b)),
        "type_as": plain(lambda x: x.type_as(torch.zeros(1))),
        "unbind": with_dim(lambda x, dim: x.unbind(dim)),
        "unflatten": unflattened,
        "unfold": unfolded,
        "unsafe_chunk": chunks("unsafe_chunk"),
        "unsafe_split": unsafe_split,
        "unsqueeze": with_value(
            lambda x, rng: rng.randrange(-x.dim() - 1, x.dim() + 1), lambda x, d: x.unsqueeze(d)
        ),
        "view": with_value(
            lambda x, rng: rng.choice([a_shape(x, rng), a_dtype(x, rng)]), lambda x, v: x.view(v)
        ),
        "view_as": with_value(shaped, lambda x, other: x.view_as(other)),
        "view_as_complex": plain(lambda x: torch.view_as_complex(x)),
        "view_as_real": plain(lambda x: torch.view_as_real(x)),
        "vsplit": cut("vsplit"),
        "_unsafe_view": with_value(a_shape, aten._unsafe_view),
        "_reshape_alias": plain(lambda x: aten._reshape_alias(x, x.shape, x.stride())),
        "_conj": plain(lambda x: aten._conj(x) if x.is_complex() else x),
        "_neg_view": plain(aten._neg_view),
        "atleast_1d": plain(lambda x: aten.atleast_1d(x)),
        "atleast_2d": plain(lambda x: aten.atleast_2d(x)),
        "atleast_3d": plain(lambda x: aten.atleast_3d(x)),
        "lift_fresh": plain(aten.lift_fresh),
    }
