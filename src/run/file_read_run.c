/* Reads the run of a recording: from tables to a struct run, checking every number. */
#include <string.h>

#include "run/file_in.h"

const char *const scope_no_memory = "it needs more memory than the file's size allows";

/* ---- rows ---- */

static const char *take_meta(struct scope_read *read, uint32_t i, void *row)
{
    const struct meta_row *meta = row;
    struct run *run = read->run;
    uint64_t number = (uint64_t)meta->number;
    struct str name;

    (void)i;
    if (str_is(meta->key, "wall_ns"))
        run->wall_ns = number;
    else if (str_is(meta->key, "own_ns"))
        run->own_ns = number;
    else if (str_is(meta->key, "hooks_ns"))
        run->hooks_ns = number;
    else if (str_is(meta->key, "passes") && number <= UINT32_MAX)
        run->passes = (uint32_t)number;
    else if (str_is(meta->key, "ops_lost"))
        read->ops_lost = number;
    else if (str_is(meta->key, "partial") && number)
        read->build.model->partial = true;
    if (!str_is(meta->key, "name"))
        return NULL;
    name = arena_str(&run->arena, meta->text);
    if (!name.at)
        return scope_no_memory;
    run->name = name.at;
    return NULL;
}

static const char *take_string(struct scope_read *read, uint32_t i, void *row)
{
    if (intern_add(&read->run->strings, ((const struct text_row *)row)->text) != i)
        return "a duplicate text";
    return NULL;
}

static const char *take_plain(struct scope_read *read, uint32_t i, void *row)
{
    return scope_take_plain(read, &read->run->plain, i, row);
}

static const char *take_fact(struct scope_read *read, uint32_t i, void *row)
{
    read->run->facts[i] = *(const struct model_fact *)row;
    read->run->n_facts++;
    return NULL;
}

static const char *take_device(struct scope_read *read, uint32_t i, void *row)
{
    read->run->devices[i] = ((const struct name_row *)row)->name;
    read->run->n_devices++;
    return NULL;
}

static const char *take_stats(struct scope_read *read, uint32_t i, void *row)
{
    const struct stats *stats = row;

    if (stats->kind > STATS_UINT)
        return "kind";
    read->run->stats[i] = *stats;
    read->run->n_stats++;
    return NULL;
}

uint32_t scope_dims(struct scope_read *read, uint32_t shape)
{
    struct run *run = read->run;
    const int64_t *sizes = read->sizes + read->shape_at[shape];

    if (read->shape_dims[shape] != RUN_NONE)
        return read->shape_dims[shape];
    for (int i = 0; i < read->shape_rank[shape]; i++) {
        if (arena_room(&run->arena, &run->dims, run->n_dims, &read->dims_room,
                       sizeof *run->dims) < 0)
            return RUN_NONE;
        run->dims[run->n_dims++] = sizes[i];
    }
    read->shape_dims[shape] = run->n_dims - read->shape_rank[shape];
    return read->shape_dims[shape];
}

static const char *take_value(struct scope_read *read, uint32_t i, void *row)
{
    struct value_row *from = row;
    struct run_value *value = &from->value;

    if (from->shape == UINT32_MAX)
        return "shape";
    value->rank = read->shape_rank[from->shape];
    if (from->strides != UINT32_MAX && read->shape_rank[from->strides] != value->rank)
        return "strides";
    if (value->layout > LAYOUT_WRAPPED)
        return "layout";
    if (value->device > 0 && value->device >= read->run->n_devices)
        return "device";
    value->shape = scope_dims(read, from->shape);
    value->strides = RUN_NONE;
    if (from->strides != UINT32_MAX && value->shape != RUN_NONE)
        value->strides = scope_dims(read, from->strides);
    if (value->shape == RUN_NONE)
        return scope_no_memory;
    value->kept = RUN_NONE;
    read->run->values[i] = *value;
    read->run->n_values++;
    return NULL;
}

static const char *take_call(struct scope_read *read, uint32_t i, void *row)
{
    struct run_call *call = row;

    if (call->object == NO_OBJECT)
        return "object";
    if (call->parent != RUN_NONE && call->parent >= i)
        return "parent";
    if (call->place == NO_PLACE)
        return "place";
    read->run->calls[i] = *call;
    read->run->n_calls++;
    return NULL;
}

static const char *take_io(struct scope_read *read, uint32_t i, void *row)
{
    const struct run_io *io = row;
    struct run *run = read->run;

    if (io->call == RUN_NONE || (i > 0 && io->call < run->ios[i - 1].call))
        return "call";
    if (io->kind > RUN_GRAD_IN)
        return "kind";
    run->calls[io->call].n_ios++;
    run->ios[i] = *io;
    run->n_ios++;
    return NULL;
}

static const char *take_merged(struct scope_read *read, uint32_t i, void *row)
{
    const struct run_merged *merged = row;
    struct run *run = read->run;
    const struct run_merged *before = i > 0 ? &run->merged[i - 1] : NULL;

    if (merged->object == NO_OBJECT || (before && merged->object < before->object))
        return "object";
    if (before && merged->object == before->object && merged->newest <= before->newest)
        return "newest";
    run->merged[i] = *merged;
    run->n_merged++;
    return NULL;
}

static const char *take_merged_io(struct scope_read *read, uint32_t i, void *row)
{
    const struct merged_io_row *from = row;
    struct run *run = read->run;

    if (from->merged == UINT32_MAX || (i > 0 && from->merged < read->last_merged))
        return "merged";
    if (from->io.kind > RUN_GRAD_IN)
        return "kind";
    read->last_merged = from->merged;
    run->merged[from->merged].n_ios++;
    run->merged_ios[i] = from->io;
    run->n_merged_ios++;
    return NULL;
}

static const char *take_merged_shape(struct scope_read *read, uint32_t i, void *row)
{
    const struct merged_shape_row *from = row;
    struct run *run = read->run;
    struct run_merged_io *io;
    int rank;

    if (from->merged_io == UINT32_MAX || (i > 0 && from->merged_io < read->last_io))
        return "merged_io";
    if (from->shape == UINT32_MAX)
        return "shape";
    io = &run->merged_ios[from->merged_io];
    rank = read->shape_rank[from->shape];
    if (i == 0 || from->merged_io != read->last_io)
        io->shapes = run->n_dims;
    read->last_io = from->merged_io;
    for (int k = -1; k < rank; k++) {
        if (arena_room(&run->arena, &run->dims, run->n_dims, &read->dims_room,
                       sizeof *run->dims) < 0)
            return scope_no_memory;
        run->dims[run->n_dims++] =
            k < 0 ? rank : read->sizes[read->shape_at[from->shape] + (uint32_t)k];
    }
    io->n_shapes++;
    return NULL;
}

static const char *take_param(struct scope_read *read, uint32_t i, void *row)
{
    const struct run_param *param = row;

    if (param->tensor == NO_OBJECT)
        return "tensor";
    if (param->value == RUN_NONE)
        return "value";
    read->run->params[i] = *param;
    read->run->n_params++;
    return NULL;
}

static const char *take_gap(struct scope_read *read, uint32_t i, void *row)
{
    const struct run_gap *gap = row;

    if (gap->kind >= RUN_GAP_COUNT)
        return "kind";
    read->run->gaps[i] = *gap;
    read->run->n_gaps++;
    return NULL;
}

static const char *take_kept(struct scope_read *read, uint32_t i, void *row)
{
    const struct kept_row *from = row;
    uint64_t parts =
        from->kept.bytes / SCOPE_PART + (from->kept.bytes % SCOPE_PART > 0);
    struct run *run = read->run;

    if (from->kept.value == RUN_NONE || run->values[from->kept.value].kept != RUN_NONE)
        return "value";
    if (from->part > read->rows[TABLE_KEPT_PART] ||
        parts > read->rows[TABLE_KEPT_PART] - from->part)
        return "part";
    run->values[from->kept.value].kept = i;
    run->kept[i] = (struct run_kept){from->kept.value, from->kept.bytes, NULL};
    read->parts[i] = from->part;
    run->n_kept++;
    return NULL;
}

/* ---- tables ---- */

bool scope_room(struct scope_read *read, enum scope_table table, void *at, size_t item)
{
    void *array = arena_array(&read->run->arena, (size_t)read->rows[table] + 1, item);

    memcpy(at, &array, sizeof array);
    if (!array)
        scope_damaged(read, table, 0, scope_no_memory);
    return array != NULL;
}

#define READ_INTO(table, array, take)                                                  \
    do {                                                                               \
        if (scope_room(read, table, &(array), sizeof *(array)))                        \
            table_read(read, table, take);                                             \
    } while (0)

/* Computes the first io of each call. */
static void place_ios(struct run *run)
{
    uint32_t at = 0;

    for (uint32_t i = 0; i < run->n_calls; i++) {
        run->calls[i].ios = at;
        at += run->calls[i].n_ios;
    }
    at = 0;
    for (uint32_t i = 0; i < run->n_merged; i++) {
        run->merged[i].ios = at;
        at += run->merged[i].n_ios;
    }
}

void scope_read_run(struct scope_read *read)
{
    struct run *run = read->run;

    table_read(read, TABLE_META, take_meta);
    table_read(read, TABLE_RUN_STRING, take_string);
    if (scope_room_for_plain(read, TABLE_RUN_PLAIN))
        table_read(read, TABLE_RUN_PLAIN, take_plain);
    READ_INTO(TABLE_RUN_FACT, run->facts, take_fact);
    READ_INTO(TABLE_DEVICE, run->devices, take_device);
    READ_INTO(TABLE_STATS, run->stats, take_stats);
    /* The shape of a scalar needs a valid address too. */
    if (arena_room(&run->arena, &run->dims, 0, &read->dims_room, sizeof *run->dims) < 0)
        return;
    READ_INTO(TABLE_VALUE, run->values, take_value);
    READ_INTO(TABLE_CALL, run->calls, take_call);
    READ_INTO(TABLE_IO, run->ios, take_io);
    READ_INTO(TABLE_MERGED, run->merged, take_merged);
    READ_INTO(TABLE_MERGED_IO, run->merged_ios, take_merged_io);
    READ_INTO(TABLE_MERGED_SHAPE, read->no_rows, take_merged_shape);
    READ_INTO(TABLE_PARAM, run->params, take_param);
    READ_INTO(TABLE_GAP, run->gaps, take_gap);
    if (scope_room(read, TABLE_KEPT, &read->parts, sizeof *read->parts))
        READ_INTO(TABLE_KEPT, run->kept, take_kept);
    place_ios(run);
}
