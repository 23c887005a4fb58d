"""Which copies a call makes, by what it records and what its kernel's name says."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum
from itertools import zip_longest
from math import prod
from typing import TYPE_CHECKING

from ptx.profiling.tensors.inputs import ABSENT_INPUT
from ptx.profiling.tensors.layouts import layout_of, strides_fit
from ptx.profiling.tensors.operands import names
from ptx.profiling.tensors.vectorised import why_not_vectorised

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ptx.profiling.kernels.model import KernelName
    from ptx.profiling.tensors.inputs import Input, Tensor


class CopyKind(IntEnum):
    """Why memory was moved, or read badly."""

    LAYOUT = 0
    CONTIGUOUS = 1
    BROADCAST = 2
    CAST = 3
    COPY = 4
    STRIDED = 5

    @property
    def word(self) -> str:
        """Returns the kind as text."""
        return _WORDS[self]

    @property
    def is_copy(self) -> bool:
        """Returns whether the activity does nothing else; a strided one computes as well."""
        return self is not CopyKind.STRIDED


_WORDS = {
    CopyKind.LAYOUT: "layout conversion",
    CopyKind.CONTIGUOUS: "made contiguous",
    CopyKind.BROADCAST: "broadcast written out",
    CopyKind.CAST: "dtype cast",
    CopyKind.COPY: "plain copy",
    CopyKind.STRIDED: "strided access",
}


@dataclass(frozen=True, slots=True)
class CopyFact:
    """What one activity copies.

    Attributes:
        kind: the class.
        tensor: which of the op's tensors, "" where that is not known.
        change: what of it changes: a type, strides, or the reason of a strided access.
    """

    kind: CopyKind
    tensor: str = ""
    change: str = ""

    @property
    def trait(self) -> tuple[CopyKind, str, str]:
        """Returns what copies of one row share: types and directions, but not strides."""
        by_words = self.kind in (CopyKind.CAST, CopyKind.LAYOUT) and "[" not in self.change
        return self.kind, self.tensor, self.change if by_words else ""


@dataclass(frozen=True, slots=True)
class CallFacts:
    """What is known of the call that an activity belongs to.

    Attributes:
        op: the owner op's name without namespace, "" for none.
        inputs: its recorded inputs.
        read_bytes: what the activity reads by the model, -1 if unknown.
        convolution: the recorded inputs of the convolution around it, None outside of one.
    """

    op: str
    inputs: tuple[Input, ...] = ()
    read_bytes: int = -1
    convolution: tuple[Input, ...] | None = None


_PRODUCTS = frozenset(("addmm", "baddbmm", "linear", "addbmm", "addmv"))
_STRIDED_TEMPLATES = ("elementwise_kernel", "elementwise_kernel_manual_unroll")
_LIBRARIES = ("cudnn_aux", "miopen")
_CONVERSION = re.compile(
    r"nchw\w*?2?nhwc|nhwc\w*?2?nchw|batched_transpose|transpose_[NCDHW]+2[NCDHW]+", re.IGNORECASE
)
_PADDING = re.compile(r"n(?:hwc|chw)AddPadding")
_CAST = re.compile(r"CastTensor")
_TO_NHWC = re.compile(r"nchw\w*?nhwc", re.IGNORECASE)
_TO_NCHW = re.compile(r"nhwc\w*?nchw", re.IGNORECASE)
_CAST_FUNCTOR = re.compile(r"(?:bfloat16|float16|float8|float32|to)\w*_copy")
_CAST_TEMPLATE = re.compile(r"LoadWithCast<|gpu_kernel_impl<")
_VIEWS = frozenset(
    names(
        "view _unsafe_view reshape expand permute transpose t unsqueeze squeeze slice select",
        "split split_with_sizes unbind as_strided detach alias unfold flatten",
    )
)


def copy_fact(kernel: KernelName, call: CallFacts) -> CopyFact | None:
    """Returns what a kernel or memcpy copies, None where it is no such copy.

    Transfers from and to the host are none, nor are gathers and `cat`, which are results of their
    own.
    """
    if kernel.family == "aten_copy":
        return _torch_copy(kernel, call)
    if kernel.family == "memcpy":
        inside = kernel.fields.get("direction") == "DtoD" and call.op in ("copy_", "")
        return _recorded_copy(call) or CopyFact(CopyKind.COPY) if inside else None
    if kernel.family in _LIBRARIES:
        return _library_copy(str(kernel.fields.get("kernel", "")), call)
    if kernel.family.startswith("ascend"):
        return _ascend_copy(str(kernel.fields.get("op_type", "")))
    if kernel.family == "inductor":
        return _compiled_copy(kernel)
    return _strided_access(kernel, call)


def recorded_copy(
    target: Tensor, source: Tensor, convolution: tuple[Input, ...] | None = None
) -> CopyFact:
    """Returns what a copy from one tensor to another is, by their types and strides.

    Args:
        target: the tensor that is written.
        source: the one that is read.
        convolution: the recorded inputs of the convolution that asks for it, None outside of one.
    """
    kind, change = _changed(target, source)
    if convolution is None:
        return CopyFact(kind, change=change)
    kind = CopyKind.LAYOUT if kind is CopyKind.CONTIGUOUS else kind
    return CopyFact(kind, _name_by_shape(source, convolution), change)


def _changed(target: Tensor, source: Tensor) -> tuple[CopyKind, str]:
    if target.dtype != source.dtype:
        return CopyKind.CAST, f"{source.dtype} -> {target.dtype}"
    if 1 < source.numel < target.numel:
        shapes = f"{_listed(source.shape, '()')} -> {_listed(target.shape, '()')}"
        return CopyKind.BROADCAST, shapes
    if source.strides is None or target.strides is None or source.shape != target.shape:
        return CopyKind.COPY, ""
    strides = f"{_listed(source.strides)} -> {_listed(target.strides)}"
    if _is_expanded(source):
        return CopyKind.BROADCAST, strides
    if strides_fit(source.shape, source.strides, target.strides):
        return CopyKind.COPY, ""
    into_part = layout_of(target) in ("strided", "overlapping", "broadcast")
    return (CopyKind.COPY if into_part else CopyKind.CONTIGUOUS), strides


def _torch_copy(kernel: KernelName, call: CallFacts) -> CopyFact:
    if call.op in _PRODUCTS:
        return CopyFact(CopyKind.BROADCAST, "bias")
    return _recorded_copy(call) or _copy_by_name(kernel)


def _recorded_copy(call: CallFacts) -> CopyFact | None:
    """Returns what an `aten::copy_` records, None where it does not or is another op."""
    tensors = [item.tensor for item in call.inputs[:2]]
    if call.op != "copy_" or len(tensors) < 2 or tensors[0] is None or tensors[1] is None:
        return None
    return recorded_copy(tensors[0], tensors[1], call.convolution)


def _copy_by_name(kernel: KernelName) -> CopyFact:
    """Returns what a copy kernel's name tells where no shapes are recorded."""
    functor = str(kernel.fields.get("functor", ""))
    if _CAST_FUNCTOR.match(functor) or _CAST_TEMPLATE.search(kernel.name):
        return CopyFact(CopyKind.CAST)
    if kernel.fields.get("template") in _STRIDED_TEMPLATES:
        return CopyFact(CopyKind.CONTIGUOUS)
    return CopyFact(CopyKind.COPY)


def _library_copy(function: str, call: CallFacts) -> CopyFact | None:
    if _PADDING.search(function):
        return CopyFact(CopyKind.LAYOUT, _operand(call), "channels padded")
    if _CONVERSION.search(function):
        change = (
            "NCHW -> NHWC"
            if _TO_NHWC.search(function)
            else "NHWC -> NCHW"
            if _TO_NCHW.search(function)
            else "transposed"
        )
        return CopyFact(CopyKind.LAYOUT, _role(change, call), change)
    return CopyFact(CopyKind.CAST) if _CAST.search(function) else None


def _role(change: str, call: CallFacts) -> str:
    """Returns whether a conversion is of an operand or of the result.

    Operands are converted away from the layout that the call's first tensor has, the result back.
    """
    first = next((item.tensor for item in call.inputs if item.tensor is not None), None)
    if first is None or change == "transposed":
        return ""
    is_nhwc = layout_of(first).startswith("channels_last")
    if (change == "NHWC -> NCHW") == is_nhwc:
        return _operand(call)
    return "result"


def _operand(call: CallFacts) -> str:
    """Returns which of a convolution's tensors has as many bytes as the kernel reads."""
    backward = call.op.startswith("convolution_backward")
    words = ("gradient", "input", "weight") if backward else ("input", "weight")
    fits = [
        word
        for word, item in zip(words, call.inputs, strict=False)
        if item.tensor is not None and item.tensor.nbytes == call.read_bytes
    ]
    return " or ".join(fits) or "operand"


def _ascend_copy(op_type: str) -> CopyFact | None:
    if op_type == "Cast":
        return CopyFact(CopyKind.CAST)
    if op_type in ("TransData", "Transpose"):
        return CopyFact(CopyKind.LAYOUT, change="format" if op_type == "TransData" else "")
    return None


def _compiled_copy(kernel: KernelName) -> CopyFact | None:
    """Returns what a generated kernel copies that fuses nothing but copies, casts and views."""
    fused = kernel.fields.get("fused_ops")
    if not isinstance(fused, tuple):
        return None
    work = set(fused) - _VIEWS
    if not work or not work <= {"clone", "contiguous", "copy", "copy_", "_to_copy"}:
        return None
    return CopyFact(CopyKind.CAST if "_to_copy" in work else CopyKind.CONTIGUOUS)


def _strided_access(kernel: KernelName, call: CallFacts) -> CopyFact | None:
    """Returns which inputs cost an elementwise kernel its wide loads, by their strides alone.

    An input that is broadcast costs them as well, but a copy of it would cost more.
    """
    if kernel.category != "P" or kernel.fields.get("template") not in _STRIDED_TEMPLATES:
        return None
    shapes = [item.tensor.shape[::-1] for item in call.inputs if item.tensor is not None]
    whole = prod(max(sizes) for sizes in zip_longest(*shapes, fillvalue=1))
    # what is left out keeps its place, so that names count as the op's inputs do
    inputs = [item if _is_whole(item, whole) else ABSENT_INPUT for item in call.inputs]
    reason = why_not_vectorised(inputs, kernel.name)
    tensors = [item.tensor for item in inputs if item.tensor is not None]
    scattered = any(layout_of(tensor) in ("strided", "overlapping") for tensor in tensors)
    if reason is None or not (scattered or len({tensor.strides for tensor in tensors}) > 1):
        return None
    return CopyFact(CopyKind.STRIDED, change=reason)


def _is_whole(item: Input, numel: int) -> bool:
    """Returns whether an input has all elements of the result, each of its own."""
    tensor = item.tensor
    return tensor is not None and tensor.numel == numel and not _is_expanded(tensor)


def _name_by_shape(tensor: Tensor, inputs: tuple[Input, ...]) -> str:
    """Returns which operand of a convolution has a tensor's shape."""
    fits = [
        word
        for word, item in zip(("input", "weight"), inputs, strict=False)
        if item.tensor is not None and item.tensor.shape == tensor.shape
    ]
    return " or ".join(fits)


def _is_expanded(tensor: Tensor) -> bool:
    return any(
        stride == 0 and size > 1
        for size, stride in zip(tensor.shape, tensor.strides or (), strict=False)
    )


def _listed(numbers: Sequence[int], brackets: str = "[]") -> str:
    return f"{brackets[0]}{','.join(map(str, numbers))}{brackets[1]}"
