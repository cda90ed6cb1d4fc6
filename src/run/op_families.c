#include "run/op_table_in.h"

/* The names of each family, sorted by bytes ('_' sorts before small letters) for binary
 * search; a test checks that. Names of aten have no namespace here. Variants that the
 * rules of op_table.c cover (in-place, backward) are omitted. */

static const char matmul_names[] =
    "_addmm_activation _cdist_forward _cslt_sparse_mm _dyn_quant_matmul_4bit "
    "_euclidean_dist _grouped_mm _int_mm _mixed_dtypes_linear _pdist_forward "
    "_quantized::_wrapped_quantized_linear_prepacked "
    "_quantized::wrapped_fbgemm_linear_fp16_weight "
    "_quantized::wrapped_quantized_linear _scaled_grouped_mm _scaled_grouped_mm_v2 "
    "_scaled_mm _scaled_mm_v2 _sparse_mm_reduce_impl _sparse_semi_structured_addmm "
    "_sparse_semi_structured_linear _sparse_semi_structured_mm _sparse_sparse_matmul "
    "_trilinear _weight_int4pack_mm _weight_int4pack_mm_with_scales_and_zeros "
    "_weight_int8pack_mm _wrapped_quantized_linear_prepacked addbmm addmm addmv addr "
    "baddbmm bilinear bmm cdist chain_matmul dot einsum fbgemm_linear_fp16_weight "
    "fbgemm_linear_fp16_weight_fp32_activation fbgemm_linear_int8_weight "
    "fbgemm_linear_int8_weight_fp32_activation ger hspmm inductor::_mm_plus_mm inner "
    "linalg_matmul linalg_matrix_power linalg_multi_dot linalg_vecdot linear matmul "
    "matrix_power mkl::_mkl_linear mkldnn_linear_backward_input "
    "mkldnn_linear_backward_weights mm mv outer pdist "
    "quantized::int4mm_packed_weight_cpu "
    "quantized::linear_dynamic_fp16_unpacked_weight "
    "quantized::linear_with_input_q_dq_qweight_dq_output_fp32 "
    "quantized::linear_with_input_q_dq_qweight_dq_relu_output_fp32 smm "
    "sparse_sampled_addmm sspaddmm symm_mem::_async_input_mm tensordot vdot";

static const char conv_names[] =
    "_conv_depthwise2d _convolution_double_backward _convolution_mode "
    "_nnpack_spatial_convolution conv conv1d conv2d conv3d conv_depthwise3d "
    "conv_dilated2d conv_dilated3d conv_tbc conv_transpose1d conv_transpose2d "
    "conv_transpose3d convolution convolution_add convolution_backward_overrideable "
    "convolution_overrideable convolution_transpose depthwise_conv2d "
    "depthwise_convolution "
    "mkldnn_prepacked::conv2d_run torchvision::_deform_conv2d "
    "torchvision::deform_conv2d";

static const char attention_names[] =
    "_cudnn_attention_backward _cudnn_attention_forward _efficient_attention_backward "
    "_efficient_attention_forward _flash_attention_backward _flash_attention_forward "
    "_flash_attention_forward_no_dropout_inplace _native_multi_head_attention "
    "_scaled_dot_product_attention_math _scaled_dot_product_cudnn_attention "
    "_scaled_dot_product_efficient_attention _scaled_dot_product_flash_attention "
    "_scaled_dot_product_fused_attention_overrideable _transformer_encoder_layer_fwd "
    "_triton_multi_head_attention _triton_scaled_dot_attention "
    "higher_order::flex_attention scaled_dot_product_attention";

static const char rnn_names[] =
    "_cudnn_rnn _lstm_mps gru gru_cell lstm lstm_cell lstm_mps miopen_rnn "
    "mkldnn_rnn_layer rnn_relu rnn_relu_cell rnn_tanh rnn_tanh_cell";

static const char norm_names[] =
    "_batch_norm_impl_index _batch_norm_no_update _batch_norm_with_update "
    "_native_batch_norm_legit _native_batch_norm_legit_no_training "
    "_weight_norm_differentiable_backward _weight_norm_interface batch_norm "
    "batch_norm1d batch_norm2d batch_norm3d batch_norm_backward_elemt "
    "batch_norm_backward_reduce batch_norm_elemt batch_norm_gather_stats "
    "batch_norm_gather_stats_with_counts batch_norm_stats batch_norm_update_stats "
    "group_norm instance_norm layer_norm norm_except_dim renorm rms_norm weight_norm";

static const char activation_names[] =
    "_masked_softmax _nested_tensor_softmax_with_shape _prelu_kernel _safe_softmax "
    "celu elu gelu glu hardshrink hardsigmoid hardswish hardtanh "
    "infinitely_differentiable_gelu leaky_relu log_sigmoid log_sigmoid_forward "
    "log_softmax mish prelu relu relu6 rrelu rrelu_with_noise selu sigmoid silu "
    "softmax softplus softshrink special_expit tanh threshold";

static const char elementwise_names[] =
    "_compute_linear_combination _conj_physical "
    "_fake_quantize_learnable_per_channel_affine "
    "_fake_quantize_learnable_per_tensor_affine "
    "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams _masked_scale _spdiags "
    "_thnn_differentiable_gru_cell _thnn_differentiable_lstm_cell "
    "_thnn_fused_gru_cell _thnn_fused_lstm_cell _transform_bias_rescale_qkv abs "
    "absolute accumulate_grad acos acosh add addcdiv addcmul and angle arccos arccosh "
    "arcsin arcsinh arctan arctan2 arctanh asin asinh atan atan2 atanh bessel_i0 "
    "bessel_i0e bessel_i1 bessel_i1e bessel_j0 bessel_j1 bitwise_and "
    "bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor "
    "cartesian_prod cbrt ceil clamp clamp_max clamp_min clip combinations complex "
    "conj_physical copysign cos cosh cosine_similarity cross deg2rad diff digamma div "
    "divide eq erf erf_inv erfc erfcx erfinv exp exp2 expm1 "
    "fake_quantize_per_channel_affine fake_quantize_per_channel_affine_cachemask "
    "fake_quantize_per_tensor_affine fake_quantize_per_tensor_affine_cachemask fix "
    "float_power floor floor_divide fmax fmin fmod frac frexp "
    "fused_moving_avg_obs_fake_quant gcd ge gradient greater greater_equal gt "
    "heaviside hypot i0 iand igamma igammac ilshift ior irshift isclose isfinite isin "
    "isinf isnan isneginf isposinf isreal ixor kron lcm ldexp le lerp less less_equal "
    "lgamma linalg_cross linalg_vander log log10 log1p log2 logaddexp logaddexp2 "
    "logical_and logical_not logical_or logical_xor logit lshift lt masked_fill "
    "maximum minimum moving_avg_obs_fq_helper mul multiply mvlgamma nan_to_num ndtri "
    "ne neg negative nextafter not_equal or pairwise_distance polar polygamma "
    "positive pow rad2deg reciprocal remainder round rshift rsqrt rsub sgn shift_left "
    "shift_right_arithmetic sign signbit sin sinc sinh spherical_bessel_j0 sqrt "
    "square sub subtract tan tril triu true_divide trunc vander where xlogy xor zeta";

static const char reduction_names[] =
    "_choose_qparams_per_tensor _cummax_helper _cummin_helper _histogramdd_bin_edges "
    "_histogramdd_from_bin_cts _histogramdd_from_bin_tensors _is_all_true "
    "_is_any_true _segment_reduce _sparse_csr_prod _sparse_csr_sum all allclose amax "
    "amin aminmax any argmax argmin bincount choose_qparams_optimized corrcoef "
    "count_nonzero cov cummax cummaxmin cummin cumprod cumsum cumulative_trapezoid "
    "dist equal frobenius_norm hash_tensor histc histogram histogramdd kthvalue "
    "linalg__powsum linalg_matrix_norm linalg_norm linalg_vector_norm logcumsumexp "
    "logsumexp max maximum_value mean median min minimum_value mode nanmean nanmedian "
    "nanquantile nansum norm nuclear_norm powsum prod quantile segment_reduce std "
    "std_mean sum sum_to_size trace trapezoid trapz value_selecting_reduction var "
    "var_mean xor_sum";

static const char pool_names[] =
    "_grid_sampler_2d_cpu_fallback adaptive_avg_pool1d adaptive_avg_pool2d "
    "adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d "
    "affine_grid_generator avg_pool1d avg_pool2d avg_pool3d fractional_max_pool2d "
    "fractional_max_pool3d grid_sampler grid_sampler_2d grid_sampler_3d max_pool1d "
    "max_pool1d_with_indices max_pool2d max_pool2d_with_indices max_pool3d "
    "max_pool3d_with_indices max_unpool2d max_unpool3d torchvision::_ps_roi_align "
    "torchvision::_ps_roi_pool torchvision::_roi_align torchvision::_roi_pool "
    "torchvision::ps_roi_align torchvision::ps_roi_pool torchvision::roi_align "
    "torchvision::roi_pool";

static const char embedding_names[] =
    "_embedding_bag_forward_only _embedding_bag_per_sample_weights embedding "
    "embedding_4bit embedding_bag embedding_bag_2bit embedding_bag_4bit "
    "embedding_bag_byte embedding_byte embedding_renorm";

static const char index_names[] =
    "_chunk_cat _coalesce _index_put_impl _nested_select_backward "
    "_pack_padded_sequence _pad_packed_sequence _rowwise_prune "
    "_sparse_mask_projection _unique2 _unsafe_masked_index "
    "_unsafe_masked_index_put_accumulate argsort argwhere as_strided_scatter "
    "block_diag bucketize cat coalesce col2im column_stack concat concatenate "
    "convert_indices_from_coo_to_csr convert_indices_from_csr_to_coo diag diag_embed "
    "diagflat diagonal_backward diagonal_scatter dstack fill_diagonal gather hstack "
    "im2col index index_add index_copy index_fill index_put index_reduce index_select "
    "masked_scatter masked_select meshgrid msort nonzero nonzero_numpy nonzero_static "
    "one_hot pad_sequence put repeat_interleave row_stack scatter scatter_add "
    "scatter_reduce searchsorted select_backward select_scatter slice_backward "
    "slice_inverse slice_scatter sort sparse_mask stack take take_along_dim topk "
    "torchvision::nms trace_backward tril_indices triu_indices unbind_backward "
    "unfold_backward unique unique_consecutive unique_dim unique_dim_consecutive "
    "vstack";

static const char view_names[] =
    "_add_batch_dim _alloc_from_pool _fw_primal _make_dual _mkldnn_reshape _neg_view "
    "_nested_get_values _nested_view_from_buffer _nested_view_from_jagged "
    "_reinterpret_tensor _remove_batch_dim _reshape_alias _sparse_broadcast_to "
    "_unpack_dual _unsafe_view adjoint alias as_strided atleast_1d atleast_2d "
    "atleast_3d broadcast_in_dim broadcast_tensors broadcast_to ccol_indices chunk "
    "col_indices collapse_view conj crow_indices data detach diagonal dsplit expand "
    "expand_as flatten hsplit imag indices lift lift_fresh linalg_diagonal mH mT "
    "matrix_H moveaxis movedim narrow numpy_T permute ravel real reshape reshape_as "
    "reshape_from_tensor resolve_conj resolve_neg row_indices select set set_data "
    "slice split split_dim split_with_sizes squeeze swapaxes swapdims t tensor_split "
    "transpose unbind unflatten unflatten_dense_tensors unfold unsqueeze values view "
    "view_as view_as_complex view_as_real view_of view_of_dtype vsplit";

static const char copy_names[] =
    "_autocast_to_full_precision _autocast_to_reduced_precision _cast_Byte "
    "_cast_Char _cast_Double _cast_Float _cast_Half _cast_Int _cast_Long "
    "_cast_Short _clone_dim_order _convert_weight_to_int4pack _copy_from "
    "_copy_from_and_resize _cslt_compress _cudnn_rnn_flatten_weight _dim_arange "
    "_dyn_quant_pack_4bit_weight _efficientzerotensor _empty_affine_quantized "
    "_empty_per_channel_affine_quantized _foreach_copy "
    "_jagged_to_padded_dense_forward _lazy_clone _local_scalar_dense "
    "_make_per_channel_quantized_tensor _make_per_tensor_quantized_tensor "
    "_nested_from_padded _nested_from_padded_and_nested_example "
    "_nested_from_padded_tensor _nested_tensor_from_mask "
    "_nested_tensor_from_mask_left_aligned _nested_tensor_from_tensor_list "
    "_new_zeros_with_same_feature_meta _pad_circular _pad_enum "
    "_padded_dense_to_jagged_forward _saturate_weight_to_fp16 _shape_as_tensor "
    "_sparse_semi_structured_apply _sparse_semi_structured_apply_dense "
    "_sparse_semi_structured_tile _wrapped_linear_prepack arange bartlett_window "
    "blackman_window chalf channel_shuffle clone collapse constant_pad_nd "
    "contiguous convert_element_type copy copy_sparse_to_sparse copy_strided "
    "copy_to dequantize dequantize_per_tensor device_put empty empty_like "
    "empty_permuted empty_quantized empty_strided eye fbgemm_linear_quantize_weight "
    "fbgemm_pack_gemm_matrix_fp16 fbgemm_pack_quantized_matrix fft_fftfreq "
    "fft_fftshift fft_ifftshift fft_rfftfreq fill flatten_dense_tensors flip fliplr "
    "flipud from_file full full_like hamming_window hann_window int_repr iota item "
    "kaiser_window linspace logspace lu_unpack mkldnn_reorder_conv2d_weight "
    "mkldnn_reorder_conv3d_weight native_channel_shuffle nested_to_padded_tensor "
    "new_empty new_empty_strided new_full new_ones new_zeros ones ones_like pad "
    "pin_memory pixel_shuffle pixel_unshuffle quantize_per_channel "
    "quantize_per_tensor quantize_per_tensor_dynamic range reflection_pad1d "
    "reflection_pad2d reflection_pad3d repeat replication_pad1d replication_pad2d "
    "replication_pad3d resize resize_as resize_as_sparse resize_output "
    "resize_storage_bytes rev roll rot90 scalar_tensor sparse_resize "
    "sparse_resize_and_clear tile to to_dense to_mkldnn to_padded_tensor type_as "
    "zero zeros zeros_like";

static const char random_names[] =
    "_cudnn_init_dropout_state _dirichlet_grad _fill_mem_eff_dropout_mask "
    "_philox_key_fold_in _philox_key_split _philox_normal _philox_uniform "
    "_sample_dirichlet _sobol_engine_draw _sobol_engine_ff "
    "_sobol_engine_initialize_state _sobol_engine_scramble _standard_gamma "
    "_standard_gamma_grad alpha_dropout bernoulli binomial cauchy dropout exponential "
    "feature_alpha_dropout feature_dropout geometric log_normal multinomial normal "
    "philox_rand poisson rand rand_like randint randint_like randn randn_like random "
    "randperm uniform";

static const char loss_names[] =
    "binary_cross_entropy binary_cross_entropy_with_logits cosine_embedding_loss "
    "cross_entropy_loss ctc_loss hinge_embedding_loss huber_loss kl_div l1_loss "
    "margin_ranking_loss mse_loss multi_margin_loss multilabel_margin_loss nll_loss "
    "nll_loss2d nll_loss_nd poisson_nll_loss smooth_l1_loss soft_margin_loss "
    "triplet_margin_loss";

static const char optimizer_names[] =
    "_amp_foreach_non_finite_check_and_unscale _amp_update_scale _fused_adagrad "
    "_fused_adam _fused_adamw _fused_sgd";

static const char linalg_names[] =
    "_cholesky_solve_helper _lu_with_info _spsolve cholesky cholesky_inverse "
    "cholesky_solve det fft_c2c fft_c2r fft_r2c geqrf inverse istft logdet lu_solve "
    "matrix_exp orgqr ormqr pinverse qr slogdet stft svd triangular_solve";

#define NAMES(names) (names), sizeof(names) - 1

const struct op_family_row op_families[OP_FAMILY_COUNT] = {
    [OP_FAMILY_OTHER] = {"other", NULL, 0, false},
    [OP_FAMILY_MATMUL] = {"matmul", NAMES(matmul_names), true},
    [OP_FAMILY_CONV] = {"conv", NAMES(conv_names), true},
    [OP_FAMILY_ATTENTION] = {"attention", NAMES(attention_names), true},
    [OP_FAMILY_RNN] = {"rnn", NAMES(rnn_names), true},
    [OP_FAMILY_NORM] = {"norm", NAMES(norm_names), false},
    [OP_FAMILY_ACTIVATION] = {"activation", NAMES(activation_names), false},
    [OP_FAMILY_ELEMENTWISE] = {"elementwise", NAMES(elementwise_names), false},
    [OP_FAMILY_REDUCTION] = {"reduction", NAMES(reduction_names), false},
    [OP_FAMILY_POOL] = {"pool", NAMES(pool_names), false},
    [OP_FAMILY_EMBEDDING] = {"embedding", NAMES(embedding_names), false},
    [OP_FAMILY_INDEX] = {"index", NAMES(index_names), false},
    [OP_FAMILY_VIEW] = {"view", NAMES(view_names), false},
    [OP_FAMILY_COPY] = {"copy", NAMES(copy_names), false},
    [OP_FAMILY_RANDOM] = {"random", NAMES(random_names), false},
    [OP_FAMILY_LOSS] = {"loss", NAMES(loss_names), false},
    [OP_FAMILY_OPTIMIZER] = {"optimizer", NAMES(optimizer_names), false},
    [OP_FAMILY_LINALG] = {"linalg", NAMES(linalg_names), true},
};
