"""ATen's CUDA, HIP and XPU kernels: launch templates around an operator.

Source: pytorch/pytorch aten/src/ATen/native/cuda/{CUDALoops.cuh,Loops.cuh,Reduce.cuh,
PersistentSoftmax.cuh} and the files that define the named functions.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ptx.profiling.kernels.cxx import boolean, last_lambda_types, literal, parse
from ptx.profiling.kernels.dtypes import cxx_type
from ptx.profiling.kernels.reading import Token

if TYPE_CHECKING:
    from ptx.profiling.kernels.cxx import Cxx
    from ptx.profiling.kernels.reading import Reading

_RULE = "pytorch aten/src/ATen/native/cuda"

_WRAPPERS = frozenset(("gpu_kernel_impl", "gpu_kernel_impl_nocast", "gpu_kernel"))
_OPERAND_FUNCTORS = frozenset(("BinaryFunctor", "AUnaryFunctor", "BUnaryFunctor"))
_OPAQUE = frozenset(("type_specialized_broadcast_kernel_launcher",))
_ELEMENTWISE = frozenset(
    ("vectorized_elementwise_kernel", "unrolled_elementwise_kernel", "elementwise_kernel",
     "elementwise_kernel_manual_unroll", "elementwise_kernel_with_index",
     "vectorized_templated_elementwise_kernel", "legacy_elementwise_kernel",
     "elementwise_kernel_helper")
)  # fmt: skip
_COPY_FUNCTOR = re.compile(r"(?:(direct)|(bfloat16|float16|half)|[a-z0-9_]+)_copy_kernel_cuda\Z")
_COPY_TYPES = {"bfloat16": "bf16", "float16": "f16", "half": "f16"}
_BACKWARD = re.compile(r"backward|Backward|[gG]rad|_bwd")

_GROUPS = tuple(
    (family, re.compile(pattern))
    for family, pattern in (
        ("aten_cat", r"CatArrayBatchedCopy"),
        ("aten_softmax",
         r"softmax_warp_|cunn_(?:Spatial)?Soft[mM]ax|(?:spatial_|host_)?[sS]oft[mM]ax"),
        ("aten_foreach", r"multi_tensor_apply_kernel|lpnorm_cleanup|lpmax_cleanup"),
        ("aten_norm",
         r"vectorized_layer_norm|layer_norm_|LayerNorm|cuCompute|batch_norm_|GammaBeta"
         r"|RowwiseMoments|ComputeInternalGradients|ComputeFusedParams|ComputeBackwardFusedParams"
         r"|Compute1dBackwardFusedParams|GroupNorm|group_norm|weight_norm|renorm|rms_norm"
         r"|ComputeGradOutputCoeffient|vectorized_rms_norm"),
        ("aten_index",
         r"index|_?scatter_gather|vectorized_gather|embedding|EmbeddingBag|compute_grad_weight"
         r"|krn_part|masked_scatter|_cuda_scatter|_scatter|gather_|take_|put_|sum_and_scatter"),
        ("aten_sort",
         r"gatherTopK|gatherKthValue|bitonicSort|radixSort|radixFind|computeBlock|sort_"
         r"|segmented_sort|fill_reverse_indices|gatherMedian|computeDigitCumSum|warpMergeSort"),
        ("aten_distribution",
         r"distribution_|fused_dropout|masked_scale|sampleMultinomial|renormRows|random_"
         r"|philox_|generate_|multinomial|randperm|dropout"),
        ("aten_pool",
         r"max_pool|avg_pool|adaptive_?(?:average|avg|max)_?pool|adaptive[aA]verage|fractional_"
         r"|atomic_adaptive|max_unpool|MaxUnpool|maxpool"),
        ("aten_upsample", r"upsample|nearest|bicubic|trilinear|bilinear"),
        ("aten_loss",
         r"nll_loss|cunn_ClassNLL|ctc_loss|[mM]ulti[mM]argin|MultiLabel|cross_entropy"),
        ("aten_reduce", r"reduce_kernel\Z"),
    )
)  # fmt: skip

BARE_NAMES = re.compile(
    r"softmax_warp_(?:forward|backward)\Z|indexing_backward_kernel|elementwise_kernel_with_index\Z"
    r"|compute_cuda_kernel\Z|cunn_SoftMax|cunn_ClassNLLCriterion_|index(?:Select|Func)(?:Large|Small)Index\Z"
)
"""Functions of ATen that stand in a bare anonymous namespace or in none."""


def read_aten(reading: Reading, cxx: Cxx) -> None:
    """Reads a kernel of ATen by its outermost function."""
    name = cxx.name
    spot = Token(name, cxx.name_start, cxx.name_end)
    if "xpu" in cxx.names:
        _read_xpu(reading, cxx, spot)
    elif name in _ELEMENTWISE:
        _read_elementwise(reading, cxx, spot)
    elif name == "reduce_kernel":
        reading.be("aten_reduce", None, _RULE + "/Reduce.cuh")
        _read_reduce(reading, cxx)
    else:
        family = next((group for group, words in _GROUPS if words.match(name)), "aten_other")
        reading.be(family, None, _RULE)
        reading.take("kernel", name, spot)
        _read_function(reading, cxx, family, spot)


def _arguments(reading: Reading, cxx: Cxx) -> list[tuple[str, int, int]]:
    return [(reading.name[s:e], s, e) for s, e in cxx.arguments or ()]


def _read_elementwise(reading: Reading, cxx: Cxx, spot: Token) -> None:
    reading.be("aten_elementwise", None, _RULE + "/CUDALoops.cuh")
    reading.take("template", cxx.name, spot)
    arguments = _arguments(reading, cxx)
    numbers = []
    while arguments and (number := literal(arguments[0][0])) is not None:
        numbers.append((number, *arguments.pop(0)[1:]))
    if cxx.name.startswith("vectorized") and numbers:
        reading.put("vec", *numbers[0])
    elif cxx.name in ("elementwise_kernel", "elementwise_kernel_manual_unroll"):
        for key, number_at in zip(("threads", "work_per_thread"), numbers, strict=False):
            reading.put(key, *number_at)
    with_index = cxx.name == "elementwise_kernel_with_index"
    if with_index and arguments:
        arguments.pop(0)
    if arguments:
        read_functor(reading, *arguments[0][1:], scalar=not with_index)
    elif cxx.open_at >= 0:
        read_functor(reading, cxx.open_at, reading.end, scalar=False)
    for text, _, _ in arguments[1:]:
        if "LoadWithCast" in text[:120] or "StoreWithCast" in text[:120]:
            reading.notes.append(
                "inputs or output are cast on the way: their types in memory are not stated"
            )
            break
    functor = reading.fields.get("functor")
    copy = _COPY_FUNCTOR.match(functor) if isinstance(functor, str) else None
    if copy:
        reading.family = "aten_copy"
        if copy.group(2):
            start, end = reading.spans["functor"]
            reading.put("dtype_out", _COPY_TYPES[copy.group(2)], start, end)


def read_functor(reading: Reading, start: int, end: int, scalar: bool = True) -> None:
    """Reads the operator inside launch wrappers and functors, and its scalar type."""
    name = reading.name
    for _ in range(16):
        inner = parse(name, start, end)
        arguments = inner.arguments or ()
        if inner.name in _WRAPPERS and (first := inner.first_argument(end)):
            start, end = first
        elif inner.name in _OPERAND_FUNCTORS:
            _put_operands(reading, arguments)
            scalar = False
            if len(arguments) < 4:
                return
            start, end = arguments[3]
        elif inner.name == "func_wrapper_t":
            if len(arguments) < 2:
                return
            start, end = arguments[1]
        else:
            _put_functor(reading, inner, start, end, scalar)
            return


def put_plain_functor(reading: Reading, word: Token) -> None:
    """Records a functor that stands by itself, not one that wraps the operator."""
    if word.text not in _OPERAND_FUNCTORS and word.text not in _OPAQUE:
        reading.take("functor", word.text, word)


def _put_operands(reading: Reading, arguments: tuple[tuple[int, int], ...]) -> None:
    for key, index in (("dtype", 0), ("dtype_out", 2)):
        if index < len(arguments):
            found = cxx_type(reading.name[slice(*arguments[index])])
            if found:
                reading.put(key, found, *arguments[index])


def _put_functor(reading: Reading, inner: Cxx, start: int, end: int, scalar: bool) -> None:
    if any(part in _OPAQUE for part in inner.names):
        return
    functor, at, stop = inner.name, inner.name_start, inner.name_end
    if inner.open_at >= 0:
        scalar = False
    arguments = inner.arguments
    if functor == "operator()" and len(inner.names) > 1:
        functor = inner.names[-2]
        at = reading.name.find(functor, start, end)
        stop = at + len(functor)
        arguments = inner.owners[-2]
    if not functor or functor[0] in "{[(":
        return
    if reading.cut and stop >= reading.end:
        return
    reading.put("functor", functor, at, stop)
    if not scalar:
        return
    types = last_lambda_types(reading.name, start, end)
    if types is not None:
        first = reading.name[slice(*types)].split(",", 1)[0]
        found = cxx_type(first)
        if found:
            reading.put("dtype", found, types[0], types[0] + len(first))
    elif arguments and "{lambda" not in reading.name[stop:end]:
        found = cxx_type(reading.name[slice(*arguments[0])])
        if found:
            reading.put("dtype", found, *arguments[0])


def _read_reduce(reading: Reading, cxx: Cxx) -> None:
    arguments = _arguments(reading, cxx)
    for key, (text, start, end) in zip(("threads", "output_vec"), arguments, strict=False):
        if (number := literal(text)) is not None:
            reading.put(key, number, start, end)
    if len(arguments) < 3:
        return
    operation = parse(reading.name, *arguments[2][1:])
    parts = _arguments(reading, operation)
    if operation.name != "ReduceOp" or len(parts) < 2:
        return
    for key, index in (("dtype", 0), ("dtype_out", 3)):
        if index < len(parts) and (found := cxx_type(parts[index][0])):
            reading.put(key, found, *parts[index][1:])
    for key, index in (("work_per_thread", 4), ("vec", 5)):
        if index < len(parts) and (number := literal(parts[index][0])) is not None:
            reading.put(key, number, *parts[index][1:])
    read_functor(reading, *parts[1][1:], scalar=False)


def _read_function(reading: Reading, cxx: Cxx, family: str, spot: Token) -> None:
    arguments = _arguments(reading, cxx)
    name = cxx.name
    if family == "aten_softmax":
        _read_softmax(reading, name, arguments, spot)
        return
    if family == "aten_foreach":
        _read_foreach(reading, arguments)
        return
    if family == "aten_distribution" and name.startswith("distribution_"):
        if len(arguments) > 1 and (vec := literal(arguments[1][0])) is not None:
            reading.put("vec", vec, *arguments[1][1:])
        return
    if family == "aten_norm" and _BACKWARD.search(name):
        reading.take("direction", "bwd", spot)
    elif family in ("aten_pool", "aten_loss", "aten_upsample"):
        if _BACKWARD.search(name):
            reading.take("direction", "bwd", spot)
        elif "forward" in name:
            reading.take("direction", "fwd", spot)
    # The element type of a concatenation is only a size; elsewhere the first argument is the type.
    if family != "aten_cat" and arguments and name != "compute_cuda_kernel":
        found = cxx_type(arguments[0][0])
        if found:
            reading.put("dtype", found, *arguments[0][1:])
    if family in ("aten_cat", "aten_index") and "OpaqueType<" in reading.text:
        reading.notes.append("OpaqueType: only the size of an element is stated, not its type")


def _read_softmax(
    reading: Reading, name: str, arguments: list[tuple[str, int, int]], spot: Token
) -> None:
    if re.search(r"[fF]orward", name):
        reading.take("direction", "fwd", spot)
    elif re.search(r"[bB]ackward", name):
        reading.take("direction", "bwd", spot)
    scalar = next((a for a in arguments[:2] if cxx_type(a[0])), None)
    if scalar:
        reading.put("dtype", str(cxx_type(scalar[0])), *scalar[1:])
    if name.startswith("softmax_warp_"):
        for key, index in (("dtype_out", 1), ("dtype_acc", 2)):
            if index < len(arguments) and (found := cxx_type(arguments[index][0])):
                reading.put(key, found, *arguments[index][1:])
        if len(arguments) > 3 and (number := literal(arguments[3][0])) is not None:
            reading.put("log2_elements", number, *arguments[3][1:])
        for key, index in (("log_softmax", 4), ("masked", 5)):
            if index < len(arguments) and (flag := boolean(arguments[index][0])) is not None:
                reading.put(key, flag, *arguments[index][1:])
        return
    for _, start, end in arguments:
        epilogue = parse(reading.name, start, end).name
        if epilogue.endswith("Epilogue"):
            reading.put("log_softmax", epilogue.startswith("Log"), start, end)


def _read_foreach(reading: Reading, arguments: list[tuple[str, int, int]]) -> None:
    for _, start, end in arguments:
        inner = parse(reading.name, start, end)
        if "TensorList" in inner.name or "Metadata" in inner.name:
            continue
        if reading.cut and inner.name_end >= reading.end:
            return
        reading.put("functor", inner.name, inner.name_start, inner.name_end)
        if inner.arguments and (found := cxx_type(reading.name[slice(*inner.arguments[0])])):
            reading.put("dtype", found, *inner.arguments[0])
        return


def read_apex_multi_tensor(reading: Reading, cxx: Cxx) -> None:
    """Reads `multi_tensor_apply_kernel` without a namespace: the copies in apex and DeepSpeed."""
    reading.be("apex_multi_tensor", "nvidia", "NVIDIA/apex csrc/multi_tensor_apply.cuh")
    reading.take("kernel", cxx.name, Token(cxx.name, cxx.name_start, cxx.name_end))
    _read_foreach(reading, _arguments(reading, cxx))


def _read_xpu(reading: Reading, cxx: Cxx, spot: Token) -> None:
    reading.be("aten_xpu", "intel", "intel/torch-xpu-ops src/ATen/native/xpu/sycl")
    reading.take("template", cxx.name, spot)
    arguments = _arguments(reading, cxx)
    if arguments and (number := literal(arguments[0][0])) is not None:
        reading.put("vec", number, *arguments.pop(0)[1:])
    if arguments and cxx.name.endswith("ElementwiseKernel"):
        read_functor(reading, *arguments[0][1:])
