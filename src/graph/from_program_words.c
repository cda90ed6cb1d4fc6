/* Conditions of branches and loops in readable form. */
#include "graph/from_in.h"

#include <stdio.h>

#include "base/base.h"
#include "rows/value_text.h"

#define TEXT_MOST  40 /* bytes of a constant */
#define UNNAMED    "…"
#define LEVEL_MOST 5 /* nesting depth of operations */

static const struct {
    const char *name, *sign;
} signs[] = {
    {"aten::gt", ">"},
    {"aten::lt", "<"},
    {"aten::ge", ">="},
    {"aten::le", "<="},
    {"aten::eq", "=="},
    {"aten::ne", "!="},
    {"aten::__is__", "is"},
    {"aten::__isnot__", "is not"},
    {"aten::__and__", "and"},
    {"aten::__or__", "or"},
    {"aten::__contains__", "has"},
};

static const char *sign_of(struct str name)
{
    for (size_t i = 0; i < COUNT_OF(signs); i++)
        if (str_is(name, signs[i].name))
            return signs[i].sign;
    return NULL;
}

static void write_value(struct buf *to, const struct from *from, uint32_t value,
                        int level);

/* The inputs of an operation, then its constants, with `between` them. */
static void write_args(struct buf *to, const struct from *from,
                       const struct program_op *op, const char *between, int level)
{
    const struct values *values = &from->model->values;
    uint32_t n = 0;

    for (uint32_t i = op->io; i < op->io + op->n_in && n < 3; i++, n++) {
        buf_text(to, n > 0 ? between : "");
        write_value(to, from, from->program->ios[i].value, level + 1);
    }
    if (value_at(values, op->attributes)->kind != VALUE_DICT)
        return;
    for (uint32_t i = 1; i < value_at(values, op->attributes)->n && n < 3; i += 2) {
        buf_text(to, n++ > 0 ? between : "");
        value_show_in(to, values, from->model, value_items(values, op->attributes)[i],
                      TEXT_MOST);
    }
}

static void write_op(struct buf *to, const struct from *from,
                     const struct program_op *op, int level)
{
    struct str name = model_string(from->model, op->name);
    const char *sign = sign_of(name);
    char between[16];

    if (str_is(name, "aten::Bool") && op->n_in == 1) {
        write_value(to, from, from->program->ios[op->io].value, level);
        return;
    }
    if (sign) {
        snprintf(between, sizeof between, " %s ", sign);
        write_args(to, from, op, between, level);
        return;
    }
    if (str_is(name, "aten::__not__")) {
        buf_text(to, "not ");
        write_args(to, from, op, ", ", level);
        return;
    }
    buf_str(to, op_short_name(name));
    buf_char(to, '(');
    if (level < LEVEL_MOST)
        write_args(to, from, op, ", ", level);
    buf_char(to, ')');
}

/* The recursion depth is limited. */
static void write_value(struct buf *to, const struct from *from, uint32_t value,
                        int level)
{
    const struct program_value *of = &from->program->values[value];

    if (of->kind == PROGRAM_RESULT && level <= LEVEL_MOST)
        write_op(to, from, &from->program->ops[of->producer], level + 1);
    else if (of->kind == PROGRAM_TENSOR || of->kind == PROGRAM_STORED)
        buf_str(to, of->place < from->model->n_places
                        ? place_name(from->model, of->place)
                        : model_string(from->model, of->name));
    else if (of->name)
        buf_str(to, model_string(from->model, of->name));
    else
        buf_text(to, UNNAMED);
}

void from_program_condition(struct buf *to, const struct from *from, uint32_t value)
{
    struct buf text = BUF_INIT;

    if (value < from->program->n_values)
        write_value(&text, from, value, 0);
    if (!str_is(buf_span(&text), UNNAMED))
        buf_str(to, buf_span(&text));
    buf_release(&text);
}
