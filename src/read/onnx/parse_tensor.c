/* TensorProto, SparseTensorProto, ValueInfoProto and TypeProto. */
#include <string.h>

#include "base/base.h"
#include "read/onnx/parsed_in.h"

#define TYPE_DEPTH 8 /* sequences of sequences */

void onnx_parse_dims(struct onnx_parsed *p, const struct wire *in,
                     const struct wire_field *field)
{
    struct wire packed;
    uint64_t value = field->value;
    bool more = field->type == WIRE_VARINT;

    if (field->type != WIRE_VARINT && field->type != WIRE_LEN)
        return;
    packed = more ? *in : wire_inside(in, field);
    while (!p->spent && (more || wire_varint(&packed, &value))) {
        uint32_t i = ONNX_ADD(p, dims);

        if (i != ONNX_NONE)
            p->dims[i] = wire_signed(value);
        if (more)
            return;
    }
}

/* ---- tensors ---- */

/* The dims of a tensor that is merged are moved behind the others. */
static void add_dims(struct onnx_parsed *p, uint32_t tensor, const struct wire *in,
                     const struct wire_field *field)
{
    struct onnx_tensor *t = &p->tensors[tensor];
    uint32_t begin = p->n_dims;

    if (t->rank > 0 && t->dims + t->rank != p->n_dims) {
        for (uint32_t k = 0; k < t->rank; k++) {
            uint32_t i = ONNX_ADD(p, dims);

            if (i == ONNX_NONE)
                return;
            p->dims[i] = p->dims[t->dims + k];
        }
        t->dims = begin;
    } else if (t->rank == 0) {
        t->dims = begin;
    }
    onnx_parse_dims(p, in, field);
    t->rank = p->n_dims - t->dims;
}

/* An offset or length of external data: decimal text. */
static int64_t decimal(struct onnx_parsed *p, const struct wire_field *field)
{
    int64_t value;

    if (!str_to_i64(onnx_text(p, onnx_string(p, field)), &value) || value < 0)
        return -2;
    return value;
}

static void add_external(struct onnx_parsed *p, struct onnx_tensor *t, struct wire in)
{
    struct wire_field value;
    struct str name;
    uint32_t key;

    onnx_parse_pair(p, in, &key, &value);
    name = onnx_text(p, key);
    if (str_is(name, "location"))
        t->location = onnx_string(p, &value);
    else if (str_is(name, "offset"))
        t->offset = decimal(p, &value);
    else if (str_is(name, "length"))
        t->length = decimal(p, &value);
}

/* Typed fields: their numbers are read when the tensor is made. */
static void add_numbers(struct onnx_tensor *t, const struct wire_field *field)
{
    bool fixed = field->number == 4 || field->number == 10;

    if (field->type != WIRE_LEN) {
        t->n_single++;
        return;
    }
    t->n_packed++;
    if (!fixed)
        t->n_single++; /* not one range of bytes */
    t->packed_at = field->at;
    t->packed_size = field->value;
}

static void tensor_field(struct onnx_parsed *p, uint32_t tensor, const struct wire *in,
                         const struct wire_field *field)
{
    struct onnx_tensor *t = &p->tensors[tensor];

    switch (field->number) {
    case 1:
        add_dims(p, tensor, in, field);
        break;
    case 2:
        if (field->type == WIRE_VARINT)
            t->type = field->value <= INT32_MAX ? (int32_t)field->value : -1;
        break;
    case 4:
    case 5:
    case 6:
    case 7:
    case 10:
    case 11:
        add_numbers(t, field);
        break;
    case 8:
        t->name = onnx_string(p, field);
        break;
    case 9:
        if (field->type != WIRE_LEN)
            break;
        t->raw = true;
        t->raw_at = field->at;
        t->raw_size = field->value;
        break;
    case 13:
        if (field->type == WIRE_LEN)
            add_external(p, t, wire_inside(in, field));
        break;
    case 14:
        t->external = field->type == WIRE_VARINT && field->value == 1;
        break;
    default:
        break;
    }
}

static uint32_t new_tensor(struct onnx_parsed *p)
{
    uint32_t i = ONNX_ADD(p, tensors);

    if (i == ONNX_NONE)
        return i;
    p->tensors[i].next = p->tensors[i].graph = p->tensors[i].node = ONNX_NONE;
    p->tensors[i].values = p->tensors[i].indices = ONNX_NONE;
    p->tensors[i].tensor = NO_OBJECT;
    p->tensors[i].place = p->tensors[i].scope = NO_PLACE;
    p->tensors[i].offset = p->tensors[i].length = -1;
    return i;
}

uint32_t onnx_parse_tensor(struct onnx_parsed *p, uint32_t tensor, struct wire in)
{
    bool merged = tensor != ONNX_NONE;
    uint32_t i = merged ? tensor : new_tensor(p);
    struct wire_field field;

    if (i == ONNX_NONE)
        return i;
    /* A third message would not be kept: its numbers are then refused by their count. */
    p->tensors[i].at[merged] = in.at;
    p->tensors[i].size[merged] = in.end - in.at;
    while (!p->spent && wire_next(&in, &field))
        tensor_field(p, i, &in, &field);
    return i;
}

/* Values, indices and dims; the name is that of the values. */
uint32_t onnx_parse_sparse(struct onnx_parsed *p, struct wire in)
{
    uint32_t i = new_tensor(p), begin = p->n_dims, values, n = 0;
    struct wire_field field;

    if (i == ONNX_NONE)
        return i;
    p->tensors[i].sparse = true;
    values = ONNX_NONE;
    while (!p->spent && wire_next(&in, &field)) {
        uint32_t inner;

        if (field.number == 3) {
            begin = n == 0 ? p->n_dims : begin;
            onnx_parse_dims(p, &in, &field);
            n = p->n_dims - begin;
        }
        if (field.type != WIRE_LEN || field.number > 2)
            continue;
        inner = onnx_parse_tensor(p, ONNX_NONE, wire_inside(&in, &field));
        if (inner != ONNX_NONE && field.number == 1)
            values = inner;
        else if (inner != ONNX_NONE)
            p->tensors[i].indices = inner;
    }
    p->tensors[i].dims = begin;
    p->tensors[i].rank = n;
    if (values != ONNX_NONE) {
        p->tensors[i].name = p->tensors[values].name;
        p->tensors[i].type = p->tensors[values].type;
    }
    p->tensors[i].values = values;
    return i;
}

/* ---- types ---- */

/* A dimension: a size, or a name. */
static void parse_dim(struct onnx_parsed *p, struct wire in, int64_t *ret_size,
                      uint32_t *ret_name)
{
    struct wire_field field;

    *ret_size = ONNX_ANY;
    *ret_name = 0;
    while (wire_next(&in, &field)) { /* the last one counts */
        if (field.number == 1 && field.type == WIRE_VARINT) {
            *ret_size = wire_signed(field.value);
            *ret_name = 0;
        } else if (field.number == 2 && field.type == WIRE_LEN) {
            *ret_size = ONNX_ANY;
            *ret_name = onnx_string(p, &field);
        }
    }
    if (*ret_size < 0)
        *ret_size = ONNX_ANY;
}

static void parse_shape(struct onnx_parsed *p, struct onnx_type *type, struct wire in)
{
    struct wire_field field;

    type->rank = 0;
    type->dims = p->n_dims;
    type->dim_names = p->n_items;
    while (!p->spent && wire_next(&in, &field)) {
        uint32_t dim, item, name;
        int64_t size;

        if (field.number != 1 || field.type != WIRE_LEN)
            continue;
        parse_dim(p, wire_inside(&in, &field), &size, &name);
        dim = ONNX_ADD(p, dims);
        item = ONNX_ADD(p, items);
        if (dim == ONNX_NONE || item == ONNX_NONE)
            return;
        p->dims[dim] = size;
        p->items[item] = name;
        type->rank++;
    }
}

/* TypeProto.Tensor: elements and shape. */
static void parse_elements(struct onnx_parsed *p, struct onnx_type *type,
                           struct wire in)
{
    struct wire_field field;

    while (!p->spent && wire_next(&in, &field)) {
        if (field.number == 1 && field.type == WIRE_VARINT)
            type->type = field.value <= INT32_MAX ? (int32_t)field.value : 0;
        else if (field.number == 2 && field.type == WIRE_LEN)
            parse_shape(p, type, wire_inside(&in, &field));
    }
}

/* The field of a message that holds its type: 1 of a sequence and an optional, 2 of a
 * map. False: it has none. */
static bool enter_type(struct wire *in, uint32_t number)
{
    struct wire_field field, found = {0};

    while (wire_next(in, &field))
        if (field.number == number && field.type == WIRE_LEN)
            found = field;
    *in = wire_of(in->window, found.at, found.value);
    return found.number != 0;
}

/* Sequences, optionals and maps around a tensor become a prefix of words. */
static void parse_type(struct onnx_parsed *p, struct onnx_type *type, struct wire in)
{
    struct buf prefix = BUF_INIT;

    for (int depth = 0; depth < TYPE_DEPTH; depth++) {
        struct wire_field field, found = {0};
        bool goes_on;

        while (wire_next(&in, &field))
            if (field.type == WIRE_LEN && field.number != 6)
                found = field; /* one of them: the last one counts */
        in = wire_of(in.window, found.at, found.value);
        if (found.number == 1 || found.number == 8) {
            buf_text(&prefix, found.number == 8 ? "sparse " : "");
            parse_elements(p, type, in);
            break;
        }
        buf_text(&prefix, found.number == 4   ? "sequence of "
                          : found.number == 5 ? "map to "
                          : found.number == 9 ? "optional "
                                              : "opaque ");
        goes_on = (found.number == 4 || found.number == 5 || found.number == 9) &&
                  enter_type(&in, found.number == 5 ? 2 : 1);
        if (!goes_on)
            break;
    }
    if (prefix.len > 0) {
        type->prefix = build_string(p->build, buf_span(&prefix));
        if (type->prefix == INTERN_NONE)
            type->prefix = 0;
    }
    buf_release(&prefix);
}

uint32_t onnx_parse_type(struct onnx_parsed *p, struct wire in)
{
    struct onnx_type type = {.next = ONNX_NONE, .rank = -1};
    uint32_t i = ONNX_ADD(p, types);
    struct wire_field field;

    if (i == ONNX_NONE)
        return i;
    while (!p->spent && wire_next(&in, &field)) {
        if (field.number == 1)
            type.name = onnx_string(p, &field);
        else if (field.number == 2 && field.type == WIRE_LEN)
            parse_type(p, &type, wire_inside(&in, &field));
    }
    p->types[i] = type;
    return i;
}
