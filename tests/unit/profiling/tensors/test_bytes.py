from __future__ import annotations

from tests.tensor_calls import COPY, PASS, REDUCE, SOFTMAX, call, tensor

from ptx.profiling.tensors.bytes import shares_of
from ptx.profiling.tensors.operands import UNKNOWN, Share, by_blocks, touched_bytes

N = 1000
GATHER = "void at::native::vectorized_gather_kernel<16, long>(char*, char*, long*, int)"
CAT = (
    "void at::native::(anonymous namespace)::CatArrayBatchedCopy<at::native::(anonymous namespace)"
    "::OpaqueType<2u>, unsigned int, 2, {batch}, 1>(T)"
)
DROPOUT = (
    "void at::native::(anonymous namespace)::fused_dropout_kernel_vec<float, float, int, 1>(T)"
)


def test_a_stretch_of_memory_counts_once_however_a_tensor_looks_at_it() -> None:
    assert touched_bytes(tensor(10, 20)) == 800
    assert touched_bytes(tensor(20, 10, strides=(1, 20))) == 800
    assert touched_bytes(tensor(50, 20, strides=(0, 1))) == 80, "a broadcast"
    assert touched_bytes(tensor(9, 4, strides=(1, 1))) == 48, "windows that overlap"
    assert touched_bytes(tensor(0, 20)) == 0
    assert touched_bytes(tensor()) == 0, "an argument of the kernel"


def test_gaps_shorter_than_a_sector_cross_with_their_neighbours() -> None:
    assert touched_bytes(tensor(100, strides=(2,))) == 99 * 8 + 4
    assert touched_bytes(tensor(100, strides=(64,))) == 100 * 32, "one sector for each"
    assert touched_bytes(tensor(8, 64, strides=(128, 1))) == 8 * 256, "half of every row"
    assert touched_bytes(tensor(8, 60, strides=(128, 1))) == 8 * 256, "rows end inside a sector"


def test_an_elementwise_op_reads_its_operands_and_writes_one_result() -> None:
    x = tensor(N, dtype="bf16")
    assert shares_of(call("add", x, x, 1)) == [Share(4 * N, 2 * N)]
    assert shares_of(call("relu", x)) == [Share(2 * N, 2 * N)]
    assert shares_of(call("add_", x, x, 1)) == [Share(4 * N, 2 * N)]
    assert shares_of(call("mul", x, tensor(dtype="f64"))) == [Share(2 * N, 2 * N)]


def test_an_output_that_is_given_is_written_and_not_read() -> None:
    x = tensor(N)
    assert shares_of(call("mul", x, x, x)) == [Share(8 * N, 4 * N)]
    assert shares_of(call("sqrt", x, x)) == [Share(4 * N, 4 * N)]


def test_the_type_of_a_result_follows_its_operands() -> None:
    whole, half, single = (tensor(N, dtype=d) for d in ("i64", "f16", "f32"))
    assert shares_of(call("eq", half, half)) == [Share(4 * N, N)]
    assert shares_of(call("add", half, single, 1)) == [Share(6 * N, 4 * N)]
    assert shares_of(call("div", whole, whole)) == [Share(16 * N, 4 * N)]
    assert shares_of(call("sigmoid", whole)) == [Share(8 * N, 4 * N)]
    mask = tensor(N, dtype="bool")
    assert shares_of(call("where", mask, half, half)) == [Share(5 * N, 2 * N)]
    assert shares_of(call("masked_fill_", half, mask, 0)) == [Share(3 * N, 2 * N)]


def test_broadcast_operands_count_once_and_the_result_in_full() -> None:
    rows, columns = tensor(100, 1), tensor(50)
    assert shares_of(call("add", rows, columns, 1)) == [Share(600, 20_000)]
    expanded = tensor(100, 50, strides=(0, 1))
    assert shares_of(call("relu", expanded)) == [Share(200, 20_000)]


def test_an_unknown_type_or_op_or_kernel_stays_unknown() -> None:
    x = tensor(N, dtype="c10::Mystery")
    assert shares_of(call("relu", x)) == [UNKNOWN]
    assert shares_of(call("my_own_op", tensor(N))) == [UNKNOWN]
    assert shares_of(call("relu", tensor(N), kernels=[GATHER])) == [UNKNOWN]
    assert shares_of(call("relu")) == [UNKNOWN]


def test_a_copy_reads_one_side_and_writes_the_other() -> None:
    target, source = tensor(N, dtype="f32"), tensor(N, dtype="bf16")
    assert shares_of(call("copy_", target, source, False, kernels=[COPY])) == [Share(2000, 4000)]
    filled = shares_of(call("fill_", target, 0))
    assert filled == [Share(0, 4 * N)]


def test_a_tensor_cut_into_launches_is_shared_by_blocks_and_nothing_is_lost() -> None:
    pieces = [(PASS, (3, 1, 1)), (PASS, (4, 1, 1))]
    shares = shares_of(call("relu", tensor(N), kernels=pieces))
    assert [s.read_bytes for s in shares] == [1714, 2286]
    assert sum(s.write_bytes or 0 for s in shares) == 4 * N
    unlike = call("relu", tensor(N), kernels=[(PASS, (3, 1, 1)), (COPY, (4, 1, 1))])
    assert by_blocks(unlike.launches, Share(1, 1)) == [UNKNOWN, UNKNOWN]


def test_a_reduction_reads_everything_and_writes_what_is_left() -> None:
    x = tensor(10, 20, 30, dtype="bf16")
    read = 12_000

    def reduced(op: str, *arguments: object) -> Share:
        (share,) = shares_of(call(op, *arguments, kernels=[REDUCE]))
        return share

    assert reduced("sum", x, [], False, None) == Share(read, 2)
    assert reduced("sum", x, [-1], False, None) == Share(read, 400)
    assert reduced("sum", x, [0, 2], True, 6) == Share(read, 80), "in f32"
    assert reduced("mean", x, None) == Share(read, 2), "all, with no type given"
    assert reduced("amax", x, [1], False) == Share(read, 600)
    assert reduced("argmax", x, 1, False) == Share(read, 2400)
    assert reduced("max", x, 1, False) == Share(read, 600 + 2400), "values and indices"
    assert reduced("any", x, 1, False) == Share(read, 300)
    assert reduced("var_mean", x, [1], 1, False) == Share(read, 1200)
    assert reduced("linalg_vector_norm", x, 2, [0], False, None) == Share(read, 1200)
    assert reduced("sum", tensor(8, dtype="bool"), [], False, None) == Share(8, 8)
    assert reduced("sum", x, "not recorded", False, None) == Share(read, None)


def test_softmax_reads_once_and_may_widen() -> None:
    x = tensor(8, 100, dtype="f16")
    assert shares_of(call("_softmax", x, -1, False, kernels=[SOFTMAX])) == [Share(1600, 1600)]
    assert shares_of(call("_softmax", x, -1, True, kernels=[SOFTMAX])) == [Share(1600, 3200)]
    back = call("_softmax_backward_data", x, x, -1, 5, kernels=[SOFTMAX])
    assert shares_of(back) == [Share(3200, 1600)]


def test_each_kernel_of_a_normalisation_gets_what_its_own_pass_moves() -> None:
    x, weight = tensor(4, 8, 6, 6, dtype="bf16"), tensor(8, dtype="bf16")
    size = 4 * 8 * 36 * 2
    kernels = [
        "void at::native::(anonymous namespace)::RowwiseMomentsCUDAKernel<c10::BFloat16>(long)",
        "void at::native::(anonymous namespace)::ComputeFusedParamsCUDAKernel<c10::BFloat16>(long)",
        "void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<at::native"
        "::(anonymous namespace)::GroupNormKernelImplInternal<c10::BFloat16>(at::Tensor const&)"
        "::{lambda(c10::BFloat16, float, float)#1}>>(int, T)",
    ]
    shares = shares_of(
        call("native_group_norm", x, weight, weight, 4, 8, 36, 2, 1e-5, kernels=kernels)
    )
    assert shares[0] == Share(size, 2 * 8 * 2), "mean and deviation of 4 x 2 groups"
    assert shares[1] == Share(2 * 8 * 2 + 2 * 8 * 2, 2 * 32 * 4), "one pair for each channel"
    assert shares[2] == Share(size + 2 * 32 * 4, size)


def test_layer_norm_writes_its_statistics_beside_the_rows() -> None:
    x, weight = tensor(16, 64, dtype="bf16"), tensor(64, dtype="bf16")
    kernel = (
        "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, f>"
    )
    (share,) = shares_of(call("native_layer_norm", x, [64], weight, weight, 1e-5, kernels=[kernel]))
    assert share == Share(2048 + 256, 2048 + 2 * 16 * 4)


def test_dropout_writes_a_mask_of_one_byte_an_element() -> None:
    (share,) = shares_of(call("native_dropout", tensor(N), 0.1, True, kernels=[DROPOUT]))
    assert share == Share(4 * N, 5 * N)


def test_a_gather_reads_no_more_than_its_table() -> None:
    table, index = tensor(100, 64), tensor(1000, dtype="i64")
    (share,) = shares_of(call("index_select", table, 0, index, kernels=[GATHER]))
    assert share == Share(100 * 256 + 8000, 1000 * 256)
    few = tensor(10, 64, dtype="i64", strides=(1, 0))
    (share,) = shares_of(call("gather", table, 0, few, False, kernels=[GATHER]))
    assert share == Share(10 * 256 + 80, 10 * 256)


def test_the_grid_tells_how_many_rows_an_index_takes() -> None:
    (share,) = shares_of(call("index", tensor(100, 64), None, kernels=[(GATHER, (30, 1, 1))]))
    assert share == Share(30 * 256 + 240, 30 * 256)
    assert shares_of(call("index", tensor(100, 64), None, kernels=[GATHER])) == [UNKNOWN]


def test_cat_moves_every_input_in_batches_of_what_its_kernel_takes() -> None:
    parts = [tensor(10, 5, dtype=""), tensor(0, 5, dtype=""), tensor(20, 5, dtype="")]
    one = call("cat", parts, 0, kernels=[CAT.format(batch=128)])
    assert shares_of(one) == [Share(300, 300)]
    two = call("cat", parts, 0, kernels=[CAT.format(batch=1)] * 2)
    assert shares_of(two) == [Share(100, 100), Share(200, 200)]
    short = call("cat", parts, 0, kernels=[CAT.format(batch=1)])
    assert shares_of(short) == [UNKNOWN], "a launch is missing"


def test_blocks_that_no_grid_has_share_nothing() -> None:
    pieces = [(PASS, (1, 1, 1)), (PASS, (-1, 1, 1))]
    assert shares_of(call("relu", tensor(N), kernels=pieces)) == [UNKNOWN, UNKNOWN]
