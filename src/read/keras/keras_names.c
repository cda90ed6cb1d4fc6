#include "base/base.h"
#include "read/keras/keras_in.h"

/* ---- weights ---- */

#define QUANTISED "Dense EinsumDense "
#define FLOAT8                                                                         \
    "kernel bias?use_bias inputs_scale* inputs_amax_history* kernel_scale* "           \
    "kernel_amax_history* outputs_grad_scale* outputs_grad_amax_history* "

/* The weights of a layer in the order of its file. "bias?use_bias" exists if the layer
 * has a bias. A star marks one that is not trained, "!" a packed one. A layer that is
 * quantised in some mode has other weights. */
static const struct {
    const char *classes, *weights, *mode;
} weights[] = {
    {"Dense Conv1D Conv2D Conv3D Conv1DTranspose Conv2DTranspose Conv3DTranspose "
     "DepthwiseConv1D DepthwiseConv2D EinsumDense ",
     "kernel bias?use_bias ", ""},
    {QUANTISED, "kernel! bias?use_bias kernel_scale* ", "int8"},
    {QUANTISED, "kernel! bias?use_bias kernel_scale* ", "int4"},
    {QUANTISED, "kernel! bias?use_bias kernel_scale* kernel_zero* g_idx* ", "int4"},
    {QUANTISED, FLOAT8, "float8"},
    {QUANTISED, "bias?use_bias quantized_kernel! kernel_scale* kernel_zero* g_idx* ",
     "gptq"},
    {QUANTISED,
     "bias?use_bias quantized_kernel! kernel_scale* kernel_zero* awq_scales* g_idx* ",
     "awq"},
    {"SeparableConv1D SeparableConv2D ",
     "depthwise_kernel pointwise_kernel bias?use_bias ", ""},
    {"Embedding ReversibleEmbedding ", "embeddings ", ""},
    {"ReversibleEmbedding ", "embeddings reverse_embeddings ", ""},
    {"Embedding ReversibleEmbedding ", "embeddings! embeddings_scale* ", "int8"},
    {"Embedding ReversibleEmbedding ", "embeddings! embeddings_scale* ", "int4"},
    {"Embedding ", "embeddings! embeddings_scale* embeddings_zero* g_idx* ", "int4"},
    {"BatchNormalization ", "gamma?scale beta?center moving_mean* moving_variance* ",
     ""},
    {"LayerNormalization GroupNormalization ", "gamma?scale beta?center ", ""},
    {"Normalization ", "mean* variance* count* ", ""},
    {"LSTMCell GRUCell SimpleRNNCell ConvLSTMCell ",
     "kernel recurrent_kernel bias?use_bias ", ""},
    {"PReLU ", "alpha ", ""},
    {"RMSNormalization ", "scale ", ""},
};

/* Parts that a layer creates itself. */
static const struct {
    const char *class_name, *part, *part_class;
} parts[] = {
    {"LSTM", "cell", "LSTMCell"},
    {"GRU", "cell", "GRUCell"},
    {"SimpleRNN", "cell", "SimpleRNNCell"},
    {"ConvLSTM1D", "cell", "ConvLSTMCell"},
    {"ConvLSTM2D", "cell", "ConvLSTMCell"},
    {"ConvLSTM3D", "cell", "ConvLSTMCell"},
    {"MultiHeadAttention", "query_dense", "EinsumDense"},
    {"MultiHeadAttention", "key_dense", "EinsumDense"},
    {"MultiHeadAttention", "value_dense", "EinsumDense"},
    {"MultiHeadAttention", "output_dense", "EinsumDense"},
    {"MultiHeadAttention", "_softmax", "Softmax"},
    {"MultiHeadAttention", "_dropout_layer", "Dropout"},
    {"GroupQueryAttention", "_query_dense", "EinsumDense"},
    {"GroupQueryAttention", "_key_dense", "EinsumDense"},
    {"GroupQueryAttention", "_value_dense", "EinsumDense"},
    {"GroupQueryAttention", "_output_dense", "EinsumDense"},
};

/* Is the name in a list in which each name is followed by a blank? */
static bool is_listed(const char *list, struct str name)
{
    struct str rest = str_of(list), one;

    while (str_split(&rest, ' ', &one))
        if (one.len > 0 && str_eq(one, name))
            return true;
    return false;
}

/* Is the argument true? A missing one counts as true, None as false. */
static bool holds(const struct values *values, uint32_t args, struct str key)
{
    const struct value *dict = value_at(values, args), *value;
    const uint32_t *items = value_items(values, args);

    for (uint32_t i = 0; dict->kind == VALUE_DICT && i + 1 < dict->n; i += 2) {
        if (!str_eq(value_text(values, items[i]), key))
            continue;
        value = value_at(values, items[i + 1]);
        return value->kind != VALUE_NONE &&
               !(value->kind == VALUE_BOOL && value->integer == 0);
    }
    return true;
}

/* EinsumDense names the axes of its bias instead. */
static bool has_bias(const struct values *values, uint32_t args)
{
    return holds(values, args, STR("use_bias")) &&
           holds(values, args, STR("bias_axes"));
}

/* Split "gamma?scale" or "moving_mean*"; false: this layer does not have it. */
static bool has_weight(const struct values *values, uint32_t args, struct str *weight,
                       struct keras_weight *ret_weight)
{
    ptrdiff_t mark = str_find_char(*weight, '?');

    *ret_weight = (struct keras_weight){.buffer = str_ends(*weight, STR("*")),
                                        .packed = str_ends(*weight, STR("!"))};
    if (ret_weight->buffer || ret_weight->packed)
        *weight = str_head(*weight, weight->len - 1);
    ret_weight->name = *weight;
    if (mark < 0)
        return true;
    ret_weight->name = str_head(*weight, (size_t)mark);
    *weight = str_from(*weight, (size_t)mark + 1);
    return str_is(*weight, "use_bias") ? has_bias(values, args)
                                       : holds(values, args, *weight);
}

/* Weight i of a line of the table; *ret_n is the number of its weights. */
static struct keras_weight weight_of(const struct values *values, uint32_t args,
                                     const char *line, uint32_t i, uint32_t *ret_n)
{
    struct keras_weight found = {.name = STR("")}, weight;
    struct str rest = str_of(line), one;

    *ret_n = 0;
    while (str_split(&rest, ' ', &one))
        if (one.len > 0 && has_weight(values, args, &one, &weight) && (*ret_n)++ == i)
            found = weight;
    return found;
}

struct str keras_mode(const struct values *values, uint32_t args)
{
    uint32_t dtype, config;
    struct str mode, block;

    if (!value_json_get(values, args, "dtype", &dtype) ||
        !value_json_get(values, dtype, "config", &config))
        return STR("");
    block = keras_text(values, config, "mode"); /* "int4/128": of blocks of 128 */
    return str_split(&block, '/', &mode) ? mode : STR("");
}

struct keras_weight keras_weight_name(const struct values *values,
                                      struct str class_name, uint32_t args,
                                      struct str mode, uint32_t i, uint32_t n)
{
    struct keras_weight found = {.name = STR("")};
    uint32_t n_found = 0, count;
    bool certain = false; /* in this mode, not in another one */

    for (size_t k = 0; class_name.len > 0 && k < COUNT_OF(weights); k++) {
        struct keras_weight one;

        bool same = str_is(mode, weights[k].mode);

        if (!is_listed(weights[k].classes, class_name))
            continue;
        one = weight_of(values, args, weights[k].weights, i, &count);
        if (count != n || (certain && !same) ||
            (certain == same && n_found > 0 && str_eq(one.name, found.name)))
            continue;
        n_found = same && !certain ? 1 : n_found + 1;
        certain |= same;
        found = one;
    }
    /* None, or several that differ: a subclass, or quantised in an unknown way. */
    return n_found == 1 ? found : (struct keras_weight){.name = STR("")};
}

struct str keras_part_class(struct str class_name, struct str part)
{
    for (size_t i = 0; i < COUNT_OF(parts); i++)
        if (str_is(class_name, parts[i].class_name) && str_is(part, parts[i].part))
            return str_of(parts[i].part_class);
    return STR("");
}

/* ---- classes ---- */

static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

/* A `_` goes before a capital that follows a small letter, or that a small letter
 * follows: LayerNormalization gives layer_normalization, PReLU p_re_lu. */
struct str keras_snake_case(struct arena *arena, struct str class_name)
{
    char *to = arena_alloc(arena, 2 * class_name.len + 1);
    size_t n = 0;

    if (!to)
        return STR("");
    for (size_t i = 0; i < class_name.len; i++) {
        char c = class_name.at[i];
        bool before = i > 0 && is_lower(class_name.at[i - 1]);
        bool after = i > 0 && i + 1 < class_name.len && is_lower(class_name.at[i + 1]);

        if (is_upper(c) && (before || after))
            to[n++] = '_';
        to[n++] = is_upper(c) ? (char)(c - 'A' + 'a') : c;
    }
    return str_span(to, n);
}

/* Keras' own classes, by module; older files name them without one. */
static const struct {
    const char *module, *classes;
} own[] = {
    {"keras.layers",
     "Activation ActivityRegularization Add AdditiveAttention AlphaDropout Attention "
     "AugMix AutoContrast Average AveragePooling1D AveragePooling2D AveragePooling3D "
     "BatchNormalization BatchNormalizationV1 BatchNormalizationV2 Bidirectional "
     "CategoryEncoding CenterCrop Concatenate Conv1D Conv1DTranspose Conv2D "
     "Conv2DTranspose Conv3D Conv3DTranspose ConvLSTM1D ConvLSTM2D ConvLSTM3D "
     "Convolution1D Convolution2D Convolution3D Cropping1D Cropping2D Cropping3D "
     "CuDNNGRU CuDNNLSTM Dense DepthwiseConv1D DepthwiseConv2D Discretization Dot "
     "Dropout ELU EinsumDense Embedding Equalization Flatten GELU GRU GRUCell GRUV2 "
     "GaussianDropout GaussianNoise GlobalAveragePooling1D GlobalAveragePooling2D "
     "GlobalAveragePooling3D GlobalMaxPooling1D GlobalMaxPooling2D GlobalMaxPooling3D "
     "GroupNormalization GroupQueryAttention GroupedQueryAttention HashedCrossing "
     "Hashing Identity "
     "InputLayer "
     "InputSpec IntegerLookup LSTM LSTMCell LSTMV2 Lambda LayerNormalization LeakyReLU "
     "LocallyConnected1D LocallyConnected2D Masking MaxPooling1D MaxPooling2D "
     "MaxPooling3D Maximum MelSpectrogram Minimum MixUp MultiHeadAttention Multiply "
     "Normalization PReLU Permute Pipeline RMSNormalization RNN RandAugment "
     "RandomBrightness RandomContrast RandomCrop RandomFlip RandomRotation "
     "RandomTranslation RandomZoom ReLU RepeatVector Rescaling Reshape Resizing "
     "SeparableConv1D SeparableConv2D SeparableConvolution2D SimpleRNN SimpleRNNCell "
     "Softmax SpatialDropout1D SpatialDropout2D SpatialDropout3D SpectralNormalization "
     "StackedRNNCells StringLookup Subtract TextVectorization ThresholdedReLU "
     "TimeDistributed UnitNormalization UpSampling1D UpSampling2D UpSampling3D Wrapper "
     "ZeroPadding1D ZeroPadding2D ZeroPadding3D TFSMLayer TorchModuleWrapper JaxLayer "
     "FlaxLayer "},
    {"keras.models", "Sequential Functional Model "},
    {"keras.initializers",
     "Constant GlorotNormal GlorotUniform HeNormal HeUniform Identity LecunNormal "
     "LecunUniform Ones Orthogonal RandomNormal RandomUniform TruncatedNormal "
     "VarianceScaling Zeros "},
    {"keras.regularizers", "L1 L1L2 L2 OrthogonalRegularizer "},
    {"keras.constraints", "MaxNorm MinMaxNorm NonNeg UnitNorm "},
    {"keras.optimizers",
     "Adadelta Adafactor Adagrad Adam AdamW Adamax Ftrl Lamb Lion LossScaleOptimizer "
     "Muon Nadam RMSprop SGD "},
    {"keras.optimizers.schedules",
     "CosineDecay CosineDecayRestarts ExponentialDecay InverseTimeDecay "
     "PiecewiseConstantDecay PolynomialDecay "},
    {"keras.losses",
     "BinaryCrossentropy BinaryFocalCrossentropy CategoricalCrossentropy "
     "CategoricalHinge "
     "CosineSimilarity Dice Hinge Huber KLDivergence LogCosh MeanAbsoluteError "
     "MeanAbsolutePercentageError MeanSquaredError MeanSquaredLogarithmicError Poisson "
     "SparseCategoricalCrossentropy SquaredHinge Tversky "},
    {"keras.metrics",
     "AUC Accuracy BinaryAccuracy CategoricalAccuracy F1Score FalseNegatives "
     "FalsePositives IoU Mean MeanIoU MeanMetricWrapper Precision Recall "
     "RootMeanSquaredError SparseCategoricalAccuracy TrueNegatives TruePositives "},
    {"keras.dtype_policies", "DTypePolicy Policy PolicyV1 FloatDTypePolicy "},
};

struct str keras_module_of(struct str class_name)
{
    for (size_t i = 0; class_name.len > 0 && i < COUNT_OF(own); i++)
        if (is_listed(own[i].classes, class_name))
            return str_of(own[i].module);
    return STR("");
}
