"""What would avoid a copy, in one line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ptx.profiling.analysis.copy_kinds import CopyKind

if TYPE_CHECKING:
    from ptx.profiling.analysis.copy_kinds import CopyFact

_PRODUCT = re.compile(r"aten::(?:linear|addmm|baddbmm|addmv|addbmm)\b")
_AUTOCAST = re.compile(r"aten::(?:linear|conv\w*|\w*mm|matmul|einsum)\b")
_NHWC = "keep model and input in memory_format=torch.channels_last"


def advice(fact: CopyFact, cause: str, via: str) -> str:
    """Returns one line on what would avoid copies of a kind.

    Args:
        fact: what is copied.
        cause: the op that the program called.
        via: the op inside it that copies, "" where the cause itself does.
    """
    if fact.kind is CopyKind.LAYOUT:
        return _of_layout(fact, via)
    if fact.kind is CopyKind.CAST:
        return _of_cast(cause, via)
    if fact.kind is CopyKind.BROADCAST and (_PRODUCT.search(via or cause) or fact.tensor == "bias"):
        return "the product starts from its bias: leave the bias out where a norm follows"
    return _BY_KIND[fact.kind] if fact.kind in _BY_KIND else _of_copy(cause)


_BY_KIND = {
    CopyKind.CONTIGUOUS: "produce the tensor in this order of dimensions, or let its reader take "
    "the strides as they are",
    CopyKind.BROADCAST: "let the reader broadcast (stride 0) instead of writing each repeat",
    CopyKind.STRIDED: "give the inputs one dense order of dimensions where they are made; a copy "
    "pays only for what is read often",
}


def _of_layout(fact: CopyFact, via: str) -> str:
    if fact.change == "channels padded":
        return "give the tensor a multiple of 8 channels, so that the library need not pad it"
    if fact.change == "NHWC -> NCHW" and fact.tensor != "result":
        return "the library chose an NCHW kernel for channels_last data: try cudnn.benchmark"
    if fact.change == "NCHW -> NHWC" and fact.tensor == "result":
        return "the library chose an NCHW kernel for channels_last data: try cudnn.benchmark"
    if fact.change == "transposed":
        return f"{_NHWC} (with PYTORCH_MIOPEN_SUGGEST_NHWC=1 on AMD)"
    if fact.change == "format":
        return "the device stores matrices in its own format: convert weights once, before the run"
    if via or fact.tensor == "weight":
        return "convert the model once: model.to(memory_format=torch.channels_last)"
    return _NHWC


def _of_cast(cause: str, via: str) -> str:
    if "batch_norm" in cause:
        return "keep the norm's parameters and statistics in f32"
    if via == "aten::to" and _AUTOCAST.search(cause):
        return "autocast casts at every call: keep the weights in the type that is computed in"
    return "keep the tensor in one type from op to op, or let torch.compile fuse the cast"


def _of_copy(cause: str) -> str:
    if cause.startswith("aten::clone"):
        return "the program asks for it: clone only what is changed later"
    if "copy_bucket_to_grad" in cause:
        return (
            "DistributedDataParallel(gradient_as_bucket_view=True) keeps gradients in the buckets"
        )
    if cause.endswith("(backward)"):
        return "autograd makes it for this op's gradient: torch.compile can fuse it"
    return "write the result where it is needed (out=, in place), or leave the tensor as it is"
