/* Maps values of a plan to values of the program: tensors to their last writer, numbers
 * to constants. */
#include "base/base.h"
#include "read/flat/executorch_in.h"

#define TEXT_MOST  1000
#define ITEMS_MOST 1000 /* of a list of numbers */

struct executorch_value *executorch_value(struct executorch *self, int64_t index)
{
    return index >= 0 && index < self->n_values ? &self->values[index] : NULL;
}

/* ---- tensors ---- */

/* Sets the shape unless it is dynamic: then the file has only upper bounds. */
static void set_shape(struct executorch *self, struct flat_table table,
                      struct program_value *value)
{
    struct flat *flat = &self->flat;
    struct flat_vector sizes = flat_vector(flat, table, 2, 4);
    int64_t dims[EXECUTORCH_RANK];
    bool fixed = flat_int(flat, table, 8, 1, 0) == 0;

    if (sizes.n > EXECUTORCH_RANK || !fixed)
        return;
    for (uint32_t i = 0; i < sizes.n; i++) {
        dims[i] = (int32_t)flat_number(flat, sizes.at + 4 * (uint64_t)i, 4);
        if (dims[i] < 0)
            return;
    }
    value->shape = build_dims(self->build, dims, (int)sizes.n);
    value->rank = value->shape == PROGRAM_NONE ? 0 : (uint8_t)sizes.n;
    self->build->program->shapes = true;
}

uint32_t executorch_new_value(struct executorch *self, uint32_t index,
                              enum program_value_kind kind)
{
    const struct executorch_value *of = &self->values[index];
    struct program_value value = build_program_blank(kind);

    if (build_program_full(self->build))
        return PROGRAM_NONE;
    if (of->kind == EXECUTORCH_TENSOR) {
        value.dtype =
            (uint8_t)executorch_dtype(flat_int(&self->flat, of->table, 0, 1, 0));
        set_shape(self, of->table, &value);
    } else if (kind == PROGRAM_INPUT) {
        value.number = true;
    }
    if (kind == PROGRAM_TENSOR) {
        value.tensor = of->tensor;
        value.place = of->node;
    }
    return build_program_value(self->build, &value);
}

/* A key for the planned memory of a tensor; 0: none. */
static uint64_t memory_of(struct executorch *self, uint32_t index)
{
    struct flat *flat = &self->flat;
    struct flat_table where;

    if (self->values[index].kind != EXECUTORCH_TENSOR)
        return 0;
    where = flat_table(flat, self->values[index].table, 6);
    if (where.at == 0)
        return 0;
    return hash_mix(hash_mix(hash_u64((uint64_t)flat_int(flat, where, 0, 4, 0)),
                             (uint64_t)flat_int(flat, where, 1, 4, 0)),
                    (uint64_t)flat_int(flat, where, 2, 4, 0)) |
           1;
}

uint32_t executorch_now(struct executorch *self, struct map *memory, uint32_t index)
{
    struct executorch_value *of = &self->values[index];
    uint64_t where;
    uint32_t last;

    if (of->value != PROGRAM_NONE)
        return of->value;
    if (of->tensor != NO_OBJECT) {
        of->value = executorch_new_value(self, index, PROGRAM_TENSOR);
        return of->value;
    }
    where = of->written ? 0 : memory_of(self, index);
    if (where != 0 && map_find(memory, where, &last))
        return last;
    of->value = executorch_new_value(self, index, PROGRAM_OPAQUE);
    return of->value;
}

int executorch_set(struct executorch *self, struct map *memory, uint32_t index,
                   uint32_t value)
{
    uint64_t where = memory_of(self, index);

    self->values[index].value = value;
    return where != 0 && value != PROGRAM_NONE ? map_put(memory, where, value) : 0;
}

/* ---- numbers ---- */

static double real_at(struct flat *flat, uint64_t at)
{
    return at ? flat_double(flat_number(flat, at, 8)) : 0;
}

static uint32_t item_of(struct executorch *self, uint8_t kind, uint64_t at)
{
    struct values *values = build_values(self->build);
    const struct executorch_value *item;

    if (kind == EXECUTORCH_BOOLS)
        return value_bool(values, flat_number(&self->flat, at, 1) != 0);
    if (kind == EXECUTORCH_DOUBLES)
        return value_real(values, real_at(&self->flat, at));
    item = executorch_value(self, (int64_t)flat_number(&self->flat, at, 8));
    if (!item || item->kind != EXECUTORCH_INT || item->written)
        return value_make(values, VALUE_GLOBAL, STR("?"), NULL, 0);
    return value_int(values, flat_int(&self->flat, item->table, 0, 8, 0));
}

static uint32_t list_of(struct executorch *self, const struct executorch_value *of)
{
    struct values *values = build_values(self->build);
    unsigned size = of->kind == EXECUTORCH_BOOLS ? 1 : 8;
    struct flat_vector list = flat_vector(&self->flat, of->table, 0, size);
    uint32_t items[ITEMS_MOST + 1], n = 0;

    for (; n < list.n && n < ITEMS_MOST; n++)
        items[n] = item_of(self, of->kind, list.at + size * (uint64_t)n);
    if (n < list.n)
        items[n++] = value_make(values, VALUE_CUT, STR("too long"), NULL, 0);
    return value_make(values, VALUE_LIST, STR(""), items, n);
}

uint32_t executorch_plain(struct executorch *self, uint32_t index)
{
    struct values *values = build_values(self->build);
    const struct executorch_value *of = &self->values[index];
    struct flat *flat = &self->flat;

    if (of->written)
        return VALUE_ID_NONE;
    switch (of->kind) {
    case EXECUTORCH_INT:
        return value_int(values, flat_int(flat, of->table, 0, 8, 0));
    case EXECUTORCH_BOOL:
        return value_bool(values, flat_int(flat, of->table, 0, 1, 0) != 0);
    case EXECUTORCH_DOUBLE:
        return value_real(values, real_at(flat, flat_field(flat, of->table, 0)));
    case EXECUTORCH_STRING:
        return value_str(
            values, flat_text(flat, of->table, 0, TEXT_MOST, &self->build->scratch));
    case EXECUTORCH_INTS:
    case EXECUTORCH_DOUBLES:
    case EXECUTORCH_BOOLS:
        return list_of(self, of);
    default:
        return VALUE_ID_NONE;
    }
}
