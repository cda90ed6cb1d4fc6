#include "measure/spread_counter_in.h"

#include <math.h>
#include <stdlib.h>

#define FEW 512 /* fewer floats are not worth the table of joint counts */

/* The keys of zero and normal float32 numbers: upper 11 bits, without the sign. */
#define FLOAT_KEYS 1024
#define FLOAT_BIAS                                                                     \
    ((1023 - 127) * 4) /* the exponent of a double less that of a float */

static void clear_range(struct spread_counter *c)
{
    c->log_first = SPREAD_KEYS + 1;
    c->log_last = 0;
    c->seen = c->counted = 0;
    c->least = UINT32_MAX;
}

struct spread_counter *spread_counter_new(struct err *err)
{
    struct spread_counter *c = calloc(1, sizeof *c);

    if (!c) {
        err_set(err, ERR_LIMIT, "no memory to count the elements of a tensor");
        return NULL;
    }
    c->kernels = kernels_best();
    clear_range(c);
    return c;
}

void spread_counter_free(struct spread_counter *c)
{
    free(c);
}

/* Keys of these magnitudes may have counts. */
static void extend_log(struct spread_counter *c, int32_t first, int32_t last)
{
    c->log_first = first < c->log_first ? first : c->log_first;
    c->log_last = last > c->log_last ? last : c->log_last;
}

static void add_log(struct spread_counter *c, int32_t key, uint64_t count)
{
    int32_t magnitude = key < 0 ? -key : key;

    c->log[key < 0][magnitude] += count;
    if (key != 0)
        extend_log(c, magnitude, magnitude);
}

static void add_linear(struct spread_counter *c, int64_t index, uint64_t count)
{
    c->linear[index & (SPREAD_LINEAR - 1)] += count;
}

/* The bin of the window that is at `slot` of a ring. */
static int64_t bin_at(const struct spread_counter *c, int64_t slot)
{
    return c->window.first + ((slot - c->window.first) & (SPREAD_LINEAR - 1));
}

/* Add the counter of a joint key to both histograms; see SPREAD_FAR. */
static void add_joint(struct spread_counter *c, int32_t key, uint64_t count)
{
    int32_t k = c->window.exponent;
    int64_t bin;

    if (key >= SPREAD_EDGE) {
        bin = bin_at(c, SPREAD_EDGE - key);
        add_log(c, spread_key(ldexp((double)bin, k)), count);
    } else if (key >= SPREAD_FAR) {
        bin = bin_at(c, key - SPREAD_FAR);
        add_log(c, spread_key_of_index(bin, k), count);
    } else if (key % FLOAT_KEYS == 0) {
        bin = 0;
        add_log(c, 0, count);
    } else {
        int32_t magnitude = 1 + FLOAT_BIAS + key % FLOAT_KEYS;
        double least = spread_double((uint64_t)(magnitude - 1) << 50);

        bin = spread_index(least, k);
        bin = key < FLOAT_KEYS ? bin : ~bin;
        add_log(c, key < FLOAT_KEYS ? magnitude : -magnitude, count);
    }
    add_linear(c, bin, count);
}

static void flush_keys(struct spread_counter *c, int32_t first, int32_t end)
{
    for (int32_t key = first; key < end; key++) {
        uint64_t count = 0;

        for (size_t way = 0; way < SPREAD_WAYS; way++)
            count += c->joint[key][way];
        if (count > 0)
            add_joint(c, key, count);
    }
    memset(c->joint + first, 0, (size_t)(end - first) * sizeof *c->joint);
}

/* Magnitudes near 0 are below 4 * 2^k. */
static void flush(struct spread_counter *c)
{
    int32_t least = (int32_t)(c->least >> 21), near;

    if (c->pending == 0)
        return;
    near = (c->window.exponent + 2 + 127) * 4;
    near = near > least ? near : least;
    for (int32_t sign = 0; sign <= FLOAT_KEYS; sign += FLOAT_KEYS) {
        flush_keys(c, sign, sign + 1);
        flush_keys(c, sign + least, sign + near);
    }
    flush_keys(c, SPREAD_FAR, SPREAD_JOINT);
    c->pending = 0;
    c->least = UINT32_MAX;
}

/* Get ready for n elements of this range; neither may be -0. */
static void extend(struct spread_counter *c, double min, double max, size_t n)
{
    struct spread_window window;

    if (c->counted > 0) {
        min = spread_order(min) < spread_order(c->min) ? min : c->min;
        max = spread_order(max) > spread_order(c->max) ? max : c->max;
    }
    c->counted += n;
    if (c->counted > n && spread_bits(min) == spread_bits(c->min) &&
        spread_bits(max) == spread_bits(c->max))
        return;
    window = spread_window_of(min, max);
    if (c->counted > n && window.exponent != c->window.exponent) {
        flush(c);
        spread_widen(c->linear, &c->window, &window);
    }
    c->window = window;
    c->min = min;
    c->max = max;
}

static size_t keep_finite(double *x, size_t n)
{
    size_t kept = 0;

    for (size_t i = 0; i < n; i++) {
        x[kept] = x[i];
        kept += (spread_bits(x[i]) >> 52 & 2047) != 2047;
    }
    return kept;
}

/* The ranges of n > 0 finite doubles: values, magnitudes. */
static void extend_reals(struct spread_counter *c, size_t n)
{
    int64_t min = INT64_MAX, max = INT64_MIN;
    uint64_t least = UINT64_MAX, most = 0;

    for (size_t i = 0; i < n; i++) {
        uint64_t magnitude = spread_bits(c->reals[i]) & ~SPREAD_SIGN;
        int64_t order = spread_order(c->reals[i]);

        min = order < min ? order : min;
        max = order > max ? order : max;
        least = magnitude - 1 < least ? magnitude - 1 : least; /* 0 is the largest */
        most = magnitude > most ? magnitude : most;
    }
    extend(c, spread_ordered(min), spread_ordered(max), n);
    if (most > 0)
        extend_log(c, spread_magnitude_key(least + 1), spread_magnitude_key(most));
}

void spread_count_reals(struct spread_counter *c, size_t n)
{
    n = keep_finite(c->reals, n);
    if (n == 0)
        return;
    extend_reals(c, n);
    for (size_t i = 0; i < n; i++) {
        double x = c->reals[i];
        uint64_t bits = spread_bits(x);

        add_linear(c, spread_index(x, c->window.exponent), 1);
        c->log[bits >> 63][spread_magnitude_key(bits & ~SPREAD_SIGN)]++;
    }
}

static void count_as_reals(struct spread_counter *c, const char *x, size_t n)
{
    for (size_t done = 0; done < n; done += SPREAD_PART) {
        size_t part = n - done < SPREAD_PART ? n - done : SPREAD_PART;

        c->kernels->widen[LOAD_F32](x + 4 * done, part, c->reals);
        spread_count_reals(c, part);
    }
}

/* Copy the finite ones to floats[]; x may be floats[]. */
static size_t keep_finite_floats(struct spread_counter *c, const char *x, size_t n)
{
    size_t kept = 0;

    for (size_t i = 0; i < n; i++) {
        uint32_t bits;

        memcpy(&bits, x + 4 * i, sizeof bits);
        memcpy(&c->floats[kept], &bits, sizeof bits);
        kept += (bits >> 23 & 255) != 255;
    }
    return kept;
}

/* The value of a float's order, as a double that is not -0. */
static double float_ordered(int32_t order)
{
    uint32_t bits = (uint32_t)spread_float_order((uint32_t)order);
    float x;

    memcpy(&x, &bits, sizeof x);
    return bits == 0x80000000 ? 0 : x;
}

/* Several counters per key, so that equal neighbours do not stall. */
static void add_keys(spread_ways *counts, const uint16_t *keys, size_t n)
{
    size_t i = 0;

    for (; i + 8 <= n; i += 8) {
        uint64_t a, b;

        memcpy(&a, keys + i, sizeof a);
        memcpy(&b, keys + i + 4, sizeof b);
        counts[a & 0xffff][0]++;
        counts[b & 0xffff][1]++;
        counts[a >> 16 & 0xffff][2]++;
        counts[b >> 16 & 0xffff][3]++;
        counts[a >> 32 & 0xffff][4]++;
        counts[b >> 32 & 0xffff][5]++;
        counts[a >> 48][6]++;
        counts[b >> 48][7]++;
    }
    for (; i < n; i++)
        counts[keys[i]][0]++;
}

/* Can kernels compute the keys in this window? 2^-k has to be a float, and bins have to
 * fit into 32 bits (always so, unless doubles were counted too). */
static bool keys_fit(const struct spread_window *window)
{
    return window->exponent >= -120 && window->exponent <= 122 &&
           window->first > INT32_MIN && window->last < INT32_MAX;
}

/* n floats that are all 0 or normal numbers. */
static void count_normal(struct spread_counter *c, const char *x, size_t n,
                         const struct spread_range *range)
{
    float scale;

    extend(c, float_ordered(range->min), float_ordered(range->max), n);
    if (c->min == c->max) {
        add_linear(c, c->window.first, n);
        add_log(c, spread_key(c->min), n);
        return;
    }
    if (!keys_fit(&c->window)) {
        c->counted -= n; /* the range stays: counting again does not change it */
        count_as_reals(c, x, n);
        return;
    }
    if (c->pending > UINT32_MAX / 2)
        flush(c);
    c->pending += n;
    if (range->least != 0 && range->least < c->least)
        c->least = range->least;
    scale = ldexpf(1, -c->window.exponent);
    for (size_t done = 0; done < n; done += BLOCK) {
        size_t part = n - done < BLOCK ? n - done : BLOCK;

        c->kernels->spread_keys(x + 4 * done, part, scale, c->keys);
        add_keys(c->joint, c->keys, part);
    }
}

void spread_count_floats(struct spread_counter *c, const void *x, size_t n)
{
    struct spread_range range;

    if (n < FEW) {
        count_as_reals(c, x, n);
        return;
    }
    c->kernels->spread_range(x, n, &range);
    if (range.most >= 0x7f800000) {
        n = keep_finite_floats(c, x, n);
        x = c->floats;
        if (n == 0)
            return;
        c->kernels->spread_range(x, n, &range);
    }
    if (range.least - 1 < 0x7fffff) /* denormals: their doubles have other bits */
        count_as_reals(c, x, n);
    else
        count_normal(c, x, n, &range);
}

/* Bins of one sign, smallest magnitude first or last. */
static void take_log(struct spread_counter *c, int sign, uint64_t times,
                     struct spread *to)
{
    for (int32_t i = c->log_first; i <= c->log_last; i++) {
        int32_t at = sign ? c->log_first + c->log_last - i : i;

        if (c->log[sign][at] > 0)
            to->log[to->n_log++] =
                (struct spread_bin){sign ? -at : at, c->log[sign][at] * times};
    }
}

static uint64_t zeros(const struct spread_counter *c)
{
    return c->log[0][0] + c->log[1][0];
}

static uint32_t count_log(const struct spread_counter *c)
{
    uint32_t n = zeros(c) > 0;

    for (int32_t i = c->log_first; i <= c->log_last; i++)
        n += (uint32_t)(c->log[0][i] > 0) + (c->log[1][i] > 0);
    return n;
}

static void take_linear(const struct spread_counter *c, uint64_t times,
                        struct spread *to)
{
    to->min = c->min;
    to->max = c->max;
    to->exponent = c->window.exponent;
    to->first = c->window.first;
    to->n_linear = (uint32_t)(c->window.last - c->window.first) + 1;
    for (uint32_t b = 0; b < to->n_linear; b++)
        to->linear[b] = c->linear[(to->first + b) & (SPREAD_LINEAR - 1)] * times;
}

void spread_count_drop(struct spread_counter *c)
{
    flush(c);
    for (int sign = 0; sign < 2; sign++) {
        c->log[sign][0] = 0;
        for (int32_t i = c->log_first; i <= c->log_last; i++)
            c->log[sign][i] = 0;
    }
    memset(c->linear, 0, sizeof c->linear);
    clear_range(c);
}

int spread_count_finish(struct spread_counter *c, uint64_t times, uint64_t of,
                        struct spread *ret_spread, struct err *err)
{
    struct spread_bin *log;
    uint32_t room;

    flush(c);
    if (spread_log_room(ret_spread, count_log(c), err) < 0) {
        spread_count_drop(c);
        return -1;
    }
    log = ret_spread->log;
    room = ret_spread->log_room;
    *ret_spread = (struct spread){.of = of,
                                  .seen = c->seen * times,
                                  .counted = c->counted * times,
                                  .log = log,
                                  .log_room = room};
    take_log(c, 1, times, ret_spread);
    if (zeros(c) > 0)
        ret_spread->log[ret_spread->n_log++] = (struct spread_bin){0, zeros(c) * times};
    take_log(c, 0, times, ret_spread);
    if (c->counted > 0)
        take_linear(c, times, ret_spread);
    spread_count_drop(c);
    return 0;
}
