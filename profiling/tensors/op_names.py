"""Groups of ATen ops by what their schemas and implementations do with memory."""

from __future__ import annotations

from ptx.profiling.tensors.views import VIEW_RULES


def _names(*lines: str) -> frozenset[str]:
    return frozenset(name for line in lines for name in line.split())


MAY_ALIAS = _names(
    "reshape contiguous to flatten dropout resolve_conj resolve_neg type_as reshape_as view_as",
    "unflatten einsum ravel cpu cuda pin_memory positive conj real coalesce as_tensor lift",
    "adjoint mT mH matrix_H numpy_T movedim moveaxis atleast_1d atleast_2d atleast_3d",
    "broadcast_tensors meshgrid sum_to_size _grad_sum_to_size pad feature_dropout alpha_dropout",
    "feature_alpha_dropout _autocast_to_full_precision _autocast_to_reduced_precision",
    "_sparse_broadcast_to _unpack_dual to_dense to_sparse chalf squeeze_multiple rrelu native_norm",
    "_ncf_unsqueeze _ncf_view slice_inverse lift_fresh",
)
"""Ops that return their input, a view of it, or something new: what ran inside tells."""

ALWAYS_VIEWS = (frozenset(VIEW_RULES) - MAY_ALIAS) | _names(
    "indices values _indices _values crow_indices col_indices ccol_indices row_indices",
    "_nested_get_values _nested_view_from_buffer _nested_view_from_jagged",
    "_test_autograd_multiple_dispatch_view",
)
"""Ops whose result always lies in the memory of their first input; `_unsafe_view` and
`unsafe_split` do so although their schemas hide it."""

COPYING = _names(
    "clone _to_copy contiguous reshape to flatten resolve_conj resolve_neg type_as reshape_as",
    "unflatten ravel cpu cuda pin_memory _pin_memory lift lift_fresh_copy _to_dense to_dense",
    "conj_physical as_tensor",
) | frozenset(f"{name}_copy" for name in VIEW_RULES)
"""Ops that, where they make something new, make it by copying their first input."""

AS_LAST_INSIDE = _names(
    "linear matmul conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d",
    "convolution _convolution layer_norm softmax log_softmax scaled_dot_product_attention",
    "max_pool1d max_pool2d avg_pool2d adaptive_avg_pool1d adaptive_avg_pool2d einsum",
    "cross_entropy_loss nll_loss nll_loss_nd embedding_backward group_norm batch_norm",
    "_batch_norm_impl_index dropout stack tile repeat_interleave upsample_nearest2d",
    "nll_loss2d nll_loss_forward fft_rfft fft_fft interpolate rms_norm chunk_cat",
    "arange conv_tbc bilinear cosine_similarity pad",
)
"""Composite ops whose result is that of the last op that ran inside them."""

NO_TENSOR = _names(
    "item _local_scalar_dense is_nonzero equal allclose cudnn_is_acceptable is_pinned is_same_size",
    "_assert_async _assert_tensor_metadata _fused_sdp_choice _has_same_storage_numel",
    "_has_compatible_shallow_copy_type _is_zerotensor _linalg_check_errors _nnz _version",
    "_use_cudnn_ctc_loss _use_miopen_ctc_loss _debug_has_internal_overlap _propagate_xla_data",
    "dim sparse_dim dense_dim element_size get_device is_coalesced is_complex is_conj",
    "is_contiguous is_distributed is_floating_point is_inference is_leaf is_neg is_signed",
    "is_non_overlapping_and_dense is_set_to is_strides_like_format numel output_nr result_type",
    "q_scale q_zero_point q_per_channel_axis qscheme retains_grad size storage_offset stride",
    "sym_is_contiguous sym_numel sym_size sym_storage_offset sym_stride record_stream",
    "Bool Float Int ScalarImplicit set_data can_cast promote_types",
)
"""Ops that return a number or nothing."""
