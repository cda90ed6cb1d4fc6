/* The texts of the boxes of operations. */
#include "graph/from_in.h"

#include <math.h>

#include "base/base.h"
#include "rows/value_text.h"
#include "text/number.h"

#define WORD_MOST 40 /* bytes of one argument */

/* THE TABLE of main arguments, by name without "aten::" and the underscore of in-place
 * operations. "=" is the shape of the result, "->" the change in the number of
 * features, "n" the count and shape of the results, "kernel" the window and channels of
 * a convolution; anything else is an attribute, written as its value ("dim") or with
 * its name ("dim:"). Operations that are not listed show "other" or "exponent" if these
 * are numbers. */
static const struct {
    const char *names; /* each followed by a space */
    const char *words;
} arguments[] = {
    {"view reshape _reshape_alias expand unflatten flatten unfold "
     "as_strided _unsafe_view view_as_real view_as_complex squeeze arange zeros ones "
     "full empty "
     "zeros_like ones_like full_like empty_like new_zeros new_ones new_full "
     "new_empty new_empty_strided scalar_tensor repeat repeat_interleave ",
     "="},
    {"addmm mm linear matmul _addmm_activation ", "->"},
    {"split split_with_sizes chunk unbind unsafe_split unsafe_chunk ", "n"},
    {"transpose ", "dim0 dim1"},
    {"permute ", "dims"},
    {"unsqueeze ", "dim"},
    {"select ", "dim index"},
    {"slice ", "dim start end"},
    {"cat stack ", "dim"},
    {"softmax _softmax log_softmax _log_softmax ", "dim:"},
    {"masked_fill fill ", "value"},
    {"mean sum amax amin max min argmax argmin any all prod std var cumsum norm "
     "linalg_vector_norm logsumexp topk sort gather scatter scatter_add index_select "
     "index_add glu ",
     "dim:"},
    {"native_layer_norm layer_norm rms_norm _fused_rms_norm ", "normalized_shape"},
    {"native_dropout dropout ", "p:"},
    {"_to_copy ", "dtype"},
    {"convolution _convolution conv1d conv2d conv3d ",
     "kernel stride: dilation: groups:"},
    {"max_pool2d_with_indices max_pool2d avg_pool2d ", "kernel_size"},
    {"constant_pad_nd ", "pad"},
    {"pow ", "exponent"},
    {"roll ", "shifts dims"},
    {"upsample_nearest2d upsample_bilinear2d ", "output_size"},
    /* ONNX */
    {"Reshape Flatten Squeeze Unsqueeze Expand Tile Slice Pad ConstantOfShape Range "
     "Resize Upsample DepthToSpace SpaceToDepth GlobalAveragePool GlobalMaxPool ",
     "="},
    {"MatMul Gemm FusedMatMul QLinearMatMul MatMulInteger ", "->"},
    {"Split ", "n"},
    {"Transpose ", "perm"},
    {"Concat Softmax LogSoftmax GatherElements ScatterElements ArgMax ArgMin "
     "TopK "
     "CumSum OneHot ",
     "axis:"},
    {"ReduceSum ReduceMean ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2 ",
     "axes: ="},
    {"Conv ConvTranspose FusedConv QLinearConv ConvInteger ",
     "kernel strides: dilations: group:"},
    {"MaxPool AveragePool LpPool ", "kernel_shape strides:"},
    {"LSTM GRU RNN ", "hidden_size direction"},
    /* TFLite */
    {"CONV_2D DEPTHWISE_CONV_2D ", "kernel stride_w: activation"},
    {"FULLY_CONNECTED ", "-> activation"},
    {"MAX_POOL_2D AVERAGE_POOL_2D ", "filter_w: stride_w:"},
    {"CONCATENATION ", "axis:"},
    {"RESHAPE SQUEEZE EXPAND_DIMS TRANSPOSE PAD PADV2 SLICE STRIDED_SLICE "
     "RESIZE_BILINEAR RESIZE_NEAREST_NEIGHBOR BROADCAST_TO TILE ",
     "="},
    {"ADD SUB MUL DIV ", "activation"},
    {"LEAKY_RELU ", "alpha"},
    {"LeakyRelu Elu ThresholdedRelu ", "alpha"},
};

static struct str bare_name(struct str name)
{
    return op_short_name(name);
}

static uint32_t find_words(struct str name)
{
    if (name.len > 1 && name.at[name.len - 1] == '_' && !str_ends(name, STR("__")))
        name = str_head(name, name.len - 1);
    for (size_t i = 0; i < COUNT_OF(arguments); i++) {
        struct str rest = str_of(arguments[i].names), item;

        while (rest.len > 0 && str_split(&rest, ' ', &item))
            if (str_eq(item, name))
                return (uint32_t)i;
    }
    return COUNT_OF(arguments);
}

/* There are few distinct names and many operations: cache the lookup by name. */
static const char *words_of(struct from *from, struct str name)
{
    uint64_t key = str_hash(name);
    uint32_t i;

    if (!map_find(&from->words, key, &i)) {
        i = find_words(name);
        if (map_put(&from->words, key, i) < 0)
            return NULL; /* spent: from_enter() checks */
    }
    return i < COUNT_OF(arguments) ? arguments[i].words : NULL;
}

/* "768→2304": the last dimension before and after a matrix product. */
static void features_word(struct buf *to, const struct op_look *look)
{
    if (look->features_in >= 0 && look->features_out >= 0)
        buf_printf(to, "%lld→%lld", (long long)look->features_in,
                   (long long)look->features_out);
}

/* "3×3, 64→128" from the weight of a convolution. */
static void kernel_word(struct buf *to, const struct op_look *look)
{
    if (!look->kernel || look->features_in < 0 || look->features_out < 0)
        return;
    text_shape(to, look->kernel, look->kernel_rank);
    buf_text(to, ", ");
    features_word(to, look);
}

static void write_number(struct buf *to, double value)
{
    if (isinf(value))
        buf_text(to, value < 0 ? "−inf" : "inf");
    else if (value < 0)
        buf_printf(to, "−%.4g", -value);
    else
        buf_printf(to, "%.4g", value);
}

/* A list of equal numbers is written as one number if it has a name: "stride 2". */
static bool is_one_number(const struct values *plain, uint32_t id)
{
    const struct value *value = value_at(plain, id);
    const uint32_t *items = value_items(plain, id);

    for (uint32_t i = 1; i < value->n; i++)
        if (items[i] != items[0])
            return false;
    return value->n > 0;
}

static void write_plain(struct buf *to, const struct from *from,
                        const struct values *plain, uint32_t id, bool named)
{
    const struct value *value = value_at(plain, id);
    const uint32_t *items = value_items(plain, id);
    bool list = value->kind == VALUE_LIST || value->kind == VALUE_TUPLE;
    uint32_t n = list ? value->n : 1;

    if (list && named && is_one_number(plain, id))
        n = 1;
    for (uint32_t i = 0; i < n && to->len < WORD_MOST; i++) {
        uint32_t item = list ? items[i] : id;
        const struct value *at = value_at(plain, item);

        if (i > 0)
            buf_text(to, ", ");
        if (at->kind == VALUE_INT)
            write_number(to, (double)at->integer);
        else if (at->kind == VALUE_REAL)
            write_number(to, at->real);
        else if (at->kind == VALUE_STR)
            buf_str(to, value_text(plain, item));
        else
            value_show_in(to, plain, from->model, item, WORD_MOST);
    }
}

/* An attribute as a word: "0.125", "dim −1". Sizes and strides of 1 are omitted. */
static void attribute_word(struct buf *to, const struct from *from,
                           const struct op_look *look, struct str item)
{
    bool named = str_ends(item, STR(":"));
    struct str key = named ? str_head(item, item.len - 1) : item;
    struct buf text = BUF_INIT;
    char name[32];
    uint32_t id;

    if (key.len >= sizeof name)
        return;
    memcpy(name, key.at, key.len);
    name[key.len] = '\0';
    if (value_get(look->plain, look->attributes, name, &id) &&
        value_at(look->plain, id)->kind != VALUE_NONE)
        write_plain(&text, from, look->plain, id, named);
    if (text.len > 0 && named && !str_is(key, "dim") && !str_is(key, "p") &&
        !str_starts(key, STR("ax")) && str_is(str_trim(buf_span(&text)), "1"))
        buf_clear(&text);
    if (str_is(buf_span(&text), "none")) /* an activation of TFLite */
        buf_clear(&text);
    if (text.len > 0 && named)
        buf_printf(to, "%s ", name);
    buf_str(to, buf_span(&text));
    buf_release(&text);
}

static int add_word(struct from *from, uint32_t part, struct buf *word)
{
    int status = 0;

    if (word->len > 0)
        status = parts_word(from->parts, part, parts_text(from->parts, buf_span(word)));
    buf_clear(word);
    return status;
}

/* Should the box name its parameter, which is not drawn, for lack of other words: "mul
 * weight"? */
static bool names_tensor(const struct diagram_box *box)
{
    return box->family == FAMILY_ELEMENTWISE || box->family == FAMILY_EMBEDDING ||
           (box->family == FAMILY_VIEW && box->n_words == 0);
}

int from_op_words(struct from *from, uint32_t part, const struct op_look *look)
{
    const char *words = words_of(from, bare_name(look->name));
    struct str rest = str_of(words ? words : "other exponent"), item;
    struct buf word = BUF_INIT;
    int status = 0;

    while (status == 0 && rest.len > 0 && str_split(&rest, ' ', &item)) {
        if (str_is(item, "="))
            buf_str(&word, look->shape);
        else if (str_is(item, "->"))
            features_word(&word, look);
        else if (str_is(item, "n"))
            buf_str(&word, look->shapes);
        else if (str_is(item, "kernel"))
            kernel_word(&word, look);
        else
            attribute_word(&word, from, look, item);
        status = add_word(from, part, &word);
    }
    buf_release(&word);
    return status;
}

static bool has_activation(const struct op_look *look)
{
    uint32_t id;

    return value_get(look->plain, look->attributes, "activation", &id) &&
           value_at(look->plain, id)->kind == VALUE_STR &&
           !str_is(value_text(look->plain, id), "none");
}

bool from_op_is_sign(const struct op_look *look)
{
    struct str name = bare_name(look->name);

    /* In ONNX, a bias is added by a separate operation, which gets a box. So does an
     * operation of TFLite with an activation. */
    if (str_is(name, "Add") || str_is(name, "Mul") || str_is(name, "Multiply") ||
        str_is(name, "ADD") || str_is(name, "MUL"))
        return look->n_in >= 2 && look->tensor == NO_PLACE && !has_activation(look);
    return look->n_in >= 2 && (str_is(name, "add") || str_is(name, "add_") ||
                               str_is(name, "mul") || str_is(name, "mul_"));
}

int from_op_box(struct from *from, uint32_t part, const struct op_look *look)
{
    struct diagram_box *box = &from->parts->at[part].box;

    box->family = family_of_op(look->family);
    if (look->flags & OP_VIEW || look->family == OP_FAMILY_VIEW) {
        box->kind = DIAGRAM_VIEW;
        box->family = FAMILY_VIEW;
    }
    if (look->flags & OP_REGION)
        box->flags |= DIAGRAM_REGION;
    if (from_op_is_sign(look))
        box->flags |= DIAGRAM_SIGN;
    box->id = parts_printf(from->parts, "op:%u", box->op);
    box->name = parts_text(from->parts, bare_name(look->name));
    if (from_op_words(from, part, look) < 0)
        return -1;
    box = &from->parts->at[part].box;
    if (!names_tensor(box) || look->tensor >= from->model->n_places)
        return 0;
    return parts_word(from->parts, part,
                      parts_text(from->parts, place_name(from->model, look->tensor)));
}
