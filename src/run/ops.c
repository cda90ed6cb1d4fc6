/* Reading operations. */
#include "run/ops.h"

#include <string.h>

#include "run/run.h"

const char *op_phase_name(enum op_phase phase)
{
    static const char *const names[OP_PHASES] = {"forward", "backward", "recompute",
                                                 "optimizer"};

    return phase < OP_PHASES ? names[phase] : "";
}

struct str op_name(const struct run *run, const struct run_op *op)
{
    return run_string(run, run->ops->kinds[op->kind].name);
}

bool op_only_shape(const struct run *run, const struct run_op *op)
{
    struct str name = op_name(run, op);

    return run->ops->kinds[op->kind].flags & OP_MAKES || str_ends(name, STR("_like")) ||
           str_starts(name, STR("aten::new_"));
}

const struct run_op_io *op_next(const struct run *run, const struct run_op *op,
                                enum op_io_kind kind, uint32_t *at)
{
    while (*at < op->n_ios) {
        const struct run_op_io *io = &run->ops->ios[op->ios + (*at)++];

        if (io->kind == kind)
            return io;
    }
    return NULL;
}

/* The position of an argument in the schema, or UINT32_MAX. */
static uint32_t argument(const struct run *run, const struct run_op *op,
                         const char *name)
{
    const struct run_op_kind *kind = &run->ops->kinds[op->kind];

    for (uint32_t i = 0; i < kind->n_args; i++)
        if (str_is(run_string(run, run->ops->args[kind->args + i]), name))
            return i;
    return UINT32_MAX;
}

const struct run_op_value *op_input(const struct run *run, const struct run_op *op,
                                    const char *name)
{
    uint32_t arg = argument(run, op, name), at = 0;
    const struct run_op_io *io;

    while ((io = op_next(run, op, OP_IN, &at)))
        if (io->arg == arg && io->item == OP_NO_ITEM)
            return &run->ops->values[io->value];
    return NULL;
}

uint32_t op_attribute(const struct run *run, const struct run_op *op, const char *name)
{
    uint32_t value;

    return value_get(&run->plain, op->attributes, name, &value) ? value : VALUE_ID_NONE;
}

static bool is_listed(const uint32_t *list, uint32_t n, uint32_t one)
{
    for (uint32_t i = 0; i < n; i++)
        if (list[i] == one)
            return true;
    return false;
}

/* Limit of steps in one search. Real values need a handful; in a crafted file, values
 * that share their sources level by level would take forever. */
#define STEPS_MOST 4096

/* A source may itself consist of others (it is older, so this ends), in practice only a
 * few levels deep. The stack avoids recursion for deeper ones. */
uint32_t op_producers(const struct run_ops *ops, uint32_t value, uint32_t *to,
                      uint32_t most)
{
    uint32_t stack[512], n_stack = 0, n = 0;

    if (value >= ops->n_values)
        return 0;
    stack[n_stack++] = value;
    for (uint32_t steps = 0; n_stack > 0 && steps < STEPS_MOST; steps++) {
        const struct run_op_value *one = &ops->values[stack[--n_stack]];

        if (one->producer != RUN_NONE) {
            if (!is_listed(to, n < most ? n : most, one->producer)) {
                if (n < most)
                    to[n] = one->producer;
                n++;
            }
            continue;
        }
        for (uint32_t i = one->n_sources; i > 0 && n_stack < 512; i--)
            stack[n_stack++] = ops->sources[one->sources + i - 1];
    }
    return n;
}

int op_walk_init(struct op_walk *walk, const struct run_ops *ops, struct arena *arena)
{
    *walk = (struct op_walk){
        .ops = ops,
        .found = arena_array(arena, (size_t)ops->n_ops + 1, sizeof(uint32_t)),
        .stack = arena_array(arena, (size_t)ops->n_values + 1, sizeof(uint32_t)),
        .op_seen = arena_array(arena, (size_t)ops->n_ops + 1, sizeof(uint32_t)),
        .value_seen = arena_array(arena, (size_t)ops->n_values + 1, sizeof(uint32_t))};
    return walk->found && walk->stack && walk->op_seen && walk->value_seen ? 0 : -1;
}

uint32_t op_walk(struct op_walk *walk, uint32_t value)
{
    const struct run_ops *ops = walk->ops;
    uint32_t n_stack = 0, n = 0;

    if (value >= ops->n_values)
        return 0;
    walk->search++;
    walk->stack[n_stack++] = value;
    while (n_stack > 0) {
        const struct run_op_value *one = &ops->values[walk->stack[--n_stack]];

        if (one->producer != RUN_NONE) {
            if (walk->op_seen[one->producer] != walk->search)
                walk->found[n++] = one->producer;
            walk->op_seen[one->producer] = walk->search;
            continue;
        }
        /* Each value is pushed once a search, so the stack is large enough. */
        for (uint32_t i = one->n_sources; i > 0; i--) {
            uint32_t source = ops->sources[one->sources + i - 1];

            if (walk->value_seen[source] != walk->search)
                walk->stack[n_stack++] = source;
            walk->value_seen[source] = walk->search;
        }
    }
    return n;
}
