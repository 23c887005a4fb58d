"""The layout letters of a matrix product, predicted from strides and compared with a kernel's name.

BLAS works column by column, torch row by row. torch computes C = X Y and asks BLAS for its
transpose, so the letters stand for Y, then X: `n` is an operand that lies row by row, `t` one that
is the view of a transposed matrix. Source: aten/src/ATen/native/cuda/Blas.cpp,
`prepare_matrix_for_cublas`; checked on recorded products with strides.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Literal, TypeAlias

from ptx.profiling.kernels.decode import decode
from ptx.profiling.tensors.inputs import Tensor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ptx.profiling.tensors.inputs import Input

Verdict: TypeAlias = Literal["agree", "differ", "ambiguous", "no letters"]

_FACTORS = {
    "mm": (0, 1), "bmm": (0, 1), "matmul": (0, 1), "linear": (0, 1), "mv": (0, 1),
    "_int_mm": (0, 1), "_scaled_mm": (0, 1), "addmm": (1, 2), "_addmm_activation": (1, 2),
    "baddbmm": (1, 2), "addmv": (1, 2),
}  # fmt: skip
"""The positions of both factors, by the op's name without `aten::` and a last `_`."""

_LETTERED = frozenset(
    ("cublas_legacy", "cublas_xmma", "cublas_nvjet", "cublas_aux", "cutlass2", "cutlass3",
     "tensile", "onemkl_gemm")
)  # fmt: skip
"""Families whose layout letters are those of a BLAS call."""

_FLIPPED = {"n": "t", "t": "n"}


@dataclass(frozen=True, slots=True)
class Gemm:
    """A matrix product as torch states it, and the layouts in which BLAS may be asked for it.

    Attributes:
        batch: the number of products of this size; 1 for a single one.
        m: rows of torch's first factor.
        n: columns of the second one.
        k: the length of the sums.
        dtype: the first factor's type.
        layouts: every admissible pair of letters; more than one where strides do not decide.
        reason: why, in words.
    """

    batch: int
    m: int
    n: int
    k: int
    dtype: str
    layouts: frozenset[str]
    reason: str


@dataclass(frozen=True, slots=True)
class Agreement:
    """What a kernel's name says beside what strides predict.

    Attributes:
        verdict: `ambiguous` where strides admit the name's letters and others too, `no letters`
            where the name has none to judge.
        text: both on one line, such as `tn = tn agree`.
        named: the letters in the name, None without.
    """

    verdict: Verdict
    text: str
    named: str | None


@dataclass(frozen=True, slots=True)
class _Factor:
    """A factor as a matrix: its letters, and why where that needs a word."""

    letters: str
    reason: str


def gemm_of(op_name: str, inputs: Sequence[Input]) -> Gemm | None:
    """Returns the matrix product that an op computes; None if it is none or shapes are missing.

    Args:
        op_name: such as `aten::addmm`.
        inputs: the op's recorded inputs in order.
    """
    name = op_name.removeprefix("aten::")
    places = _FACTORS.get(name) or _FACTORS.get(name.removesuffix("_"))
    if places is None or len(inputs) <= max(places):
        return None
    first, second = (inputs[place].tensor for place in places)
    if first is None or second is None or not first.shape or not second.shape:
        return None
    if name == "linear":
        second = _transposed(second)
    if len(second.shape) == 1:
        second = _with_last(second)
    if len(first.shape) == 1:
        first = _with_first(first)
    if first.shape[-1] != second.shape[-2]:
        return None
    folded = len(second.shape) == 2
    batch = 1 if folded else prod(_broadcast(first.shape[:-2], second.shape[:-2]))
    m = prod(first.shape[:-1]) if folded else first.shape[-2]
    n, k = second.shape[-1], second.shape[-2]
    x = _factor(_as_matrix(first) if folded else first, f"in{places[0]}")
    y = _factor(second, "the weight, transposed" if name == "linear" else f"in{places[1]}")
    layouts = {a + b for a, b in product(y.letters, x.letters)}
    reasons = [factor.reason for factor in (y, x) if factor.reason]
    if min(m, n) == 1:
        # A result of one row or column lies both ways, so that torch may ask for it unswapped.
        layouts |= {_FLIPPED[word[1]] + _FLIPPED[word[0]] for word in layouts}
        reasons.append("the result has a dimension of size 1")
    reason = ", ".join(reasons) or "both factors lie row by row"
    return Gemm(batch, m, n, k, first.dtype, frozenset(layouts), reason)


def compare_layout(gemm: Gemm, kernel_name: str) -> Agreement:
    """Returns how the letters in a kernel's name and the predicted ones fit together."""
    kernel = decode(kernel_name, cut=False)
    found = kernel.fields.get("layout") if kernel.family in _LETTERED else None
    predicted = " or ".join(sorted(gemm.layouts))
    if not isinstance(found, str):
        return Agreement("no letters", f"predicted {predicted}, the name has no letters", None)
    if found not in gemm.layouts:
        return Agreement("differ", f"predicted {predicted}, name says {found}", found)
    if len(gemm.layouts) > 1:
        return Agreement("ambiguous", f"{predicted} possible, name says {found}: ambiguous", found)
    return Agreement("agree", f"{predicted} = {found} agree", found)


def _factor(tensor: Tensor, name: str) -> _Factor:
    """Returns the letters of a factor by the strides of its last two dimensions."""
    if tensor.strides is None:
        return _Factor("nt", f"the strides of {name} are not recorded")
    (rows, columns), (down, across) = tensor.shape[-2:], tensor.strides[-2:]
    by_row = across == 1 and down >= max(1, columns)
    by_column = down == 1 and across >= max(1, rows)
    if rows == 1 or columns == 1:
        return _Factor("nt", f"{name} has a dimension of size 1")
    if by_column:
        return _Factor("t", f"{name} is a view with strides ({down},{across})")
    if by_row:
        return _Factor("n", "")
    return _Factor("n", f"{name} with strides ({down},{across}) is copied row by row first")


def _as_matrix(tensor: Tensor) -> Tensor:
    """Returns a factor with its leading dimensions folded into its rows.

    torch copies a tensor whose leading dimensions cannot be folded, which makes it row-major.
    """
    if len(tensor.shape) == 2:
        return tensor
    columns = tensor.shape[-1]
    rows = prod(tensor.shape[:-1])
    if tensor.strides is None:
        return Tensor(tensor.dtype, (rows, columns), None)
    step = _folded_stride(tensor.shape[:-1], tensor.strides[:-1])
    strides = (columns, 1) if step is None else (step, tensor.strides[-1])
    return Tensor(tensor.dtype, (rows, columns), strides)


def _folded_stride(shape: Sequence[int], strides: Sequence[int]) -> int | None:
    """Returns the stride of several dimensions walked as one; None if there is no such stride."""
    dims = [(n, stride) for n, stride in zip(shape, strides, strict=True) if n != 1]
    if not dims:
        return strides[-1]
    reach = dims[-1][1]
    for n, stride in reversed(dims):
        if stride != reach:
            return None
        reach = stride * n
    return dims[-1][1]


def _transposed(tensor: Tensor) -> Tensor:
    strides = tensor.strides
    return Tensor(tensor.dtype, tensor.shape[::-1], strides and strides[::-1])


def _with_last(tensor: Tensor) -> Tensor:
    strides = tensor.strides
    return Tensor(tensor.dtype, (*tensor.shape, 1), strides and (*strides, 1))


def _with_first(tensor: Tensor) -> Tensor:
    strides = tensor.strides
    return Tensor(tensor.dtype, (1, *tensor.shape), strides and (tensor.shape[0], *strides))


def _broadcast(first: tuple[int, ...], second: tuple[int, ...]) -> tuple[int, ...]:
    length = max(len(first), len(second))
    padded = ((1,) * (length - len(shape)) + shape for shape in (first, second))
    return tuple(b if a == 1 else a for a, b in zip(*padded, strict=True))
