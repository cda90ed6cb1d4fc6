/* What the boxes of operations say. */
#include "graph/from_run_in.h"

#include <math.h>

#include "base/base.h"
#include "rows/op_words.h"
#include "rows/value_text.h"
#include "run/op_table.h"
#include "text/number.h"

#define WORD_MOST 40 /* bytes of one argument */

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

/* THE TABLE of main arguments, by name without "aten::" and the underscore of in-place
 * operations. "=" is the shape of the result, "->" how many features become how many,
 * "n" how many results of which shape, "kernel" the window and channels of a
 * convolution; anything else is an attribute, written as it is
 * ("dim") or with its name ("dim:"). Operations that are not listed show "other" or
 * "exponent" if these are numbers. */
static const struct {
    const char *names; /* each followed by a blank */
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
    {"convolution ", "kernel stride: dilation: groups:"},
    {"max_pool2d_with_indices max_pool2d avg_pool2d ", "kernel_size"},
    {"constant_pad_nd ", "pad"},
    {"pow ", "exponent"},
    {"roll ", "shifts dims"},
    {"upsample_nearest2d upsample_bilinear2d ", "output_size"},
};

static struct str bare_name(struct str name)
{
    if (str_starts(name, STR("aten::")))
        name = str_from(name, 6);
    return name;
}

static const char *words_of(struct str name)
{
    if (name.len > 1 && name.at[name.len - 1] == '_' && !str_ends(name, STR("__")))
        name = str_head(name, name.len - 1);
    for (size_t i = 0; i < COUNT_OF(arguments); i++) {
        struct str rest = str_of(arguments[i].names), item;

        while (rest.len > 0 && str_split(&rest, ' ', &item))
            if (str_eq(item, name))
                return arguments[i].words;
    }
    return NULL;
}

/* "768→2304": what a matrix product makes of the last dimension. */
static void features_word(struct buf *to, const struct run *run,
                          const struct run_op *op)
{
    const struct run_op_io *io, *out;
    const struct run_op_value *input = op_input(run, op, "mat1");
    const struct run_op_type *from, *into;
    uint32_t at = 0;

    out = op_next(run, op, OP_OUT, &at);
    at = 0;
    io = op_next(run, op, OP_IN, &at);
    if (!out || !io)
        return;
    if (!input)
        input = &run->ops->values[io->value];
    from = &run->ops->types[input->type];
    into = &run->ops->types[run->ops->values[out->value].type];
    if (from->rank == 0 || into->rank == 0)
        return;
    buf_printf(to, "%lld→%lld", (long long)run->dims[from->shape + from->rank - 1],
               (long long)run->dims[into->shape + into->rank - 1]);
}

/* "3×3, 64→128" of the weight of a convolution. */
static void kernel_word(struct buf *to, const struct run *run, const struct run_op *op)
{
    const struct run_op_value *weight = op_input(run, op, "weight");
    const struct run_op_value *input = op_input(run, op, "input");
    const struct run_op_type *type, *from;
    const int64_t *dims;
    uint32_t at = 0;
    const struct run_op_io *out = op_next(run, op, OP_OUT, &at);

    if (!weight || !input || !out)
        return;
    type = &run->ops->types[weight->type];
    from = &run->ops->types[input->type];
    dims = run->dims + type->shape;
    if (type->rank < 3 || from->rank < 2 ||
        run->ops->types[run->ops->values[out->value].type].rank != from->rank)
        return;
    text_shape(to, dims + 2, type->rank - 2);
    buf_printf(
        to, ", %lld→%lld", (long long)run->dims[from->shape + 1],
        (long long)
            run->dims[run->ops->types[run->ops->values[out->value].type].shape + 1]);
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

/* A list of equal numbers is one number if it has a name: "stride 2". */
static bool is_one_number(const struct values *plain, uint32_t id)
{
    const struct value *value = value_at(plain, id);
    const uint32_t *items = value_items(plain, id);

    for (uint32_t i = 1; i < value->n; i++)
        if (items[i] != items[0])
            return false;
    return value->n > 0;
}

static void write_plain(struct buf *to, const struct from_run *from, uint32_t id,
                        bool named)
{
    const struct values *plain = &from->run->plain;
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

/* An attribute as a word: "0.125", "dim −1". Sizes and strides of 1 say nothing. */
static void attribute_word(struct buf *to, const struct from_run *from,
                           const struct run_op *op, struct str item)
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
    id = op_attribute(from->run, op, name);
    if (value_at(&from->run->plain, id)->kind != VALUE_NONE)
        write_plain(&text, from, id, named);
    if (text.len > 0 && named && !str_is(key, "dim") && !str_is(key, "p") &&
        str_is(str_trim(buf_span(&text)), "1"))
        buf_clear(&text);
    if (text.len > 0 && named)
        buf_printf(to, "%s ", name);
    buf_str(to, buf_span(&text));
    buf_release(&text);
}

static int add_word(struct from_run *from, uint32_t part, struct buf *word)
{
    int status = 0;

    if (word->len > 0)
        status = parts_word(from->parts, part, parts_text(from->parts, buf_span(word)));
    buf_clear(word);
    return status;
}

/* The name of a parameter or buffer that an operation reads: "weight". */
static int tensor_word(struct from_run *from, uint32_t part, const struct run_op *op)
{
    const struct run_op_io *io;

    for (uint32_t at = 0; (io = op_next(from->run, op, OP_IN, &at));) {
        uint32_t tensor = from->run->ops->values[io->value].tensor, place;

        if (tensor >= from->model->n_tensors)
            continue;
        place = from->model->tensors[tensor].place;
        if (place < from->model->n_places)
            return parts_word(from->parts, part,
                              parts_text(from->parts, place_name(from->model, place)));
    }
    return 0;
}

/* Its parameter is not drawn, and nothing else says what it is: "mul weight". */
static bool names_tensor(const struct diagram_box *box)
{
    return box->family == FAMILY_ELEMENTWISE || box->family == FAMILY_EMBEDDING ||
           (box->family == FAMILY_VIEW && box->n_words == 0);
}

static int op_arguments(struct from_run *from, uint32_t part, const struct run_op *op,
                        struct str name)
{
    const char *words = words_of(name);
    struct str rest = str_of(words ? words : "other exponent"), item;
    struct buf word = BUF_INIT;
    uint32_t at = 0;
    const struct run_op_io *out = op_next(from->run, op, OP_OUT, &at);
    int status = 0;

    while (status == 0 && rest.len > 0 && str_split(&rest, ' ', &item)) {
        if (str_is(item, "=") && out)
            op_shape(&word, from->run, out->value);
        else if (str_is(item, "->"))
            features_word(&word, from->run, op);
        else if (str_is(item, "n"))
            op_shapes(&word, from->run, op);
        else if (str_is(item, "kernel"))
            kernel_word(&word, from->run, op);
        else if (!str_is(item, "="))
            attribute_word(&word, from, op, item);
        status = add_word(from, part, &word);
    }
    buf_release(&word);
    if (status == 0 && names_tensor(&from->parts->at[part].box))
        status = tensor_word(from, part, op);
    return status;
}

/* Adds or multiplies two tensors: drawn as a sign. */
static const char *sign_name(const struct run *run, const struct run_op *op,
                             struct str name)
{
    uint32_t n = 0;

    for (uint32_t at = 0; op_next(run, op, OP_IN, &at);)
        n++;
    if (n < 2)
        return NULL;
    if (str_is(name, "add") || str_is(name, "add_"))
        return "+";
    return str_is(name, "mul") || str_is(name, "mul_") ? "×" : NULL;
}

int from_run_op_box(struct from_run *from, uint32_t part, uint32_t number)
{
    const struct run *run = from->run;
    const struct run_op *op = &run->ops->ops[number];
    const struct run_op_kind *kind = &run->ops->kinds[op->kind];
    struct diagram_box *box = &from->parts->at[part].box;
    struct str name = bare_name(op_name(run, op));

    box->op = number;
    box->call = op->call < run->n_calls ? op->call : RUN_NONE;
    box->place = op->place < from->model->n_places ? op->place : NO_PLACE;
    box->family =
        kind->family < OP_FAMILY_COUNT ? families[kind->family] : FAMILY_OTHER;
    if (kind->flags & OP_VIEW || kind->family == OP_FAMILY_VIEW) {
        box->kind = DIAGRAM_VIEW;
        box->family = FAMILY_VIEW;
    }
    if (kind->flags & OP_REGION)
        box->flags |= DIAGRAM_REGION;
    if (op->flags & OP_RAISED)
        box->flags |= DIAGRAM_RAISED;
    if (sign_name(run, op, name))
        box->flags |= DIAGRAM_SIGN;
    box->id = parts_printf(from->parts, "op:%u", number);
    box->name = parts_text(from->parts, name);
    box->line = parts_text(from->parts, run_string(run, op->line));
    return op_arguments(from, part, op, name);
}
