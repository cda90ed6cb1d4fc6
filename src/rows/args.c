#include "rows/args.h"

#include <inttypes.h>
#include <string.h>

#include "base/base.h"
#include "rows/value_text.h"
#include "text/escape.h"

#define MOST_TEXT  32 /* bytes of all arguments of an unknown class */
#define MOST_OTHER 24 /* of one value among them */
#define MOST_BYTES 48 /* of one value */

/* How to write the arguments of a class. `first` lists arguments that are always
 * written, without a name: "a>b" becomes 3→64, "a" its value, sizes with ×. `then`
 * lists named arguments, omitted if they have the value after the "=": "stride=1". The
 * value "same" means the padding that keeps the size, "kernel" the kernel size; nearly
 * every network uses these. */
struct form {
    const char *classes; /* short names, each followed by a blank */
    const char *first, *then;
};

static const struct form forms[] = {
    {"Conv1d Conv2d Conv3d LazyConv1d LazyConv2d LazyConv3d ",
     "in_channels>out_channels kernel_size",
     "stride=1 padding=same dilation=1 groups=1 padding_mode='zeros'"},
    {"ConvTranspose1d ConvTranspose2d ConvTranspose3d ",
     "in_channels>out_channels kernel_size",
     "stride=1 padding=0 output_padding=0 dilation=1 groups=1 padding_mode='zeros'"},
    {"Linear NonDynamicallyQuantizableLinear ", "in_features>out_features", ""},
    {"Bilinear ", "in1_features in2_features>out_features", ""},
    {"Conv1D ", "nx>nf", ""},
    {"BatchNorm1d BatchNorm2d BatchNorm3d SyncBatchNorm InstanceNorm1d InstanceNorm2d "
     "InstanceNorm3d ",
     "num_features", "eps=1e-05 momentum=0.1"},
    {"FrozenBatchNorm2d ", "num_features", "eps=1e-05"},
    {"LayerNorm ", "normalized_shape", "eps=1e-05"},
    {"RMSNorm ", "normalized_shape", "eps=None"},
    {"GroupNorm ", "num_groups num_channels", "eps=1e-05"},
    {"LocalResponseNorm ", "size", "alpha=0.0001 beta=0.75 k=1.0"},
    {"Embedding EmbeddingBag ", "num_embeddings embedding_dim",
     "padding_idx=None max_norm=None mode='mean'"},
    {"MaxPool1d MaxPool2d MaxPool3d ", "kernel_size",
     "stride=kernel padding=same dilation=1 ceil_mode=False"},
    {"AvgPool1d AvgPool2d AvgPool3d ", "kernel_size",
     "stride=kernel padding=same ceil_mode=False count_include_pad=True"},
    {"AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d "
     "AdaptiveMaxPool2d AdaptiveMaxPool3d ",
     "output_size", ""},
    {"LSTM GRU RNN ", "input_size>hidden_size",
     "num_layers=1 nonlinearity='tanh' batch_first=False dropout=0.0 "
     "bidirectional=False "
     "proj_size=0"},
    {"LSTMCell GRUCell RNNCell ", "input_size>hidden_size", ""},
    {"MultiheadAttention ", "embed_dim", "num_heads=0 dropout=0.0 batch_first=False"},
    {"Dropout Dropout1d Dropout2d Dropout3d AlphaDropout FeatureAlphaDropout ", "",
     "p= inplace=False"},
    {"ReLU ReLU6 SiLU Mish Hardswish Hardsigmoid SELU ", "", "inplace=False"},
    {"LeakyReLU ", "", "negative_slope=0.01 inplace=False"},
    {"ELU CELU ", "", "alpha=1.0 inplace=False"},
    {"GELU ", "", "approximate='none'"},
    {"PReLU ", "num_parameters", ""},
    {"Hardtanh ", "", "min_val=-1.0 max_val=1.0 inplace=False"},
    {"Softplus ", "", "beta=1.0 threshold=20.0"},
    {"Softmax LogSoftmax Softmin GLU ", "", "dim="},
    {"Flatten ", "", "start_dim=1 end_dim=-1"},
    {"Unflatten ", "dim unflattened_size", ""},
    {"Upsample UpsamplingNearest2d UpsamplingBilinear2d ", "",
     "size=None scale_factor=None mode='nearest' align_corners=None"},
    {"PixelShuffle ", "upscale_factor", ""},
    {"PixelUnshuffle ", "downscale_factor", ""},
    {"ZeroPad1d ZeroPad2d ZeroPad3d ReflectionPad1d ReflectionPad2d ReflectionPad3d "
     "ReplicationPad1d ReplicationPad2d ReplicationPad3d CircularPad1d CircularPad2d ",
     "padding", ""},
    {"TransformerEncoderLayer TransformerDecoderLayer ", "", "norm_first=False"},
    {"Sequential ModuleList ModuleDict ParameterList ParameterDict Identity Tanh "
     "Sigmoid "
     "Softsign Tanhshrink LogSigmoid Softmax2d Transformer TransformerEncoder "
     "TransformerDecoder ",
     "", ""},
};

/* Layers of Keras. */
static const struct form keras_forms[] = {
    {"Dense ", "units", "activation='linear' use_bias=True"},
    {"EinsumDense ", "", "equation= output_shape= activation='linear'"},
    {"Conv1D Conv2D Conv3D Conv1DTranspose Conv2DTranspose Conv3DTranspose "
     "SeparableConv1D SeparableConv2D ",
     "filters kernel_size",
     "strides=1 padding='valid' dilation_rate=1 groups=1 activation='linear' "
     "use_bias=True data_format='channels_last'"},
    {"DepthwiseConv1D DepthwiseConv2D ", "kernel_size",
     "strides=1 padding='valid' depth_multiplier=1 dilation_rate=1 "
     "activation='linear' use_bias=True data_format='channels_last'"},
    {"Embedding ", "input_dim>output_dim", "mask_zero=False"},
    {"LSTM GRU SimpleRNN ", "units",
     "return_sequences=False return_state=False go_backwards=False stateful=False "
     "dropout=0 recurrent_dropout=0 use_bias=True"},
    {"BatchNormalization ", "", "axis=-1 momentum=0.99 epsilon=0.001"},
    {"LayerNormalization RMSNormalization ", "", "axis=-1 epsilon=0.001"},
    {"GroupNormalization ", "groups", "axis=-1 epsilon=0.001"},
    {"Dropout SpatialDropout1D SpatialDropout2D SpatialDropout3D AlphaDropout "
     "GaussianDropout ",
     "", "rate="},
    {"MaxPooling1D MaxPooling2D MaxPooling3D AveragePooling1D AveragePooling2D "
     "AveragePooling3D ",
     "pool_size", "strides=0 padding='valid'"},
    {"GlobalAveragePooling1D GlobalAveragePooling2D GlobalAveragePooling3D "
     "GlobalMaxPooling1D GlobalMaxPooling2D GlobalMaxPooling3D ",
     "", "keepdims=False"},
    {"InputLayer ", "", "batch_shape= batch_input_shape= dtype='float32'"},
    {"Activation ", "", "activation="},
    {"ReLU LeakyReLU ", "", "max_value=None negative_slope=0 threshold=0"},
    {"Reshape ", "target_shape", ""},
    {"MultiHeadAttention ", "", "num_heads= key_dim= dropout=0"},
    {"Bidirectional ", "", "merge_mode='concat'"},
    {"Concatenate Softmax ", "", "axis=-1"},
    {"UpSampling1D UpSampling2D UpSampling3D ", "size", "interpolation='nearest'"},
    {"ZeroPadding1D ZeroPadding2D ZeroPadding3D ", "padding", ""},
    {"Flatten Sequential Functional Model Lambda ", "", ""},
};

/* Classes guessed by read/guess.c; all their arguments are numbers that matter. */
static const struct form guesses[] = {
    {"conv convtranspose ", "kernel_size in>out", ""},
    {"linear ", "in>out", ""},
    {"batchnorm layernorm rmsnorm groupnorm norm ", "features", ""},
    {"embedding ", "num dim", ""},
    {"lstm gru rnn ", "in>hidden", "layers=1"},
    {"attention ", "dim", ""},
    {"lora ", "in>out", "rank=0"},
};

/* Is the name in the list? Each name in the list is followed by a blank. */
static bool is_listed(const char *list, struct str name)
{
    for (const char *at = list; *at; at = strchr(at, ' ') + 1)
        if (*at == name.at[0] && strncmp(at, name.at, name.len) == 0 &&
            at[name.len] == ' ')
            return true;
    return false;
}

static const struct form *find_in(const struct form *table, size_t n,
                                  struct str class_name)
{
    for (size_t i = 0; class_name.len > 0 && i < n; i++)
        if (is_listed(table[i].classes, class_name))
            return &table[i];
    return NULL;
}

/* In classes of other libraries, an argument may not mean what the table says. */
static bool is_torch(struct str qualified)
{
    return str_starts(qualified, STR("torch.")) ||
           str_starts(qualified, STR("__torch__.torch.")) ||
           str_starts(qualified, STR("transformers.")) ||
           str_starts(qualified, STR("torchvision.")) ||
           str_find_char(qualified, '.') < 0;
}

struct writer {
    struct buf *to;
    const struct model *model;
    struct str class_name; /* short */
    uint32_t args;
    bool some;              /* something was written */
    struct args_list *list; /* words are requested; else NULL */
};

static bool get(const struct writer *w, struct str key, uint32_t *ret_value)
{
    const struct values *values = &w->model->values;
    const struct value *dict = value_at(values, w->args);
    const uint32_t *items = value_items(values, w->args);

    for (uint32_t i = 0; dict->kind == VALUE_DICT && i + 1 < dict->n; i += 2)
        if (str_eq(value_text(values, items[i]), key)) {
            *ret_value = items[i + 1];
            return true;
        }
    return false;
}

static void end_word(struct args_list *list)
{
    if (list->n < ARGS_WORDS)
        list->ends[list->n++] = (uint32_t)list->text.len;
    else
        list->text.len = list->ends[ARGS_WORDS - 1];
}

static void add_comma(struct writer *w)
{
    if (w->some && w->list)
        end_word(w->list);
    else if (w->some)
        buf_text(w->to, ", ");
    w->some = true;
}

/* "stride=", as a word "stride "; a value of True is omitted. */
static bool add_key(struct writer *w, struct str key, uint32_t value)
{
    const struct value *v = value_at(&w->model->values, value);

    if (w->list && str_is(key, "padding"))
        key = STR("pad");
    if (w->list && str_is(key, "inplace"))
        key = STR("in place");
    escape_terminal(w->to, key);
    if (w->list && v->kind == VALUE_BOOL && v->integer)
        return false;
    buf_char(w->to, w->list ? ' ' : '=');
    return true;
}

/* The number of dimensions of the class's window: 2 for MaxPool2d. */
static uint32_t window_rank(struct str class_name)
{
    char digit = class_name.len > 1 ? class_name.at[class_name.len - 2] : '1';

    return str_ends(class_name, STR("d")) && digit >= '2' && digit <= '3'
               ? (uint32_t)(digit - '0')
               : 1;
}

/* A size; a single number is repeated for each dimension of the window: 3×3. */
static void add_size(struct writer *w, struct str item, uint32_t value)
{
    bool window = str_is(item, "kernel_size") || str_is(item, "output_size");
    bool one = value_at(&w->model->values, value)->kind == VALUE_INT;

    value_show_size(w->to, w->model, value, MOST_BYTES);
    for (uint32_t i = 1; window && one && i < window_rank(w->class_name); i++) {
        buf_text(w->to, "×");
        value_show_size(w->to, w->model, value, MOST_BYTES);
    }
}

/* "in_channels>out_channels" or "kernel_size". */
static void add_first(struct writer *w, struct str item)
{
    ptrdiff_t arrow = str_find_char(item, '>');
    uint32_t a, b;

    if (arrow < 0) {
        if (get(w, item, &a)) {
            add_comma(w);
            add_size(w, item, a);
        }
        return;
    }
    if (!get(w, str_head(item, (size_t)arrow), &a) ||
        !get(w, str_from(item, (size_t)arrow + 1), &b))
        return;
    add_comma(w);
    value_show_size(w->to, w->model, a, MOST_BYTES);
    buf_text(w->to, "→");
    value_show_size(w->to, w->model, b, MOST_BYTES);
}

/* The i-th number of a size that is one number or a list of them. */
static bool number_at(const struct model *model, uint32_t value, uint32_t i,
                      int64_t *ret_number)
{
    const struct value *v = value_at(&model->values, value);

    if ((v->kind == VALUE_TUPLE || v->kind == VALUE_LIST) && i < v->n)
        v = value_at(&model->values, value_items(&model->values, value)[i]);
    if (v->kind != VALUE_INT)
        return false;
    *ret_number = v->integer;
    return true;
}

/* Padding that keeps the size: half of what the kernel spans. */
static bool is_same_padding(const struct writer *w, uint32_t padding)
{
    uint32_t kernel, dilation = VALUE_ID_NONE;
    int64_t k, d, p;

    if (!get(w, STR("kernel_size"), &kernel))
        return false;
    get(w, STR("dilation"), &dilation);
    for (uint32_t i = 0; i < 3; i++) {
        if (!number_at(w->model, kernel, i, &k))
            return i > 0;
        if (!number_at(w->model, dilation, i, &d))
            d = 1;
        if (!number_at(w->model, padding, i, &p) || p != d * (k - 1) / 2)
            return false;
        if (value_at(&w->model->values, kernel)->kind == VALUE_INT)
            return true;
    }
    return true;
}

/* Do all numbers of a size such as (1, 1) equal `expected`? */
static bool is_all(const struct model *model, uint32_t value, int64_t expected)
{
    const struct value *v = value_at(&model->values, value);
    int64_t number;

    if ((v->kind != VALUE_TUPLE && v->kind != VALUE_LIST) || v->n == 0)
        return false;
    for (uint32_t i = 0; i < v->n; i++)
        if (!number_at(model, value, i, &number) || number != expected)
            return false;
    return true;
}

static bool is_usual(const struct writer *w, uint32_t value, struct str usual)
{
    const struct value *v = value_at(&w->model->values, value);
    struct buf text = BUF_INIT;
    double number;
    uint32_t kernel;
    bool same;

    if (usual.len == 0)
        return false;
    if (str_is(usual, "same"))
        return is_same_padding(w, value);
    if (str_is(usual, "kernel"))
        return v->kind == VALUE_NONE ||
               (get(w, STR("kernel_size"), &kernel) && kernel == value);
    if (usual.at[0] == '\'')
        return v->kind == VALUE_STR && str_eq(value_text(&w->model->values, value),
                                              str_span(usual.at + 1, usual.len - 2));
    if (str_to_double(usual, &number)) {
        if (v->kind == VALUE_INT)
            return (double)v->integer == number;
        if (v->kind == VALUE_REAL)
            return v->real == number;
        return is_all(w->model, value, (int64_t)number);
    }
    value_show(&text, w->model, value, MOST_BYTES);
    same = str_eq(buf_span(&text), usual);
    buf_release(&text);
    return same;
}

/* "stride=1": written with its name unless the value is 1. */
static void add_named(struct writer *w, struct str item)
{
    ptrdiff_t equals = str_find_char(item, '=');
    struct str key = str_head(item, (size_t)equals);
    int64_t number;
    uint32_t value;

    if (!get(w, key, &value) || is_usual(w, value, str_from(item, (size_t)equals + 1)))
        return;
    add_comma(w);
    if (!add_key(w, key, value))
        return;
    if (number_at(w->model, value, 0, &number) && is_all(w->model, value, number))
        buf_printf(w->to, "%" PRId64, number); /* (2, 2) is 2 */
    else
        value_show(w->to, w->model, value, MOST_BYTES);
}

/* In a list of words, False is omitted too. */
static bool is_plain_no(const struct writer *w, uint32_t id)
{
    const struct value *value = value_at(&w->model->values, id);

    return w->list && value->kind == VALUE_BOOL && !value->integer;
}

/* Is a value worth showing in a row? Configurations are too large, None and "" carry no
 * information; Details shows them. */
static bool is_telling(const struct values *values, uint32_t id)
{
    switch ((enum value_kind)value_at(values, id)->kind) {
    case VALUE_NONE:
    case VALUE_DICT:
    case VALUE_CALL:
    case VALUE_OBJECT:
    case VALUE_CUT:
        return false;
    case VALUE_STR:
        return value_text(values, id).len > 0;
    default:
        return true;
    }
}

/* Is it only the index of the layer in the model? */
static bool is_layer_number(const struct values *values, uint32_t key, uint32_t value)
{
    static const char *const names[] = {"layer_idx",    "layer_index", "layer_id",
                                        "layer_number", "block_idx",   "block_id"};

    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (str_is(value_text(values, key), names[i]))
            return value_at(values, value)->kind == VALUE_INT;
    return false;
}

static void add_all(struct writer *w)
{
    const struct values *values = &w->model->values;
    const struct value *dict = value_at(values, w->args);
    const uint32_t *items = value_items(values, w->args);
    size_t begin = w->to->len;

    for (uint32_t i = 0; dict->kind == VALUE_DICT && i + 1 < dict->n; i += 2) {
        if (!is_telling(values, items[i + 1]) || is_plain_no(w, items[i + 1]))
            continue;
        if (w->list && is_layer_number(values, items[i], items[i + 1]))
            continue;
        add_comma(w);
        if (w->to->len >= begin + MOST_TEXT) {
            buf_text(w->to, "…");
            break;
        }
        if (add_key(w, value_text(values, items[i]), items[i + 1]))
            value_show(w->to, w->model, items[i + 1], MOST_OTHER);
    }
}

static void write_args(struct writer *w, const struct object *object)
{
    const struct form *form = NULL;
    struct str name = STR(""), rest, item;

    if (object->class_id != NO_CLASS)
        name = model_string(w->model, w->model->classes[object->class_id].name);
    w->class_name = class_short(name);
    if (object->guessed)
        form = find_in(guesses, COUNT_OF(guesses), w->class_name);
    else if (is_torch(name))
        form = find_in(forms, COUNT_OF(forms), w->class_name);
    else if (str_starts(name, STR("keras.")))
        form = find_in(keras_forms, COUNT_OF(keras_forms), w->class_name);
    if (!form) {
        add_all(w);
        return;
    }
    rest = str_of(form->first);
    /* Among words, put the window first. */
    if (w->list && str_ends(rest, STR(" kernel_size"))) {
        add_first(w, STR("kernel_size"));
        rest = str_head(rest, rest.len - strlen(" kernel_size"));
    }
    while (rest.len > 0 && str_split(&rest, ' ', &item))
        add_first(w, item);
    rest = str_of(form->then);
    while (rest.len > 0 && str_split(&rest, ' ', &item))
        add_named(w, item);
}

void args_show(struct buf *to, const struct model *model, const struct object *object)
{
    struct writer w = {.to = to, .model = model, .args = object->args};

    write_args(&w, object);
}

uint64_t args_hash(const struct model *model, const struct object *object)
{
    const struct values *values = &model->values;
    const struct value *dict = value_at(values, object->args);
    const uint32_t *items = value_items(values, object->args);
    uint64_t hash = dict->kind;

    for (uint32_t i = 0; dict->kind == VALUE_DICT && i + 1 < dict->n; i += 2)
        if (!is_layer_number(values, items[i], items[i + 1]))
            hash = hash_mix(hash_mix(hash, items[i]), items[i + 1]);
    return hash;
}

void args_words(struct args_list *list, const struct model *model,
                const struct object *object)
{
    struct writer w = {
        .to = &list->text, .model = model, .args = object->args, .list = list};

    write_args(&w, object);
    if (w.some)
        end_word(list);
}

void args_repr(struct buf *to, const struct model *model, const struct object *object)
{
    /* Arguments that extra_repr() writes without a name. */
    static const char bare[] = "in_channels out_channels num_features num_embeddings "
                               "embedding_dim num_groups num_channels "
                               "normalized_shape input_size hidden_size ";
    const struct values *values = &model->values;
    const struct value *dict = value_at(values, object->args);
    const uint32_t *items = value_items(values, object->args);
    struct writer w = {.to = to, .model = model, .args = object->args};

    if (object->guessed) {
        args_show(to, model, object);
        return;
    }
    for (uint32_t i = 0; dict->kind == VALUE_DICT && i + 1 < dict->n; i += 2) {
        struct str key = value_text(values, items[i]);

        add_comma(&w);
        if (!is_listed(bare, key)) {
            escape_terminal(to, key);
            buf_char(to, '=');
        }
        value_show(to, model, items[i + 1], MOST_BYTES);
    }
}
