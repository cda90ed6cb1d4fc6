#include "base/base.h"
#include "read/keras/keras_in.h"

/* ---- weights ---- */

/* The weights of a layer in the order of its file. One with a condition exists if the
 * argument is true: "bias?use_bias". A star marks one that is not trained. */
static const struct {
    const char *classes, *weights;
} weights[] = {
    {"Dense Conv1D Conv2D Conv3D Conv1DTranspose Conv2DTranspose Conv3DTranspose "
     "DepthwiseConv1D DepthwiseConv2D ",
     "kernel bias?use_bias "},
    {"EinsumDense ", "kernel bias?bias_axes "},
    {"SeparableConv1D SeparableConv2D ",
     "depthwise_kernel pointwise_kernel bias?use_bias "},
    {"Embedding ", "embeddings "},
    {"BatchNormalization ", "gamma?scale beta?center moving_mean* moving_variance* "},
    {"LayerNormalization GroupNormalization ", "gamma?scale beta?center "},
    {"LSTMCell GRUCell SimpleRNNCell ", "kernel recurrent_kernel bias?use_bias "},
    {"PReLU ", "alpha "},
    {"RMSNormalization ", "scale "},
};

/* The parts of a layer that it makes itself. */
static const struct {
    const char *class_name, *part, *part_class;
} parts[] = {
    {"LSTM", "cell", "LSTMCell"},
    {"GRU", "cell", "GRUCell"},
    {"SimpleRNN", "cell", "SimpleRNNCell"},
    {"MultiHeadAttention", "query_dense", "EinsumDense"},
    {"MultiHeadAttention", "key_dense", "EinsumDense"},
    {"MultiHeadAttention", "value_dense", "EinsumDense"},
    {"MultiHeadAttention", "output_dense", "EinsumDense"},
    {"MultiHeadAttention", "_softmax", "Softmax"},
    {"MultiHeadAttention", "_dropout_layer", "Dropout"},
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

/* Is the argument true? A missing one is, if it is `use_bias`; None is false. */
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

/* Split "gamma?scale" or "moving_mean*"; false: this layer does not have it. */
static bool has_weight(const struct values *values, uint32_t args, struct str *weight,
                       bool *ret_buffer)
{
    ptrdiff_t mark = str_find_char(*weight, '?');

    *ret_buffer = str_ends(*weight, STR("*"));
    if (*ret_buffer)
        *weight = str_head(*weight, weight->len - 1);
    if (mark < 0)
        return true;
    if (!holds(values, args, str_from(*weight, (size_t)mark + 1)))
        return false;
    *weight = str_head(*weight, (size_t)mark);
    return true;
}

struct str keras_weight_name(const struct values *values, struct str class_name,
                             uint32_t args, uint32_t i, uint32_t n, bool *ret_buffer)
{
    struct str rest = {0}, one, found = {0};
    uint32_t count = 0;
    bool buffer;

    *ret_buffer = false;
    for (size_t k = 0; k < COUNT_OF(weights); k++)
        if (class_name.len > 0 && is_listed(weights[k].classes, class_name))
            rest = str_of(weights[k].weights);
    while (str_split(&rest, ' ', &one)) {
        if (one.len == 0 || !has_weight(values, args, &one, &buffer))
            continue;
        if (count++ == i) {
            found = one;
            *ret_buffer = buffer;
        }
    }
    if (count == n)
        return found;
    *ret_buffer = false; /* quantised, or a subclass: more than we know of */
    return STR("");
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

/* A `_` goes before a capital that follows a small letter, or that a small letter follows:
 * LayerNormalization, PReLU, Conv2D give layer_normalization, p_re_lu, conv2d. */
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
     "GroupNormalization GroupQueryAttention HashedCrossing Hashing Identity "
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
