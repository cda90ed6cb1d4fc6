/* stats_in.h - what the files that make statistics share. */
#ifndef MEASURE_STATS_IN_H
#define MEASURE_STATS_IN_H

#include "measure/elements.h"
#include "measure/histogram.h"
#include "measure/histogram_in.h"
#include "measure/kernels_in.h"
#include "measure/stats.h"

#define SAMPLED_OF 8 /* in `sampled` mode one block of so many is looked at */

/* As stats_add(), but with kernels of the caller's choice (tests compare them), and
 * with elements first to first + n of the run at `at`. */
struct stats_part {
    const struct kernels *kernels;
    struct tally *tally; /* or NULL: no histogram is wanted */
    enum dtype dtype;
    enum measure_mode mode;
    const void *at;
    size_t first, n; /* in elements */
    uint64_t index;  /* of `first` in the whole */
};
void stats_add_part(struct stats *stats, const struct stats_part *part);

/* As stats_add(), for the parts of a tensor that share a table of counters. */
void stats_add_tally(struct stats *stats, struct tally *tally, enum dtype dtype,
                     const void *at, size_t n, uint64_t index, enum measure_mode mode);

/* As stats_add_part(), for types whose elements are codes of at most 8 bits. */
void stats_add_codes(struct stats *stats, const struct stats_part *part);

/* How kernels load such elements; LOAD_COUNT: not at all. */
enum load stats_load(enum dtype dtype);

/* An m2 (see struct stats) times 2^-1080, and back. */
#define STATS_SMALLER 0x1p-540
double stats_m2_small(double m2);
double stats_m2_of_small(double small);

/* Join `n` further finite elements with this mean and m2 to those that stats holds;
 * to be called before they are counted. */
void stats_join(struct stats *stats, uint64_t n, double mean, double m2);

/* Is a below b? Integers are compared as such. */
bool stats_below(enum stats_kind kind, double a, int64_t int_a, double b,
                 int64_t int_b);

/* Take over a min or max if it is the lower or higher one; of equal ones the first. */
void stats_lower(struct stats *stats, double min, int64_t int_min, uint64_t at);
void stats_raise(struct stats *stats, double max, int64_t int_max, uint64_t at);

/* A value to look for: integers are compared as such. */
struct wanted {
    enum stats_kind kind;
    double real;
    int64_t integer;
};

/* The first element from `first` on, below `end`, that has the value; `end` if none. */
size_t stats_find(const struct kernels *kernels, enum dtype dtype, const void *at,
                  size_t first, size_t end, const struct wanted *wanted);

#endif
