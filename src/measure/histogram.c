#include "measure/histogram.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure/decode_in.h"
#include "measure/elements_in.h"
#include "measure/histogram_in.h"
#include "measure/small_float_in.h"

#define FEW   8192                 /* fewer elements do not need a table of counters */
#define HALF  (HISTOGRAM_BINS / 2) /* counters of one sign */
#define STEPS 8 /* counters below the exponents; upper bits in a row */

void histogram_merge(struct histogram *a, const struct histogram *b)
{
    for (size_t i = 0; i < HISTOGRAM_BINS; i++)
        a->bins[i] += b->bins[i];
    a->sampled = a->sampled || b->sampled;
}

/* The lower bound of a counter. */
static double edge(uint32_t magnitude)
{
    if (magnitude < STEPS)
        return magnitude * 0x1p-129;
    return ldexp(1, (int)(magnitude - STEPS) - 126);
}

void histogram_range(uint32_t bin, double *ret_low, double *ret_high)
{
    uint32_t magnitude = bin % HALF;

    *ret_low = edge(magnitude);
    *ret_high = edge(magnitude + 1);
    if (bin >= HALF) {
        double low = *ret_low;

        *ret_low = -*ret_high;
        *ret_high = -low;
    }
}

uint16_t tally_upper(double value)
{
    double magnitude = fabs(value);
    uint16_t sign = signbit(value) ? TALLY_BINS / 2 : 0;
    uint64_t bits;

    if (magnitude >= 0x1p128)
        return (uint16_t)(sign + 255 * STEPS - 1);
    if (magnitude < 0x1p-126) /* float32's denormals: even steps of 2^-129 */
        return (uint16_t)(sign + (uint16_t)(magnitude * 0x1p129));
    memcpy(&bits, &magnitude, sizeof bits);
    return (uint16_t)(sign + (bits >> 49) - ((1023 - 127) << 3));
}

uint32_t histogram_fold(uint32_t upper)
{
    uint32_t magnitude = upper % (TALLY_BINS / 2);
    uint32_t sign = upper < TALLY_BINS / 2 ? 0 : HALF;

    if (magnitude >= 255 * STEPS)
        return HISTOGRAM_BINS;
    return sign + (magnitude < STEPS ? magnitude : magnitude / STEPS + STEPS - 1);
}

uint32_t histogram_bin(double value)
{
    return histogram_fold(tally_upper(value));
}

/* Without memory for the table, counting is slower but correct. */
void tally_init(struct tally *tally, struct histogram *histogram, enum dtype dtype,
                uint64_t n)
{
    *tally = (struct tally){.histogram = histogram};
    if (histogram && n > FEW && small_float_bits(dtype) == 0)
        tally->counts = calloc(TALLY_BINS, sizeof *tally->counts);
}

void tally_add(struct tally *tally, const uint16_t *uppers, size_t n)
{
    counters *counts = tally->counts;
    uint64_t *direct = tally->histogram->bins;
    size_t i = 0;

    if (!counts) {
        for (; i < n; i++) {
            uint32_t bin = histogram_fold(uppers[i]);

            if (bin < HISTOGRAM_BINS)
                direct[bin]++;
        }
        return;
    }
    for (; i + 8 <= n; i += 8) {
        counts[uppers[i]][0]++;
        counts[uppers[i + 1]][1]++;
        counts[uppers[i + 2]][2]++;
        counts[uppers[i + 3]][3]++;
        counts[uppers[i + 4]][0]++;
        counts[uppers[i + 5]][1]++;
        counts[uppers[i + 6]][2]++;
        counts[uppers[i + 7]][3]++;
    }
    for (; i < n; i++)
        counts[uppers[i]][0]++;
    tally_counted(tally, n);
}

void tally_value(struct tally *tally, double value, uint64_t times)
{
    tally->histogram->bins[histogram_bin(value)] += times;
}

/* A row of 8 upper bits has one counter; the first row, denormals, has 8. */
static void add_row(uint64_t *bins, counters *row, uint32_t upper)
{
    uint32_t each = upper % (TALLY_BINS / 2) == 0 ? 1 : 0;
    uint32_t bin = histogram_fold(upper);

    for (uint32_t i = 0; bin < HISTOGRAM_BINS && i < STEPS; i++, bin += each)
        bins[bin] += (uint64_t)row[i][0] + row[i][1] + row[i][2] + row[i][3];
}

static void add_rows(struct tally *tally)
{
    for (uint32_t upper = 0; upper < TALLY_BINS; upper += STEPS)
        add_row(tally->histogram->bins, &tally->counts[upper], upper);
}

void tally_counted(struct tally *tally, size_t n)
{
    tally->n += n;
    if (tally->n <= UINT32_MAX / 2 || !tally->counts)
        return;
    add_rows(tally);
    memset(tally->counts, 0, TALLY_BINS * sizeof *tally->counts);
    tally->n = 0;
}

void tally_release(struct tally *tally)
{
    if (tally->counts)
        add_rows(tally);
    free(tally->counts);
}

/* A linear histogram; the edges are those of numpy.linspace. */
struct linear {
    double min, max, scale;
    double *edges; /* (n + 1) */
    uint64_t *bins;
    uint32_t n;
    uint64_t times; /* weight of each element */
};

#define SOME 512 /* elements at a time */

/* Move the values in range to the front; returns how many. */
static size_t keep_in_range(const struct linear *linear, double *reals, size_t n)
{
    size_t kept = 0;

    for (size_t i = 0; i < n; i++) {
        double real = reals[i];

        reals[kept] = real;
        kept += (real >= linear->min) & (real <= linear->max);
    }
    return kept;
}

/* The product may be off by one step at an edge (or meaningless if min and max are
 * adjacent); comparing with the edges corrects it. */
static uint32_t mended_step(const struct linear *linear, double real, uint32_t step)
{
    while (step > 0 && real < linear->edges[step])
        step--;
    while (step + 1 < linear->n && real >= linear->edges[step + 1])
        step++;
    return step;
}

/* The step that each value falls into: steps (n). */
static void linear_steps(const struct linear *linear, const double *reals, size_t n,
                         uint32_t *steps)
{
    double min = linear->min, scale = linear->scale, last = linear->n - 0.5;

    for (size_t i = 0; i < n; i++) {
        double place = (reals[i] - min) * scale;
        int64_t step = (int64_t)(place < last ? place : last);
        double rest = place - (double)step;

        steps[i] = (uint32_t)step;
        if (!(rest >= 1e-6 && rest <= 1 - 1e-6))
            steps[i] = mended_step(linear, reals[i], steps[i]);
    }
}

static void linear_add(const struct linear *linear, enum dtype dtype, const void *at,
                       size_t n)
{
    unsigned values = dtype_info(dtype)->values;
    double reals[2 * SOME];
    uint32_t steps[2 * SOME];
    uint64_t *bins = linear->bins, times = linear->times;

    for (size_t done = 0; done < n; done += SOME) {
        size_t part = n - done < SOME ? n - done : SOME, kept;

        decode_reals(dtype, at, done, part, reals);
        kept = keep_in_range(linear, reals, part * values);
        linear_steps(linear, reals, kept, steps);
        for (size_t i = 0; i < kept; i++)
            bins[steps[i]] += times;
    }
}

static int linear_init(struct linear *linear, double min, double max, uint64_t *bins,
                       uint32_t n, struct err *err)
{
    if (n == 0 || !isfinite(min) || !isfinite(max) || min > max)
        return err_set(err, ERR_USAGE,
                       "a histogram needs at least one step and min <= max");
    if (min == max) { /* like numpy: a range of width 1 around the only value */
        min -= 0.5;
        max += 0.5;
    }
    *linear = (struct linear){.min = min, .max = max, .bins = bins, .n = n};
    /* Halved first: the difference may overflow a double. */
    linear->scale = n / 2.0 / (max / 2 - min / 2);
    linear->edges = malloc(((size_t)n + 1) * sizeof *linear->edges);
    if (!linear->edges)
        return err_set(err, ERR_LIMIT, "no memory for a histogram of %u steps", n);
    for (uint32_t i = 0; i <= n; i++)
        linear->edges[i] = isfinite(max - min) ? min + i * ((max - min) / n)
                                               : min + i * (max / n) - i * (min / n);
    linear->edges[n] = max;
    return 0;
}

int histogram_linear(const struct model *model, const struct tensor *tensor, double min,
                     double max, uint64_t *bins, uint32_t n, struct work *work,
                     struct err *err)
{
    struct elements *elements;
    struct linear linear;
    const void *at;
    size_t some;
    int more = -1;

    if (!decode_has_values(tensor->dtype))
        return err_set(err, ERR_UNSUPPORTED, "%s holds no numbers",
                       dtype_name(tensor->dtype));
    if (linear_init(&linear, min, max, bins, n, err) < 0)
        return -1;
    memset(bins, 0, n * sizeof *bins);
    elements = elements_open_distinct(model, tensor, &linear.times, err);
    if (!elements)
        goto out;
    for (;;) {
        more = elements_next(elements, work, &at, &some, err);
        if (more <= 0)
            break;
        linear_add(&linear, elements_dtype(tensor->dtype), at, some);
    }

out:
    elements_close(elements);
    free(linear.edges);
    return more;
}
