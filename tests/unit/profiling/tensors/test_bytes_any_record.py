"""No record, however odd, breaks a rule: it is unknown or a count."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.tensor_calls import COPY, FPROP, GEMM, PASS, POOL, REDUCE, SOFTMAX, SPLIT_SUM

from ptx.profiling.kernels.decode import decode
from ptx.profiling.tensors.bytes import RULES, shares_of
from ptx.profiling.tensors.bytes_triton import works_in_place
from ptx.profiling.tensors.flops import flops_of
from ptx.profiling.tensors.inputs import Input, Tensor
from ptx.profiling.tensors.operands import Call, Launch

FLASH = "void pytorch_flash::flash_bwd_kernel<Flash_bwd_kernel_traits<64>, false>(T)"
FOREACH = (
    "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "
    "namespace)::TensorListMetadata<1>, at::native::(anonymous namespace)::UnaryOpFunctor<float, "
    "1, 1, 0>, std::negate<float>>(T)"
)
TABLE = "void at::native::vectorized_gather_kernel<16, long>(char*)"
CAT = "void at::native::(anonymous namespace)::CatArrayBatchedCopy<OpaqueType<2u>, unsigned int>(T)"
KERNELS = (
    PASS,
    COPY,
    REDUCE,
    SOFTMAX,
    POOL,
    GEMM,
    SPLIT_SUM,
    FPROP,
    FLASH,
    FOREACH,
    TABLE,
    CAT,
    "",
)
OPS = [*RULES, "triton_poi_fused_mul_0", "triton_red_fused_embedding_1", "nobody::knows"]

sizes = st.integers(0, 5) | st.sampled_from((-1, 64, 1 << 40, 1 << 70))


@st.composite
def tensors(draw: st.DrawFn) -> Tensor:
    shape = tuple(draw(st.lists(sizes, max_size=5)))
    strides = st.none() | st.tuples(*[sizes] * len(shape))
    dtype = st.sampled_from(("f32", "bf16", "i64", "bool", "", "c10::Other", "c64"))
    return Tensor(draw(dtype), shape, draw(strides))


texts = st.sampled_from(
    ("", "1", "0", "-1", "True", "False", "[]", "[1, 1]", "[0]", "[True, False, True]", "[-9]",
     "1.5", "[2, 2]", "nan", "[", "x", "6", "[[1]]", "99999999999999999999")
)  # fmt: skip
inputs = st.one_of(
    tensors().map(lambda t: Input("tensor", tensor=t)),
    st.lists(tensors(), max_size=3).map(lambda ts: Input("tensor_list", tensors=tuple(ts))),
    texts.map(lambda text: Input("scalar", value=text)),
    st.just(Input("absent")),
)
arguments = st.lists(inputs, max_size=15).map(tuple)
grids = st.tuples(sizes, sizes, sizes)
launches = st.lists(st.builds(Launch, st.sampled_from(KERNELS).map(decode), grids), max_size=4)


@settings(max_examples=300)
@given(st.sampled_from(OPS), arguments, launches, st.tuples(*[st.booleans()] * 3))
def test_every_rule_answers_one_share_a_launch(
    op: str, given_inputs: tuple[Input, ...], kernels: list[Launch], traits: tuple[bool, bool, bool]
) -> None:
    call = Call(op, given_inputs, tuple(kernels), *traits)
    shares = shares_of(call)
    assert len(shares) == len(kernels)
    assert all(x is None or isinstance(x, int) for share in shares for x in share)
    flops = flops_of(f"aten::{op}", given_inputs)
    assert flops is None or isinstance(flops, int)


@given(st.lists(st.tuples(st.sampled_from(OPS), arguments), max_size=6))
def test_the_flow_of_buffers_answers_one_flag_an_op(
    calls: list[tuple[str, tuple[Input, ...]]],
) -> None:
    assert len(works_in_place(calls)) == len(calls)
