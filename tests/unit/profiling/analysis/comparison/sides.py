"""Small programs as traces, and what the tests of comparisons ask of an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from tests.traces import TraceBuilder, trace

from ptx.profiling.analysis.comparison.compare import compare
from ptx.profiling.structure.structure import build_structure
from ptx.profiling.trace.reader import read_trace

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ptx.profiling.analysis.comparison.model import Comparison, Group
    from ptx.profiling.structure.structure import Structure

Row: TypeAlias = "tuple[tuple[int, ...], tuple[int, ...], str]"

_STEP_US = 1_000_000
_STRIDE_US = 200


def load(path: Path) -> Structure:
    """Returns a trace with its relations."""
    return build_structure(read_trace(path))


def compared(a: Path, b: Path) -> Comparison:
    """Returns the comparison of two files."""
    return compare(load(a), load(b))


def rows(found: Comparison, kind: str | None = None) -> list[Row]:
    """Returns (places of A, places of B, kind) of each group; places count in launch order."""
    places = [_places(side.structure, found, k) for k, side in enumerate(found.sides)]
    return [
        (
            tuple(places[0][place.event] for place in group.a),
            tuple(places[1][place.event] for place in group.b),
            group.kind,
        )
        for group in found.groups
        if kind in (None, group.kind)
    ]


def _places(structure: Structure, found: Comparison, side: int) -> dict[int, int]:
    events = [p.event for group in found.groups for p in (group.a, group.b)[side]]
    table, activities = structure.trace.table, structure.activities

    def launched(event: int) -> tuple[int, int]:
        launch = int(activities.launch[activities.index_of(event)])
        return int(table.start_ns[launch if launch >= 0 else event]), event

    return {event: place for place, event in enumerate(sorted(events, key=launched))}


def sums(found: Comparison) -> tuple[int, int]:
    """Returns the time of all groups and of what is unmatched, of both sides."""
    a, b = (
        sum(place.ns for group in found.groups for place in (group.a, group.b)[k])
        + side.unmatched_ns
        for k, side in enumerate(found.sides)
    )
    return a, b


def gpu_sums(found: Comparison) -> tuple[int | None, int | None]:
    """Returns the totals that the groups must add up to."""
    return found.a.totals["gpu_sum_ns"], found.b.totals["gpu_sum_ns"]


class Kernel:
    """A kernel with the op that launches it; `shapes` are those of its inputs, f32, contiguous."""

    def __init__(
        self,
        op: str,
        name: str,
        us: int,
        *shapes: Sequence[int],
        values: Sequence[str] = (),
        scope: str | None = None,
    ) -> None:
        self.op, self.name, self.us, self.scope = op, name, us, scope
        self.shapes = [list(shape) for shape in shapes]
        self.values = list(values)


def mm(m: int = 512, k: int = 256, n: int = 128, us: int = 50) -> Kernel:
    """Returns a matrix product."""
    return Kernel("aten::mm", f"gemm_{m}x{n}x{k}_kernel", us, (m, k), (k, n))


def pointwise(op: str, shape: Sequence[int] = (512, 128), us: int = 20) -> Kernel:
    """Returns an elementwise op of one input."""
    name = (
        "void at::native::vectorized_elementwise_kernel<4, at::native::"
        f"{op}_kernel_cuda(at::TensorIteratorBase&)>(int)"
    )
    return Kernel(f"aten::{op}", name, us, shape)


def generated(ops: str, shape: Sequence[int] = (512, 128), us: int = 15, n: int = 0) -> Kernel:
    """Returns a kernel that torch.compile generated for ops joined by underscores."""
    size = 1
    for length in shape:
        size *= length
    name = f"triton_poi_fused_{ops}_{n}"
    return Kernel(name, name, us, shape, shape, values=[str(size)])


def program(path: Path, kernels: Sequence[Kernel], *, steps: int = 2, shapes: bool = True) -> Path:
    """Writes a trace that runs the kernels in each step, and returns its path."""
    builder = trace().header(schemaVersion=1, record_shapes=int(shapes))
    correlation = 0
    for step in range(steps):
        begin = step * _STEP_US
        builder.step(step + 1, begin, _STEP_US - 1)
        for position, kernel in enumerate(kernels):
            correlation += 1
            _launch(builder, kernel, begin + 10 + position * _STRIDE_US, correlation, shapes)
    return builder.write(path)


def _launch(builder: TraceBuilder, kernel: Kernel, at: int, correlation: int, shapes: bool) -> None:
    args: dict[str, object] = {}
    if shapes:
        args = {
            "Input_Dims": [*kernel.shapes, *([] for _ in kernel.values)],
            "Input_Strides": [*map(_strides, kernel.shapes), *([] for _ in kernel.values)],
            "Input_type": ["float"] * len(kernel.shapes) + ["Scalar"] * len(kernel.values),
            "Concrete_Inputs": [*("" for _ in kernel.shapes), *kernel.values],
        }
    if kernel.scope is not None:
        builder.annotation(kernel.scope, at - 1, 12)
    builder.op(kernel.op, at, 10, **args)
    builder.runtime("cudaLaunchKernel", at + 2, 4, correlation=correlation)
    builder.kernel(
        kernel.name, at + 8, kernel.us, correlation=correlation, grid=[1, 1, 1], block=[128, 1, 1]
    )


def _strides(shape: Sequence[int]) -> list[int]:
    strides = [1] * len(shape)
    for dim in range(len(shape) - 2, -1, -1):
        strides[dim] = strides[dim + 1] * shape[dim + 1]
    return strides


def group_of(found: Comparison, name: str) -> Group:
    """Returns the only group with a kernel whose name holds a text."""
    (group,) = [g for g in found.groups if any(name in p.name for p in (*g.a, *g.b))]
    return group
