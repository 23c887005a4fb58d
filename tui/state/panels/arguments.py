"""What the arguments of common ATen ops are called in their schemas."""

from __future__ import annotations

_SCHEMAS = """
add self other alpha; sub self other alpha; rsub self other alpha; mul self other; div self other
add_ self other alpha; sub_ self other alpha; mul_ self other; div_ self other
addcmul self tensor1 tensor2 value; addcdiv self tensor1 tensor2 value; pow self exponent
lerp self end weight; maximum self other; minimum self other; where condition self other
eq self other; ne self other; lt self other; le self other; gt self other; ge self other
neg self; exp self; log self; sqrt self; rsqrt self; sin self; cos self; tanh self; sigmoid self
relu self; gelu self approximate; silu self; dropout input p train; native_dropout input p train
clamp self min max; masked_fill self mask value; masked_fill_ self mask value
threshold_backward grad_output self threshold; gelu_backward grad_output self approximate
silu_backward grad_output self; sigmoid_backward grad_output output
tanh_backward grad_output output
mm self mat2; bmm self mat2; matmul self other; addmm self mat1 mat2 beta alpha
baddbmm self batch1 batch2 beta alpha; addmv self mat vec beta alpha; linear input weight bias
_addmm_activation self mat1 mat2 beta alpha use_gelu; _int_mm self mat2
_scaled_mm self mat2 scale_a scale_b bias scale_result out_dtype use_fast_accum; dot self tensor
conv1d input weight bias stride padding dilation groups
conv2d input weight bias stride padding dilation groups
conv3d input weight bias stride padding dilation groups
convolution input weight bias stride padding dilation transposed output_padding groups
_convolution input weight bias stride padding dilation transposed output_padding groups
cudnn_convolution self weight padding stride dilation groups benchmark deterministic allow_tf32
miopen_convolution self weight bias padding stride dilation groups benchmark deterministic
convolution_backward grad_output input weight bias_sizes stride padding dilation transposed
softmax self dim dtype; _softmax self dim half_to_float; log_softmax self dim dtype
_log_softmax self dim half_to_float; _softmax_backward_data grad_output output dim input_dtype
_log_softmax_backward_data grad_output output dim input_dtype
layer_norm input normalized_shape weight bias eps
native_layer_norm input normalized_shape weight bias eps; rms_norm input normalized_shape weight eps
native_layer_norm_backward grad_out input normalized_shape mean rstd weight bias output_mask
batch_norm input weight bias running_mean running_var training momentum eps
native_batch_norm input weight bias running_mean running_var training momentum eps
cudnn_batch_norm input weight bias running_mean running_var training momentum eps
group_norm input num_groups weight bias eps; native_group_norm input weight bias N C HxW group eps
embedding weight indices padding_idx; embedding_dense_backward grad_output indices num_weights
index self indices; index_select self dim index; gather self dim index; scatter self dim index src
index_put_ self indices values accumulate; scatter_add_ self dim index src
index_add_ self dim index source alpha; cat tensors dim; stack tensors dim
sum self dim keepdim dtype; mean self dim keepdim dtype; amax self dim keepdim; max self dim keepdim
var self dim correction keepdim; cumsum self dim dtype; topk self k dim largest sorted
sort self dim descending; argmax self dim keepdim; max_pool2d self kernel_size stride padding
avg_pool2d self kernel_size stride padding; adaptive_avg_pool2d self output_size
max_pool2d_with_indices self kernel_size stride padding dilation ceil_mode
copy_ self src non_blocking; clone self memory_format; contiguous self memory_format
to self dtype layout device; _to_copy self dtype layout device; fill_ self value; zero_ self
view self size; reshape self shape; _unsafe_view self size; as_strided self size stride
permute self dims; transpose self dim0 dim1; t self; expand self size; select self dim index
slice self dim start end step; unsqueeze self dim; squeeze self dim; split self split_size dim
detach self; flatten self start_dim end_dim; repeat self repeats; flip self dims; roll self shifts
scaled_dot_product_attention query key value attn_mask dropout_p is_causal scale
_scaled_dot_product_flash_attention query key value dropout_p is_causal
_scaled_dot_product_efficient_attention query key value attn_bias compute_log_sumexp dropout_p
_scaled_dot_product_cudnn_attention query key value attn_bias compute_log_sumexp dropout_p
nll_loss_forward self target weight reduction ignore_index
cross_entropy_loss self target weight reduction ignore_index label_smoothing
mse_loss self target reduction
"""


def _read(schemas: str) -> dict[str, tuple[str, ...]]:
    words = (entry.split() for line in schemas.splitlines() for entry in line.split(";"))
    return {name: tuple(names) for name, *names in filter(None, words)}


ARGUMENT_NAMES = _read(_SCHEMAS)
"""The names of an op's arguments in order, by its name without `aten::`."""
