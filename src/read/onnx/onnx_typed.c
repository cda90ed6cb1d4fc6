/* Numbers in typed fields (float_data, int32_data, ...), packed or single. */
#include <string.h>

#include "base/base.h"
#include "read/onnx/made_in.h"

#define TEXTS_MOST 100
#define TEXT_MOST  (4 * KIB)

/* The field that a type uses, and the bytes of a decoded number. */
static uint32_t field_of(enum dtype dtype, unsigned *ret_width)
{
    *ret_width = dtype_info(dtype)->bytes;
    switch (dtype) {
    case DTYPE_FLOAT32:
        return 4;
    case DTYPE_COMPLEX64:
        *ret_width = 4;
        return 4;
    case DTYPE_FLOAT64:
        return 10;
    case DTYPE_COMPLEX128:
        *ret_width = 8;
        return 10;
    case DTYPE_INT64:
        return 7;
    case DTYPE_UINT32:
    case DTYPE_UINT64:
        return 11;
    default:
        return 5;
    }
}

struct typed {
    uint8_t *to;
    uint64_t n, room; /* bytes */
    unsigned width;
    bool too_many;
};

static void put(struct typed *typed, uint64_t value)
{
    if (typed->room - typed->n < typed->width) {
        typed->too_many = true;
        return;
    }
    for (unsigned i = 0; i < typed->width; i++)
        typed->to[typed->n++] = (uint8_t)(value >> 8 * i);
}

static void put_field(struct typed *typed, struct wire *in,
                      const struct wire_field *field)
{
    struct wire packed = wire_inside(in, field);
    bool fixed = field->number == 4 || field->number == 10;
    uint64_t value = field->value;
    uint32_t narrow;

    if (field->type != WIRE_LEN) {
        if (field->type ==
            (fixed ? (field->number == 4 ? WIRE_I32 : WIRE_I64) : WIRE_VARINT))
            put(typed, value);
        return;
    }
    if (field->number == 4)
        while (!typed->too_many && wire_fixed32(&packed, &narrow))
            put(typed, narrow);
    else if (field->number == 10)
        while (!typed->too_many && wire_fixed64(&packed, &value))
            put(typed, value);
    else
        while (!typed->too_many && wire_varint(&packed, &value))
            put(typed, value);
}

/* Does the arena have room for twice this much? */
static bool has_room(const struct arena *arena, uint64_t bytes)
{
    return arena->limit == 0 ||
           (arena->limit > arena->used && bytes < (arena->limit - arena->used) / 2);
}

/* The fields of all messages of a tensor. */
struct typed_fields {
    struct wire attr; /* of MERGED: the attribute, whose messages are field 5 */
    struct wire message;
};

static struct typed_fields fields_of(struct onnx_parsed *p, const struct onnx_tensor *t)
{
    struct wire all = wire_of(&p->window, t->at, t->size);
    struct wire none = wire_of(&p->window, 0, 0);

    if (t->data == ONNX_DATA_MERGED)
        return (struct typed_fields){.attr = all, .message = none};
    return (struct typed_fields){.attr = none,
                                 .message = t->data == ONNX_DATA_TYPED ? all : none};
}

static bool next_field(struct typed_fields *fields, struct wire_field *ret_field)
{
    struct wire_field message;

    while (!wire_next(&fields->message, ret_field)) {
        do {
            if (!wire_next(&fields->attr, &message))
                return false;
        } while (message.number != 5 || message.type != WIRE_LEN);
        fields->message = wire_inside(&fields->attr, &message);
    }
    return true;
}

bool onnx_typed_bytes(struct onnx_parsed *p, const struct onnx_tensor *t,
                      enum dtype dtype, uint64_t bytes, struct str *ret_bytes)
{
    struct typed typed = {.room = bytes};
    struct typed_fields fields = fields_of(p, t);
    uint32_t number = field_of(dtype, &typed.width);
    struct wire_field field;

    /* A number takes at least a byte of the file. */
    if (dtype == DTYPE_UNKNOWN || bytes / 16 > t->size || !has_room(p->arena, bytes) ||
        !has_room(&p->build->model->arena, bytes))
        return false;
    typed.to = arena_alloc(p->arena, (size_t)bytes + 1);
    if (!typed.to)
        return false;
    while (!typed.too_many && next_field(&fields, &field))
        if (field.number == number)
            put_field(&typed, &fields.message, &field);
    *ret_bytes = str_span(typed.to, (size_t)typed.n);
    return !typed.too_many && typed.n == bytes;
}

uint32_t onnx_typed_texts(struct onnx_parsed *p, const struct onnx_tensor *t)
{
    struct values *values = build_values(p->build);
    struct typed_fields fields = fields_of(p, t);
    uint32_t items[TEXTS_MOST], n = 0, text;
    struct wire_field field;

    while (n < TEXTS_MOST && next_field(&fields, &field)) {
        if (field.number != 6 || field.type != WIRE_LEN)
            continue;
        text = value_str(values, wire_bytes(&p->window, &field, TEXT_MOST, p->arena));
        if (text == VALUE_ID_FAILED)
            return text;
        items[n++] = text;
    }
    return value_make(values, VALUE_LIST, STR(""), items, n);
}
