/* spread.h - how the values of a tensor are distributed, as two histograms that merge
 * exactly: for histories, where old steps are merged when the file is full.
 *
 * Both count the finite elements; stats.h counts NaN and infinities. An element is
 * taken as a double (64-bit integers are rounded to one, complex ones count by absolute
 * value), and -0 is 0.
 *
 * LINEAR  Bin i holds the values from i * 2^k up to (i + 1) * 2^k, without the latter:
 *         i = floor(x / 2^k), computed exactly. k is the smallest integer for which
 *         min to max needs at most 128 bins and 2^k is not less than the distance from
 *         the largest magnitude to the next double. So there are 65 to 128 bins, with
 *         no tails cut off; a constant has one bin; |i| is at most 2^53 and k is -1074
 *         to 1018, whatever the values.
 * LOG     A fixed grid: sign, exponent and the top two bits of the mantissa of a double,
 *         so 4 bins for each power of two, none wider than a quarter of its magnitude.
 *         Zeros have a bin of their own, key 0. The key of a positive value is
 *         1 + (bits >> 50), that of a negative one is minus the key of its magnitude:
 *         keys are -8188 to 8188, in the order of the values. Only bins with elements
 *         are stored.
 *
 * Everything in a spread depends only on which elements were counted. So merging the
 * spreads of A and of B gives the spread of both together, bit for bit, in any order
 * and after any number of merges: min and max give k, and bins of a smaller k nest in
 * those of a larger one.
 *
 * A tensor of more than SPREAD_SAMPLE elements is sampled unless all are wanted. Counts
 * are never scaled up: spread_sampled() tells, and `of` says how many elements the
 * spread stands for. */
#ifndef MEASURE_SPREAD_H
#define MEASURE_SPREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/err.h"
#include "measure/memory.h"

#define SPREAD_LINEAR 128   /* linear bins, at most */
#define SPREAD_KEYS   8188  /* the greatest key of a log bin */
#define SPREAD_SAMPLE 16384 /* elements of a sample */

struct spread_bin {
    int32_t key;
    uint64_t count; /* never 0 */
};

/* A zeroed struct is an empty spread, ready for use. It owns `log`. */
struct spread {
    uint64_t of;      /* elements it represents, including NaN and infinities */
    uint64_t seen;    /* elements examined; fewer than `of`: a sample */
    uint64_t counted; /* the finite ones of these */
    double min, max;  /* of the counted ones; 0 if there are none */

    int32_t exponent;  /* k: linear bins are 2^k wide */
    uint32_t n_linear; /* 0 if nothing was counted */
    int64_t first;     /* linear[b] is bin i = first + b */
    uint64_t linear[SPREAD_LINEAR];

    struct spread_bin *log; /* (n_log), sorted by key, on the heap */
    uint32_t n_log, log_room;
};

void spread_release(struct spread *spread); /* it is empty and usable again */
bool spread_sampled(const struct spread *spread);
bool spread_equal(const struct spread *a, const struct spread *b);
/* Merge `from`, another spread, into `to`. Fails with ERR_LIMIT without memory, or if
 * the sum of the counts exceeds 64 bits; `to` is then unchanged. */
int spread_merge(struct spread *to, const struct spread *from, struct err *err);

/* Counting ------------------------------------------------------------------------ */

enum spread_choice {
    SPREAD_SOME, /* at most SPREAD_SAMPLE: those of spread_places() */
    SPREAD_ALL,
};

/* The memory that counting needs, about 300 KiB. Use it for one tensor after another,
 * on one thread at a time: allocating it takes longer than counting a sample. */
struct spread_counter;
struct spread_counter *spread_counter_new(struct err *err);
void spread_counter_free(struct spread_counter *counter);

/* The spread of n dense elements in native byte order, at any alignment. Replaces what
 * *ret_spread held (zero it before the first use). A packed element of two values counts
 * as two. Fails with ERR_UNSUPPORTED for types without numbers. */
int spread_of(struct spread_counter *counter, enum dtype dtype, const void *at,
              uint64_t n, enum spread_choice choice, struct spread *ret_spread,
              struct err *err);
/* The same of elements with strides. Elements in C order are read in place; others are
 * gathered with at most 512 KiB more. */
int spread_memory(struct spread_counter *counter, const struct memory *memory,
                  enum spread_choice choice, struct spread *ret_spread,
                  struct err *err);

/* The elements of a sample of n, in C order: to (SPREAD_SAMPLE), of which the first
 * min(n, SPREAD_SAMPLE) are filled; returns their number. One of each stride, at
 * positions inside it that look random, so that they do not move in step with rows or
 * kernels. They depend on n only. */
uint64_t spread_places(uint64_t n, uint64_t *to);

/* Storing ------------------------------------------------------------------------- */

/* Append the packed form (docs/run-file.md, "Histograms"): some 190 bytes for a sample
 * of a bell-shaped tensor. */
void spread_pack(const struct spread *spread, struct buf *to);
/* Read all of `in`. Replaces what *ret_spread held. Fails with ERR_FORMAT if the bytes
 * are not the packed form of a spread. */
int spread_unpack(struct bytes in, struct spread *ret_spread, struct err *err);

/* Viewing ------------------------------------------------------------------------- */

/* The values that linear[b] covers, and those of a log bin (without `high` for positive
 * keys, without `low` for negative ones). The outermost edges may be infinite. */
void spread_linear_range(const struct spread *spread, uint32_t b, double *ret_low,
                         double *ret_high);
void spread_log_range(int32_t key, double *ret_low, double *ret_high);

/* An estimate of quantile q (0..1): the element with index q * (counted - 1), rounded
 * down, in sorted order. That element is certainly from *ret_low to *ret_high (may be
 * NULL), which are inside one bin of each histogram: they differ by at most a quarter of
 * the smaller magnitude (if that is not denormal), and by at most 1/63 of max - min (or
 * one ulp of the largest magnitude). NaN if nothing was counted. */
double spread_quantile(const struct spread *spread, double q, double *ret_low,
                       double *ret_high);

/* A range that holds the middle `share` (0..1) of the counted elements at least, for
 * views that leave outliers out; for a share of 1 min and max. NaN if nothing was
 * counted. */
void spread_middle(const struct spread *spread, double share, double *ret_low,
                   double *ret_high);

/* Do heavy tails squeeze the middle 98 % into fewer than 16 of the linear bins, so that
 * the log histogram shows more? */
bool spread_prefers_log(const struct spread *spread);

/* The more detailed histogram, for other programs: the log bins if
 * spread_prefers_log(), else the linear ones, as `n` bins without gaps between them.
 * edges (n + 1) increase and are finite; counts (n). At most `most` bins (2 or more):
 * neighbours are merged. Returns n; 0 if nothing was counted. */
uint32_t spread_bins(const struct spread *spread, uint32_t most, double *edges,
                     double *counts);

/* A vertical axis from low to high. A logarithmic one has two branches, one for each
 * sign; between them, magnitudes below `least` share a step as high as a power of
 * two. */
struct spread_axis {
    double low, high; /* finite, low < high */
    double least;     /* > 0: logarithmic; 0: linear */
};

/* The axis for the middle `share` of a spread (often the merged one of all steps). Its
 * `least` leaves out as many of the smallest magnitudes. */
struct spread_axis spread_axis_of(const struct spread *spread, bool logarithmic,
                                  double share);

/* A value's place on an axis: 0 at low, 1 at high; outside, less or more. And back. */
double spread_axis_place(const struct spread_axis *axis, double value);
double spread_axis_value(const struct spread_axis *axis, double place);

/* Distribute the counts over n equal steps of the axis, rows[0] at `low`: those of the
 * linear bins on a linear axis, of the log bins on a logarithmic one, or if the axis cuts
 * so much off that few linear bins are left. *ret_below and *ret_above (may be NULL) are
 * what is outside. Returns true if every bin is certainly inside one step: the counts
 * are exact. Other bins are divided in proportion; one that is narrower than rounding
 * goes to the step below or above a boundary. On a linear axis steps of whole bins are
 * exact, on a logarithmic one steps of whole powers of two. A value between two steps is
 * in the upper one; on a logarithmic axis, in the one farther from 0. */
bool spread_rows(const struct spread *spread, const struct spread_axis *axis,
                 double *rows, uint32_t n, double *ret_below, double *ret_above);

#endif
