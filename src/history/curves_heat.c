/* Histograms over steps: the log bins of each column, summed by powers of two.
 * Ignores signs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "history/curves_in.h"
#include "measure/spread.h"

#define EXPONENTS 2200 /* of doubles, denormal ones too */
#define LOWEST    (-1100)

struct magnitudes {
    uint64_t zeros, all;
    uint64_t at[EXPONENTS]; /* by exponent - LOWEST */
};

/* The exponent of a log bin that does not hold zeros, minus LOWEST. */
static uint32_t bin_exponent(const struct spread_bin *bin)
{
    double low, high, least;
    int exponent;

    spread_log_range(bin->key, &low, &high);
    least = fmin(fabs(low), fabs(high));
    exponent = least > 0 ? ilogb(least) : LOWEST;
    if (exponent < LOWEST)
        exponent = LOWEST;
    return (uint32_t)(exponent - LOWEST);
}

static void add_spread(struct magnitudes *to, const struct spread *spread)
{
    for (uint32_t i = 0; i < spread->n_log; i++) {
        const struct spread_bin *bin = &spread->log[i];

        to->all += bin->count;
        if (bin->key == 0)
            to->zeros += bin->count;
        else
            to->at[bin_exponent(bin)] += bin->count;
    }
}

/* Rows that hold all exponents in use. */
static void choose_rows(struct curves_heat *heat, const struct magnitudes *sum,
                        uint32_t most)
{
    uint32_t low = EXPONENTS, high = 0, rows, span;

    for (uint32_t i = 0; i < EXPONENTS; i++) {
        if (sum->at[i] == 0)
            continue;
        low = i < low ? i : low;
        high = i;
    }
    heat->zeros = sum->zeros > 0;
    rows = most > heat->zeros ? most - heat->zeros : 1;
    span = low > high ? 0 : high - low + 1;
    heat->each = span > rows ? (span + rows - 1) / rows : 1;
    heat->rows = (span + heat->each - 1) / heat->each + heat->zeros;
    heat->top = (int)high + 1 - (int)heat->each + LOWEST;
}

static void fill_column(struct curves_heat *heat, uint32_t column,
                        const struct magnitudes *sum)
{
    uint32_t high = (uint32_t)(heat->top - LOWEST) + heat->each - 1;

    for (uint32_t i = 0; i <= high && i < EXPONENTS; i++)
        if (sum->at[i] > 0 && (high - i) / heat->each < heat->rows)
            heat->share[(high - i) / heat->each][column] +=
                (float)((double)sum->at[i] / (double)sum->all);
    if (heat->zeros && sum->all > 0)
        heat->share[heat->rows - 1][column] =
            (float)((double)sum->zeros / (double)sum->all);
}

/* Skips a damaged histogram: its column stays empty. */
static bool unpack(const struct history_sample *sample, struct spread *spread)
{
    struct str packed = sample->point.histogram;

    return packed.len > 0 &&
           spread_unpack(bytes_of(packed.at, packed.len), spread, NULL) == 0;
}

int curves_heat(struct curves_heat *heat, const struct history_sample *samples,
                const uint32_t *columns, uint32_t n, uint32_t most_rows,
                struct err *err)
{
    struct magnitudes *sum = calloc(2, sizeof *sum);
    struct spread spread = {0};

    if (!sum)
        return err_set(err, ERR_LIMIT, "no memory left for the histograms");
    for (uint32_t i = 0; i < n; i++)
        if (unpack(&samples[i], &spread))
            add_spread(&sum[0], &spread);
    choose_rows(heat, &sum[0], most_rows);
    for (uint32_t i = 0; i < n; i++) {
        const struct stats *stats = &samples[i].point.stats;

        memset(&sum[1], 0, sizeof sum[1]);
        if (unpack(&samples[i], &spread))
            add_spread(&sum[1], &spread);
        heat->state[columns[i]] = CURVE_FINITE;
        if (stats->nan + stats->pos_inf + stats->neg_inf > 0)
            heat->state[columns[i]] = CURVE_BAD;
        fill_column(heat, columns[i], &sum[1]);
    }
    spread_release(&spread);
    free(sum);
    return 0;
}
