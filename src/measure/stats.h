/* stats.h - the statistics of one tensor, in one pass over its elements.
 * min, max, mean, std and L2 cover the finite elements; NaN and infinities are counted
 * separately. Complex elements count by absolute value. A packed element of two values
 * counts as two. Quantised integers are measured as stored. */
#ifndef MEASURE_STATS_H
#define MEASURE_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/work.h"
#include "model/model.h"

enum measure_mode {
    MEASURE_FULL,    /* f32 sums in blocks of 2048, f64 between them; std within 1e-6 */
    MEASURE_EXACT,   /* f64 throughout; std within 1e-12 */
    MEASURE_SAMPLED, /* 1 of 8 blocks; counts are lower bounds */
    MEASURE_GUARD,   /* counts only NaN and infinities */
};

/* The type of min and max. */
enum stats_kind { STATS_REAL, STATS_INT, STATS_UINT };

struct stats {
    uint64_t count; /* elements measured */
    uint64_t nan, pos_inf, neg_inf, zeros;
    enum stats_kind kind;
    double min, max;          /* of finite elements; NaN if there are none */
    int64_t int_min, int_max; /* STATS_INT: exact (STATS_UINT: cast to uint64_t) */
    uint64_t min_at, max_at;  /* index in C order of the first such element */
    double mean;              /* NaN if there are none */
    double m2;    /* sum of squared distances from the mean; negative if that overflows
                     a double: then -m2 is the sum times 2^-1080 */
    bool sampled; /* not every element was measured */
};

void stats_init(struct stats *stats, enum dtype dtype);
uint64_t stats_finite(const struct stats *stats);
/* Are min, max, mean, m2 and zeros known? False if no element is finite, and with
 * MEASURE_GUARD. */
bool stats_measured(const struct stats *stats);
double stats_std(const struct stats *stats); /* divides by n - 1; NaN if n < 2 */
double stats_l2(const struct stats *stats);
/* The L2 norm of two vectors as one, from theirs; NaN if one is. */
double stats_join_l2(double a, double b);

/* Merge the statistics of two parts; `b` begins at element `offset`. Counts, min and max
 * are exact, mean and m2 to 1e-12. */
void stats_merge(struct stats *a, const struct stats *b, uint64_t offset);

/* Add n dense elements in native byte order; the first is element `index` of the whole.
 * `histogram` may be NULL; else the same pass adds to it (start with a zeroed one). A
 * packed run begins at a byte. */
struct histogram;
void stats_add(struct stats *stats, struct histogram *histogram, enum dtype dtype,
               const void *at, size_t n, uint64_t index, enum measure_mode mode);

/* The statistics of a tensor of a model. Reads each byte once, in windows; repeated
 * elements of an expanded tensor cost nothing. A tensor of fewer than 65536 elements is
 * never sampled. `histogram` as above. */
int stats_tensor(const struct model *model, const struct tensor *tensor,
                 enum measure_mode mode, struct work *work, struct histogram *histogram,
                 struct stats *ret_stats, struct err *err);

/* The kernel in use: "avx512", "avx2", "sse2" or "plain". TORCHOSCOPE_SIMD=NAME in the
 * environment selects another one; names that this machine does not support are
 * ignored. */
const char *stats_kernel_name(void);

#endif
