/* The distance of two values. */
#include <math.h>
#include <string.h>

#include "run/kept.h"
#include "study/diverge/divergence_in.h"

/* Sums of statistics are exact to about 1e-6. */
#define STATISTICS_FLOOR  2e-6
#define FLOAT32_TOLERANCE 1e-5 /* also if there were only integers */

double divergence_tolerance(enum dtype dtype)
{
    switch (dtype) {
    case DTYPE_FLOAT64:
    case DTYPE_COMPLEX128:
        return 1e-9;
    case DTYPE_FLOAT32:
    case DTYPE_COMPLEX64:
        return FLOAT32_TOLERANCE;
    case DTYPE_FLOAT16:
    case DTYPE_COMPLEX32:
        return 2e-3;
    case DTYPE_BFLOAT16:
        return 1e-2;
    case DTYPE_QINT8:
    case DTYPE_QUINT8:
        return 5e-2;
    case DTYPE_FLOAT8_E4M3FN:
    case DTYPE_FLOAT8_E4M3FNUZ:
        return 0.1;
    case DTYPE_FLOAT8_E5M2:
    case DTYPE_FLOAT8_E5M2FNUZ:
        return 0.2;
    default: /* integers are exact; 4 and 6 bit types are only stored */
        return 0;
    }
}

double diverging_limit(double asked, double coarse, enum divergence_how how)
{
    double limit = asked > 0 ? asked : coarse > 0 ? coarse : FLOAT32_TOLERANCE;

    return how == DIVERGENCE_STATISTICS && limit < STATISTICS_FLOOR ? STATISTICS_FLOOR
                                                                    : limit;
}

/* ---- what a value is ---- */

static const struct run_op_type *type_of(const struct run *run, uint32_t op_value)
{
    return &run->ops->types[run->ops->values[op_value].type];
}

const int64_t *divergence_shape(const struct run *run, struct divergence_value value,
                                int *ret_rank)
{
    if (value.of_op) {
        const struct run_op_type *type = type_of(run, value.at);

        *ret_rank = type->rank;
        return run->dims + type->shape;
    }
    *ret_rank = run->values[value.at].rank;
    return run->dims + run->values[value.at].shape;
}

enum dtype divergence_dtype(const struct run *run, struct divergence_value value)
{
    return (enum dtype)(value.of_op ? type_of(run, value.at)->dtype
                                    : run->values[value.at].dtype);
}

static uint64_t numel_of(const struct run *run, struct divergence_value value)
{
    return value.of_op ? type_of(run, value.at)->numel : run->values[value.at].numel;
}

const struct stats *divergence_stats(const struct run *run,
                                     struct divergence_value value)
{
    uint32_t at =
        value.of_op ? run->ops->values[value.at].stats : run->values[value.at].stats;

    if (at == RUN_NONE && !value.of_op && run->values[value.at].op_value != RUN_NONE &&
        run->ops)
        at = run->ops->values[run->values[value.at].op_value].stats;
    return at == RUN_NONE ? NULL : &run->stats[at];
}

/* The equal value of a module, which may have elements; or RUN_NONE. */
static uint32_t module_value(const struct divergence *divergence, int side,
                             struct divergence_value value)
{
    return value.of_op ? divergence->module_value[side][value.at] : value.at;
}

static const struct stats *stats_of(const struct divergence *divergence, int side,
                                    struct divergence_value value)
{
    const struct run *run = divergence->run[side];
    const struct stats *stats = divergence_stats(run, value);
    uint32_t module = module_value(divergence, side, value);

    if (!stats && module != RUN_NONE && run->values[module].stats != RUN_NONE)
        stats = &run->stats[run->values[module].stats];
    return stats;
}

static bool is_kept(const struct divergence *divergence, int side,
                    struct divergence_value value)
{
    uint32_t module = module_value(divergence, side, value);

    return module != RUN_NONE && divergence->run[side]->values[module].kept != RUN_NONE;
}

bool diverging_measured(const struct divergence *divergence, int side,
                        struct divergence_value value)
{
    return is_kept(divergence, side, value) || stats_of(divergence, side, value);
}

static bool same_shape(const struct divergence *divergence,
                       const struct divergence_value value[2])
{
    int rank[2];
    const int64_t *left = divergence_shape(divergence->run[0], value[0], &rank[0]);
    const int64_t *right = divergence_shape(divergence->run[1], value[1], &rank[1]);

    return rank[0] == rank[1] &&
           (rank[0] == 0 || memcmp(left, right, (size_t)rank[0] * sizeof *left) == 0);
}

/* ---- statistics ---- */

static double rms_of(const struct stats *stats)
{
    uint64_t n = stats_finite(stats);

    return n > 0 ? stats_l2(stats) / sqrt((double)n) : 0;
}

/* Divides by n, not n - 1: then the difference is at most the RMS of the
 * differences. */
static double deviation_of(const struct stats *stats)
{
    uint64_t n = stats_finite(stats);

    return n > 1 ? stats_std(stats) * sqrt((double)(n - 1) / (double)n) : 0;
}

static double largest(double a, double b)
{
    return a > b ? a : b;
}

static void set_distance(struct divergence_amount *to, double typical)
{
    to->max_rel = to->scale > 0     ? to->max_abs / to->scale
                  : to->max_abs > 0 ? INFINITY
                                    : 0;
    if (to->scale > 0)
        to->distance = largest(typical, to->max_abs / DIVERGENCE_PEAK) / to->scale;
    else
        to->distance = typical > 0 || to->max_abs > 0 ? INFINITY : 0;
}

static struct divergence_amount not_compared(const char *why)
{
    return (struct divergence_amount){
        .distance = NAN, .max_abs = NAN, .max_rel = NAN, .mean = NAN, .why = why};
}

static struct divergence_amount infinitely(enum divergence_how how, bool not_finite)
{
    return (struct divergence_amount){.how = (uint8_t)how,
                                      .distance = INFINITY,
                                      .max_abs = NAN,
                                      .max_rel = NAN,
                                      .mean = NAN,
                                      .scale = NAN,
                                      .not_finite = not_finite};
}

struct divergence_amount diverging_statistics(const struct stats *a,
                                              const struct stats *b)
{
    struct divergence_amount by = {.how = DIVERGENCE_STATISTICS, .mean = NAN};
    double typical;

    if (a->sampled != b->sampled || a->count != b->count)
        return not_compared("measured in another way on each side");
    if (a->nan != b->nan || a->pos_inf != b->pos_inf || a->neg_inf != b->neg_inf)
        return infinitely(DIVERGENCE_STATISTICS, true);
    if (stats_finite(a) == 0)
        return by;
    if (!stats_measured(a) || !stats_measured(b))
        return not_compared("only NaN and infinities were counted");
    by.scale = largest(rms_of(a), rms_of(b));
    by.max_abs = largest(fabs(a->min - b->min), fabs(a->max - b->max));
    typical = largest(fabs(a->mean - b->mean), fabs(rms_of(a) - rms_of(b)));
    set_distance(&by, largest(typical, fabs(deviation_of(a) - deviation_of(b))));
    return by;
}

/* ---- elements ---- */

static struct divergence_amount amount_of(const struct compared *compared)
{
    struct divergence_amount by = {.how = DIVERGENCE_ELEMENTS};
    double n = (double)compared->finite;

    if (compared->one_sided > 0)
        return infinitely(DIVERGENCE_ELEMENTS, true);
    if (compared->different == 0 || compared->finite == 0)
        return by;
    by.max_abs = compared->max_abs;
    by.mean = sqrt(compared->squares / n);
    by.scale = sqrt(largest(compared->left_squares, compared->right_squares) / n);
    set_distance(&by, by.mean);
    return by;
}

/* False: they cannot be read. */
static bool by_elements(const struct divergence *divergence, const uint32_t value[2],
                        struct work *work, struct divergence_amount *ret_by)
{
    struct kept_view view[2];
    struct compare_side side[2];
    struct compared compared;

    for (int i = 0; i < 2; i++) {
        if (kept_view_init(&view[i], divergence->run[i], value[i], NULL) < 0)
            return false;
        side[i] = (struct compare_side){&view[i].model, &view[i].tensor};
    }
    if (compare_tensors(side[0], side[1], (struct tolerance){0, 0}, work, &compared,
                        NULL) < 0)
        return false;
    *ret_by = amount_of(&compared);
    return true;
}

/* Comparing elements is slow, so each pair of values is compared once. */
static bool by_known_elements(struct diverging *d, const struct divergence *divergence,
                              const uint32_t value[2], struct divergence_amount *ret_by)
{
    uint64_t key = (uint64_t)value[0] << 32 | value[1];
    uint32_t at;

    if (!d)
        return by_elements(divergence, value, NULL, ret_by);
    if (map_find(&d->known, key, &at)) {
        *ret_by = d->amounts[at];
        return true;
    }
    if (!by_elements(divergence, value, d->work, ret_by))
        return false;
    if (arena_room(&d->scratch, &d->amounts, d->n_amounts, &d->amounts_room,
                   sizeof *d->amounts) == 0 &&
        map_put(&d->known, key, d->n_amounts) == 0)
        d->amounts[d->n_amounts++] = *ret_by;
    return true;
}

/* The elements are equal: the scale comes from the statistics. */
static void add_scale(struct divergence_amount *by, const struct stats *stats)
{
    if (by->scale == 0 && stats && stats_finite(stats) > 0 && stats_measured(stats))
        by->scale = rms_of(stats);
}

struct divergence_amount diverging_compare(struct diverging *d,
                                           const struct divergence *divergence,
                                           struct divergence_value left,
                                           struct divergence_value right)
{
    const struct divergence_value value[2] = {left, right};
    const struct stats *a = stats_of(divergence, 0, left),
                       *b = stats_of(divergence, 1, right);
    struct divergence_amount by;

    if (numel_of(divergence->run[0], left) != numel_of(divergence->run[1], right))
        return infinitely(DIVERGENCE_SHAPE, false);
    if (is_kept(divergence, 0, left) && is_kept(divergence, 1, right) &&
        same_shape(divergence, value)) {
        const uint32_t modules[2] = {module_value(divergence, 0, left),
                                     module_value(divergence, 1, right)};

        if (by_known_elements(d, divergence, modules, &by)) {
            add_scale(&by, a);
            return by;
        }
    }
    if (!a || !b)
        return not_compared("without statistics on one side");
    return diverging_statistics(a, b);
}

/* ---- names ---- */

const char *divergence_what_name(enum divergence_what what)
{
    static const char *const names[] = {
        [DIVERGENCE_INPUT] = "input",         [DIVERGENCE_OP] = "op",
        [DIVERGENCE_CALL] = "module",         [DIVERGENCE_GRADIENT] = "gradient",
        [DIVERGENCE_PARAMETER] = "parameter",
    };

    return names[what];
}

const char *divergence_how_name(enum divergence_how how)
{
    static const char *const names[] = {
        [DIVERGENCE_NOT] = "not compared",
        [DIVERGENCE_ELEMENTS] = "elements",
        [DIVERGENCE_STATISTICS] = "statistics",
        [DIVERGENCE_SHAPE] = "shape",
    };

    return names[how];
}
