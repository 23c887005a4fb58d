"""Calls of ops as a trace records them, made from tensors and values, for rules about bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ptx.profiling.kernels.decode import decode
from ptx.profiling.tensors.inputs import Input, Tensor
from ptx.profiling.tensors.operands import Call, Launch

if TYPE_CHECKING:
    from collections.abc import Sequence

PASS = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, T>(T)"
COPY = (
    "void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<"
    "at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda(float)#1}>>(int, T)"
)
REDUCE = (
    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, "
    "at::native::func_wrapper_t<float, at::native::sum_functor<float, float, float>>, "
    "unsigned int, float, 4, 4>>(R)"
)
SOFTMAX = "void at::native::(anonymous namespace)::cunn_SoftMaxForward<4, float, float, float>(T)"
POOL = "void at::native::(anonymous namespace)::max_pool_forward_nchw<float, int>(int)"
GEMM = "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x64x8_stage3_warpsize1x4x1_kernel"
SPLIT_SUM = "void cublasLt::splitKreduce_kernel<32, 16, int, float, float, float>(T)"
FPROP = "sm90_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize128x256x64_x"


def tensor(*shape: int, dtype: str = "f32", strides: Sequence[int] | None = None) -> Tensor:
    """Returns a tensor, contiguous unless strides are given."""
    if strides is None:
        strides, step = [], 1
        for size in reversed(shape):
            strides = [step, *strides]
            step *= size
    return Tensor(dtype, shape, tuple(strides))


def as_input(argument: Any) -> Input:  # noqa: ANN401 (whatever an op takes)
    """Returns an argument as the profiler records it."""
    if argument is None:
        return Input("absent")
    if isinstance(argument, Tensor):
        return Input("tensor", tensor=argument)
    if isinstance(argument, (list, tuple)) and any(isinstance(a, Tensor) for a in argument):
        return Input("tensor_list", tensors=tuple(argument))
    return Input("scalar", value=str(list(argument) if isinstance(argument, tuple) else argument))


def call(
    op: str,
    *arguments: Any,  # noqa: ANN401
    kernels: Sequence[str | tuple[str, tuple[int, int, int]]] = (PASS,),
    **traits: bool,
) -> Call:
    """Returns a call with kernels: their names, or (name, grid)."""
    launches = [
        Launch(decode(k)) if isinstance(k, str) else Launch(decode(k[0]), k[1]) for k in kernels
    ]
    return Call(op, tuple(map(as_input, arguments)), tuple(launches), **traits)
