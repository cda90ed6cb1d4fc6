/* Writes the operations of a run. */
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "run/file_in.h"
#include "run/op_table.h"

/* ---- shapes ---- */

uint32_t shapes_add(struct shapes *shapes, const int64_t *sizes, int rank)
{
    char text[SCOPE_RANK * 21 + 1] = "";
    size_t len = 0;
    struct str copy;
    uint64_t hash;
    uint32_t id;

    for (int i = 0; i < rank && i < SCOPE_RANK; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, i ? ",%lld" : "%lld",
                                (long long)sizes[i]);
    hash = str_hash(str_span(text, len));
    for (; map_find(&shapes->by_hash, hash, &id); hash++)
        if (str_eq(shapes->texts[id], str_span(text, len)))
            return id;
    copy = arena_str(&shapes->arena, str_span(text, len));
    if (!copy.at ||
        arena_room(&shapes->arena, &shapes->texts, shapes->n, &shapes->room,
                   sizeof *shapes->texts) < 0 ||
        map_put(&shapes->by_hash, hash, shapes->n) < 0) {
        shapes->bad = true;
        return UINT32_MAX;
    }
    shapes->texts[shapes->n] = copy;
    return shapes->n++;
}

/* ---- rows ---- */

struct ops_write {
    const struct run *run;
    const struct run_ops *ops;
    struct shapes *shapes;
    uint32_t owner; /* of the previous row, for rows owned by rows of another table:
                       rows are requested in order */
};

#define GET(name, from)                                                                \
    static void get_##name(void *user, uint32_t i, void *row)                          \
    {                                                                                  \
        const struct ops_write *w = user;                                              \
                                                                                       \
        memcpy(row, &(from)[i], sizeof *(from));                                       \
    }
GET(storage, w->ops->storages)
GET(value, w->ops->values)
GET(op, w->ops->ops)
GET(total, w->ops->totals)

static void get_kind(void *user, uint32_t i, void *row)
{
    const struct ops_write *w = user;
    struct op_kind_row *to = row;

    to->kind = w->ops->kinds[i];
    to->family = str_of(op_family_name(to->kind.family));
}

static void get_type(void *user, uint32_t i, void *row)
{
    const struct ops_write *w = user;
    const struct run_op_type *type = &w->ops->types[i];
    const int64_t *dims = w->run->dims;
    struct op_type_row *to = row;

    to->type = *type;
    to->shape = shapes_add(w->shapes, dims + type->shape, type->rank);
    to->strides = UINT32_MAX;
    if (type->strides != RUN_NONE)
        to->strides = shapes_add(w->shapes, dims + type->strides, type->rank);
}

static void get_arg(void *user, uint32_t i, void *row)
{
    struct ops_write *w = user;
    const struct run_op_kind *kinds = w->ops->kinds;

    if (i == 0)
        w->owner = 0;
    while (w->owner + 1 < w->ops->n_kinds &&
           i >= kinds[w->owner].args + kinds[w->owner].n_args)
        w->owner++;
    *(struct op_arg_row *)row = (struct op_arg_row){w->owner, w->ops->args[i]};
}

static void get_source(void *user, uint32_t i, void *row)
{
    struct ops_write *w = user;
    const struct run_op_value *values = w->ops->values;

    if (i == 0)
        w->owner = 0;
    while (w->owner + 1 < w->ops->n_values &&
           i >= values[w->owner].sources + values[w->owner].n_sources)
        w->owner++;
    *(struct op_source_row *)row = (struct op_source_row){w->owner, w->ops->sources[i]};
}

static void get_io(void *user, uint32_t i, void *row)
{
    struct ops_write *w = user;
    const struct run_op *ops = w->ops->ops;
    struct op_io_row *to = row;

    if (i == 0)
        w->owner = 0;
    while (w->owner + 1 < w->ops->n_ops && i >= ops[w->owner].ios + ops[w->owner].n_ios)
        w->owner++;
    to->io = w->ops->ios[i];
    to->op = w->owner;
    to->item = to->io.item == OP_NO_ITEM ? UINT32_MAX : to->io.item;
}

/* ---- tables ---- */

int scope_write_ops(sqlite3 *db, const struct run *run, struct shapes *shapes,
                    struct work *work, struct err *err)
{
    const struct run_ops *ops = run->ops;
    struct ops_write w = {.run = run, .ops = ops, .shapes = shapes};
    const struct {
        enum scope_table table;
        uint32_t n;
        get_row *get;
    } tables[] = {
        {TABLE_OP_KIND, ops->n_kinds, get_kind},
        {TABLE_OP_ARG, ops->n_args, get_arg},
        {TABLE_OP_TYPE, ops->n_types, get_type},
        {TABLE_OP_STORAGE, ops->n_storages, get_storage},
        {TABLE_OP_VALUE, ops->n_values, get_value},
        {TABLE_OP_SOURCE, ops->n_sources, get_source},
        {TABLE_OP, ops->n_ops, get_op},
        {TABLE_OP_IO, ops->n_ios, get_io},
        {TABLE_OP_TOTAL, ops->n_totals, get_total},
    };

    for (size_t i = 0; i < COUNT_OF(tables); i++)
        if (table_write(db, tables[i].table, tables[i].n, tables[i].get, &w, work,
                        err) < 0)
            return -1;
    return 0;
}
