#include "rows/value_text.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/json_write.h"
#include "text/escape.h"
#include "text/number.h"

#define DEEPEST      12 /* maximum nesting of brackets */
#define LEAST_QUOTED 12 /* bytes of a text shown even if space is short */

struct value_text_writer {
    struct buf *to;
    const struct values *values;
    const struct model *model; /* owner of the tensors */
    size_t begin, end;         /* positions in `to` where the text begins, and should
                                  stop */
};

static void add_value(struct value_text_writer *w, uint32_t id, int depth);

static bool is_full(const struct value_text_writer *w)
{
    return w->to->len >= w->end;
}

static void add_real(struct buf *to, double value)
{
    char text[32];

    if (isnan(value)) {
        buf_text(to, "nan");
    } else if (isinf(value)) {
        buf_text(to, value > 0 ? "inf" : "-inf");
    } else {
        real_text(value, text);
        buf_text(to, text);
        if (!strpbrk(text, ".eE"))
            buf_text(to, ".0");
    }
}

/* A quoted text; long ones are cut at the end. */
static void add_quoted(struct value_text_writer *w, struct str text)
{
    size_t left = is_full(w) ? 0 : w->end - w->to->len;
    size_t most = w->end - w->begin;

    if (left < LEAST_QUOTED && left < most)
        left = LEAST_QUOTED < most ? LEAST_QUOTED : most;
    if (text.len <= left) {
        escape_quoted(w->to, text);
        return;
    }
    while (left > 0 && ((unsigned char)text.at[left] & 0xc0) == 0x80)
        left--; /* do not split a UTF-8 character */
    escape_quoted(w->to, str_head(text, left));
    w->to->len--;
    buf_text(w->to, "…\"");
}

/* Items between brackets; `step` 2: key and value, joined by `joint`. */
static void add_items(struct value_text_writer *w, uint32_t id, const char *open,
                      const char *close, const char *joint, int depth)
{
    const struct values *values = w->values;
    const struct value *value = value_at(values, id);
    const uint32_t *items = value_items(values, id);
    uint32_t step = joint ? 2 : 1;

    buf_text(w->to, open);
    for (uint32_t i = 0; i + step <= value->n; i += step) {
        if (i > 0)
            buf_text(w->to, ", ");
        if (is_full(w) || depth >= DEEPEST) {
            buf_text(w->to, "…");
            break;
        }
        if (joint && joint[0] == '=')
            escape_terminal(w->to, value_text(values, items[i]));
        else
            add_value(w, items[i], depth + 1);
        if (joint) {
            buf_text(w->to, joint);
            add_value(w, items[i + 1], depth + 1);
        }
    }
    buf_text(w->to, close);
}

static void add_tensor(struct value_text_writer *w, const struct value *value)
{
    const struct tensor *tensor;

    if (value->integer < 0 || value->integer >= (int64_t)w->model->n_tensors) {
        buf_text(w->to, "tensor");
        return;
    }
    tensor = &w->model->tensors[value->integer];
    buf_text(w->to, "tensor ");
    if (tensor->rank > 0) {
        text_shape(w->to, tensor_shape(w->model, tensor), tensor->rank);
        buf_char(w->to, ' ');
    }
    buf_text(w->to, dtype_name(tensor->dtype));
}

static void add_value(struct value_text_writer *w, uint32_t id, int depth)
{
    const struct values *values = w->values;
    const struct value *value = value_at(values, id);
    struct str text = value_text(values, id);

    switch ((enum value_kind)value->kind) {
    case VALUE_NONE:
        buf_text(w->to, "None");
        break;
    case VALUE_BOOL:
        buf_text(w->to, value->integer ? "True" : "False");
        break;
    case VALUE_INT:
        buf_printf(w->to, "%" PRId64, value->integer);
        break;
    case VALUE_BIGINT:
    case VALUE_GLOBAL:
        escape_terminal(w->to, text);
        break;
    case VALUE_REAL:
        add_real(w->to, value->real);
        break;
    case VALUE_STR:
        add_quoted(w, text);
        break;
    case VALUE_BYTES:
        buf_text(w->to, "b");
        add_quoted(w, text);
        if (value->n > text.len)
            buf_printf(w->to, " of %" PRIu32 " bytes", value->n);
        break;
    case VALUE_LIST:
        add_items(w, id, "[", "]", NULL, depth);
        break;
    case VALUE_TUPLE:
        add_items(w, id, "(", value->n == 1 ? ",)" : ")", NULL, depth);
        break;
    case VALUE_SET:
        add_items(w, id, "{", "}", NULL, depth);
        break;
    case VALUE_DICT:
        add_items(w, id, "{", "}", ": ", depth);
        break;
    case VALUE_CALL:
        escape_terminal(w->to, text);
        add_items(w, id, "(", ")", NULL, depth);
        break;
    case VALUE_OBJECT:
        escape_terminal(w->to, class_short(text));
        add_items(w, id, "(", ")", "=", depth);
        break;
    case VALUE_TENSOR:
        add_tensor(w, value);
        break;
    case VALUE_CUT:
        buf_text(w->to, "…");
        if (text.len > 0) {
            buf_text(w->to, " (");
            escape_terminal(w->to, text);
            buf_text(w->to, ")");
        }
        break;
    }
}

void value_show(struct buf *to, const struct model *model, uint32_t value, size_t most)
{
    value_show_in(to, &model->values, model, value, most);
}

void value_show_in(struct buf *to, const struct values *values,
                   const struct model *model, uint32_t value, size_t most)
{
    struct value_text_writer w = {to, values, model, to->len, to->len + most};

    add_value(&w, value, 0);
}

/* Is it a list or tuple of a few integers, like a size? */
static bool is_size(const struct values *values, uint32_t id)
{
    const struct value *value = value_at(values, id);
    const uint32_t *items = value_items(values, id);

    if ((value->kind != VALUE_LIST && value->kind != VALUE_TUPLE) || value->n == 0 ||
        value->n > 8)
        return false;
    for (uint32_t i = 0; i < value->n; i++)
        if (value_at(values, items[i])->kind != VALUE_INT)
            return false;
    return true;
}

void value_show_size(struct buf *to, const struct model *model, uint32_t value,
                     size_t most)
{
    const uint32_t *items = value_items(&model->values, value);

    if (!is_size(&model->values, value)) {
        value_show(to, model, value, most);
        return;
    }
    for (uint32_t i = 0; i < value_at(&model->values, value)->n; i++)
        buf_printf(to, "%s%" PRId64, i > 0 ? "×" : "",
                   value_at(&model->values, items[i])->integer);
}
