#include <stdio.h>

#include "base/base.h"
#include "read/hdf5/hdf5_parts_in.h"

#define ELEMENTS_SHOWN 100 /* of an array */
#define TEXT_MOST      (16 * MIB)

/* ---- elements as values ---- */

static struct str text_of(const struct hdf5_type *type, struct str bytes)
{
    ptrdiff_t zero = str_find_char(bytes, 0);

    if (zero >= 0)
        bytes = str_head(bytes, (size_t)zero);
    while (type->spaces && bytes.len > 0 && bytes.at[bytes.len - 1] == ' ')
        bytes.len--;
    return bytes;
}

/* A text in the global heap: length, address of its collection, index. */
static uint32_t variable_text(struct hdf5 *file, struct str bytes)
{
    struct values *values = build_values(file->build);
    struct bytes in = bytes_of(bytes.at, bytes.len);
    uint64_t n = bytes_u32(&in), at = hdf5_offset(file, &in);
    uint32_t index = bytes_u32(&in);
    struct err why = {0};
    struct str text;

    if (in.bad || n == 0 || at == 0 || at == HDF5_NOWHERE)
        return value_str(values, STR(""));
    if (hdf5_global_get(file, at, index, &text, &why) < 0) {
        build_finding(file->build, FINDING_DAMAGED, SEVERITY_ALARM, FINDING_NOWHERE,
                      "a text cannot be read: %s", err_reason(&why));
        return VALUE_ID_NONE;
    }
    text = str_head(text, n < TEXT_MOST ? (size_t)n : TEXT_MOST);
    return value_str(values, text);
}

static uint64_t whole_number(const struct hdf5_type *type, struct str bytes)
{
    uint64_t value = 0;

    for (size_t i = 0; i < bytes.len && i < 8; i++) {
        size_t at = type->big_endian ? bytes.len - 1 - i : i;

        value |= (uint64_t)(uint8_t)bytes.at[at] << 8 * i;
    }
    return value;
}

static uint32_t number(struct values *values, const struct hdf5_type *type,
                       struct str bytes)
{
    uint64_t bits = whole_number(type, bytes);
    unsigned unused = 64 - 8 * (unsigned)type->size;
    float single;
    double real;
    uint32_t low = (uint32_t)bits;
    char text[24];

    switch (dtype_info((enum dtype)type->dtype)->kind) {
    case DTYPE_KIND_BOOL:
        return value_bool(values, bits != 0);
    case DTYPE_KIND_INT:
        return value_int(values, (int64_t)(bits << unused) >> unused);
    case DTYPE_KIND_UINT:
        if (bits <= INT64_MAX)
            return value_int(values, (int64_t)bits);
        snprintf(text, sizeof text, "%llu", (unsigned long long)bits);
        return value_make(values, VALUE_BIGINT, str_of(text), NULL, 0);
    case DTYPE_KIND_FLOAT:
        if (type->dtype == DTYPE_FLOAT32) {
            memcpy(&single, &low, sizeof single);
            return value_real(values, single);
        }
        if (type->dtype != DTYPE_FLOAT64)
            break;
        memcpy(&real, &bits, sizeof real);
        return value_real(values, real);
    default:
        break;
    }
    return value_bytes(values, bytes, bytes.len);
}

static uint32_t element(struct hdf5 *file, const struct hdf5_type *type,
                        struct str bytes)
{
    struct values *values = build_values(file->build);

    if (type->class == CLASS_TEXT)
        return value_str(values, text_of(type, bytes));
    if (type->class == CLASS_VARIABLE && type->text)
        return variable_text(file, bytes);
    if (type->dtype != DTYPE_UNKNOWN)
        return number(values, type, bytes);
    return value_bytes(values, str_head(bytes, 64), bytes.len);
}

uint32_t hdf5_elements(struct hdf5 *file, const struct hdf5_type *type,
                       const struct hdf5_space *space, struct str bytes)
{
    struct values *values = build_values(file->build);
    uint64_t have = type->size > 0 ? bytes.len / type->size : 0;
    uint64_t n = space->n < have ? space->n : have;
    uint32_t *items, cut;

    if (space->rank == 0)
        return n > 0 ? element(file, type, str_head(bytes, type->size)) : VALUE_ID_NONE;
    /* Names of layers and weights are read whole. */
    if (n > ELEMENTS_SHOWN && type->class != CLASS_TEXT &&
        type->class != CLASS_VARIABLE)
        n = ELEMENTS_SHOWN;
    items = arena_array(&file->build->scratch, (size_t)n + 1, sizeof *items);
    if (!items)
        return VALUE_ID_FAILED;
    for (uint64_t i = 0; i < n; i++)
        items[i] = element(
            file, type, str_head(str_from(bytes, (size_t)i * type->size), type->size));
    cut = n < space->n ? 1 : 0;
    if (cut)
        items[n] = value_make(values, VALUE_CUT, STR("too long"), NULL, 0);
    return value_make(values, VALUE_LIST, STR(""), items, (uint32_t)n + cut);
}

/* ---- attributes ---- */

struct attributes {
    struct hdf5 *file;
    uint32_t item;
    struct hdf5_fractal heap;
    uint32_t *values; /* key, value, key, value, ... */
    uint32_t n, room;
};

static int push(struct attributes *self, uint32_t value, struct err *err)
{
    struct arena *arena = &self->file->build->scratch;

    if (value == VALUE_ID_FAILED ||
        arena_room(arena, &self->values, self->n, &self->room, sizeof value) < 0)
        return arena_err(arena, self->file->path, err);
    self->values[self->n++] = value;
    return 0;
}

/* The sizes of the three parts of an attribute; version 1 pads each to eight bytes. */
static struct str take_part(struct bytes *in, uint16_t size, bool padded)
{
    struct str part = bytes_take(in, size);

    if (padded && size % 8 != 0)
        bytes_skip(in, 8 - size % 8);
    return part;
}

/* Version, flags, sizes of name, type and shape, these three, and the elements. */
static int parse(struct attributes *self, struct str message, struct err *err)
{
    struct hdf5 *file = self->file;
    struct bytes in = bytes_of(message.at, message.len);
    uint8_t version = bytes_u8(&in), flags = bytes_u8(&in);
    uint16_t name_size = bytes_u16(&in), type_size = bytes_u16(&in);
    uint16_t space_size = bytes_u16(&in);
    struct str name, type_bytes, space_bytes;
    struct hdf5_type type;
    struct hdf5_space space;

    if (version == 3)
        bytes_skip(&in, 1);
    name = take_part(&in, name_size, version == 1);
    type_bytes = take_part(&in, type_size, version == 1);
    space_bytes = take_part(&in, space_size, version == 1);
    if (in.bad || version < 1 || version > 3)
        return err_set_about(err, ERR_FORMAT, file->path, ": a damaged attribute");
    if (hdf5_type(file, type_bytes, version > 1 && (flags & 1), &type, err) < 0 ||
        hdf5_space(file, space_bytes, &space, err) < 0 ||
        push(self,
             value_str(build_values(file->build),
                       str_head(name, name.len > 0 ? name.len - 1 : 0)),
             err) < 0)
        return -1;
    return push(self,
                hdf5_elements(file, &type, &space, bytes_take(&in, bytes_left(&in))),
                err);
}

/* One bad attribute does not hide the others. */
static int take(struct attributes *self, struct str message, struct err *err)
{
    struct err why = {0};
    uint32_t before = self->n;

    if (parse(self, message, &why) == 0)
        return 0;
    self->n = before;
    return hdf5_note(self->file, self->item, FINDING_NOWHERE, &why, err);
}

/* A record of the B-tree of names begins with the id. */
static int read_dense(void *user, struct bytes record, uint64_t child, struct err *err)
{
    struct attributes *self = user;
    struct str message;

    (void)child;
    if (hdf5_fractal_get(self->file, &self->heap,
                         bytes_take(&record, self->heap.id_size), &message, err) < 0)
        return -1;
    return take(self, message, err);
}

/* Version, flags, [largest order], heap, B-tree of names. */
static int read_info(struct attributes *self, struct str message, struct err *err)
{
    struct hdf5 *file = self->file;
    struct bytes in = bytes_of(message.at, message.len);
    uint64_t heap, tree;

    bytes_u8(&in);
    if (bytes_u8(&in) & 1)
        bytes_skip(&in, 2);
    heap = hdf5_offset(file, &in);
    tree = hdf5_offset(file, &in);
    if (in.bad || heap == HDF5_NOWHERE)
        return 0;
    if (hdf5_fractal_open(file, heap, &self->heap, err) < 0)
        return -1;
    return hdf5_btree2(file, tree, NULL, NULL, read_dense, self, err);
}

int hdf5_attributes(struct hdf5 *file, uint32_t item, uint32_t *ret_value,
                    struct err *err)
{
    struct attributes self = {.file = file, .item = item};
    struct hdf5_object object;
    struct err why = {0};

    *ret_value = VALUE_ID_NONE;
    if (file->items[item].kind == HDF5_BAD || file->items[item].kind == HDF5_LINK)
        return 0;
    if (hdf5_object(file, file->items[item].at, &object, &why) < 0)
        return hdf5_note(file, item, FINDING_NOWHERE, &why, err);
    for (uint32_t i = 0; i < object.n; i++) {
        const struct hdf5_message *message = &object.messages[i];
        int status = 0;

        if (message->type == MESSAGE_ATTRIBUTE && !(message->flags & MESSAGE_SHARED))
            status = take(&self, message->data, err);
        else if (message->type == MESSAGE_ATTRIBUTE_INFO &&
                 read_info(&self, message->data, &why) < 0)
            status = hdf5_note(file, item, FINDING_NOWHERE, &why, err);
        if (status < 0)
            return -1;
    }
    if (self.n == 0)
        return 0;
    *ret_value =
        value_make(build_values(file->build), VALUE_DICT, STR(""), self.values, self.n);
    return *ret_value == VALUE_ID_FAILED
               ? arena_err(&file->build->model->arena, file->path, err)
               : 0;
}
