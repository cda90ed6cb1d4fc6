/* Merges points. Counts, extremes and histograms are exact in any order. */
#include <math.h>

#include "history/history.h"

const char *history_kind_name(uint8_t kind)
{
    static const char *const names[HISTORY_KINDS] = {
        "input",      "output", "grad_input",      "grad_output",     "param",
        "grad_param", "update", "grad_input_norm", "grad_output_norm"};

    return kind < HISTORY_KINDS ? names[kind] : "unknown";
}

struct history_number history_number_of(double value)
{
    if (!isfinite(value))
        return (struct history_number){0, 1, NAN, NAN, NAN};
    return (struct history_number){1, 0, value, value, value};
}

void history_number_merge(struct history_number *a, const struct history_number *b)
{
    uint32_t bad = a->bad + b->bad;

    if (a->n == 0) {
        *a = *b;
    } else if (b->n > 0) {
        a->n += b->n;
        a->sum += b->sum;
        a->min = fmin(a->min, b->min);
        a->max = fmax(a->max, b->max);
    }
    a->bad = bad;
}

double history_number_mean(const struct history_number *number)
{
    return number->n ? number->sum / number->n : NAN;
}

static void merge_histogram(struct history_point *a, const struct history_point *b,
                            const struct history_codec *codec, struct buf *scratch)
{
    const struct str both[] = {a->histogram, b->histogram};

    buf_clear(scratch);
    if (b->histogram.len == 0)
        return;
    if (a->histogram.len == 0) {
        a->histogram = b->histogram;
    } else if (codec->merge(both, 2, scratch) == 0 && !scratch->bad) {
        a->histogram = buf_span(scratch);
    } else {
        buf_clear(scratch); /* it may hold a partial result */
        a->histogram = STR("");
    }
}

void history_point_merge(struct history_point *a, const struct history_point *b,
                         const struct history_codec *codec, struct buf *scratch)
{
    merge_histogram(a, b, codec, scratch);
    /* The dtype changed: integers are also in min and max. */
    if (a->stats.kind != b->stats.kind)
        a->stats.kind = STATS_REAL;
    stats_merge(&a->stats, &b->stats, 0);
    for (int i = 0; i < EXTRA_COUNT; i++)
        history_number_merge(&a->extra[i], &b->extra[i]);
    a->merged += b->merged;
    if (a->units < b->units)
        a->units = b->units;
}

double history_point_norm(const struct history_point *point)
{
    const struct history_number *whole = &point->extra[EXTRA_NORM];
    const struct stats *stats = &point->stats;
    uint64_t infinite = stats->pos_inf + stats->neg_inf;

    if (stats->nan + infinite > 0 || whole->bad > 0)
        return stats->nan > 0 || infinite == 0 ? NAN : INFINITY;
    if (whole->n > 0)
        return history_number_mean(whole);
    return stats_l2(stats) / sqrt(point->merged > 0 ? (double)point->merged : 1);
}

bool history_point_ratio(const struct history_point *point, double *ret_ratio)
{
    const struct history_number *ratio = &point->extra[EXTRA_RATIO];

    *ret_ratio = ratio->bad > 0 ? NAN : history_number_mean(ratio);
    return ratio->n + ratio->bad > 0;
}

void history_step_merge(struct history_step *a, const struct history_step *b)
{
    a->first = a->first < b->first ? a->first : b->first;
    a->last = a->last > b->last ? a->last : b->last;
    a->last_ns = b->last_ns;
    a->merged += b->merged;
    a->flags |= b->flags;
    a->skipped += b->skipped;
    a->dropped += b->dropped;
    a->points = a->points > b->points ? a->points : b->points;
}
