/* TensorProto, SparseTensorProto, ValueInfoProto and TypeProto. */
#include <string.h>

#include "base/base.h"
#include "read/onnx/parsed_in.h"

#define TYPE_DEPTH 8 /* of sequences, maps and optionals */

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

/* The sizes of a tensor are adjacent, so those of a merged tensor are moved to the end
 * before more are added. */
static void add_dims(struct onnx_parsed *p, struct onnx_tensor *t,
                     const struct wire *in, const struct wire_field *field)
{
    uint32_t begin = p->n_dims, n;

    if (t->rank > ONNX_RANK)
        return;
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
    n = p->n_dims - t->dims;
    t->rank = (uint8_t)(n > ONNX_RANK ? ONNX_RANK + 1 : n);
}

/* An offset or length of external data: decimal text. */
static int64_t decimal(struct onnx_parsed *p, const struct wire_field *field)
{
    int64_t value;

    if (!str_to_i64(onnx_text(p, onnx_string(p, field)), &value) || value < 0)
        return -2;
    return value;
}

static void add_external(struct onnx_parsed *p, struct onnx_external *external,
                         struct wire in)
{
    struct wire_field value;
    struct str name;
    uint32_t key;

    onnx_parse_pair(p, in, &key, &value);
    name = onnx_text(p, key);
    if (str_is(name, "location"))
        external->location = onnx_string(p, &value);
    else if (str_is(name, "offset"))
        external->offset = decimal(p, &value);
    else if (str_is(name, "length"))
        external->length = decimal(p, &value);
}

/* The content of one message, before it becomes a tensor. */
struct tensor_message {
    struct onnx_tensor tensor;
    struct wire_field raw, packed; /* the last ones; number 0: none */
    uint32_t n_packed, n_other;    /* typed fields: of floats, packed; all others */
    bool external;
    struct onnx_external place;
};

/* Counts a typed field. Its numbers are read when the tensor is made. */
static void add_numbers(struct tensor_message *m, const struct wire_field *field)
{
    bool floats = field->number == 4 || field->number == 10;

    if (field->type == WIRE_LEN && floats) {
        m->n_packed++;
        m->packed = *field;
    } else {
        m->n_other++;
    }
}

static void tensor_field(struct onnx_parsed *p, struct tensor_message *m,
                         const struct wire *in, const struct wire_field *field)
{
    switch (field->number) {
    case 1:
        add_dims(p, &m->tensor, in, field);
        break;
    case 2:
        if (field->type == WIRE_VARINT)
            m->tensor.type = field->value <= INT32_MAX ? (int32_t)field->value : -1;
        break;
    case 4:
    case 5:
    case 6:
    case 7:
    case 10:
    case 11:
        add_numbers(m, field);
        break;
    case 8:
        m->tensor.name = onnx_string(p, field);
        break;
    case 9:
        if (field->type == WIRE_LEN)
            m->raw = *field;
        break;
    case 13:
        if (field->type == WIRE_LEN)
            add_external(p, &m->place, wire_inside(in, field));
        break;
    case 14:
        m->external = field->type == WIRE_VARINT && field->value == 1;
        break;
    default:
        break;
    }
}

/* The field of a type whose packed numbers are its bytes in order; 0: none. */
static uint32_t field_of_floats(int32_t type)
{
    enum { FLOAT = 1, DOUBLE = 11, COMPLEX64 = 14, COMPLEX128 = 15 };

    return type == FLOAT || type == COMPLEX64     ? 4
           : type == DOUBLE || type == COMPLEX128 ? 10
                                                  : 0;
}

static void set_external(struct onnx_parsed *p, struct tensor_message *m)
{
    struct onnx_tensor *t = &m->tensor;
    uint32_t i = t->data == ONNX_DATA_EXTERNAL ? t->external : ONNX_ADD(p, externals);

    if (i == ONNX_NONE)
        return;
    p->externals[i] = m->place;
    t->data = ONNX_DATA_EXTERNAL;
    t->external = i;
}

static void set_range(struct onnx_tensor *t, enum onnx_data data, uint64_t at,
                      uint64_t size)
{
    t->data = (uint8_t)data;
    t->at = at;
    t->size = size;
}

/* Sets where the numbers are: in another file, else in raw_data, else in fields. */
static void set_data(struct onnx_parsed *p, struct tensor_message *m, struct wire in)
{
    struct onnx_tensor *t = &m->tensor;
    uint64_t size = in.end - in.at;

    if (m->external) {
        set_external(p, m);
        return;
    }
    if (t->data == ONNX_DATA_EXTERNAL)
        t->data = ONNX_DATA_NONE;
    if (m->raw.number != 0)
        set_range(t, ONNX_DATA_RAW, m->raw.at, m->raw.value);
    else if (t->data == ONNX_DATA_RAW || m->n_packed + m->n_other == 0)
        return;
    else if (t->data != ONNX_DATA_NONE)
        set_range(t, ONNX_DATA_MERGED, in.at, size);
    else if (m->n_packed == 1 && m->n_other == 0 &&
             m->packed.number == field_of_floats(t->type))
        set_range(t, ONNX_DATA_PACKED, m->packed.at, m->packed.value);
    else
        set_range(t, ONNX_DATA_TYPED, in.at, size);
}

static uint32_t new_tensor(struct onnx_parsed *p)
{
    uint32_t i = ONNX_ADD(p, tensors);

    if (i == ONNX_NONE)
        return i;
    p->tensors[i].owner = ONNX_NONE;
    p->tensors[i].tensor = NO_OBJECT;
    p->tensors[i].place = p->tensors[i].scope = NO_PLACE;
    return i;
}

uint32_t onnx_parse_tensor(struct onnx_parsed *p, uint32_t tensor, struct wire in)
{
    uint32_t i = tensor != ONNX_NONE ? tensor : new_tensor(p);
    struct tensor_message m = {.place = {.offset = -1, .length = -1}};
    struct wire rest = in;
    struct wire_field field;

    if (i == ONNX_NONE)
        return i;
    m.tensor = p->tensors[i];
    if (m.tensor.data == ONNX_DATA_SPARSE)
        return i; /* another kind of message: not merged */
    m.external = m.tensor.data == ONNX_DATA_EXTERNAL;
    if (m.external)
        m.place = p->externals[m.tensor.external];
    while (!p->spent && wire_next(&rest, &field))
        tensor_field(p, &m, &rest, &field);
    set_data(p, &m, in);
    p->tensors[i] = m.tensor;
    return i;
}

void onnx_tensor_merged(struct onnx_parsed *p, uint32_t tensor, uint64_t at,
                        uint64_t size)
{
    struct onnx_tensor *t = &p->tensors[tensor];

    if (t->data != ONNX_DATA_MERGED)
        return;
    t->at = at;
    t->size = size;
}

/* A sparse tensor has the name and type of its values. */
uint32_t onnx_parse_sparse(struct onnx_parsed *p, struct wire in)
{
    uint32_t i = new_tensor(p), begin = p->n_dims, values, indices, n = 0;
    struct wire_field field;

    if (i == ONNX_NONE)
        return i;
    values = indices = ONNX_NONE;
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
            indices = inner;
    }
    p->tensors[i].data = ONNX_DATA_SPARSE;
    p->tensors[i].dims = begin;
    p->tensors[i].rank = (uint8_t)(n > ONNX_RANK ? ONNX_RANK + 1 : n);
    if (values != ONNX_NONE) {
        p->tensors[i].name = p->tensors[values].name;
        p->tensors[i].type = p->tensors[values].type;
    }
    p->tensors[i].values = values;
    p->tensors[i].indices = indices;
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
    while (wire_next(&in, &field)) { /* the last one wins */
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

/* Enters the field with the element type: 1 of a sequence or optional, 2 of a map.
 * False: it is absent. */
static bool enter_type(struct wire *in, uint32_t number)
{
    struct wire_field field, found = {0};

    while (wire_next(in, &field))
        if (field.number == number && field.type == WIRE_LEN)
            found = field;
    *in = wire_of(in->window, found.at, found.value);
    return found.number != 0;
}

/* The type of the keys of a map. */
static const char *key_name(struct wire in)
{
    const char *name = NULL;
    struct wire_field field;

    while (wire_next(&in, &field))
        if (field.number == 1 && field.type == WIRE_VARINT)
            name =
                field.value <= INT32_MAX ? onnx_type_name((int32_t)field.value) : NULL;
    return name ? name : "unknown keys";
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
                found = field; /* a oneof: the last one wins */
        in = wire_of(in.window, found.at, found.value);
        if (found.number == 1 || found.number == 8) {
            buf_text(&prefix, found.number == 8 ? "sparse " : "");
            parse_elements(p, type, in);
            break;
        }
        if (found.number == 5)
            buf_printf(&prefix, "map of %s to ", key_name(in));
        else
            buf_text(&prefix, found.number == 4   ? "sequence of "
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
