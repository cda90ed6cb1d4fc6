/* Values, ios, parameters and kept bytes. */
#include "run/trace_ops_in.h"

#include <stdlib.h>
#include <string.h>

#include "base/base.h"

/* Values are swept when there are this many, plus an eighth of the live ones, more than
 * after the last sweep. */
#define SWEEP_AFTER 4096u

/* ---- values ---- */

static struct recent_dims *recent_of(struct trace *trace, const int64_t *dims, int rank)
{
    uint64_t hash = (uint64_t)rank;

    for (int i = 0; i < rank; i++)
        hash = hash_mix(hash, (uint64_t)dims[i]);
    return &trace->recent[hash % RECENT_DIMS];
}

/* The index of these sizes in trace->dims: shared with a recent value, or new;
 * RUN_NONE: spent. */
uint32_t trace_dims(struct trace *trace, const int64_t *dims, int rank)
{
    struct recent_dims *recent = recent_of(trace, dims, rank);
    uint32_t at = trace->n_dims;

    if (rank == 0)
        return 0;
    if (recent->used && recent->rank == rank &&
        memcmp(trace->dims + recent->at, dims, (size_t)rank * sizeof *dims) == 0)
        return recent->at;
    for (int i = 0; i < rank; i++) {
        if (trace->n_dims == RUN_NONE - 1 ||
            arena_room(&trace->arena, &trace->dims, trace->n_dims, &trace->dims_room,
                       sizeof *trace->dims) < 0)
            return RUN_NONE;
        trace->dims[trace->n_dims++] = dims[i];
    }
    *recent = (struct recent_dims){.at = at, .rank = (uint8_t)rank, .used = true};
    return at;
}

uint32_t trace_value(struct trace *trace, const struct run_value *value,
                     const int64_t *sizes, const int64_t *strides,
                     const struct stats *stats)
{
    uint32_t n = trace->n_values;
    struct run_value copy = *value;

    copy.shape = trace_dims(trace, sizes, value->rank);
    copy.strides = RUN_NONE;
    if (strides && copy.shape != RUN_NONE)
        copy.strides = trace_dims(trace, strides, value->rank);
    copy.flags &= (uint8_t)~VALUE_SEEN;
    copy.kept = RUN_NONE;
    copy.stats = RUN_NONE;
    if (copy.shape == RUN_NONE || n == RUN_NONE - 1 ||
        arena_room(&trace->arena, &trace->values, n, &trace->values_room,
                   sizeof *trace->values) < 0 ||
        arena_room(&trace->arena, &trace->stats, n, &trace->stats_room,
                   sizeof *trace->stats) < 0) {
        trace->lost_values++;
        return RUN_NONE;
    }
    trace->values[n] = copy;
    trace->n_values++;
    if (stats)
        trace_value_stats(trace, n, stats);
    return n;
}

void trace_value_stats(struct trace *trace, uint32_t value, const struct stats *stats)
{
    if (value >= trace->n_values)
        return;
    trace->stats[value] = *stats;
    trace->values[value].stats = 0;
    trace->values[value].why = 0;
    if (stats->sampled)
        trace->values[value].flags |= RUN_SAMPLED;
}

void trace_hold(struct trace *trace, bool on)
{
    trace->held = on;
}

void trace_value_spread(struct trace *trace, uint32_t value, struct str packed)
{
    if (value < trace->n_values)
        trace->values[value].spread = arena_str(&trace->arena, packed);
}

void trace_value_norms(struct trace *trace, uint32_t value,
                       const struct run_norms *norms)
{
    if (value < trace->n_values)
        trace->values[value].norms = run_norms_copy(&trace->arena, norms);
}

bool trace_has_norms(const struct trace *trace, uint32_t value)
{
    return value < trace->n_values && trace->values[value].norms;
}

void trace_value_units(struct trace *trace, uint32_t value, struct units units)
{
    if (value < trace->n_values)
        trace->values[value].units = units;
}

bool trace_is_kept(const struct trace *trace, uint32_t value)
{
    return value < trace->n_values && trace->values[value].kept != RUN_NONE;
}

uint32_t trace_lend(struct trace *trace, uint32_t value, const void *at, size_t n)
{
    if (value >= trace->n_values)
        return RUN_NONE;
    if (trace->values[value].kept != RUN_NONE)
        return trace->values[value].kept;
    if (arena_room(&trace->arena, &trace->kept, trace->n_kept, &trace->kept_room,
                   sizeof *trace->kept) < 0) {
        trace->lost_kept++;
        return RUN_NONE;
    }
    trace->kept[trace->n_kept] =
        (struct run_kept){.value = value, .bytes = n, .at = at};
    trace->values[value].kept = trace->n_kept;
    return trace->n_kept++;
}

bool trace_keep(struct trace *trace, uint32_t value, const void *at, size_t n)
{
    void *copy;

    if (value >= trace->n_values || trace->values[value].kept != RUN_NONE)
        return value < trace->n_values;
    copy = arena_alloc(&trace->kept_arena, n);
    if (!copy) {
        trace->lost_kept++;
        return false;
    }
    if (n)
        memcpy(copy, at, n);
    return trace_lend(trace, value, copy, n) != RUN_NONE;
}

/* ---- ios and parameters ---- */

struct io_bytes trace_io_bytes(struct trace *trace, const struct run_io *io)
{
    struct io_bytes bytes = {0};
    struct run_value *value;

    if (io->value >= trace->n_values)
        return bytes;
    value = &trace->values[io->value];
    /* A result counts even if it is an argument, overwritten or returned unchanged. */
    if (io->kind == RUN_OUT)
        bytes.out = value->bytes;
    if (io->flags & RUN_IO_SAME)
        return bytes;
    /* A storage that was seen before, as an argument or an inner result, is not new. */
    if (io->kind == RUN_OUT && (value->flags & RUN_NEW_STORAGE) &&
        !(value->flags & VALUE_SEEN))
        bytes.fresh = value->bytes;
    value->flags |= VALUE_SEEN;
    return bytes;
}

void trace_io(struct trace *trace, uint32_t call, enum run_io_kind kind, uint32_t path,
              uint32_t value, uint8_t flags)
{
    trace_gradient(trace, call, NO_SERIAL, kind, path, value, flags);
}

void trace_gradient(struct trace *trace, uint32_t call, uint64_t serial,
                    enum run_io_kind kind, uint32_t path, uint32_t value, uint8_t flags)
{
    struct run_io io = {.kind = (uint8_t)kind,
                        .flags = flags,
                        .path = path,
                        .value = value < trace->n_values ? value : RUN_NONE};
    struct io_bytes bytes;

    if (kind >= RUN_GRAD_OUT)
        trace_repeated(trace, &call, &serial);
    if (call == RUN_NONE)
        return;
    io.call = call;
    if (call & TRACE_LIGHT) {
        light_io(trace, call, serial, &io);
        return;
    }
    if (call >= trace->n_calls ||
        arena_room(&trace->arena, &trace->ios, trace->n_ios, &trace->ios_room,
                   sizeof *trace->ios) < 0) {
        trace->lost_ios++;
        return;
    }
    trace->ios[trace->n_ios++] = io;
    bytes = trace_io_bytes(trace, &io);
    trace->calls[call].out_bytes += bytes.out;
    trace->calls[call].new_bytes += bytes.fresh;
}

void trace_param(struct trace *trace, uint32_t tensor, bool gradient, uint32_t value)
{
    struct run_param param = {.tensor = tensor,
                              .step = trace->steps.now,
                              .gradient = gradient,
                              .value = value};
    struct trace_param *by;

    if (tensor >= trace->model->n_tensors || value >= trace->n_values)
        return;
    by = &trace->by_tensor[tensor];
    if (by->n[gradient] > trace->keep_calls) {
        trace->params[by->newest[gradient]] = param;
        return;
    }
    if (arena_room(&trace->arena, &trace->params, trace->n_params, &trace->params_room,
                   sizeof *trace->params) < 0) {
        trace->lost_ios++;
        return;
    }
    by->n[gradient]++;
    by->newest[gradient] = trace->n_params;
    trace->params[trace->n_params++] = param;
}

bool trace_spoilt(const struct trace *trace)
{
    for (uint32_t i = 0; i < trace->n_values; i++)
        if (trace->values[i].stats != RUN_NONE &&
            stats_finite(&trace->stats[i]) < trace->stats[i].count)
            return true;
    return false;
}

/* ---- dropping unreferenced values ---- */

static void mark(uint32_t *moved, uint32_t value)
{
    if (value != RUN_NONE)
        moved[value] = 1;
}

static void move(const uint32_t *moved, uint32_t *value)
{
    if (*value != RUN_NONE)
        *value = moved[*value];
}

static void mark_ios(uint32_t *moved, const struct run_io *ios, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        mark(moved, ios[i].value);
}

static void move_ios(const uint32_t *moved, struct run_io *ios, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        move(moved, &ios[i].value);
}

static void mark_all(const struct trace *trace, uint32_t *moved)
{
    mark_ios(moved, trace->ios, trace->n_ios);
    for (uint32_t i = 0; i < trace->n_lights; i++)
        mark_ios(moved, trace->lights[i].newest.ios, trace->lights[i].newest.n_ios);
    for (uint32_t i = 0; i < trace->n_params; i++)
        mark(moved, trace->params[i].value);
    for (uint32_t i = 0; i < trace->n_kept; i++)
        mark(moved, trace->kept[i].value);
}

static void move_all(struct trace *trace, const uint32_t *moved)
{
    move_ios(moved, trace->ios, trace->n_ios);
    for (uint32_t i = 0; i < trace->n_lights; i++)
        move_ios(moved, trace->lights[i].newest.ios, trace->lights[i].newest.n_ios);
    for (uint32_t i = 0; i < trace->n_params; i++)
        move(moved, &trace->params[i].value);
    for (uint32_t i = 0; i < trace->n_kept; i++)
        move(moved, &trace->kept[i].value);
}

/* Packs the marked values; moved[] receives their new indexes. */
static void pack_values(struct trace *trace, uint32_t *moved)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < trace->n_values; i++) {
        if (!moved[i])
            continue;
        trace->values[n] = trace->values[i];
        trace->stats[n] = trace->stats[i];
        moved[i] = n++;
    }
    trace->n_values = n;
}

/* Adds the sizes of the remaining values again. They need no more room than before:
 * shared sizes are shared again. */
static void pack_dims(struct trace *trace, const int64_t *before)
{
    trace->n_dims = 0;
    memset(trace->recent, 0, sizeof trace->recent);
    for (uint32_t i = 0; i < trace->n_values; i++) {
        struct run_value *value = &trace->values[i];

        value->shape = trace_dims(trace, before + value->shape, value->rank);
        if (value->strides != RUN_NONE)
            value->strides = trace_dims(trace, before + value->strides, value->rank);
    }
}

void trace_sweep(struct trace *trace)
{
    uint32_t enough = trace->live_values + trace->live_values / 8 + SWEEP_AFTER;
    size_t dims_size = (size_t)trace->n_dims * sizeof *trace->dims;
    uint32_t *moved = NULL;
    int64_t *dims = NULL;

    if (trace->held || trace->keep_calls == TRACE_ALL_CALLS || trace->n_values < enough)
        return;
    moved = calloc(trace->n_values, sizeof *moved);
    dims = malloc(dims_size + 1);
    if (moved && dims) {
        if (dims_size)
            memcpy(dims, trace->dims, dims_size);
        mark_all(trace, moved);
        pack_values(trace, moved);
        move_all(trace, moved);
        pack_dims(trace, dims);
        trace->live_values = trace->n_values;
        trace->n_waits = 0;
        trace->epoch++;
    }
    free(moved);
    free(dims);
}
