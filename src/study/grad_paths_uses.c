/* Finds operations that may send a gradient back to the values that they read. */
#include "study/grad_paths_in.h"

#include <math.h>

/* Properties of the whole recording. */
struct grad_seen {
    bool *caused;   /* by forward operation: a backward operation belongs to it */
    bool unclear;   /* some backward operations belong to an unknown one */
    bool functions; /* operations without autograd may be part of an
                       autograd.Function or a checkpoint, which send gradients back */
    bool *read;     /* by value: some operation may read it for a gradient */
    bool *reached;  /* ... and may send one back */
};

/* ---- facts from the recording ---- */

/* Operations of AccumulateGrad on a tensor that is not a parameter have no cause. */
static bool is_accumulated(const struct grad_walk *walk, const struct run_op *op)
{
    enum grad_kind kind = walk->kinds[op->kind];

    return op->gradient != RUN_NONE || kind == GRAD_DETACH || kind == GRAD_ADD ||
           kind == GRAD_SAME || walk->ops->kinds[op->kind].flags & OP_MAKES ||
           str_is(op_name(walk->run, op), "aten::copy_");
}

static void look_at_backward(struct grad_walk *walk, struct grad_seen *seen,
                             const struct run_op *op)
{
    const struct run_op_io *io;

    if (op->cause != RUN_NONE) {
        seen->caused[op->cause] = true;
        if (!(walk->ops->ops[op->cause].flags & OP_GRAD_MODE))
            seen->functions = true;
    } else if (!is_accumulated(walk, op)) {
        seen->unclear = true;
    }
    if (!(op->flags & OP_GRAD_MODE))
        return;
    /* create_graph: the backward of this backward sends gradients too. */
    for (uint32_t at = 0; (io = op_next(walk->run, op, OP_IN, &at));)
        if (io->flags & OP_VALUE_GRAD)
            walk->paths->hidden[io->value] = true;
}

bool grad_is_seed(const struct grad_walk *walk, const struct run_op *op)
{
    return walk->kinds[op->kind] == GRAD_SEED && op->cause == RUN_NONE &&
           op->phase != OP_RECOMPUTE;
}

static void look(struct grad_walk *walk, struct grad_seen *seen)
{
    const struct run_ops *ops = walk->ops;

    seen->unclear = ops->lost > 0;
    for (uint32_t i = 0; i < ops->n_ops; i++) {
        const struct run_op *op = &ops->ops[i];
        uint32_t at = 0;
        const struct run_op_io *io;

        walk->paths->any |= op->phase == OP_BACKWARD;
        if (grad_is_seed(walk, op)) {
            io = op_next(walk->run, op, OP_IN, &at);
            if (io)
                walk->paths->hidden[io->value] = true;
        } else if (op->phase == OP_BACKWARD) {
            look_at_backward(walk, seen, op);
        } else if (op->phase == OP_RECOMPUTE) {
            seen->functions = true;
        }
    }
    /* A reader of the whole reads its parts. */
    for (uint32_t i = 0; i < ops->n_sources; i++)
        walk->paths->hidden[ops->sources[i]] = true;
}

/* ---- operations ---- */

/* May a gradient come back to this result? */
static bool may_have_gradient(const struct grad_walk *walk, uint32_t value)
{
    const struct run_op_value *of = &walk->ops->values[value];
    enum dtype dtype = (enum dtype)walk->ops->types[of->type].dtype;
    enum dtype_kind kind = dtype_info(dtype)->kind;

    if (kind == DTYPE_KIND_BOOL || kind == DTYPE_KIND_INT || kind == DTYPE_KIND_UINT)
        return false;
    return of->flags & OP_VALUE_GRAD || !(of->flags & OP_VALUE_NO_GRAD);
}

/* Can a gradient pass through an operation that runs nothing in backward? */
static bool is_silent(const struct grad_walk *walk, const struct run_op *op)
{
    enum grad_kind kind = walk->kinds[op->kind];
    const struct run_op_io *io;

    for (uint32_t at = 0;
         kind == GRAD_FIRST && (io = op_next(walk->run, op, OP_IN, &at));)
        if (io->arg > 0 && io->flags & OP_VALUE_GRAD)
            return false;
    return kind >= GRAD_FIRST;
}

/* A forward operation without backward operations may still pass a gradient on, from
 * the readers of its results or from the start of a backward. */
static bool may_pass(const struct grad_walk *walk, const struct grad_seen *seen,
                     const struct run_op *op)
{
    bool silent = is_silent(walk, op);

    for (uint32_t i = op->ios; i < op->ios + op->n_ios; i++) {
        const struct run_op_io *io = &walk->ops->ios[i];

        if (io->kind != OP_IN && may_have_gradient(walk, io->value) &&
            (seen->reached[io->value] || (silent && !seen->read[io->value])))
            return true;
    }
    return false;
}

/* Does autograd see this operation? */
static bool is_seen(const struct grad_walk *walk, const struct grad_seen *seen,
                    const struct run_op *op)
{
    if (op->phase != OP_FORWARD || op->flags & OP_RAISED ||
        walk->kinds[op->kind] == GRAD_DETACH || walk->kinds[op->kind] == GRAD_SEED)
        return false;
    if (!(op->flags & OP_GRAD_MODE))
        return seen->functions;
    for (uint32_t i = op->ios; i < op->ios + op->n_ios; i++)
        if (walk->ops->ios[i].kind != OP_IN &&
            may_have_gradient(walk, walk->ops->ios[i].value))
            return true;
    return false;
}

/* Is this a use? A view that is equal to its argument is the same value: the readers of
 * the view are its uses. */
static bool is_use(const struct grad_walk *walk, uint32_t op,
                   const struct run_op_io *io)
{
    return io->flags & OP_VALUE_GRAD && io->value != walk->result[op];
}

static void find_senders(struct grad_walk *walk, struct grad_seen *seen)
{
    const struct run_ops *ops = walk->ops;

    for (uint32_t i = ops->n_ops; i > 0; i--) {
        const struct run_op *op = &ops->ops[i - 1];
        const struct run_op_io *io;

        if (!is_seen(walk, seen, op))
            continue;
        walk->may[i - 1] = seen->caused[i - 1] || seen->unclear ||
                           !(op->flags & OP_GRAD_MODE) || may_pass(walk, seen, op);
        for (uint32_t at = 0; (io = op_next(walk->run, op, OP_IN, &at));) {
            if (!is_use(walk, i - 1, io))
                continue;
            seen->read[io->value] = true;
            seen->reached[io->value] |= walk->may[i - 1];
        }
    }
}

/* ---- the list ---- */

/* Counts the uses of each value in first[value + 1], or lists them from first[value]
 * on. `last` has for each value 1 + the operation that used it last. */
static void each_use(struct grad_walk *walk, uint32_t *last, struct grad_use *to)
{
    uint32_t *first = walk->paths->first;

    for (uint32_t i = 0; i < walk->ops->n_ops; i++) {
        const struct run_op_io *io;

        if (!walk->may[i])
            continue;
        for (uint32_t at = 0;
             (io = op_next(walk->run, &walk->ops->ops[i], OP_IN, &at));) {
            if (!is_use(walk, i, io) || last[io->value] == i + 1)
                continue;
            last[io->value] = i + 1;
            if (to)
                to[first[io->value]++] = (struct grad_use){io->value, i, NAN};
            else
                first[io->value + 1]++;
        }
    }
}

static int list_uses(struct grad_walk *walk)
{
    struct grad_paths *paths = walk->paths;
    size_t n = paths->n_values;
    uint32_t *last = arena_array(&walk->scratch, n + 1, sizeof *last);

    if (!last)
        return -1;
    each_use(walk, last, NULL);
    for (uint32_t i = 0; i < n; i++)
        paths->first[i + 1] += paths->first[i];
    paths->uses =
        arena_array(walk->arena, (size_t)paths->first[n] + 1, sizeof *paths->uses);
    if (!paths->uses)
        return -1;
    for (uint32_t i = 0; i < n; i++)
        last[i] = 0;
    each_use(walk, last, paths->uses);
    for (size_t i = n; i > 0; i--) /* listing advanced each to the next one */
        paths->first[i] = paths->first[i - 1];
    paths->first[0] = 0;
    return 0;
}

int grad_find_uses(struct grad_walk *walk)
{
    size_t n_ops = walk->ops->n_ops, n_values = walk->ops->n_values;
    struct grad_seen seen = {0};

    walk->may = arena_array(&walk->scratch, n_ops + 1, sizeof *walk->may);
    seen.caused = arena_array(&walk->scratch, n_ops + 1, sizeof *seen.caused);
    seen.read = arena_array(&walk->scratch, n_values + 1, sizeof *seen.read);
    seen.reached = arena_array(&walk->scratch, n_values + 1, sizeof *seen.reached);
    if (!walk->may || !seen.caused || !seen.read || !seen.reached)
        return -1;
    look(walk, &seen);
    find_senders(walk, &seen);
    return list_uses(walk);
}

struct grad_use *grad_find_use(const struct grad_paths *paths, uint32_t value,
                               uint32_t op)
{
    uint32_t low = paths->first[value], high = paths->first[value + 1];

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (paths->uses[middle].op == op)
            return &paths->uses[middle];
        if (paths->uses[middle].op < op)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

uint32_t grad_count_uses(const struct grad_paths *paths, uint32_t value)
{
    return paths->first[value + 1] - paths->first[value];
}
