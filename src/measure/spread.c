#include "measure/spread.h"

#include <math.h>
#include <stdlib.h>

#include "measure/spread_in.h"

void spread_release(struct spread *spread)
{
    free(spread->log);
    memset(spread, 0, sizeof *spread);
}

bool spread_sampled(const struct spread *spread)
{
    return spread->seen < spread->of;
}

bool spread_equal(const struct spread *a, const struct spread *b)
{
    if (a->of != b->of || a->seen != b->seen || a->counted != b->counted ||
        spread_bits(a->min) != spread_bits(b->min) ||
        spread_bits(a->max) != spread_bits(b->max) || a->exponent != b->exponent ||
        a->n_linear != b->n_linear || a->first != b->first || a->n_log != b->n_log ||
        memcmp(a->linear, b->linear, sizeof a->linear) != 0)
        return false;
    for (uint32_t i = 0; i < a->n_log; i++)
        if (a->log[i].key != b->log[i].key || a->log[i].count != b->log[i].count)
            return false;
    return true;
}

/* An exponent that is certainly not above the smallest one for which min to max needs at
 * most 128 bins. Halved first: the difference may overflow. A range of at least 2^e
 * needs bins of more than 2^(e - 7); two less allow for rounding. */
static int32_t low_exponent(double min, double max)
{
    double half = max / 2 - min / 2;
    int e;

    if (half == 0)
        return INT32_MIN;
    frexp(half, &e);
    return e - 9;
}

/* Neither limit of the exponent falls when min to max grows, so a merge never needs
 * finer bins than existing ones. */
struct spread_window spread_window_of(double min, double max)
{
    int32_t ulp_min = spread_ulp(min), ulp_max = spread_ulp(max);
    int32_t k = ulp_min > ulp_max ? ulp_min : ulp_max, low = low_exponent(min, max);
    struct spread_window window;

    k = low > k ? low : k;
    do {
        window = (struct spread_window){k, spread_index(min, k), spread_index(max, k)};
        k++;
    } while (window.last - window.first >= SPREAD_LINEAR);
    return window;
}

void spread_widen(uint64_t ring[SPREAD_LINEAR], const struct spread_window *from,
                  const struct spread_window *to)
{
    uint64_t wide[SPREAD_LINEAR] = {0};
    int32_t shift = to->exponent - from->exponent;

    if (shift == 0)
        return;
    for (int64_t i = from->first; i <= from->last; i++)
        wide[(i >> (shift < 63 ? shift : 63)) & (SPREAD_LINEAR - 1)] +=
            ring[i & (SPREAD_LINEAR - 1)];
    memcpy(ring, wide, sizeof wide);
}

int spread_log_room(struct spread *spread, uint32_t n, struct err *err)
{
    while (spread->log_room < n)
        if (!buf_grow_array(&spread->log, n - 1, &spread->log_room,
                            sizeof *spread->log))
            return err_set(err, ERR_LIMIT, "no memory for a histogram of %u bins", n);
    return 0;
}

/* The number of bins in the union. */
static uint32_t count_union(const struct spread *a, const struct spread *b)
{
    uint32_t i = 0, j = 0, n = 0;

    while (i < a->n_log && j < b->n_log) {
        int32_t x = a->log[i].key, y = b->log[j].key;

        i += x <= y;
        j += y <= x;
        n++;
    }
    return n + (a->n_log - i) + (b->n_log - j);
}

/* From the last bin to the first, so that none is overwritten before it is read. */
static void merge_log(struct spread *to, const struct spread *from, uint32_t n)
{
    uint32_t i = to->n_log, j = from->n_log;

    to->n_log = n;
    while (j > 0) {
        struct spread_bin bin = from->log[j - 1];

        if (i > 0 && to->log[i - 1].key >= bin.key) {
            struct spread_bin own = to->log[--i];

            if (own.key == bin.key) {
                own.count += bin.count;
                j--;
            }
            to->log[--n] = own;
        } else {
            to->log[--n] = bin;
            j--;
        }
    }
}

/* Add the bins of a spread to those of a window with the same or a larger exponent. */
static void add_linear(uint64_t sum[SPREAD_LINEAR], const struct spread *spread,
                       const struct spread_window *to)
{
    int32_t shift = to->exponent - spread->exponent;

    shift = shift < 63 ? shift : 63;
    for (uint32_t b = 0; b < spread->n_linear; b++)
        sum[((spread->first + b) >> shift) - to->first] += spread->linear[b];
}

static void merge_linear(struct spread *to, const struct spread *from)
{
    double min = spread_order(from->min) < spread_order(to->min) ? from->min : to->min;
    double max = spread_order(from->max) > spread_order(to->max) ? from->max : to->max;
    struct spread_window window = spread_window_of(min, max);
    uint64_t sum[SPREAD_LINEAR] = {0};

    add_linear(sum, to, &window);
    add_linear(sum, from, &window);
    to->min = min;
    to->max = max;
    to->exponent = window.exponent;
    to->first = window.first;
    to->n_linear = (uint32_t)(window.last - window.first) + 1;
    memcpy(to->linear, sum, sizeof sum);
}

/* An empty spread takes over min, max and all bins. */
static void copy_bins(struct spread *to, const struct spread *from)
{
    to->min = from->min;
    to->max = from->max;
    to->exponent = from->exponent;
    to->n_linear = from->n_linear;
    to->first = from->first;
    memcpy(to->linear, from->linear, sizeof to->linear);
}

int spread_merge(struct spread *to, const struct spread *from, struct err *err)
{
    uint32_t n = count_union(to, from);
    uint64_t of;

    /* Neither `seen` nor a count is above `of`. */
    if (__builtin_add_overflow(to->of, from->of, &of))
        return err_set(err, ERR_LIMIT, "a histogram of more than 2^64 elements");
    if (spread_log_room(to, n, err) < 0)
        return -1;
    if (from->counted > 0) {
        if (to->counted > 0)
            merge_linear(to, from);
        else
            copy_bins(to, from);
        merge_log(to, from, n);
    }
    to->of = of;
    to->seen += from->seen;
    to->counted += from->counted;
    return 0;
}
