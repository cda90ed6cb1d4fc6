#include "base/base.h"
#include "read/flat/tflite_in.h"

/* clang-format off */
static const char *const ops[] = {
    "ADD", "AVERAGE_POOL_2D", "CONCATENATION", "CONV_2D", "DEPTHWISE_CONV_2D",
    "DEPTH_TO_SPACE", "DEQUANTIZE", "EMBEDDING_LOOKUP", "FLOOR", "FULLY_CONNECTED",
    "HASHTABLE_LOOKUP", "L2_NORMALIZATION", "L2_POOL_2D", "LOCAL_RESPONSE_NORMALIZATION",
    "LOGISTIC", "LSH_PROJECTION", "LSTM", "MAX_POOL_2D", "MUL", "RELU", "RELU_N1_TO_1",
    "RELU6", "RESHAPE", "RESIZE_BILINEAR", "RNN", "SOFTMAX", "SPACE_TO_DEPTH", "SVDF",
    "TANH", "CONCAT_EMBEDDINGS", "SKIP_GRAM", "CALL", "CUSTOM",
    "EMBEDDING_LOOKUP_SPARSE", "PAD", "UNIDIRECTIONAL_SEQUENCE_RNN", "GATHER",
    "BATCH_TO_SPACE_ND", "SPACE_TO_BATCH_ND", "TRANSPOSE", "MEAN", "SUB", "DIV",
    "SQUEEZE", "UNIDIRECTIONAL_SEQUENCE_LSTM", "STRIDED_SLICE",
    "BIDIRECTIONAL_SEQUENCE_RNN", "EXP", "TOPK_V2", "SPLIT", "LOG_SOFTMAX", "DELEGATE",
    "BIDIRECTIONAL_SEQUENCE_LSTM", "CAST", "PRELU", "MAXIMUM", "ARG_MAX", "MINIMUM",
    "LESS", "NEG", "PADV2", "GREATER", "GREATER_EQUAL", "LESS_EQUAL", "SELECT", "SLICE",
    "SIN", "TRANSPOSE_CONV", "SPARSE_TO_DENSE", "TILE", "EXPAND_DIMS", "EQUAL",
    "NOT_EQUAL", "LOG", "SUM", "SQRT", "RSQRT", "SHAPE", "POW", "ARG_MIN", "FAKE_QUANT",
    "REDUCE_PROD", "REDUCE_MAX", "PACK", "LOGICAL_OR", "ONE_HOT", "LOGICAL_AND",
    "LOGICAL_NOT", "UNPACK", "REDUCE_MIN", "FLOOR_DIV", "REDUCE_ANY", "SQUARE",
    "ZEROS_LIKE", "FILL", "FLOOR_MOD", "RANGE", "RESIZE_NEAREST_NEIGHBOR", "LEAKY_RELU",
    "SQUARED_DIFFERENCE", "MIRROR_PAD", "ABS", "SPLIT_V", "UNIQUE", "CEIL", "REVERSE_V2",
    "ADD_N", "GATHER_ND", "COS", "WHERE", "RANK", "ELU", "REVERSE_SEQUENCE",
    "MATRIX_DIAG", "QUANTIZE", "MATRIX_SET_DIAG", "ROUND", "HARD_SWISH", "IF", "WHILE",
    "NON_MAX_SUPPRESSION_V4", "NON_MAX_SUPPRESSION_V5", "SCATTER_ND", "SELECT_V2",
    "DENSIFY", "SEGMENT_SUM", "BATCH_MATMUL", NULL, "CUMSUM", "CALL_ONCE",
    "BROADCAST_TO", "RFFT2D", "CONV_3D", "IMAG", "REAL", "COMPLEX_ABS", "HASHTABLE",
    "HASHTABLE_FIND", "HASHTABLE_IMPORT", "HASHTABLE_SIZE", "REDUCE_ALL",
    "CONV_3D_TRANSPOSE", "VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE",
    "BROADCAST_ARGS", "RANDOM_STANDARD_NORMAL", "BUCKETIZE", "RANDOM_UNIFORM",
    "MULTINOMIAL", "GELU", "DYNAMIC_UPDATE_SLICE", "RELU_0_TO_1",
    "UNSORTED_SEGMENT_PROD", "UNSORTED_SEGMENT_MAX", "UNSORTED_SEGMENT_SUM", "ATAN2",
    "UNSORTED_SEGMENT_MIN", "SIGN", "BITCAST", "BITWISE_XOR", "RIGHT_SHIFT",
};
/* clang-format on */

const char *tflite_op_name(int64_t code)
{
    return code >= 0 && (size_t)code < COUNT_OF(ops) ? ops[code] : NULL;
}

/* A letter for each field of the options, in the order of their ids: p padding, a
 * activation, i a number of 32 bits, b a boolean, f a float, x skipped; then its name. */
static const struct {
    uint8_t type; /* of the union of options */
    const char *kinds;
    const char *names[8];
} options[] = {
    {1,
     "piiaii",
     {"padding", "stride_w", "stride_h", "activation", "dilation_w", "dilation_h"}},
    {2,
     "piiiaii",
     {"padding", "stride_w", "stride_h", "depth_multiplier", "activation", "dilation_w",
      "dilation_h"}},
    {5,
     "piiiia",
     {"padding", "stride_w", "stride_h", "filter_w", "filter_h", "activation"}},
    {8, "axb", {"activation", "", "keep_num_dims"}},
    {9, "f", {"beta"}},
    {10, "ia", {"axis", "activation"}},
    {11, "a", {"activation"}},
    {21, "a", {"activation"}},
};

static uint32_t option(struct tflite *tflite, struct flat_table table, unsigned id,
                       char kind)
{
    static const char *const activations[] = {"none",  "relu", "relu_n1_to_1",
                                              "relu6", "tanh", "sign_bit"};
    struct values *values = build_values(tflite->build);
    int64_t number;

    switch (kind) {
    case 'p':
        number = flat_int(&tflite->flat, table, id, 1, 0);
        return value_str(values, number == 0 ? STR("same") : STR("valid"));
    case 'a':
        number = flat_int(&tflite->flat, table, id, 1, 0);
        if (number >= 0 && (size_t)number < COUNT_OF(activations))
            return value_str(values, str_of(activations[number]));
        return value_int(values, number);
    case 'b':
        return value_bool(values, flat_int(&tflite->flat, table, id, 1, 0) != 0);
    case 'f':
        return value_real(values, flat_float(&tflite->flat, table, id, 0));
    default:
        /* Only dilations have another default than 0. */
        return value_int(values,
                         flat_int(&tflite->flat, table, id, 4, id >= 4 ? 1 : 0));
    }
}

uint32_t tflite_options(struct tflite *tflite, struct flat_table op)
{
    struct values *values = build_values(tflite->build);
    int64_t type = flat_int(&tflite->flat, op, 3, 1, 0);
    struct flat_table table = flat_table(&tflite->flat, op, 4);
    uint32_t items[16], n = 0;

    for (size_t i = 0; i < COUNT_OF(options); i++)
        for (unsigned k = 0; options[i].type == type && options[i].kinds[k]; k++) {
            if (options[i].kinds[k] == 'x')
                continue;
            items[n++] = value_str(values, str_of(options[i].names[k]));
            items[n++] = option(tflite, table, k, options[i].kinds[k]);
        }
    return n > 0 ? value_make(values, VALUE_DICT, STR(""), items, n) : VALUE_ID_NONE;
}
