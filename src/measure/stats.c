/* To add a statistic: a member of struct stats, a line in stats_init() and
 * stats_merge(), and a sum in the kernels. */
#include "measure/stats_in.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure/decode_in.h"
#include "measure/small_float_in.h"

void stats_init(struct stats *stats, enum dtype dtype)
{
    enum dtype_kind kind = dtype_info(dtype)->kind;

    *stats = (struct stats){.kind = STATS_REAL, .min = NAN, .max = NAN, .mean = NAN};
    if (kind == DTYPE_KIND_INT)
        stats->kind = STATS_INT;
    else if (kind == DTYPE_KIND_UINT || kind == DTYPE_KIND_BOOL)
        stats->kind = STATS_UINT;
}

uint64_t stats_finite(const struct stats *stats)
{
    return stats->count - stats->nan - stats->pos_inf - stats->neg_inf;
}

bool stats_measured(const struct stats *stats)
{
    return stats_finite(stats) > 0 && !isnan(stats->mean);
}

/* Squares of numbers beyond 2^512 overflow a double: these are scaled by a power of two,
 * which is exact. */
static double stats_m2_small(double m2)
{
    return m2 < 0 ? -m2 : m2 * STATS_SMALLER * STATS_SMALLER;
}

double stats_m2_of_small(double small)
{
    double m2 = small / STATS_SMALLER / STATS_SMALLER;

    return isinf(m2) && isfinite(small) ? -small : m2;
}

double stats_std(const struct stats *stats)
{
    uint64_t n = stats_finite(stats);

    if (n < 2)
        return NAN;
    if (stats->m2 < 0)
        return sqrt(-stats->m2 / (double)(n - 1)) / STATS_SMALLER;
    return sqrt(stats->m2 / (double)(n - 1));
}

double stats_l2(const struct stats *stats)
{
    uint64_t n = stats_finite(stats);
    double squares = stats->m2 + (double)n * stats->mean * stats->mean, mean;

    if (n == 0)
        return 0;
    if (stats->m2 >= 0 && isfinite(squares))
        return sqrt(squares);
    mean = stats->mean * STATS_SMALLER;
    return sqrt(stats_m2_small(stats->m2) + (double)n * mean * mean) / STATS_SMALLER;
}

/* Not hypot(): glibc 2.35 has a new version of it, and wheels would need that. It would
 * also lose a NaN beside an infinity. */
double stats_join_l2(double a, double b)
{
    double large = a > b ? a : b, small = a > b ? b : a;

    if (isnan(a) || isnan(b))
        return NAN;
    return large > 0 && isfinite(large)
               ? large * sqrt(1 + (small / large) * (small / large))
               : large;
}

/* Like stats_join(), for numbers whose squares overflow. */
static void join_huge(struct stats *stats, uint64_t n, double mean, double m2)
{
    uint64_t before = stats_finite(stats);
    double share = (double)n / (double)(before + n);
    double old = stats->mean * STATS_SMALLER, delta = mean * STATS_SMALLER - old;
    double small = stats_m2_small(stats->m2) + stats_m2_small(m2) +
                   delta * delta * share * (double)before;

    stats->mean = (old + delta * share) / STATS_SMALLER;
    stats->m2 = stats_m2_of_small(small);
}

/* Chan, Golub and LeVeque: merge sums of squares about two means. */
void stats_join(struct stats *stats, uint64_t n, double mean, double m2)
{
    uint64_t before = stats_finite(stats);
    double share, delta, squares;

    if (n == 0)
        return;
    if (before == 0) {
        stats->mean = mean;
        stats->m2 = m2;
        return;
    }
    share = (double)n / (double)(before + n);
    delta = mean - stats->mean;
    squares = stats->m2 + (m2 + delta * delta * share * (double)before);
    if (stats->m2 < 0 || m2 < 0 || isinf(squares)) {
        join_huge(stats, n, mean, m2);
        return;
    }
    stats->mean += delta * share;
    stats->m2 = squares;
}

bool stats_below(enum stats_kind kind, double a, int64_t int_a, double b, int64_t int_b)
{
    if (kind == STATS_INT)
        return int_a < int_b;
    if (kind == STATS_UINT)
        return (uint64_t)int_a < (uint64_t)int_b;
    return a < b;
}

void stats_lower(struct stats *stats, double min, int64_t int_min, uint64_t at)
{
    bool first = isnan(stats->min);

    if (isnan(min))
        return;
    if (!first && stats_below(stats->kind, stats->min, stats->int_min, min, int_min))
        return;
    if (!first && !stats_below(stats->kind, min, int_min, stats->min, stats->int_min) &&
        stats->min_at <= at)
        return;
    stats->min = min;
    stats->int_min = int_min;
    stats->min_at = at;
}

void stats_raise(struct stats *stats, double max, int64_t int_max, uint64_t at)
{
    bool first = isnan(stats->max);

    if (isnan(max))
        return;
    if (!first && stats_below(stats->kind, max, int_max, stats->max, stats->int_max))
        return;
    if (!first && !stats_below(stats->kind, stats->max, stats->int_max, max, int_max) &&
        stats->max_at <= at)
        return;
    stats->max = max;
    stats->int_max = int_max;
    stats->max_at = at;
}

void stats_merge(struct stats *a, const struct stats *b, uint64_t offset)
{
    stats_join(a, stats_finite(b), b->mean, b->m2);
    stats_lower(a, b->min, b->int_min, b->min_at + offset);
    stats_raise(a, b->max, b->int_max, b->max_at + offset);
    a->count += b->count;
    a->nan += b->nan;
    a->pos_inf += b->pos_inf;
    a->neg_inf += b->neg_inf;
    a->zeros += b->zeros;
    a->sampled = a->sampled || b->sampled;
}

enum load stats_load(enum dtype dtype)
{
    switch (dtype) {
    case DTYPE_FLOAT32:
        return LOAD_F32;
    case DTYPE_FLOAT16:
        return LOAD_F16;
    case DTYPE_BFLOAT16:
        return LOAD_BF16;
    case DTYPE_INT16:
        return LOAD_I16;
    case DTYPE_UINT16:
        return LOAD_U16;
    case DTYPE_FLOAT64:
        return LOAD_F64;
    case DTYPE_INT32:
    case DTYPE_QINT32:
        return LOAD_I32;
    case DTYPE_UINT32:
        return LOAD_U32;
    case DTYPE_INT64:
        return LOAD_I64;
    case DTYPE_UINT64:
        return LOAD_U64;
    default:
        return LOAD_COUNT;
    }
}

static bool has_value(const struct wanted *wanted, double real, int64_t integer)
{
    return wanted->kind == STATS_REAL ? real == wanted->real
                                      : integer == wanted->integer;
}

size_t stats_find(const struct kernels *kernels, enum dtype dtype, const void *at,
                  size_t first, size_t end, const struct wanted *wanted)
{
    enum load load = stats_load(dtype);
    unsigned values = dtype_info(dtype)->values;
    size_t size = elements_size(dtype, 1);
    double reals[2 * 512] = {0};
    int64_t integers[512] = {0};

    if (wanted->kind == STATS_REAL && load != LOAD_COUNT && kernels->find[load])
        return first + kernels->find[load]((const char *)at + first * size, end - first,
                                           wanted->real);
    for (; first < end; first += 512) {
        size_t n = end - first < 512 ? end - first : 512;

        if (wanted->kind == STATS_REAL)
            decode_reals(dtype, at, first, n, reals);
        else /* 64-bit integers */
            elements_decode_int(dtype, (const char *)at + first * size, n, integers);
        for (size_t i = 0; i < n * values; i++)
            if (has_value(wanted, reals[i], integers[i / values]))
                return first + i / values;
    }
    return end;
}

void stats_add_tally(struct stats *stats, struct tally *tally, enum dtype dtype,
                     const void *at, size_t n, uint64_t index, enum measure_mode mode)
{
    struct stats_part part = {.kernels = kernels_best(),
                              .tally = tally->histogram ? tally : NULL,
                              .dtype = dtype,
                              .mode = mode,
                              .at = at,
                              .n = n,
                              .index = index};

    if (n > 0 && decode_has_values(dtype))
        stats_add_part(stats, &part);
}

void stats_add(struct stats *stats, struct histogram *histogram, enum dtype dtype,
               const void *at, size_t n, uint64_t index, enum measure_mode mode)
{
    struct tally tally;

    tally_init(&tally, histogram, dtype, n);
    stats_add_tally(stats, &tally, dtype, at, n, index, mode);
    tally_release(&tally);
}

const char *stats_kernel_name(void)
{
    return kernels_best()->name;
}
