#include "study/family.h"

#include <stdio.h>
#include <string.h>

#include "base/base.h"

const char *family_name(enum family family)
{
    static const char *const names[FAMILY_COUNT] = {
        "",          "conv",      "linear", "norm",        "activation", "pool",
        "attention", "embedding", "view",   "elementwise", "loss",       "other",
    };

    return names[family];
}

/* The first match counts. Lower-case names are guesses of layer kinds. */
static const struct {
    const char *pattern;
    enum family family;
} patterns[] = {
    {"*Loss", FAMILY_LOSS},
    {"*Attention", FAMILY_ATTENTION},
    {"*attention", FAMILY_ATTENTION},
    {"Conv1D", FAMILY_LINEAR}, /* transformers: a transposed Linear */
    {"*Conv", FAMILY_CONV},
    {"*Conv1d", FAMILY_CONV},
    {"*Conv2d", FAMILY_CONV},
    {"*Conv3d", FAMILY_CONV},
    {"Conv*", FAMILY_CONV},
    {"LazyConv*", FAMILY_CONV},
    {"conv*", FAMILY_CONV},
    {"Unfold", FAMILY_CONV},
    {"Fold", FAMILY_CONV},
    {"*Embedding", FAMILY_EMBEDDING},
    {"*Embeddings", FAMILY_EMBEDDING},
    {"EmbeddingBag", FAMILY_EMBEDDING},
    {"embedding", FAMILY_EMBEDDING},
    {"*Norm", FAMILY_NORM},
    {"*norm", FAMILY_NORM},
    {"*Norm1d", FAMILY_NORM},
    {"*Norm2d", FAMILY_NORM},
    {"*Norm3d", FAMILY_NORM},
    {"*Normalization", FAMILY_NORM},
    {"*LRN", FAMILY_NORM},
    {"*Mamba*", FAMILY_ATTENTION}, /* but not MambaRMSNorm */
    {"*Linear", FAMILY_LINEAR},
    {"*linear", FAMILY_LINEAR},
    {"Linear*", FAMILY_LINEAR},
    {"Dense", FAMILY_LINEAR}, /* Keras */
    {"EinsumDense", FAMILY_LINEAR},
    {"SimpleRNN*", FAMILY_LINEAR},
    {"RNN*", FAMILY_LINEAR},
    {"LSTM*", FAMILY_LINEAR},
    {"GRU*", FAMILY_LINEAR},
    {"rnn", FAMILY_LINEAR},
    {"lstm", FAMILY_LINEAR},
    {"gru", FAMILY_LINEAR},
    {"*Pooling1D", FAMILY_POOL},
    {"*Pooling2D", FAMILY_POOL},
    {"*Pooling3D", FAMILY_POOL},
    {"UpSampling*", FAMILY_POOL},
    {"*Pool1d", FAMILY_POOL},
    {"*Pool2d", FAMILY_POOL},
    {"*Pool3d", FAMILY_POOL},
    {"Upsample", FAMILY_POOL},
    {"Upsampling*", FAMILY_POOL},
    {"*Dropout", FAMILY_ELEMENTWISE},
    {"*Dropout1d", FAMILY_ELEMENTWISE},
    {"*Dropout2d", FAMILY_ELEMENTWISE},
    {"*Dropout3d", FAMILY_ELEMENTWISE},
    {"Identity", FAMILY_VIEW},
    {"Flatten", FAMILY_VIEW},
    {"Unflatten", FAMILY_VIEW},
    {"PixelShuffle", FAMILY_VIEW},
    {"PixelUnshuffle", FAMILY_VIEW},
    {"ChannelShuffle", FAMILY_VIEW},
    {"*LU", FAMILY_ACTIVATION}, /* ReLU, GELU, SiLU, CELU, GLU, PReLU */
    {"*LU6", FAMILY_ACTIVATION},
    {"*Activation", FAMILY_ACTIVATION},
    {"*oft*ax", FAMILY_ACTIVATION},
    {"Soft*", FAMILY_ACTIVATION},
    {"LogSoft*", FAMILY_ACTIVATION},
    {"*igmoid", FAMILY_ACTIVATION},
    {"*anh", FAMILY_ACTIVATION},
    {"*swish", FAMILY_ACTIVATION},
    {"Mish", FAMILY_ACTIVATION},
    {"Threshold", FAMILY_ACTIVATION},
    {"*shrink", FAMILY_ACTIVATION},
};

/* A class guessed from an ONNX operation has the operation's name: "Gemm", "Relu". */
static enum family family_in(const char *space, struct str name)
{
    char full[64];
    int n = snprintf(full, sizeof full, "%s::%.*s", space, STR_ARG(name));

    if (n < 0 || (size_t)n >= sizeof full)
        return FAMILY_OTHER;
    return family_of_op(op_family_of(str_span(full, (size_t)n)));
}

enum family family_of_class(struct str name)
{
    for (size_t i = 0; i < COUNT_OF(patterns); i++)
        if (str_glob(name, patterns[i].pattern))
            return patterns[i].family;
    return family_in("onnx", name);
}

/* By base classes, the nearest first. */
static enum family family_of_bases(const struct model *model, uint32_t class_id)
{
    uint32_t bases = model->classes[class_id].bases;
    const struct value *list = value_at(&model->values, bases);
    enum family family = FAMILY_OTHER;

    if (list->kind != VALUE_LIST)
        return family;
    for (uint32_t i = 0; i < list->n && family == FAMILY_OTHER; i++) {
        uint32_t base = value_items(&model->values, bases)[i];

        if (value_at(&model->values, base)->kind == VALUE_STR)
            family = family_of_class(class_short(value_text(&model->values, base)));
    }
    return family;
}

static bool holds_modules(const struct model *model, uint32_t place)
{
    for (uint32_t c = place_first(model, place); c != NO_PLACE;
         c = place_next(model, c))
        if (model->kind[c] == PLACE_MODULE)
            return true;
    return false;
}

enum family family_of_place(const struct model *model, uint32_t place)
{
    const struct object *object;
    struct str name;
    enum family family;

    if (model->kind[place] != PLACE_MODULE)
        return FAMILY_NONE;
    name = class_short(place_class(model, place));
    if (str_is(name, "MultiheadAttention"))
        return FAMILY_ATTENTION;
    family = str_starts(place_class(model, place), STR("keras."))
                 ? family_in("keras", name)
                 : FAMILY_OTHER;
    if (family != FAMILY_OTHER) /* an LSTM has its cell inside */
        return family;
    if (name.len == 0 || str_is(name, "Sequential") || str_is(name, "ModuleList") ||
        str_is(name, "ModuleDict") || holds_modules(model, place))
        return FAMILY_NONE;
    family = family_of_class(name);
    object = place_object(model, place);
    if (family == FAMILY_OTHER && object && object->class_id != NO_CLASS)
        family = family_of_bases(model, object->class_id);
    return family;
}

enum family family_of_op(enum op_family family)
{
    static const uint8_t families[OP_FAMILY_COUNT] = {
        [OP_FAMILY_OTHER] = FAMILY_OTHER,
        [OP_FAMILY_MATMUL] = FAMILY_LINEAR,
        [OP_FAMILY_CONV] = FAMILY_CONV,
        [OP_FAMILY_ATTENTION] = FAMILY_ATTENTION,
        [OP_FAMILY_RNN] = FAMILY_LINEAR,
        [OP_FAMILY_NORM] = FAMILY_NORM,
        [OP_FAMILY_ACTIVATION] = FAMILY_ACTIVATION,
        [OP_FAMILY_ELEMENTWISE] = FAMILY_ELEMENTWISE,
        [OP_FAMILY_REDUCTION] = FAMILY_POOL,
        [OP_FAMILY_POOL] = FAMILY_POOL,
        [OP_FAMILY_EMBEDDING] = FAMILY_EMBEDDING,
        [OP_FAMILY_INDEX] = FAMILY_OTHER,
        [OP_FAMILY_VIEW] = FAMILY_VIEW,
        [OP_FAMILY_COPY] = FAMILY_OTHER,
        [OP_FAMILY_RANDOM] = FAMILY_ELEMENTWISE,
        [OP_FAMILY_LOSS] = FAMILY_LOSS,
        [OP_FAMILY_OPTIMIZER] = FAMILY_OTHER,
        [OP_FAMILY_LINALG] = FAMILY_LINEAR,
    };

    return family < OP_FAMILY_COUNT ? (enum family)families[family] : FAMILY_OTHER;
}
