/* stats_in.h - shared by the files that compute statistics. */
#ifndef MEASURE_STATS_IN_H
#define MEASURE_STATS_IN_H

#include "measure/elements.h"
#include "measure/histogram.h"
#include "measure/histogram_in.h"
#include "measure/kernels_in.h"
#include "measure/stats.h"

#define SAMPLED_OF  8      /* MEASURE_SAMPLED measures one of 8 blocks */
#define STATS_SMALL 65536u /* smaller tensors are not sampled */

/* Like stats_add(), but with given kernels (tests compare them) and for elements first
 * to first + n of the run at `at`. */
struct stats_part {
    const struct kernels *kernels;
    struct tally *tally; /* NULL: no histogram */
    enum dtype dtype;
    enum measure_mode mode;
    const void *at;
    size_t first, n; /* in elements */
    uint64_t index;  /* of `first` in the whole */
};
void stats_add_part(struct stats *stats, const struct stats_part *part);

/* As stats_add(), for parts of a tensor that share a tally. */
void stats_add_tally(struct stats *stats, struct tally *tally, enum dtype dtype,
                     const void *at, size_t n, uint64_t index, enum measure_mode mode);

/* Like stats_add_part(), for types whose elements are codes of at most 8 bits. */
void stats_add_codes(struct stats *stats, const struct stats_part *part);

/* How kernels load elements of this type; LOAD_COUNT: they cannot. */
enum load stats_load(enum dtype dtype);

/* An m2 (see struct stats) from its value times 2^-1080. */
#define STATS_SMALLER 0x1p-540
double stats_m2_of_small(double small);

/* Merge n more finite elements with this mean and m2; call it before counting them. */
void stats_join(struct stats *stats, uint64_t n, double mean, double m2);

/* Is a below b? Integers are compared as such. */
bool stats_below(enum stats_kind kind, double a, int64_t int_a, double b,
                 int64_t int_b);

/* Update min or max; of equal values the one with the lower index counts. */
void stats_lower(struct stats *stats, double min, int64_t int_min, uint64_t at);
void stats_raise(struct stats *stats, double max, int64_t int_max, uint64_t at);

/* A value to search for; integers are compared as such. */
struct wanted {
    enum stats_kind kind;
    double real;
    int64_t integer;
};

/* The first element in [first, end) with the value; `end` if none. */
size_t stats_find(const struct kernels *kernels, enum dtype dtype, const void *at,
                  size_t first, size_t end, const struct wanted *wanted);

#endif
