/* The effect of operations on the norm of a gradient. */
#include "study/grad_paths_in.h"

#include <math.h>

static const struct {
    const char *name; /* without "aten::" and the _ of in-place variants */
    enum grad_kind kind;
} known_kinds[] = {
    {"add", GRAD_ADD},
    {"sub", GRAD_SUB},
    {"mul", GRAD_MUL},
    {"div", GRAD_DIV},
    {"expand", GRAD_EXPAND},
    {"ones_like", GRAD_SEED},
    {"_reshape_alias", GRAD_SAME},
    {"_to_copy", GRAD_SAME},
    {"_unsafe_view", GRAD_SAME},
    {"alias", GRAD_SAME},
    {"clone", GRAD_SAME},
    {"contiguous", GRAD_SAME},
    {"lift_fresh", GRAD_SAME},
    {"neg", GRAD_SAME},
    {"permute", GRAD_SAME},
    {"reshape", GRAD_SAME},
    {"select", GRAD_SAME},
    {"slice", GRAD_SAME},
    {"squeeze", GRAD_SAME},
    {"t", GRAD_SAME},
    {"transpose", GRAD_SAME},
    {"unsqueeze", GRAD_SAME},
    {"view", GRAD_SAME},
    {"addbmm", GRAD_FIRST},
    {"addcdiv", GRAD_FIRST},
    {"addcmul", GRAD_FIRST},
    {"addmm", GRAD_FIRST},
    {"addmv", GRAD_FIRST},
    {"addr", GRAD_FIRST},
    {"baddbmm", GRAD_FIRST},
    {"copy", GRAD_SILENT},
    {"index_add", GRAD_FIRST},
    {"index_put", GRAD_FIRST},
    {"rsub", GRAD_SILENT},
    {"scatter_add", GRAD_FIRST},
};

static enum grad_kind kind_of(const struct run *run, const struct run_op_kind *kind)
{
    static const char aten[] = "aten::";
    struct str name = run_string(run, kind->name);

    if (kind->flags & OP_DETACHES)
        return GRAD_DETACH;
    if (kind->flags & (OP_REGION | OP_CUSTOM))
        return GRAD_SILENT;
    if (!str_starts(name, str_of(aten)))
        return GRAD_OTHER;
    name = str_from(name, sizeof aten - 1);
    if (name.len > 1 && name.at[name.len - 1] == '_')
        name = str_head(name, name.len - 1);
    for (size_t i = 0; i < sizeof known_kinds / sizeof *known_kinds; i++)
        if (str_is(name, known_kinds[i].name))
            return known_kinds[i].kind;
    return kind->flags & OP_VIEW ? GRAD_SILENT : GRAD_OTHER;
}

/* The only value that an operation made; RUN_NONE: none or several. */
static uint32_t only_result(const struct grad_walk *walk, const struct run_op *op)
{
    uint32_t result = RUN_NONE;

    for (uint32_t i = op->ios; i < op->ios + op->n_ios; i++) {
        const struct run_op_io *io = &walk->ops->ios[i];

        if (io->kind == OP_IN || io->value == result)
            continue;
        if (result != RUN_NONE)
            return RUN_NONE;
        result = io->value;
    }
    return result;
}

/* Marks the results of views that another operation made before, except those that
 * return their argument. */
static void mark_again(struct grad_walk *walk, uint32_t op)
{
    const struct run_op *of = &walk->ops->ops[op];
    uint32_t at = 0;
    const struct run_op_io *first = op_next(walk->run, of, OP_IN, &at);

    if (of->phase != OP_FORWARD || walk->kinds[of->kind] == GRAD_DETACH)
        return;
    for (uint32_t i = of->ios; i < of->ios + of->n_ios; i++) {
        const struct run_op_io *io = &walk->ops->ios[i];

        if (io->kind != OP_IN && (!first || io->value != first->value) &&
            walk->ops->values[io->value].producer != op)
            walk->again[io->value] = walk->paths->hidden[io->value] = true;
    }
}

int grad_find_kinds(struct grad_walk *walk)
{
    const struct run_ops *ops = walk->ops;

    walk->kinds = arena_array(&walk->scratch, (size_t)ops->n_kinds + 1, 1);
    walk->result =
        arena_array(&walk->scratch, (size_t)ops->n_ops + 1, sizeof *walk->result);
    walk->again =
        arena_array(&walk->scratch, (size_t)ops->n_values + 1, sizeof *walk->again);
    if (!walk->kinds || !walk->result || !walk->again)
        return -1;
    for (uint32_t i = 0; i < ops->n_kinds; i++)
        walk->kinds[i] = (uint8_t)kind_of(walk->run, &ops->kinds[i]);
    for (uint32_t i = 0; i < ops->n_ops; i++) {
        walk->result[i] = only_result(walk, &ops->ops[i]);
        mark_again(walk, i);
    }
    return 0;
}

static const struct run_op_type *type_of(const struct run *run, uint32_t value)
{
    return &run->ops->types[run->ops->values[value].type];
}

bool grad_same_shape(const struct run *run, uint32_t a, uint32_t b)
{
    const struct run_op_type *one = type_of(run, a), *other = type_of(run, b);

    if (one->dtype != other->dtype || one->rank != other->rank)
        return false;
    for (int i = 0; i < one->rank; i++)
        if (run->dims[one->shape + (uint32_t)i] !=
            run->dims[other->shape + (uint32_t)i])
            return false;
    return true;
}

double grad_norm(const struct run *run, uint32_t stats)
{
    const struct stats *of = stats < run->n_stats ? &run->stats[stats] : NULL;

    if (!of || of->sampled || !stats_measured(of) || of->nan || of->pos_inf ||
        of->neg_inf)
        return NAN;
    return stats_l2(of);
}

/* A numeric argument; `missing` if there is none of that name, NAN if it is not a
 * number. */
static double number(const struct run *run, const struct run_op *op, const char *name,
                     double missing)
{
    const struct value *value = value_at(&run->plain, op_attribute(run, op, name));

    if (value->kind == VALUE_NONE)
        return missing;
    if (value->kind == VALUE_INT)
        return (double)value->integer;
    return value->kind == VALUE_REAL ? value->real : NAN;
}

bool grad_is_plain_sum(const struct grad_walk *walk, const struct run_op *op)
{
    return walk->kinds[op->kind] == GRAD_ADD && number(walk->run, op, "alpha", 1) == 1;
}

/* self + alpha * other: the factor of `value` in the result. */
static double scale_of_sum(const struct grad_walk *walk, const struct run_op *op,
                           uint32_t value)
{
    double alpha = number(walk->run, op, "alpha", 1), sum = 0;
    const struct run_op_io *io;

    if (walk->kinds[op->kind] == GRAD_SUB)
        alpha = -alpha;
    for (uint32_t at = 0; (io = op_next(walk->run, op, OP_IN, &at));)
        if (io->value == value && io->flags & OP_VALUE_GRAD)
            sum += io->arg == 0 ? 1 : alpha;
    return fabs(sum);
}

/* Multiplied or divided by a number. Half precision could lose small elements. */
static double scale_of_product(const struct grad_walk *walk, const struct run_op *op,
                               uint32_t value)
{
    double factor = fabs(number(walk->run, op, "other", NAN));
    uint8_t dtype = type_of(walk->run, value)->dtype;

    if ((dtype != DTYPE_FLOAT32 && dtype != DTYPE_FLOAT64) ||
        op_attribute(walk->run, op, "rounding_mode") != VALUE_ID_NONE)
        return 0;
    return walk->kinds[op->kind] == GRAD_MUL ? factor : 1 / factor;
}

static bool is_first_argument(const struct grad_walk *walk, const struct run_op *op,
                              uint32_t value)
{
    uint32_t at = 0;
    const struct run_op_io *io = op_next(walk->run, op, OP_IN, &at);

    return io && io->value == value && io->arg == 0;
}

static bool is_whole(const struct grad_walk *walk, uint32_t a, uint32_t b)
{
    const struct run_op_type *one = type_of(walk->run, a);
    const struct run_op_type *other = type_of(walk->run, b);

    return one->dtype == other->dtype && one->numel == other->numel;
}

double grad_scale(const struct grad_walk *walk, uint32_t op, uint32_t value)
{
    const struct run_op *of = &walk->ops->ops[op];
    enum grad_kind kind = walk->kinds[of->kind];
    uint32_t result = walk->result[op];
    double scale = 0;

    if (kind < GRAD_ADD || result == RUN_NONE || walk->again[result])
        return 0;
    if (kind >= GRAD_SAME)
        scale = is_first_argument(walk, of, value) && is_whole(walk, value, result);
    else if (!grad_same_shape(walk->run, value, result))
        scale = 0;
    else if (kind == GRAD_ADD || kind == GRAD_SUB)
        scale = scale_of_sum(walk, of, value);
    else if (is_first_argument(walk, of, value))
        scale = scale_of_product(walk, of, value);
    return isfinite(scale) ? scale : 0;
}

double grad_norm_factor(const struct grad_walk *walk, uint32_t op)
{
    const struct run_op *of = &walk->ops->ops[op];
    enum grad_kind kind = walk->kinds[of->kind];
    const struct run_op_type *from, *to;
    const struct run_op_io *io;
    uint32_t at = 0;

    if ((kind < GRAD_SAME && kind != GRAD_DETACH) || walk->result[op] == RUN_NONE)
        return 0;
    io = op_next(walk->run, of, OP_IN, &at);
    if (!io || io->arg != 0)
        return 0;
    from = type_of(walk->run, io->value);
    to = type_of(walk->run, walk->result[op]);
    if (from->dtype != to->dtype || from->numel == 0)
        return 0;
    if (kind == GRAD_EXPAND)
        return sqrt((double)to->numel / (double)from->numel);
    return from->numel == to->numel;
}
