"""Names of ops: what torch.compile lists for an eager op, and which ops are of one class.

A generated kernel's name lists `original_aten` of all that it computes (pytorch
torch/_inductor/utils.py:get_fused_kernel_name): the op as autograd saw it, before the compiler's
own decompositions. So an op answers to its own name and to those of the composite ops around it;
this module has the exceptions.
"""

from __future__ import annotations

import re


def _names(*lines: str) -> frozenset[str]:
    return frozenset(name for line in lines for name in line.split())


def _table(text: str) -> dict[str, frozenset[str]]:
    """Returns the rows `op op: name name` by op; several rows of one op add up."""
    found: dict[str, frozenset[str]] = {}
    for line in text.strip().splitlines():
        ops, _, listed = line.partition(":")
        for op in ops.split():
            found[op] = found.get(op, frozenset()) | frozenset(listed.split())
    return found


ALIASES = _table("""
copy copy_: _to_copy clone copy copy_
to half float type_as contiguous _to_copy: _to_copy clone
fill fill_ zero zero_: full full_like zeros_like new_zeros zeros ones ones_like scalar_tensor fill
fill fill_ zero zero_: zero zero_ fill_
zeros zeros_like ones ones_like: full full_like zeros_like new_zeros zeros ones ones_like
zeros zeros_like ones ones_like: scalar_tensor fill zero zero_ fill_
full: full full_like zeros_like new_zeros zeros ones ones_like scalar_tensor fill zero zero_ fill_
relu: relu threshold_backward
threshold_backward: threshold_backward relu_backward
square: pow
norm linalg_vector_norm: linalg_vector_norm
addcdiv: add div mul addcdiv
addcmul: add mul addcmul
softmax _softmax _safe_softmax: _softmax exp prepare_softmax_online sub
_softmax_backward_data: _softmax_backward_data mul sub sum neg fma
log_softmax _log_softmax: _log_softmax log sub exp prepare_softmax_online
rms_norm _fused_rms_norm: add mean mul pow rsqrt rms_norm _fused_rms_norm
_fused_rms_norm_backward: add div expand mul pow sum _fused_rms_norm_backward
batch_norm native_batch_norm: _native_batch_norm_legit_functional add copy_
batch_norm native_batch_norm: _native_batch_norm_legit_no_training _native_batch_norm_legit
cudnn_batch_norm miopen_batch_norm: _native_batch_norm_legit_functional add copy_
cudnn_batch_norm miopen_batch_norm: _native_batch_norm_legit_no_training _native_batch_norm_legit
cudnn_batch_norm_backward miopen_batch_norm_backward: native_batch_norm_backward
dropout native_dropout bernoulli bernoulli_: native_dropout rand bernoulli rand_like
dropout native_dropout bernoulli bernoulli_: inductor_random inductor_seeds
rand rand_like: native_dropout rand bernoulli rand_like inductor_random inductor_seeds
_fused_dropout: native_dropout
native_dropout_backward: native_dropout_backward mul
masked_scale: native_dropout_backward
nll_loss nll_loss_nd nll_loss_forward nll_loss2d_forward: nll_loss_forward nll_loss2d_forward
nll_loss_backward nll_loss2d_backward: nll_loss_backward nll_loss2d_backward arange eq expand
nll_loss_backward nll_loss2d_backward: scalar_tensor
_log_softmax_backward_data: _log_softmax_backward_data arange eq exp expand mul nll_loss_backward
_log_softmax_backward_data: scalar_tensor sub sum
l1_loss: abs mean sub sgn
kl_div: mean mul sub xlogy
bce_with_logits binary_cross_entropy_with_logits: div mul neg sigmoid sub
bce_with_logits binary_cross_entropy_with_logits: binary_cross_entropy_with_logits
index index_backward _index_put_impl_ index_put_ index_put: index index_put new_zeros
index_select gather: index_select gather embedding index
scatter_add scatter_add_: scatter_add new_zeros
index_add index_add_: index_add new_zeros
embedding_dense_backward: embedding_dense_backward index_put new_zeros full
slice_backward select_backward: slice_backward select_backward slice_scatter select_scatter
adaptive_avg_pool2d _adaptive_avg_pool2d adaptive_avg_pool1d: mean _adaptive_avg_pool2d
pad constant_pad_nd: constant_pad_nd
reflection_pad2d reflection_pad1d: reflection_pad2d reflection_pad1d
upsample_nearest2d: _to_copy _unsafe_index add arange mul unsqueeze
upsample_bilinear2d: _to_copy _unsafe_index add arange clamp mul sub unsqueeze view
silu_backward: silu_backward sigmoid mul add sub fill
sigmoid_backward tanh_backward: sigmoid_backward tanh_backward
cat: cat slice
masked_fill masked_fill_: masked_fill where
var std var_mean std_mean: var var_mean std native_layer_norm
max_pool2d max_pool2d_with_indices: max_pool2d_with_indices _low_memory_max_pool_with_offsets
max_pool2d max_pool2d_with_indices: _low_memory_max_pool2d_with_offsets
max_pool2d_with_indices_backward: max_pool2d_with_indices_backward
max_pool2d_with_indices_backward: _low_memory_max_pool2d_offsets_to_indices
repeat repeat_interleave expand: repeat expand clone
arange: arange iota
""")
"""The names that fused kernels list for an op, by its name without `aten::` and overload."""

FACTORIES = _names(
    "arange full full_like zeros zeros_like ones ones_like fill fill_ zero zero_ scalar_tensor",
    "empty empty_like tril_indices triu_indices eye linspace rand randn",
)
"""Ops that read no tensor's content: they make their output out of nothing."""

VIEW_WORDS = _names(
    "view _unsafe_view t transpose permute unsqueeze squeeze expand slice select split",
    "split_with_sizes unbind reshape as_strided alias detach unfold narrow chunk diagonal",
    "view_as lift_fresh_copy flatten unflatten movedim",
)
"""Ops in a fused name that compute nothing."""

_GEMM = _names("mm addmm bmm baddbmm linear matmul _addmm_activation addmv mv _int_mm _scaled_mm")
_CONVOLUTION = re.compile(r"conv(olution)?(\d?d)?(_|$)|convolution")
_ATTENTION = re.compile(r"scaled_dot_product|attention|flash_attn|_efficient_attention|fmha")


def op_class(leaf: str) -> str:
    """Returns `gemm`, `convolution`, `attention`, each with `_backward` where it is, or ""."""
    if leaf.rstrip("_") in _GEMM:
        return "gemm"
    backward = "_backward" if "backward" in leaf or "_bwd" in leaf else ""
    if _ATTENTION.search(leaf):
        return "attention" + backward
    if _CONVOLUTION.search(leaf):
        return "convolution" + backward
    return ""


def base_name(full_name: str) -> str:
    """Returns an op's name without namespace and overload: `aten::add.Tensor` gives `add`."""
    name = full_name.rpartition("::")[2]
    return name.partition(".")[0]


def answers(chain: tuple[str, ...]) -> dict[str, float]:
    """Returns the names that an op may be listed by, with how far each is from its own.

    0 stands for the op's own name, 0.1 for that of a composite op around it, 0.2 for an alias.

    Args:
        chain: base names from the op itself up to the outermost ATen op.
    """
    found: dict[str, float] = {}
    for position, name in enumerate(chain):
        price = 0.0 if position == 0 else 0.1
        for word in (name, name.rstrip("_")):
            found.setdefault(word, price)
    for name in chain:
        for word in (name, name.rstrip("_")):
            for alias in sorted(ALIASES.get(word, ())):
                found.setdefault(alias, 0.2)
    return found
