from __future__ import annotations

from tests.tensor_calls import call, tensor

from ptx.profiling.tensors.bytes import shares_of
from ptx.profiling.tensors.operands import UNKNOWN, Share

CHUNK = 65_536
APPLY = (
    "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<"
    "at::native::(anonymous namespace)::TensorListMetadata<1>, {}>(T)"
)
SCALE = APPLY.format(
    "at::native::(anonymous namespace)::BinaryOpScalarFunctor<float, 1, 1, 0>, std::plus<float>, "
    "float"
)
ROOT = APPLY.format(
    "at::native::(anonymous namespace)::UnaryOpFunctor<c10::BFloat16, 2, 1, 1>, at::native::Sqrt<f>"
)
ADDCMUL = APPLY.format(
    "at::native::(anonymous namespace)::PointwiseOpScalarFunctor<float, 3, 3, 0>, std::multiplies"
)
CAST = APPLY.format(
    "at::native::(anonymous namespace)::CopyFunctor<float, c10::BFloat16, 2, 1, 1>, at::native::C"
)
ZERO = APPLY.format("at::native::(anonymous namespace)::ZeroFunctor<float, 1, 1, 0>")
ADAM = APPLY.format(
    "at::native::(anonymous namespace)::FusedAdamMathFunctor<float, 4, (at::native::ADAM_MODE)1, "
    "false>, float const*"
)


def blocks(kernel: str, *counts: int) -> list[tuple[str, tuple[int, int, int]]]:
    return [(kernel, (count, 1, 1)) for count in counts]


def test_a_launch_moves_the_chunks_that_its_blocks_take() -> None:
    # 3 chunks and 10 elements, nothing, 5 elements: 5 blocks
    lists = [tensor(3, CHUNK, dtype=""), tensor(10, dtype=""), tensor(0), tensor(5)]
    shares = shares_of(call("_foreach_add_", lists, 1, kernels=blocks(SCALE, 2, 3)))
    assert shares == [
        Share(2 * CHUNK * 4, 2 * CHUNK * 4),
        Share((CHUNK + 15) * 4, (CHUNK + 15) * 4),
    ]


def test_the_functor_tells_how_many_lists_are_read_and_which_type() -> None:
    lists = [tensor(100, dtype="")]
    assert shares_of(call("_foreach_sqrt", lists, kernels=blocks(ROOT, 1))) == [Share(200, 200)]
    three = (lists, lists, lists, 1)
    assert shares_of(call("_foreach_addcmul_", *three, kernels=blocks(ADDCMUL, 1))) == [
        Share(1200, 400)
    ]
    assert shares_of(call("_foreach_copy_", lists, lists, kernels=blocks(CAST, 1))) == [
        Share(200, 400)
    ]
    assert shares_of(call("_foreach_zero_", lists, kernels=blocks(ZERO, 1))) == [Share(0, 400)]


def test_an_optimizer_squares_one_list() -> None:
    lists = [tensor(100, dtype="")]
    squares = call(
        "_foreach_addcmul_", lists, lists, lists, 1, kernels=blocks(ADDCMUL, 1), in_optimizer=True
    )
    assert shares_of(squares) == [Share(800, 400)]


def test_a_fused_optimizer_writes_all_but_the_gradients() -> None:
    lists = [tensor(100, dtype="")]
    adam = call("_fused_adamw_", lists, lists, lists, lists, kernels=blocks(ADAM, 1))
    assert shares_of(adam) == [Share(1600, 1200)]


def test_blocks_that_do_not_add_up_to_the_recorded_tensors_are_unknown() -> None:
    lists = [tensor(100, dtype="")]
    assert shares_of(call("_foreach_add_", lists, 1, kernels=blocks(SCALE, 2))) == [UNKNOWN]
    assert shares_of(call("_foreach_add_", lists, 1, kernels=[SCALE])) == [UNKNOWN]
    # the profiler leaves long lists out
    assert shares_of(call("_foreach_add_", [], 1, kernels=blocks(SCALE, 2))) == [UNKNOWN]
