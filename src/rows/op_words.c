#include "rows/op_words.h"

#include "base/base.h"
#include "text/escape.h"
#include "text/number.h"

/* THE TABLE of signs, by the name without "aten::" and without the underscore of
 * in-place operations. All signs have an ASCII twin (text/glyph.c). */
static const struct {
    const char *name, *sign;
} signs[] = {
    {"add", "+"},
    {"sub", "-"},
    {"rsub", "-"},
    {"mul", "×"},
    {"div", "/"},
    {"floor_divide", "//"},
    {"remainder", "%"},
    {"matmul", "@"},
    {"mm", "@"},
    {"bmm", "@"},
    {"mv", "@"},
    {"dot", "@"},
    {"__and__", "&"},
    {"bitwise_and", "&"},
    {"logical_and", "&"},
    {"__or__", "|"},
    {"bitwise_or", "|"},
    {"logical_or", "|"},
    {"bitwise_not", "not"},
    {"logical_not", "not"},
    {"eq", "=="},
    {"ne", "!="},
    {"lt", "<"},
    {"le", "<="},
    {"gt", ">"},
    {"ge", ">="},
    {"convolution", "conv"},
    {"convolution_overrideable", "conv"},
    {"mkldnn_convolution", "conv"},
    {"cudnn_convolution", "conv"},
    {"thnn_conv2d", "conv"},
    {"slow_conv2d_forward", "conv"},
    {"scaled_dot_product_attention", "sdpa"},
    {"native_layer_norm", "layer_norm"},
    {"native_group_norm", "group_norm"},
    {"native_batch_norm", "batch_norm"},
    {"native_batch_norm_legit", "batch_norm"},
    {"native_batch_norm_legit_no_training", "batch_norm"},
    {"batch_norm_with_update", "batch_norm"},
    {"batch_norm_no_update", "batch_norm"},
    {"cudnn_batch_norm", "batch_norm"},
    {"native_dropout", "dropout"},
    {"max_pool2d_with_indices", "max_pool2d"},
    {"max_pool3d_with_indices", "max_pool3d"},
    {"unsafe_view", "view"},
    {"reshape_alias", "view"},
    {"split_with_sizes", "split"},
    {"unsafe_split", "split"},
    {"constant_pad_nd", "pad"},
    {"to_copy", "to"},
};

/* The name without "aten::" and underscores at its ends; `__and__` keeps its own. */
static struct str bare_name(struct str name)
{
    name = str_from(name, 6);
    if (str_starts(name, STR("__")))
        return name;
    while (name.len > 1 && name.at[0] == '_')
        name = str_from(name, 1);
    while (name.len > 1 && name.at[name.len - 1] == '_')
        name = str_head(name, name.len - 1);
    return name;
}

/* The sign in the table, or NULL. Attention has a kernel for each kind of device. */
static const char *sign_of(struct str bare)
{
    if (str_starts(bare, STR("scaled_dot_product_")) &&
        str_find(bare, STR("backward")) < 0)
        return "sdpa";
    for (size_t i = 0; i < COUNT_OF(signs); i++)
        if (str_is(bare, signs[i].name))
            return signs[i].sign;
    return NULL;
}

void op_sign(struct buf *to, struct str name)
{
    const char *sign;

    if (!str_starts(name, STR("aten::"))) {
        escape_terminal(to, name);
        return;
    }
    name = bare_name(name);
    sign = sign_of(name);
    if (sign)
        buf_text(to, sign);
    else
        escape_terminal(to, name);
}

void op_title(struct buf *to, const struct run *run, const struct run_op *op)
{
    const struct run_op_value *weight;
    size_t begin = to->len;
    uint32_t name;

    if (str_is(op_name(run, op), OP_ATTACH) &&
        value_get(&run->plain, op->attributes, "name", &name)) {
        buf_text(to, "attached ");
        escape_terminal(to, value_text(&run->plain, name));
        return;
    }
    op_sign(to, op_name(run, op));
    if (!str_is(str_from(buf_span(to), begin), "conv"))
        return;
    weight = op_input(run, op, "weight");
    if (weight && run->ops->types[weight->type].rank > 2)
        buf_printf(to, "%ud", run->ops->types[weight->type].rank - 2u);
}

bool op_is_view(const struct run *run, const struct run_op *op)
{
    return run->ops->kinds[op->kind].flags & OP_VIEW;
}

void op_shape(struct buf *to, const struct run *run, uint32_t value)
{
    const struct run_op_type *type = &run->ops->types[run->ops->values[value].type];

    text_shape(to, run->dims + type->shape, type->rank);
}

/* The outputs of an operation: results, or if it has none, the arguments it wrote
 * to. */
static enum op_io_kind made_kind(const struct run *run, const struct run_op *op)
{
    uint32_t at = 0;

    return op_next(run, op, OP_OUT, &at) ? OP_OUT : OP_WRITTEN;
}

void op_shapes(struct buf *to, const struct run *run, const struct run_op *op)
{
    enum op_io_kind kind = made_kind(run, op);
    struct buf first = BUF_INIT, other = BUF_INIT;
    const struct run_op_io *io;
    uint32_t n = 0;
    bool same = true;

    for (uint32_t at = 0; (io = op_next(run, op, kind, &at));) {
        buf_clear(&other);
        op_shape(n == 0 ? &first : &other, run, io->value);
        same &= n == 0 || str_eq(buf_span(&first), buf_span(&other));
        n++;
    }
    if (n > 1 && same)
        buf_printf(to, "%u × ", n);
    buf_str(to, buf_span(&first));
    if (n > 1 && !same)
        buf_printf(to, " +%u", n - 1);
    buf_release(&first);
    buf_release(&other);
}

void op_not_finite(const struct run *run, const struct run_op *op, uint64_t *ret_nan,
                   uint64_t *ret_inf)
{
    enum op_io_kind kind = made_kind(run, op);
    const struct run_op_io *io;

    *ret_nan = *ret_inf = 0;
    for (uint32_t at = 0; (io = op_next(run, op, kind, &at));) {
        uint32_t stats = run->ops->values[io->value].stats;

        if (stats == RUN_NONE)
            continue;
        *ret_nan += run->stats[stats].nan;
        *ret_inf += run->stats[stats].pos_inf + run->stats[stats].neg_inf;
    }
}
