/* Norms from backward operations. Each belongs to a forward operation, its cause, whose
 * autograd node ran it. This file finds:
 *
 * - The part of the gradient that a forward operation sends to one of its arguments. A
 *   backward operation of that cause makes it and others read it: those of the
 *   operation that made the argument, or the sum with other parts. If that is
 *   ambiguous, it is the only value with the argument's shape.
 *
 * - The gradient of the result of a forward operation: the only value that its backward
 *   operations read and that another cause made in backward.
 *
 * Autograd's engine adds up the parts. This addition is recorded with the cause whose
 * part comes last. It differs from that cause's own additions because another cause
 * made one of its arguments. */
#include "study/grad_paths_in.h"

#include <math.h>

#include "run/op_table.h"

#define SEVERAL (UINT32_MAX - 1)
/* Limit of pairs of arguments and parts; operations with more remain unknown. */
#define PAIRS_MOST 65536

enum part_flag {
    PART_LEAVES = 1, /* read by another cause than the one that made it */
    PART_OF_PARAMETER = 2,
    PART_AGAIN = 4, /* a view back: operations of another cause made it too */
};

struct grad_parts {
    bool *joins;      /* by operation: it is a sum of parts */
    uint32_t *maker;  /* by value: the cause that made it in backward, or RUN_NONE */
    uint32_t *taker;  /* by value: the cause that reads it; RUN_NONE; SEVERAL */
    uint8_t *flags;   /* by value: enum part_flag */
    uint32_t *wanted; /* by forward operation: the gradient of its result */
    uint32_t *head;   /* by forward operation: the first part that it made ... */
    uint32_t *next;   /* ... by value: the next one */
    uint8_t *found;   /* by use: number of its parts, at most 2 */
};

/* ---- norms ---- */

static void find_norms(struct grad_walk *walk)
{
    const struct run *run = walk->run;
    const struct run_ops *ops = walk->ops;

    for (uint32_t i = 0; i < ops->n_values; i++)
        walk->norm[i] = grad_norm(run, ops->values[i].stats);
    for (uint32_t i = 0; i < run->n_values; i++) {
        const struct run_value *value = &run->values[i];

        if (value->op_value < ops->n_values && !(value->flags & RUN_SAMPLED) &&
            isnan(walk->norm[value->op_value]))
            walk->norm[value->op_value] = grad_norm(run, value->stats);
    }
    for (uint32_t i = 0; i < ops->n_ops; i++) {
        double factor = grad_norm_factor(walk, i);
        uint32_t at = 0, result = walk->result[i];

        if (factor > 0 && isnan(walk->norm[result]))
            walk->norm[result] =
                factor * walk->norm[op_next(run, &ops->ops[i], OP_IN, &at)->value];
    }
}

/* ---- producers and readers of a value ---- */

static uint32_t joined(uint32_t a, uint32_t b)
{
    if (a == RUN_NONE || a == b)
        return b;
    return b == RUN_NONE ? a : SEVERAL;
}

static bool is_join(const struct grad_walk *walk, const struct grad_parts *parts,
                    uint32_t op)
{
    const struct run_op *of = &walk->ops->ops[op];
    uint32_t result = walk->result[op], n = 0, own = 0;
    const struct run_op_io *io;

    if (result == RUN_NONE || !grad_is_plain_sum(walk, of))
        return false;
    for (uint32_t at = 0; (io = op_next(walk->run, of, OP_IN, &at)); n++) {
        if (!grad_same_shape(walk->run, io->value, result))
            return false;
        own += parts->maker[io->value] == of->cause;
    }
    return n == 2 && own < 2;
}

static bool is_of_node(const struct run_op *op)
{
    return op->phase == OP_BACKWARD && op->cause != RUN_NONE;
}

static void find_makers(struct grad_walk *walk, struct grad_parts *parts)
{
    const struct run_ops *ops = walk->ops;

    for (uint32_t i = 0; i < ops->n_values; i++)
        parts->maker[i] = parts->taker[i] = parts->next[i] = RUN_NONE;
    for (uint32_t i = 0; i < ops->n_ops; i++) {
        const struct run_op *op = &ops->ops[i];

        parts->wanted[i] = parts->head[i] = RUN_NONE;
        if (!is_of_node(op))
            continue;
        parts->joins[i] = is_join(walk, parts, i);
        if (parts->joins[i])
            continue;
        for (uint32_t k = op->ios; k < op->ios + op->n_ios; k++) {
            uint32_t value = ops->ios[k].value;

            if (ops->ios[k].kind == OP_IN)
                continue;
            if (ops->values[value].producer == i)
                parts->maker[value] = op->cause;
            else if (parts->maker[value] != op->cause)
                parts->flags[value] |= PART_AGAIN;
        }
    }
}

/* `op` reads a value in backward. */
static void take(const struct grad_walk *walk, struct grad_parts *parts, uint32_t op,
                 uint32_t value)
{
    const struct run_op *of = &walk->ops->ops[op];
    uint32_t producer = walk->ops->values[value].producer;

    if (parts->joins[op]) {
        uint32_t sum = walk->result[op];

        parts->flags[value] |= PART_LEAVES | (parts->flags[sum] & PART_OF_PARAMETER);
        parts->taker[value] = joined(parts->taker[value], parts->taker[sum]);
    } else if (of->cause == RUN_NONE) {
        parts->flags[value] |=
            of->gradient == RUN_NONE ? PART_LEAVES : PART_OF_PARAMETER;
    } else if (parts->maker[value] != of->cause) {
        parts->flags[value] |= PART_LEAVES;
        parts->taker[value] = joined(parts->taker[value], of->cause);
        if (producer != RUN_NONE && walk->ops->ops[producer].phase == OP_BACKWARD)
            parts->wanted[of->cause] = joined(parts->wanted[of->cause], value);
    }
}

/* Backward, so that the reader of a sum is known before its parts. */
static void find_takers(struct grad_walk *walk, struct grad_parts *parts)
{
    const struct run_ops *ops = walk->ops;

    for (uint32_t i = ops->n_ops; i > 0; i--) {
        const struct run_op_io *io;

        if (ops->ops[i - 1].phase != OP_BACKWARD)
            continue;
        for (uint32_t at = 0; (io = op_next(walk->run, &ops->ops[i - 1], OP_IN, &at));)
            take(walk, parts, i - 1, io->value);
    }
    for (uint32_t i = 0; i < ops->n_values; i++) {
        uint32_t maker = parts->maker[i];

        if (maker == RUN_NONE || parts->flags[i] != PART_LEAVES)
            continue;
        parts->next[i] = parts->head[maker];
        parts->head[maker] = i;
    }
}

/* ---- parts of arguments ---- */

/* The argument whose gradient a part is, because the operation that made the argument
 * reads it; RUN_NONE: ambiguous. */
static uint32_t argument_by_taker(const struct grad_walk *walk,
                                  const struct grad_parts *parts,
                                  const struct run_op *op, uint32_t part)
{
    uint32_t found = RUN_NONE;
    const struct run_op_io *io;

    if (parts->taker[part] >= SEVERAL)
        return RUN_NONE;
    for (uint32_t at = 0; (io = op_next(walk->run, op, OP_IN, &at));)
        if (io->flags & OP_VALUE_GRAD &&
            walk->ops->values[io->value].producer == parts->taker[part])
            found = joined(found, io->value);
    return found < SEVERAL && grad_same_shape(walk->run, found, part) ? found
                                                                      : RUN_NONE;
}

/* ... because it is the only part of its shape, and so is the argument. */
static uint32_t argument_by_shape(const struct grad_walk *walk,
                                  const struct grad_parts *parts, uint32_t op,
                                  uint32_t part)
{
    uint32_t found = RUN_NONE;
    const struct run_op_io *io;

    for (uint32_t other = parts->head[op]; other != RUN_NONE;
         other = parts->next[other])
        if (other != part && grad_same_shape(walk->run, other, part))
            return RUN_NONE;
    for (uint32_t at = 0; (io = op_next(walk->run, &walk->ops->ops[op], OP_IN, &at));)
        if (io->flags & OP_VALUE_GRAD && grad_same_shape(walk->run, io->value, part))
            found = joined(found, io->value);
    return found < SEVERAL ? found : RUN_NONE;
}

static void enter_part(struct grad_walk *walk, struct grad_parts *parts, uint32_t op,
                       uint32_t part)
{
    uint32_t argument = argument_by_taker(walk, parts, &walk->ops->ops[op], part);
    struct grad_use *use;
    uint32_t at;

    if (argument == RUN_NONE)
        argument = argument_by_shape(walk, parts, op, part);
    use = argument == RUN_NONE ? NULL : grad_find_use(walk->paths, argument, op);
    if (!use)
        return;
    at = (uint32_t)(use - walk->paths->uses);
    /* With two parts, neither is the whole. */
    if (parts->found[at] == 0 && isnan(use->l2))
        use->l2 = walk->norm[part];
    else if (parts->found[at] == 1)
        use->l2 = NAN;
    parts->found[at] = 2 - (parts->found[at] == 0);
}

/* Is each gradient that leaves this operation the gradient of one of its arguments? Not
 * if its backward is user code or has many operations. */
static bool is_simple(const struct grad_walk *walk, const struct run_op *op)
{
    const struct run_op_kind *kind = &walk->ops->kinds[op->kind];

    return op->phase == OP_FORWARD && op->flags & OP_GRAD_MODE &&
           !(kind->flags & (OP_CUSTOM | OP_REGION)) && kind->family != OP_FAMILY_LINALG;
}

static void enter_parts(struct grad_walk *walk, struct grad_parts *parts, uint32_t op)
{
    const struct run_op *of = &walk->ops->ops[op];
    uint64_t n = 0;

    for (uint32_t part = parts->head[op]; part != RUN_NONE; part = parts->next[part])
        n++;
    if (n * (of->n_ios + n) > PAIRS_MOST || !is_simple(walk, of))
        return;
    for (uint32_t part = parts->head[op]; part != RUN_NONE; part = parts->next[part])
        enter_part(walk, parts, op, part);
}

/* ---- gradients of results ---- */

/* The only result that requires a gradient; or RUN_NONE. */
static uint32_t grad_result(const struct grad_walk *walk, const struct run_op *op)
{
    uint32_t found = RUN_NONE;

    for (uint32_t i = op->ios; i < op->ios + op->n_ios; i++) {
        const struct run_op_io *io = &walk->ops->ios[i];

        if (io->kind != OP_IN && walk->ops->values[io->value].flags & OP_VALUE_GRAD)
            found = joined(found, io->value);
    }
    return found < SEVERAL ? found : RUN_NONE;
}

static void enter_result(struct grad_walk *walk, const struct grad_parts *parts,
                         uint32_t op)
{
    uint32_t gradient = parts->wanted[op], value;

    if (gradient >= SEVERAL || !is_simple(walk, &walk->ops->ops[op]))
        return;
    value = grad_result(walk, &walk->ops->ops[op]);
    if (value != RUN_NONE && isnan(walk->paths->total[value]) &&
        walk->ops->values[value].producer == op &&
        grad_same_shape(walk->run, value, gradient))
        walk->paths->total[value] = walk->norm[gradient];
}

/* ---- all of it ---- */

static int begin(struct grad_walk *walk, struct grad_parts *parts)
{
    size_t n_ops = (size_t)walk->ops->n_ops + 1, n = (size_t)walk->ops->n_values + 1;
    size_t n_uses = (size_t)walk->paths->first[walk->paths->n_values] + 1;
    struct arena *arena = &walk->scratch;

    walk->norm = arena_array(arena, n, sizeof *walk->norm);
    parts->joins = arena_array(arena, n_ops, sizeof *parts->joins);
    parts->maker = arena_array(arena, n, sizeof *parts->maker);
    parts->taker = arena_array(arena, n, sizeof *parts->taker);
    parts->flags = arena_array(arena, n, sizeof *parts->flags);
    parts->wanted = arena_array(arena, n_ops, sizeof *parts->wanted);
    parts->head = arena_array(arena, n_ops, sizeof *parts->head);
    parts->next = arena_array(arena, n, sizeof *parts->next);
    parts->found = arena_array(arena, n_uses, sizeof *parts->found);
    return walk->norm && parts->joins && parts->maker && parts->taker && parts->flags &&
                   parts->wanted && parts->head && parts->next && parts->found
               ? 0
               : -1;
}

/* With create_graph a value of backward may be used for anything later. */
static bool has_double_backward(const struct grad_walk *walk)
{
    for (uint32_t i = 0; i < walk->ops->n_ops; i++) {
        const struct run_op *op = &walk->ops->ops[i];

        if (op->phase == OP_BACKWARD && op->flags & OP_GRAD_MODE &&
            !grad_is_seed(walk, op))
            return true;
    }
    return false;
}

int grad_from_backward(struct grad_walk *walk)
{
    struct grad_parts parts;

    if (has_double_backward(walk))
        return 0;
    if (begin(walk, &parts) < 0)
        return -1;
    find_norms(walk);
    find_makers(walk, &parts);
    find_takers(walk, &parts);
    for (uint32_t i = 0; i < walk->ops->n_ops; i++) {
        enter_parts(walk, &parts, i);
        enter_result(walk, &parts, i);
    }
    return 0;
}
