/* Follows values from operation to operation: clean, a mask (intended -Inf, or derived
 * from it), or bad. Then scans back from the last operation: a bad value that only led
 * to good ones (1 / Inf) did no harm. */
#include "study/producer.h"

enum value_state { VALUE_CLEAN, VALUE_MASK, VALUE_BAD };

/* `at` is an index in run->stats, or RUN_NONE. */
static enum value_state state_by_stats(const struct run *run, uint32_t at)
{
    const struct stats *stats = at == RUN_NONE ? NULL : &run->stats[at];

    if (!stats || stats->nan + stats->pos_inf + stats->neg_inf == 0)
        return VALUE_CLEAN;
    return stats->nan == 0 && stats->pos_inf == 0 ? VALUE_MASK : VALUE_BAD;
}

/* Operations that write a given value rather than compute one. */
static bool fills(const struct run *run, const struct run_op *op)
{
    static const char *const names[] = {
        "aten::fill_",        "aten::fill",       "aten::full",
        "aten::full_like",    "aten::new_full",   "aten::masked_fill",
        "aten::masked_fill_", "aten::where",      "aten::scalar_tensor",
        "aten::_to_copy",     "aten::copy_",      "aten::lift_fresh",
        "aten::index_put_",   "aten::index_fill", "aten::index_fill_",
        "aten::triu",         "aten::tril"};
    struct str name = op_name(run, op);

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (str_is(name, names[i]))
            return true;
    return false;
}

/* The worst of the inputs. A value without producer may not have been measured: then it
 * counts as clean. */
static enum value_state inputs_state(const struct run *run, const struct run_op *op,
                                     const uint8_t *states)
{
    enum value_state worst = VALUE_CLEAN;
    const struct run_op_io *io;

    for (uint32_t at = 0; (io = op_next(run, op, OP_IN, &at));) {
        const struct run_op_value *value = &run->ops->values[io->value];
        enum value_state state = (enum value_state)states[io->value];

        for (uint32_t i = 0; i < value->n_sources; i++) {
            uint8_t part = states[run->ops->sources[value->sources + i]];

            if (part > state)
                state = (enum value_state)part;
        }
        if (state > worst)
            worst = state;
    }
    return worst;
}

/* Classifies a result by the inputs and the measurement. Views are not measured. */
static enum value_state result_state(const struct run *run, const struct run_op *op,
                                     uint32_t value, enum value_state given)
{
    unsigned flags = run->ops->kinds[op->kind].flags;
    enum value_state state = state_by_stats(run, run->ops->values[value].stats);

    if (flags & OP_MAKES)
        return VALUE_CLEAN;
    if (run->ops->values[value].stats == RUN_NONE)
        return flags & OP_VIEW ? given : VALUE_CLEAN;
    if (state == VALUE_MASK && given == VALUE_CLEAN && !fills(run, op))
        return VALUE_BAD;
    return state == VALUE_MASK && given == VALUE_BAD ? VALUE_BAD : state;
}

/* The effect of an operation. */
enum op_deed {
    OP_SPOILT = 1,   /* a result is bad */
    OP_PRODUCED = 2, /* and its inputs are not */
    OP_MASKED = 4,   /* ... though they hold -Inf */
};

static uint8_t visit_op(const struct run *run, const struct run_op *op, uint8_t *states)
{
    static const enum op_io_kind kinds[] = {OP_OUT, OP_WRITTEN};
    enum value_state given = inputs_state(run, op, states);
    const struct run_op_io *io;
    bool bad = false;

    for (int k = 0; k < 2; k++)
        for (uint32_t at = 0; (io = op_next(run, op, kinds[k], &at));) {
            enum value_state state = result_state(run, op, io->value, given);

            bad |= state == VALUE_BAD;
            states[io->value] = (uint8_t)state;
        }
    if (!bad)
        return 0;
    if (given == VALUE_BAD)
        return OP_SPOILT;
    return OP_SPOILT | OP_PRODUCED | (given == VALUE_MASK ? OP_MASKED : 0);
}

/* ---- back from the last operation ---- */

/* The readers of a value. An operation whose results are unknown or not real numbers
 * (isnan) does not count. */
enum value_use {
    VALUE_HEALED = 1, /* a reader without bad results */
    VALUE_HARMED = 2, /* a reader with lasting bad results */
};

/* Does a bad result last until the end, or has it spoilt later results? */
static bool does_harm(const struct run *run, const struct run_op *op,
                      const uint8_t *states, const uint8_t *uses)
{
    static const enum op_io_kind kinds[] = {OP_OUT, OP_WRITTEN};
    const struct run_op_io *io;

    for (int k = 0; k < 2; k++)
        for (uint32_t at = 0; (io = op_next(run, op, kinds[k], &at));)
            if (states[io->value] == VALUE_BAD && uses[io->value] != VALUE_HEALED)
                return true;
    return false;
}

/* Its results are real numbers, and all were measured. */
static bool is_known(const struct run *run, const struct run_op *op)
{
    static const enum op_io_kind kinds[] = {OP_OUT, OP_WRITTEN};
    const struct run_op_io *io;
    enum dtype_kind kind;
    enum dtype dtype;
    bool real = false;

    for (int k = 0; k < 2; k++)
        for (uint32_t at = 0; (io = op_next(run, op, kinds[k], &at));) {
            const struct run_op_value *value = &run->ops->values[io->value];

            if (value->stats == RUN_NONE)
                return false;
            dtype = (enum dtype)run->ops->types[value->type].dtype;
            kind = dtype_info(dtype)->kind;
            real |= kind == DTYPE_KIND_FLOAT || kind == DTYPE_KIND_COMPLEX;
        }
    return real;
}

static void use_inputs(const struct run *run, const struct run_op *op, uint8_t use,
                       uint8_t *uses)
{
    const struct run_op_io *io;

    for (uint32_t at = 0; (io = op_next(run, op, OP_IN, &at));) {
        const struct run_op_value *value = &run->ops->values[io->value];

        uses[io->value] |= use;
        for (uint32_t i = 0; i < value->n_sources; i++)
            uses[run->ops->sources[value->sources + i]] |= use;
    }
}

static void find_first(const struct run *run, const uint8_t *deeds,
                       const uint8_t *states, uint8_t *uses,
                       struct producer_op *ret_found)
{
    for (uint32_t i = run->ops->n_ops; i-- > 0;) {
        const struct run_op *op = &run->ops->ops[i];
        bool harm = deeds[i] && does_harm(run, op, states, uses);

        if (harm)
            use_inputs(run, op, VALUE_HARMED, uses);
        else if (!op_only_shape(run, op) && (deeds[i] || is_known(run, op)))
            use_inputs(run, op, VALUE_HEALED, uses);
        ret_found->bad |= harm;
        if (harm)
            ret_found->reader = i;
        if (harm && deeds[i] & OP_PRODUCED) {
            ret_found->op = i;
            ret_found->masked = deeds[i] & OP_MASKED;
        }
    }
    if (ret_found->op != RUN_NONE)
        ret_found->reader = RUN_NONE;
}

/* A bad result of the whole model counts, whatever is computed from it. */
static void use_results(const struct run *run, uint8_t *uses)
{
    for (uint32_t i = 0; i < run->n_calls; i++) {
        const struct run_call *call = &run->calls[i];

        for (uint32_t k = 0; call->parent == RUN_NONE && k < call->n_ios; k++) {
            const struct run_io *io = &run->ios[call->ios + k];
            uint32_t value =
                io->value == RUN_NONE ? RUN_NONE : run->values[io->value].op_value;

            if (io->kind == RUN_OUT && value < run->ops->n_values)
                uses[value] |= VALUE_HARMED;
        }
    }
}

/* ---- the start ---- */

/* Classifies values from outside: inputs of calls, parameters. */
static int first_states(const struct run *run, struct arena *arena, uint8_t *states)
{
    const struct run_ops *ops = run->ops;
    uint8_t *bad = arena_array(arena, (size_t)run->model->n_tensors + 1, 1);
    uint32_t i;

    if (!bad)
        return -1;
    for (i = 0; i < run->n_params; i++)
        if (!run->params[i].gradient && !producer_finite(run, run->params[i].value))
            bad[run->params[i].tensor] = VALUE_BAD;
    for (i = 0; i < ops->n_values; i++)
        if (ops->values[i].producer == RUN_NONE && ops->values[i].n_sources == 0)
            states[i] = ops->values[i].tensor < run->model->n_tensors
                            ? bad[ops->values[i].tensor]
                            : (uint8_t)state_by_stats(run, ops->values[i].stats);
    for (i = 0; i < run->n_values; i++) {
        uint32_t value = run->values[i].op_value;
        uint8_t state = (uint8_t)state_by_stats(run, run->values[i].stats);

        if (value < ops->n_values && ops->values[value].producer == RUN_NONE &&
            state > states[value])
            states[value] = state;
    }
    return 0;
}

int producer_op(const struct run *run, struct arena *arena,
                struct producer_op *ret_found)
{
    const struct run_ops *ops = run->ops;
    uint8_t *states, *uses, *deeds;

    *ret_found = (struct producer_op){.op = RUN_NONE, .reader = RUN_NONE};
    if (!ops)
        return 0;
    states = arena_array(arena, (size_t)ops->n_values + 1, 1);
    uses = arena_array(arena, (size_t)ops->n_values + 1, 1);
    deeds = arena_array(arena, (size_t)ops->n_ops + 1, 1);
    if (!states || !uses || !deeds || first_states(run, arena, states) < 0)
        return -1;
    for (uint32_t i = 0; i < ops->n_ops; i++)
        deeds[i] = visit_op(run, &ops->ops[i], states);
    use_results(run, uses);
    find_first(run, deeds, states, uses, ret_found);
    return 0;
}
