/* Reads the operations of a recording, checking every number. They are read as a whole
 * or not at all: operations with missing edges would show a wrong data flow. */
#include <string.h>

#include "run/file_in.h"
#include "run/op_table.h"

/* Is it the index of an operation in the file, or none? */
static bool is_op(const struct scope_read *read, uint32_t op)
{
    return op == RUN_NONE || op < read->rows[TABLE_OP];
}

static bool is_device(const struct scope_read *read, uint16_t device)
{
    return device == 0 || device < read->run->n_devices;
}

/* ---- rows ---- */

static uint8_t family_of(const struct scope_read *read, const struct op_kind_row *row)
{
    for (int i = 0; i < OP_FAMILY_COUNT; i++)
        if (str_is(row->family, op_family_name(i)))
            return (uint8_t)i;
    /* A family from a newer torchoscope. */
    return (uint8_t)op_family_of(run_string(read->run, row->kind.name));
}

static const char *take_kind(struct scope_read *read, uint32_t i, void *row)
{
    const struct op_kind_row *from = row;
    struct run_op_kind *kind = &read->ops->kinds[i];

    *kind = from->kind;
    kind->family = family_of(read, from);
    read->ops->n_kinds++;
    return NULL;
}

/* Rows owned by rows of another table must be in the order of their owners. */
static bool is_in_order(struct scope_read *read, uint32_t i, uint32_t owner)
{
    if (owner == UINT32_MAX || (i > 0 && owner < read->last_owner))
        return false;
    read->last_owner = owner;
    return true;
}

static const char *take_arg(struct scope_read *read, uint32_t i, void *row)
{
    const struct op_arg_row *from = row;

    if (!is_in_order(read, i, from->kind))
        return "op_kind";
    read->ops->kinds[from->kind].n_args++;
    read->ops->args[i] = from->name;
    read->ops->n_args++;
    return NULL;
}

static const char *take_type(struct scope_read *read, uint32_t i, void *row)
{
    struct op_type_row *from = row;
    struct run_op_type *type = &from->type;

    if (from->shape == UINT32_MAX)
        return "shape";
    type->rank = read->shape_rank[from->shape];
    if (from->strides != UINT32_MAX && read->shape_rank[from->strides] != type->rank)
        return "strides";
    if (type->layout > LAYOUT_WRAPPED)
        return "layout";
    if (!is_device(read, type->device))
        return "device";
    type->shape = scope_dims(read, from->shape);
    type->strides = RUN_NONE;
    if (from->strides != UINT32_MAX && type->shape != RUN_NONE)
        type->strides = scope_dims(read, from->strides);
    if (type->shape == RUN_NONE)
        return scope_no_memory;
    read->ops->types[i] = *type;
    read->ops->n_types++;
    return NULL;
}

static const char *take_storage(struct scope_read *read, uint32_t i, void *row)
{
    const struct run_op_storage *storage = row;

    if (!is_op(read, storage->born))
        return "born";
    if (!is_op(read, storage->seen))
        return "seen";
    if (!is_op(read, storage->died) && storage->died != read->rows[TABLE_OP])
        return "died";
    if (!is_device(read, storage->device))
        return "device";
    if (storage->role > OP_STORAGE_OPTIMIZER)
        return "role";
    read->ops->storages[i] = *storage;
    read->ops->n_storages++;
    return NULL;
}

static const char *take_value(struct scope_read *read, uint32_t i, void *row)
{
    const struct run_op_value *value = row;

    if (value->type == UINT32_MAX)
        return "type";
    if (value->write == UINT32_MAX)
        return "write";
    if (!is_op(read, value->producer))
        return "producer";
    if (value->flags > (OP_VALUE_GRAD | OP_VALUE_NO_GRAD | OP_VALUE_UNSEEN))
        return "flags";
    read->ops->values[i] = *value;
    read->ops->n_values++;
    return NULL;
}

static const char *take_source(struct scope_read *read, uint32_t i, void *row)
{
    const struct op_source_row *from = row;

    if (!is_in_order(read, i, from->value))
        return "op_value";
    if (from->source >= from->value)
        return "source";
    read->ops->values[from->value].n_sources++;
    read->ops->sources[i] = from->source;
    read->ops->n_sources++;
    return NULL;
}

static const char *take_op(struct scope_read *read, uint32_t i, void *row)
{
    const struct run_op *op = row;

    if (op->kind == UINT32_MAX)
        return "kind";
    if (op->phase >= OP_PHASES)
        return "phase";
    if (op->flags > (OP_RAISED | OP_GRAD_MODE | OP_INFERENCE_MODE | OP_BEFORE_MODEL))
        return "flags";
    if (op->step == UINT32_MAX)
        return "step";
    if (op->thread == UINT32_MAX)
        return "thread";
    if (op->cause != RUN_NONE && op->cause >= i)
        return "cause";
    read->ops->ops[i] = *op;
    read->ops->n_ops++;
    return NULL;
}

static const char *take_io(struct scope_read *read, uint32_t i, void *row)
{
    struct op_io_row *from = row;
    struct run_op_io *io = &from->io;
    uint32_t producer;

    if (!is_in_order(read, i, from->op) || read->ops->ops[from->op].n_ios == UINT16_MAX)
        return "op";
    if (io->value == UINT32_MAX)
        return "op_value";
    if (io->kind > OP_WRITTEN)
        return "kind";
    if (from->item != UINT32_MAX && from->item >= OP_NO_ITEM)
        return "item";
    producer = read->ops->values[io->value].producer;
    if (producer != RUN_NONE && producer + (io->kind == OP_IN) > from->op)
        return "a value of a later operation";
    io->item = from->item == UINT32_MAX ? OP_NO_ITEM : (uint16_t)from->item;
    read->ops->ops[from->op].n_ios++;
    read->ops->ios[i] = *io;
    read->ops->n_ios++;
    return NULL;
}

static const char *take_total(struct scope_read *read, uint32_t i, void *row)
{
    const struct run_op_total *total = row, *before = read->ops->totals + i - (i > 0);

    if (total->kind == UINT32_MAX)
        return "kind";
    if (total->phase >= OP_PHASES || (i > 0 && total->phase < before->phase))
        return "phase";
    if (i > 0 && total->phase == before->phase && total->ns > before->ns)
        return "ns";
    if (total->count == 0)
        return "count";
    if (total->unknown > total->count)
        return "unknown";
    read->ops->totals[i] = *total;
    read->ops->n_totals++;
    return NULL;
}

/* ---- tables ---- */

/* Computes the first row of each owner. */
static void place_rows(struct run_ops *ops)
{
    uint32_t at = 0;

    for (uint32_t i = 0; i < ops->n_kinds; i++) {
        ops->kinds[i].args = at;
        at += ops->kinds[i].n_args;
    }
    at = 0;
    for (uint32_t i = 0; i < ops->n_values; i++) {
        ops->values[i].sources = at;
        at += ops->values[i].n_sources;
    }
    at = 0;
    for (uint32_t i = 0; i < ops->n_ops; i++) {
        ops->ops[i].ios = at;
        at += ops->ops[i].n_ios;
    }
}

/* Reads a table, unless one before it is damaged. */
#define READ_INTO(table, array, take)                                                  \
    do {                                                                               \
        if (!read->ops_bad && !read->cancelled &&                                      \
            scope_room(read, table, &(array), sizeof *(array)))                        \
            table_read(read, table, take);                                             \
    } while (0)

static void read_tables(struct scope_read *read)
{
    struct run_ops *ops = read->ops;

    READ_INTO(TABLE_OP_KIND, ops->kinds, take_kind);
    READ_INTO(TABLE_OP_ARG, ops->args, take_arg);
    READ_INTO(TABLE_OP_TYPE, ops->types, take_type);
    READ_INTO(TABLE_OP_STORAGE, ops->storages, take_storage);
    READ_INTO(TABLE_OP_VALUE, ops->values, take_value);
    READ_INTO(TABLE_OP_SOURCE, ops->sources, take_source);
    READ_INTO(TABLE_OP, ops->ops, take_op);
    READ_INTO(TABLE_OP_IO, ops->ios, take_io);
    READ_INTO(TABLE_OP_TOTAL, ops->totals, take_total);
    /* A broken page may end a table early without an error. */
    for (int i = TABLE_OP_KIND; i <= TABLE_OP_TOTAL && !read->cancelled; i++)
        if (!read->ops_bad && read->n[i] != read->rows[i])
            scope_damaged(read, i, read->n[i], "rows are missing");
}

/* Clear references from the run's values to missing values of operations. */
static void mend_values(struct scope_read *read)
{
    uint32_t n = read->run->ops ? read->run->ops->n_values : 0, astray = 0;

    for (uint32_t i = 0; i < read->run->n_values; i++) {
        struct run_value *value = &read->run->values[i];

        if (value->op_value == RUN_NONE || value->op_value < n)
            continue;
        value->op_value = RUN_NONE;
        astray++;
    }
    if (astray && read->run->ops)
        build_finding(&read->build, FINDING_DAMAGED, SEVERITY_ALARM, 0,
                      "table value: %u dangling references in op_value", astray);
}

void scope_read_ops(struct scope_read *read)
{
    if (read->sections[SECTION_OPS] && !read->cancelled) {
        read->ops = arena_alloc(&read->run->arena, sizeof *read->ops);
        if (read->ops)
            read_tables(read);
        else
            scope_drop_ops(read, scope_no_memory);
    }
    read->run->ops_damaged = read->ops_bad;
    if (read->ops && !read->ops_bad && !read->cancelled) {
        place_rows(read->ops);
        read->ops->lost = read->ops_lost;
        read->run->ops = read->ops;
    }
    mend_values(read);
}
