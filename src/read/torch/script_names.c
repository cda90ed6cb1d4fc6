/* THE TABLE of argument names: TorchScript writes arguments by position, and the
 * schemas are in torch, not in the file. Lists the operations that most models use,
 * with the argument names of their tensor overload. Operations whose overloads give a
 * position different meanings (slice, to, max) are left out; their arguments are named
 * by position. A test compares the table with torch. */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "read/torch/script_machine_in.h"

#define RNN                                                                            \
    "input hx params has_biases num_layers dropout train bidirectional batch_first"

/* In the order of strcmp(). */
static const struct {
    const char *op, *names;
} table[] = {
    {"_convolution",
     "input weight bias stride padding dilation transposed output_padding groups "
     "benchmark deterministic cudnn_enabled allow_tf32"},
    {"_native_multi_head_attention",
     "query key value embed_dim num_head qkv_weight qkv_bias proj_weight proj_bias "
     "mask need_weights average_attn_weights mask_type"},
    {"adaptive_avg_pool1d", "self output_size"},
    {"adaptive_avg_pool2d", "self output_size"},
    {"adaptive_avg_pool3d", "self output_size"},
    {"adaptive_max_pool2d", "self output_size"},
    {"add", "self other alpha"},
    {"add_", "self other alpha"},
    {"addbmm", "self batch1 batch2"},
    {"addmm", "self mat1 mat2"},
    {"all", "self dim keepdim"},
    {"alpha_dropout", "input p train"},
    {"amax", "self dim keepdim"},
    {"amin", "self dim keepdim"},
    {"any", "self dim keepdim"},
    {"append", "self el"},
    {"argmax", "self dim keepdim"},
    {"argmin", "self dim keepdim"},
    {"avg_pool1d", "self kernel_size stride padding ceil_mode count_include_pad"},
    {"avg_pool2d",
     "self kernel_size stride padding ceil_mode count_include_pad divisor_override"},
    {"avg_pool3d",
     "self kernel_size stride padding ceil_mode count_include_pad divisor_override"},
    {"baddbmm", "self batch1 batch2"},
    {"batch_norm",
     "input weight bias running_mean running_var training momentum eps cudnn_enabled"},
    {"bmm", "self mat2"},
    {"cat", "tensors dim"},
    {"chunk", "self chunks dim"},
    {"clamp", "self min max"},
    {"clamp_", "self min max"},
    {"clamp_max", "self max"},
    {"clamp_min", "self min"},
    {"clone", "self"},
    {"constant_pad_nd", "self pad value"},
    {"contiguous", "self"},
    {"conv1d", "input weight bias stride padding dilation groups"},
    {"conv2d", "input weight bias stride padding dilation groups"},
    {"conv3d", "input weight bias stride padding dilation groups"},
    {"conv_transpose1d",
     "input weight bias stride padding output_padding groups dilation"},
    {"conv_transpose2d",
     "input weight bias stride padding output_padding groups dilation"},
    {"conv_transpose3d",
     "input weight bias stride padding output_padding groups dilation"},
    {"convolution",
     "input weight bias stride padding dilation transposed output_padding groups"},
    {"copy_", "self src non_blocking"},
    {"cumsum", "self dim"},
    {"detach", "self"},
    {"dim", "self"},
    {"div", "self other"},
    {"div_", "self other"},
    {"dropout", "input p train"},
    {"dropout_", "self p train"},
    {"einsum", "equation tensors"},
    {"elu", "self alpha scale input_scale"},
    {"elu_", "self alpha scale input_scale"},
    {"embedding", "weight indices padding_idx scale_grad_by_freq sparse"},
    {"embedding_bag", "weight indices offsets scale_grad_by_freq mode sparse "
                      "per_sample_weights include_last_offset padding_idx"},
    {"eq", "self other"},
    {"exp", "self"},
    {"expand", "self size"},
    {"expand_as", "self other"},
    {"feature_dropout", "input p train"},
    {"flatten", "self start_dim end_dim"},
    {"flip", "self dims"},
    {"floor_divide", "self other"},
    {"full", "size fill_value"},
    {"full_like", "self fill_value"},
    {"gather", "self dim index"},
    {"ge", "self other"},
    {"gelu", "self"},
    {"glu", "self dim"},
    {"grid_sampler", "input grid interpolation_mode padding_mode align_corners"},
    {"group_norm", "input num_groups weight bias eps cudnn_enabled"},
    {"gru_cell", "input hx w_ih w_hh b_ih b_hh"},
    {"gt", "self other"},
    {"hardsigmoid", "self"},
    {"hardswish", "self"},
    {"hardswish_", "self"},
    {"hardtanh", "self min_val max_val"},
    {"hardtanh_", "self min_val max_val"},
    {"index", "self indices"},
    {"index_put", "self indices values accumulate"},
    {"index_put_", "self indices values accumulate"},
    {"index_select", "self dim index"},
    {"instance_norm", "input weight bias running_mean running_var use_input_stats "
                      "momentum eps cudnn_enabled"},
    {"item", "self"},
    {"layer_norm", "input normalized_shape weight bias eps cudnn_enable"},
    {"le", "self other"},
    {"leaky_relu", "self negative_slope"},
    {"leaky_relu_", "self negative_slope"},
    {"linear", "input weight bias"},
    {"log", "self"},
    {"log_softmax", "self dim dtype"},
    {"lstm_cell", "input hx w_ih w_hh b_ih b_hh"},
    {"lt", "self other"},
    {"masked_fill", "self mask value"},
    {"masked_fill_", "self mask value"},
    {"matmul", "self other"},
    {"max_pool1d", "self kernel_size stride padding dilation ceil_mode"},
    {"max_pool2d", "self kernel_size stride padding dilation ceil_mode"},
    {"max_pool3d", "self kernel_size stride padding dilation ceil_mode"},
    {"maximum", "self other"},
    {"mean", "self dim keepdim"},
    {"minimum", "self other"},
    {"mish", "self"},
    {"mm", "self mat2"},
    {"movedim", "self source destination"},
    {"mul", "self other"},
    {"mul_", "self other"},
    {"narrow", "self dim start length"},
    {"ne", "self other"},
    {"neg", "self"},
    {"numel", "self"},
    {"ones", "size"},
    {"ones_like", "self"},
    {"pad", "self pad mode value"},
    {"permute", "self dims"},
    {"pixel_shuffle", "self upscale_factor"},
    {"pow", "self exponent"},
    {"prelu", "self weight"},
    {"quantize_per_tensor", "self scale zero_point dtype"},
    {"reflection_pad1d", "self padding"},
    {"reflection_pad2d", "self padding"},
    {"relu", "self"},
    {"relu6", "self"},
    {"relu_", "self"},
    {"repeat", "self repeats"},
    {"replication_pad2d", "self padding"},
    {"reshape", "self shape"},
    {"rms_norm", "input normalized_shape weight eps"},
    {"roll", "self shifts dims"},
    {"rsqrt", "self"},
    {"rsub", "self other alpha"},
    {"scaled_dot_product_attention", "query key value attn_mask dropout_p is_causal"},
    {"scatter", "self dim index"},
    {"scatter_", "self dim index"},
    {"select", "self dim index"},
    {"selu", "self"},
    {"sigmoid", "self"},
    {"silu", "self"},
    {"silu_", "self"},
    {"size", "self dim"},
    {"softmax", "self dim dtype"},
    {"softplus", "self beta threshold"},
    {"split_with_sizes", "self split_sizes dim"},
    {"sqrt", "self"},
    {"squeeze", "self dim"},
    {"stack", "tensors dim"},
    {"stft", "self n_fft hop_length win_length window"},
    {"sub", "self other alpha"},
    {"sub_", "self other alpha"},
    {"sum", "self dim keepdim"},
    {"t", "self"},
    {"tanh", "self"},
    {"threshold", "self threshold value"},
    {"topk", "self k dim largest sorted"},
    {"transpose", "self dim0 dim1"},
    {"tril", "self diagonal"},
    {"triu", "self diagonal"},
    {"type_as", "self other"},
    {"unbind", "self dim"},
    {"unflatten", "self dim sizes"},
    {"unsqueeze", "self dim"},
    {"view", "self size"},
    {"where", "condition self other"},
    {"zeros", "size"},
    {"zeros_like", "self"},
};

/* A packed sequence shifts the arguments of these: the list of weights is not the
 * third. */
static const char *const recurrent[] = {"gru", "lstm", "rnn_relu", "rnn_tanh"};

static const char *const views[] = {
    "alias",  "chunk",     "detach", "diagonal", "expand",    "expand_as", "flatten",
    "narrow", "permute",   "select", "slice",    "split",     "squeeze",   "swapaxes",
    "t",      "transpose", "unbind", "unfold",   "unsqueeze", "view",      "view_as",
};

const char *script_arg_names(struct str op, bool third_is_list)
{
    size_t low = 0, high = COUNT_OF(table);

    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = str_cmp(op, str_of(table[middle].op));

        if (order == 0)
            return table[middle].names;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    for (size_t i = 0; third_is_list && i < COUNT_OF(recurrent); i++)
        if (str_is(op, recurrent[i]))
            return RNN;
    return "";
}

bool script_is_view(struct str op)
{
    for (size_t i = 0; i < COUNT_OF(views); i++)
        if (str_is(op, views[i]))
            return true;
    return false;
}
