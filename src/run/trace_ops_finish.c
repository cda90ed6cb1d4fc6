/* Counts the FLOPs of operations as they happen, sets the known facts about values, and
 * copies all of them into the run. */
#include "run/trace_ops_in.h"

#include <stdlib.h>
#include <string.h>

bool trace_op_unknown(const struct trace *trace, uint32_t value)
{
    const struct trace_ops *ops = trace->ops;
    const struct run_op_value *at = value < ops->n_values ? &ops->values[value] : NULL;

    return at && at->stats == RUN_NONE && at->producer == RUN_NONE &&
           at->n_sources == 0 && at->tensor == RUN_NONE;
}

/* ---- FLOPs ---- */

static bool describe(struct trace *trace, const struct trace_op_given *given,
                     struct op_seen *seen)
{
    struct trace_ops *ops = trace->ops;
    uint32_t n = 0;

    while (ops->tensors_room < given->n_tensors)
        if (arena_room(&ops->arena, &ops->tensors, ops->tensors_room,
                       &ops->tensors_room, sizeof *ops->tensors) < 0)
            return false;
    seen->in = ops->tensors;
    for (int kind = OP_IN; kind <= OP_OUT; kind++)
        for (uint32_t i = 0; i < given->n_tensors; i++) {
            const struct trace_op_tensor *tensor = &given->tensors[i];
            const struct run_op_type *type = &ops->types[tensor->type];

            if (tensor->kind != kind)
                continue;
            seen->n_in += kind == OP_IN;
            seen->n_out += kind == OP_OUT;
            ops->tensors[n++] = (struct op_tensor){.sizes = trace->dims + type->shape,
                                                   .rank = type->rank,
                                                   .dtype = type->dtype,
                                                   .layout = type->layout,
                                                   .arg = tensor->arg,
                                                   .item = tensor->item};
        }
    seen->out = ops->tensors + seen->n_in;
    return true;
}

static uint64_t flops_key(const struct trace_op_given *given)
{
    uint64_t key = hash_mix(given->kind, given->attributes);

    for (uint32_t i = 0; i < given->n_tensors; i++)
        if (given->tensors[i].kind != OP_WRITTEN)
            key = hash_mix(key, (uint64_t)given->tensors[i].type << 32 |
                                    (uint64_t)given->tensors[i].kind << 16 |
                                    given->tensors[i].arg);
    return key;
}

int64_t trace_op_flops(struct trace *trace, const struct trace_op_given *given)
{
    struct trace_ops *ops = trace->ops;
    struct op_seen seen = {.plain = &trace->plain, .attributes = given->attributes};
    uint64_t key;
    uint32_t id;

    if (!(ops->kinds[given->kind].flags & OP_COUNTED))
        return OP_NO_FLOPS;
    key = flops_key(given);
    if (map_find(&ops->flops_by_key, key, &id))
        return ops->flops[id];
    seen.name = intern_str(&trace->strings, ops->kinds[given->kind].name);
    if (!describe(trace, given, &seen) ||
        arena_room(&ops->arena, &ops->flops, ops->n_flops, &ops->flops_room,
                   sizeof *ops->flops) < 0)
        return OP_NO_FLOPS;
    ops->flops[ops->n_flops] = op_flops(&seen);
    map_put(&ops->flops_by_key, key, ops->n_flops);
    return ops->flops[ops->n_flops++];
}

/* ---- the run ---- */

static int compare_totals(const void *a, const void *b)
{
    const struct run_op_total *one = a, *other = b;

    if (one->phase != other->phase)
        return one->phase < other->phase ? -1 : 1;
    if (one->ns != other->ns)
        return one->ns > other->ns ? -1 : 1;
    return one->first < other->first ? -1 : one->first > other->first;
}

static int copy_storages(const struct trace_ops *from, struct run *run,
                         struct run_ops *to)
{
    to->storages =
        arena_array(&run->arena, (size_t)from->n_storages + 1, sizeof *to->storages);
    if (!to->storages)
        return -1;
    for (uint32_t i = 0; i < from->n_storages; i++)
        to->storages[i] = from->storages[i].storage;
    to->n_storages = from->n_storages;
    return 0;
}

/* Statistics are those of the run, followed by those of operations. */
static int copy_stats(const struct trace_ops *from, struct run *run, struct run_ops *to)
{
    size_t n = (size_t)run->n_stats + from->n_stats;
    struct stats *stats;

    if (from->n_stats == 0)
        return 0;
    stats = arena_array(&run->arena, n + 1, sizeof *stats);
    if (!stats)
        return -1;
    memcpy(stats, run->stats, run->n_stats * sizeof *stats);
    memcpy(stats + run->n_stats, from->stats, from->n_stats * sizeof *stats);
    for (uint32_t i = 0; i < to->n_values; i++)
        if (to->values[i].stats != RUN_NONE)
            to->values[i].stats += run->n_stats;
    run->stats = stats;
    run->n_stats = (uint32_t)n;
    return 0;
}

int trace_ops_finish(const struct trace *trace, struct run *run,
                     uint32_t (*call_of)(const void *user, uint64_t serial),
                     const void *user)
{
    const struct trace_ops *from = trace->ops;
    struct run_ops *to;

    if (!from)
        return 0;
    to = arena_alloc(&run->arena, sizeof *to);
    if (!to)
        return -1;
#define COPY(list)                                                                     \
    (to->n_##list = from->n_##list,                                                    \
     (to->list = trace_copy(run, from->list, from->n_##list, sizeof *to->list)) !=     \
         NULL)
    if (!COPY(kinds) || !COPY(args) || !COPY(types) || !COPY(values) ||
        !COPY(sources) || !COPY(ops) || !COPY(ios) || !COPY(totals) ||
        copy_storages(from, run, to) < 0 || copy_stats(from, run, to) < 0)
        return -1;
#undef COPY
    for (uint32_t i = 0; i < to->n_values; i++) {
        to->values[i].flags &= OP_VALUE_FLAGS;
        to->values[i].write &= ~OP_DETACHED_WRITE;
    }
    for (uint32_t i = 0; i < to->n_ops; i++)
        to->ops[i].call =
            from->serials[i] == NO_SERIAL ? RUN_NONE : call_of(user, from->serials[i]);
    qsort(to->totals, to->n_totals, sizeof *to->totals, compare_totals);
    to->lost = from->lost;
    run->ops = to;
    return 0;
}
