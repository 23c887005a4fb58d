"""Ops called with `out=`: by how many arguments the out= form of an op is known.

An op and its out= form share one name in a trace; the out= form ends with the tensor written.
A name stands under a number of arguments if its out= form takes that many and no other form of
that many ends with a tensor. Made from the schemas of PyTorch 2.13.
"""

from __future__ import annotations

_NAMES = {
    2: """
        _coalesce _conj_physical _efficientzerotensor abs absolute acos acosh all angle any arange
        arccos arccosh arcsin arcsinh arctan arctanh asin asinh atan atanh bartlett_window
        bitwise_not blackman_window block_diag ceil chain_matmul column_stack conj_physical cos cosh
        deg2rad dequantize digamma dstack erf erfc erfinv exp exp2 expm1 eye fix floor frac
        hamming_window hann_window hardsigmoid hardswish hstack i0 int_repr inverse isinf isnan
        isneginf isposinf kaiser_window lgamma lift linalg_det linalg_eigvals linalg_inv
        linalg_matrix_exp linalg_multi_dot log log10 log1p log2 log_sigmoid logical_not median mish
        msort nanmedian neg negative nonzero ones q_per_channel_scales q_per_channel_zero_points
        rad2deg rand randn randperm reciprocal relu round row_stack rsqrt scalar_tensor sgn sigmoid
        sign signbit silu sin sinc sinh sparse_coo_tensor special_airy_ai special_bessel_j0
        special_bessel_j1 special_bessel_y0 special_bessel_y1 special_digamma special_entr
        special_erf special_erfc special_erfcx special_erfinv special_exp2 special_expit
        special_expm1 special_gammaln special_i0 special_i0e special_i1 special_i1e special_log1p
        special_log_ndtr special_modified_bessel_i0 special_modified_bessel_i1
        special_modified_bessel_k0 special_modified_bessel_k1 special_ndtr special_ndtri special_psi
        special_scaled_modified_bessel_k0 special_scaled_modified_bessel_k1 special_sinc
        special_spherical_bessel_j0 sqrt square tan tanh trace trunc vstack zero zeros
    """,
    3: """
        __lshift__ __rshift__ _adaptive_avg_pool2d _adaptive_avg_pool2d_backward
        _adaptive_avg_pool3d _adaptive_avg_pool3d_backward _aminmax _coalesced
        _compute_linear_combination _copy_from_and_resize _euclidean_dist _int_mm _logcumsumexp
        _pdist_forward _pin_memory _sample_dirichlet _sparse_sparse_matmul _sparse_sum _stack
        _standard_gamma _standard_gamma_grad _to_sparse _to_sparse_csc _to_sparse_csr _unsafe_view
        adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_avg_pool3d_backward
        arctan2 atan2 bartlett_window bernoulli bitwise_and bitwise_left_shift bitwise_or
        bitwise_right_shift bitwise_xor blackman_window bmm cat celu channel_shuffle cholesky
        cholesky_inverse clamp_max clamp_min clone complex concat concatenate copysign count_nonzero
        cudnn_grid_sampler diag div divide dot empty empty_like empty_permuted empty_strided eq eye
        fft_fftfreq fft_rfftfreq fill flip float_power floor_divide fmax fmin fmod frexp full gcd ge
        gelu geqrf ger glu greater greater_equal gt hamming_window hann_window hardshrink
        hardsigmoid_backward hardswish_backward heaviside hspmm hypot igamma igammac index inner
        kaiser_window kron lcm ldexp le leaky_relu less less_equal linalg_cholesky linalg_cond
        linalg_eig linalg_eigvalsh linalg_householder_product linalg_matmul linalg_matrix_power
        linalg_slogdet linalg_svdvals linalg_tensorinv log_sigmoid_forward logaddexp logaddexp2
        logcumsumexp logical_and logical_or logical_xor logit lt masked_select matmul matrix_power
        max maximum mean min minimum mm mul multiply mv mvlgamma native_norm ne new_empty new_ones
        new_zeros nextafter norm not_equal nuclear_norm ones_like orgqr outer pixel_shuffle
        pixel_unshuffle poisson polar polygamma pow prod rand rand_like randint randn randn_like
        random randperm range reflection_pad1d reflection_pad2d reflection_pad3d remainder repeat
        repeat_interleave replication_pad1d replication_pad2d replication_pad3d resize_as_sparse
        round set sigmoid_backward silu_backward slogdet softshrink sparse_mask
        special_chebyshev_polynomial_t special_chebyshev_polynomial_u special_chebyshev_polynomial_v
        special_chebyshev_polynomial_w special_gammainc special_gammaincc
        special_hermite_polynomial_h special_hermite_polynomial_he special_laguerre_polynomial_l
        special_legendre_polynomial_p special_logit special_multigammaln special_polygamma
        special_round special_shifted_chebyshev_polynomial_t special_shifted_chebyshev_polynomial_u
        special_shifted_chebyshev_polynomial_v special_shifted_chebyshev_polynomial_w
        special_xlog1py special_xlogy special_zeta stack sum take tanh_backward to_mkldnn tril triu
        true_divide vdot xlogy zeros_like
    """,
    4: """
        _add_relu _cholesky_solve_helper _chunk_cat _convert_indices_from_coo_to_csr _copy_from
        _cudnn_init_dropout_state _dirichlet_grad _linalg_det _log_softmax
        _make_per_tensor_quantized_tensor _masked_scale _new_zeros_with_same_feature_meta
        _resize_output _softmax _sparse_coo_tensor_with_dims _sparse_log_softmax
        _sparse_mask_projection _sparse_softmax _sparse_sum_backward _to_dense _to_sparse_bsc
        _to_sparse_bsr _upsample_nearest_exact1d adaptive_max_pool2d adaptive_max_pool2d_backward
        adaptive_max_pool3d adaptive_max_pool3d_backward add affine_grid_generator all amax amin any
        arange argmax argmin batch_norm_stats bernoulli bincount binomial bmm cholesky_solve clamp
        clip constant_pad_nd copy copy_sparse_to_sparse cross cummax cummin cumprod cumsum dist div
        divide empty_quantized exponential frobenius_norm from_file full_like gelu_backward
        geometric glu_backward hamming_window hardshrink_backward hardtanh index_select
        kaiser_window lerp linalg_cross linalg_eigh linalg_inv_ex linalg_ldl_factor linalg_lu_factor
        linalg_matrix_rank linalg_pinv linalg_qr linalg_solve linalg_tensorsolve linalg_vecdot
        linear linspace log_sigmoid_backward log_softmax logit_backward logsumexp lu_solve
        masked_fill masked_scatter max_unpool2d mm mse_loss multilabel_margin_loss
        native_dropout_backward new_empty_strided new_full nonzero_static norm normal nuclear_norm
        qr quantize_per_tensor_dynamic rand_like randint randint_like randn_like random range
        reflection_pad1d_backward reflection_pad2d_backward reflection_pad3d_backward
        replication_pad1d_backward replication_pad2d_backward replication_pad3d_backward resize
        resize_as roll rot90 rsub soft_margin_loss softmax softplus softshrink_backward
        special_logsumexp sub subtract take_along_dim threshold threshold_backward to_padded_tensor
        tril_indices triu_indices unsafe_split unsafe_split_with_sizes upsample_nearest1d
        upsample_nearest2d where
    """,
    5: """
        _aminmax _cdist_forward _convert_indices_from_csr_to_coo _empty_affine_quantized _fft_c2c
        _fft_c2r _fft_r2c _foobar _histogramdd_from_bin_tensors _linalg_eigh _linalg_slogdet
        _log_softmax_backward_data _make_per_channel_quantized_tensor _masked_softmax
        _masked_softmax_backward _pack_padded_sequence _pdist_backward _philox_normal
        _philox_uniform _softmax_backward_data _sparse_csr_prod _sparse_csr_sum
        _sparse_log_softmax_backward_data _sparse_softmax_backward_data _spdiags _to_sparse
        _triton_scaled_dot_attention _unique _upsample_nearest_exact1d_backward
        _upsample_nearest_exact2d _weight_norm_interface addcdiv addcmul aminmax argsort
        binary_cross_entropy bucketize cauchy conv_tbc cudnn_grid_sampler_backward diag_embed elu
        embedding_renorm fft_fft fft_fft2 fft_fftn fft_hfft fft_hfft2 fft_hfftn fft_ifft fft_ifft2
        fft_ifftn fft_ihfft fft_ihfft2 fft_ihfftn fft_irfft fft_irfft2 fft_irfftn fft_rfft fft_rfft2
        fft_rfftn gather glu_jvp hamming_window hardtanh_backward hash_tensor histc huber_loss
        index_fill index_put isin leaky_relu_backward linalg_cholesky_ex linalg_ldl_solve linalg_lu
        linalg_matrix_rank linalg_pinv log_normal logspace max mean median min mode
        mse_loss_backward multilabel_margin_loss_forward multinomial nan_to_num nanmean nanmedian
        nansum native_dropout norm normal prod put quantize_per_tensor randint randint_like random
        renorm scatter scatter_add select_backward select_scatter smooth_l1_loss
        soft_margin_loss_backward softplus_backward sort sparse_resize sparse_resize_and_clear std
        sum tensordot uniform upsample_bilinear2d upsample_linear1d upsample_nearest1d_backward
        upsample_nearest2d var
    """,
    6: """
        _cdist_backward _empty_per_channel_affine_quantized _grid_sampler_2d_cpu_fallback
        _histogramdd_bin_edges _histogramdd_from_bin_cts _index_put_impl _nnpack_spatial_convolution
        _sparse_addmm _transform_bias_rescale_qkv _upsample_bicubic2d_aa _upsample_bilinear2d_aa
        _upsample_lanczos2d_aa _upsample_nearest_exact2d_backward _upsample_nearest_exact3d addbmm
        addmm addmv addr as_strided_scatter baddbmm batch_norm_update_stats
        binary_cross_entropy_backward binary_cross_entropy_with_logits cudnn_affine_grid_generator
        cudnn_affine_grid_generator_backward diagonal_backward diagonal_scatter diff embedding
        embedding_dense_backward fractional_max_pool2d fractional_max_pool2d_backward
        fractional_max_pool3d fractional_max_pool3d_backward grid_sampler_2d grid_sampler_3d
        histogram huber_loss_backward im2col index_add kthvalue linalg_ldl_factor_ex
        linalg_lu_factor_ex linalg_lu_solve linalg_matrix_norm linalg_norm linalg_solve_ex
        linalg_solve_triangular linalg_svd linalg_vector_norm matmul_backward max_unpool3d
        multilabel_margin_loss_backward nanquantile native_norm nll_loss nll_loss2d norm ormqr
        quantile quantize_per_channel randint_like scatter set smooth_l1_loss_backward sort
        sparse_sampled_addmm sspaddmm std_mean svd unfold_backward upsample_bicubic2d
        upsample_bilinear2d upsample_linear1d_backward upsample_nearest2d_backward
        upsample_nearest3d var_mean
    """,
    7: """
        _addmm_activation _fake_quantize_learnable_per_tensor_affine _linalg_svd
        _slow_conv2d_forward _sparse_coo_tensor_with_dims_and_tensors _thnn_fused_gru_cell _unique2
        _upsample_bicubic2d_aa_backward _upsample_bilinear2d_aa_backward
        _upsample_lanczos2d_aa_backward _upsample_nearest_exact3d_backward
        _weight_norm_interface_backward addmm avg_pool1d baddbmm batch_norm_elemt col2im
        elu_backward fake_quantize_per_tensor_affine_cachemask glu_backward_jvp histogram
        index_reduce linear_backward lu_unpack multi_margin_loss nll_loss2d_forward nll_loss_forward
        quantized_max_pool1d quantized_max_pool2d quantized_max_pool3d rrelu_with_noise
        scatter_reduce searchsorted slice_backward slice_scatter slow_conv3d slow_conv3d_forward
        thnn_conv2d topk triangular_solve unique_consecutive unique_dim_consecutive
        upsample_bicubic2d_backward upsample_bilinear2d_backward upsample_nearest3d_backward
        upsample_trilinear3d
    """,
    8: """
        _conv_depthwise2d _ctc_loss _embedding_bag_per_sample_weights_backward
        _fake_quantize_learnable_per_channel_affine
        _fake_quantize_per_tensor_affine_cachemask_tensor_qparams _linalg_solve_ex _mps_convolution
        _mps_convolution_transpose _thnn_fused_gru_cell_backward _thnn_fused_lstm_cell avg_pool2d
        avg_pool3d conv_depthwise3d cudnn_convolution_relu
        fake_quantize_per_channel_affine_cachemask linalg_lstsq max_pool2d_backward
        max_pool2d_with_indices max_pool3d_with_indices multi_margin_loss_backward native_layer_norm
        nll_loss2d_backward nll_loss_backward rrelu_with_noise_backward slow_conv_dilated2d
        slow_conv_dilated3d unique_dim upsample_trilinear3d_backward
    """,
    9: """
        _cudnn_ctc_loss _native_batch_norm_legit _scaled_mm _segment_reduce_backward
        _slow_conv2d_backward _thnn_fused_lstm_cell_backward_impl _trilinear avg_pool2d_backward
        avg_pool3d_backward batch_norm_backward_elemt grid_sampler_2d_backward
        grid_sampler_3d_backward max_pool2d_with_indices_backward max_pool3d_with_indices_backward
        miopen_ctc_loss quantized_batch_norm segment_reduce slow_conv_transpose2d
        slow_conv_transpose3d
    """,
    10: """
        _ctc_loss_backward _cudnn_rnn_flatten_weight _native_batch_norm_legit_no_training
        _slow_conv2d_backward batch_norm_gather_stats batch_norm_gather_stats_with_counts
        convolution convolution_overrideable cudnn_convolution cudnn_convolution_add_relu
        miopen_convolution miopen_depthwise_convolution
    """,
    11: """
        _batch_norm_no_update _batch_norm_with_update _embedding_bag_dense_backward
        _native_batch_norm_legit _triton_multi_head_attention cudnn_convolution_transpose
        miopen_batch_norm miopen_batch_norm_backward miopen_convolution_transpose
        mps_convolution_backward mps_convolution_transpose_backward native_batch_norm
        native_group_norm native_layer_norm_backward
    """,
    12: """
        batch_norm_backward_reduce cudnn_batch_norm cudnn_batch_norm_backward
    """,
    13: """
        _embedding_bag _embedding_bag_forward_only _scaled_mm_v2 convolution_backward_overrideable
        native_batch_norm_backward native_group_norm_backward
    """,
    14: """
        _convolution convolution_backward
    """,
    15: """
        _lstm_mps _native_multi_head_attention
    """,
    18: """
        lstm_mps_backward
    """,
    19: """
        miopen_rnn
    """,
    21: """
        _cudnn_rnn _transformer_encoder_layer_fwd
    """,
    25: """
        miopen_rnn_backward
    """,
    26: """
        _cudnn_rnn_backward
    """,
}
OUT_VARIANTS = {slots: frozenset(names.split()) for slots, names in _NAMES.items()}
"""Names of ops by the number of arguments with which they are called with `out=`."""
