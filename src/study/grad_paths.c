#include "study/grad_paths_in.h"

#include <math.h>

/* ---- passing norms on ---- */

/* The gradient of a value with one reader is that of the reader. */
static bool is_single(const struct grad_paths *paths, uint32_t value)
{
    return !paths->hidden[value] && grad_count_uses(paths, value) == 1;
}

/* Propagates norms from an argument to the use and on to the result, where unknown. */
static void pass_down(struct grad_walk *walk, uint32_t op, struct grad_use *use)
{
    struct grad_paths *paths = walk->paths;
    uint32_t result = walk->result[op];
    double scale;

    if (isnan(use->l2) && is_single(paths, use->value))
        use->l2 = paths->total[use->value];
    if (isnan(use->l2) || result == RUN_NONE || !isnan(paths->total[result]))
        return;
    scale = grad_scale(walk, op, use->value);
    if (scale > 0)
        paths->total[result] = use->l2 / scale;
}

/* Propagates norms from a result to the use and on to the argument. */
static void pass_up(struct grad_walk *walk, uint32_t op, struct grad_use *use)
{
    struct grad_paths *paths = walk->paths;
    uint32_t result = walk->result[op];
    double scale;

    if (isnan(use->l2) && result != RUN_NONE && !isnan(paths->total[result])) {
        scale = grad_scale(walk, op, use->value);
        if (scale > 0)
            use->l2 = scale * paths->total[result];
    }
    if (isnan(paths->total[use->value]) && is_single(paths, use->value))
        paths->total[use->value] = use->l2;
}

static void each_argument(struct grad_walk *walk, uint32_t op,
                          void (*pass)(struct grad_walk *walk, uint32_t op,
                                       struct grad_use *use))
{
    const struct run_op_io *io;

    for (uint32_t at = 0;
         walk->may[op] && (io = op_next(walk->run, &walk->ops->ops[op], OP_IN, &at));) {
        struct grad_use *use = grad_find_use(walk->paths, io->value, op);

        if (use)
            pass(walk, op, use);
    }
}

/* Equal norms form trees: a result has arguments, and an argument with one reader has
 * one result. So one pass to the roots and one to the leaves are enough. */
static void pass_on(struct grad_walk *walk)
{
    for (uint32_t i = 0; i < walk->ops->n_ops; i++)
        each_argument(walk, i, pass_down);
    for (uint32_t i = walk->ops->n_ops; i > 0; i--)
        each_argument(walk, i - 1, pass_up);
}

/* ---- making it ---- */

static int begin(struct grad_paths *paths, const struct run *run, struct arena *arena)
{
    size_t n;

    paths->run = run;
    paths->n_values = run->ops ? run->ops->n_values : run->n_values;
    n = (size_t)paths->n_values + 2;
    paths->first = arena_array(arena, n, sizeof *paths->first);
    paths->total = arena_array(arena, n, sizeof *paths->total);
    paths->hidden = arena_array(arena, n, sizeof *paths->hidden);
    map_init(&paths->by_call, arena);
    if (!paths->first || !paths->total || !paths->hidden)
        return -1;
    for (size_t i = 0; i < n; i++)
        paths->total[i] = NAN;
    return 0;
}

static int fill(struct grad_walk *walk)
{
    if (!walk->ops)
        return grad_from_calls(walk->paths, &walk->scratch);
    if (grad_find_kinds(walk) < 0 || grad_find_uses(walk) < 0 ||
        grad_from_calls(walk->paths, &walk->scratch) < 0 ||
        grad_from_backward(walk) < 0)
        return -1;
    pass_on(walk);
    return 0;
}

int grad_paths_make(struct grad_paths *ret_paths, const struct run *run,
                    struct arena *arena, struct err *err)
{
    struct grad_paths paths = {0};
    struct grad_walk walk = {
        .paths = &paths, .run = run, .ops = run->ops, .arena = arena};
    int status;

    arena_init(&walk.scratch, 0);
    status = begin(&paths, run, arena) < 0 || fill(&walk) < 0 ? -1 : 0;
    arena_release(&walk.scratch);
    if (status < 0)
        return arena_err(arena, "the paths of gradients", err);
    *ret_paths = paths;
    return 0;
}

/* ---- asking it ---- */

/* A value has no gradient if no reader sends one. */
static bool has_gradient(const struct grad_paths *paths, uint32_t value)
{
    return paths->any && value < paths->n_values && grad_count_uses(paths, value) > 0;
}

/* Is its result the same value as another tensor? Then the readers of that tensor send
 * the gradient back. */
static bool is_alias(const struct run *run, const struct run_op *op, uint32_t value)
{
    uint8_t flags = run->ops->kinds[op->kind].flags;
    const struct run_op_io *io;

    for (uint32_t at = 0; (flags & (OP_VIEW | OP_DETACHES)) == OP_VIEW &&
                          (io = op_next(run, op, OP_OUT, &at));)
        if (io->value == value)
            return true;
    return false;
}

static double l2_of_op(const struct grad_paths *paths, uint32_t value, uint32_t op)
{
    const struct run *run = paths->run;
    const struct grad_use *use;

    if (!has_gradient(paths, value) || op >= run->ops->n_ops ||
        run->ops->ops[op].phase != OP_FORWARD)
        return NAN;
    use = grad_find_use(paths, value, op);
    if (use)
        return use->l2;
    return is_alias(run, &run->ops->ops[op], value) ? NAN : 0;
}

static double l2_of_call(const struct grad_paths *paths, uint32_t value, uint32_t call)
{
    const struct grad_call *of = grad_find_call(paths, value, call);

    if (of && of->n_in == 1 && !isnan(of->in))
        return of->in;
    if (!has_gradient(paths, value) || (of && (of->n_in || of->returned)))
        return NAN;
    if (!of || of->n_uses == 0)
        return paths->hidden[value] ? NAN : 0;
    if (of->n_uses == 1)
        return paths->uses[of->use].l2;
    return of->n_uses == grad_count_uses(paths, value) && !paths->hidden[value]
               ? paths->total[value]
               : NAN;
}

double grad_paths_l2(const struct grad_paths *paths, uint32_t value,
                     struct grad_reader reader)
{
    if (value >= paths->n_values)
        return NAN;
    if (reader.call != RUN_NONE)
        return l2_of_call(paths, value, reader.call);
    return paths->run->ops ? l2_of_op(paths, value, reader.op) : NAN;
}

static uint32_t uses_of_reader(const struct grad_paths *paths, uint32_t value,
                               struct grad_reader reader)
{
    const struct grad_call *of;

    if (reader.call == RUN_NONE)
        return grad_find_use(paths, value, reader.op) != NULL;
    of = grad_find_call(paths, value, reader.call);
    return of ? of->n_uses : 0;
}

void grad_paths_shares(const struct grad_paths *paths, uint32_t value,
                       const struct grad_reader *readers, uint32_t n,
                       double *ret_shares)
{
    bool known = has_gradient(paths, value) && !paths->hidden[value];
    uint32_t covered = 0;
    double sum = 0;

    for (uint32_t i = 0; i < n; i++) {
        uint32_t uses = known ? uses_of_reader(paths, value, readers[i]) : 0;

        ret_shares[i] = known ? grad_paths_l2(paths, value, readers[i]) : NAN;
        if (uses > 0)
            sum += ret_shares[i];
        else if (ret_shares[i] > 0)
            ret_shares[i] = NAN; /* it only passes the value on */
        covered += uses;
    }
    known =
        known && covered == grad_count_uses(paths, value) && sum > 0 && isfinite(sum);
    for (uint32_t i = 0; i < n; i++)
        ret_shares[i] = known ? ret_shares[i] / sum : NAN;
}
