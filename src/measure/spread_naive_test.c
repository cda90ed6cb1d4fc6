#include <math.h>
#include <stdlib.h>

#include "base/test.h"
#include "measure/decode_in.h"
#include "measure/elements.h"
#include "measure/spread_test_in.h"

static double bell(uint64_t *state)
{
    double sum = 0;

    for (int i = 0; i < 8; i++)
        sum += (double)(test_random(state) >> 11) * 0x1p-53 - 0.5;
    return sum;
}

/* The bits of the float16 nearest to 0 of a value below 65504 that is not tiny. */
static uint16_t half_of(double value)
{
    int exponent;
    double part = frexp(fabs(value), &exponent);

    if (value == 0 || exponent < -13)
        return signbit(value) ? 0x8000 : 0;
    return (uint16_t)((signbit(value) ? 0x8000 : 0) | (exponent + 14) << 10 |
                      (int)((2 * part - 1) * 1024));
}

/* A value as an element, rounded toward 0. */
static void put(enum dtype dtype, uint8_t *to, double value)
{
    float single = (float)value;
    uint32_t bits;

    memcpy(&bits, &single, sizeof bits);
    if (dtype == DTYPE_FLOAT64)
        memcpy(to, &value, 8);
    else if (dtype == DTYPE_FLOAT32)
        memcpy(to, &single, 4);
    else if (dtype == DTYPE_BFLOAT16)
        memcpy(to, &(uint16_t){(uint16_t)(bits >> 16)}, 2);
    else if (dtype == DTYPE_FLOAT16)
        memcpy(to, &(uint16_t){half_of(value)}, 2);
    else
        memcpy(to, &(int64_t){(int64_t)(value * 20)}, elements_size(dtype, 1));
}

/* Bits of floats without exponent, or with the largest one. */
static void put_extreme(enum dtype dtype, uint8_t *to, bool huge, uint64_t bits)
{
    size_t size = elements_size(dtype, 1);
    unsigned width = dtype == DTYPE_FLOAT64 ? 11 : dtype == DTYPE_FLOAT16 ? 5 : 8;
    uint64_t top = ((uint64_t)1 << width) - 1, field = 0;
    unsigned mantissa = (unsigned)(8 * size) - 1 - width;

    if (dtype_info(dtype)->kind == DTYPE_KIND_FLOAT && size > 1) {
        if (huge)
            field = top - (bits >> 40) % 3;
        bits = (bits & (((uint64_t)1 << mantissa) - 1)) | field << mantissa |
               bits >> 63 << (8 * size - 1);
    } else if (!huge) {
        bits = bits >> 62;
    }
    memcpy(to, &bits, size);
}

void spread_test_fill(enum dtype dtype, enum flavour_of_spread flavour, void *to,
                      size_t n, uint64_t *state)
{
    size_t size = elements_size(dtype, 1);
    double centre = ldexp(bell(state), (int)(test_random(state) % 12));
    uint8_t *at = to;

    for (size_t i = 0; i < n; i++, at += size) {
        uint64_t bits = test_random(state);
        double value = bell(state);

        if (flavour == SPREAD_TEST_BITS || flavour == SPREAD_TEST_TINY ||
            flavour == SPREAD_TEST_HUGE) {
            put_extreme(dtype, at, flavour == SPREAD_TEST_HUGE, bits);
            if (flavour == SPREAD_TEST_BITS || (bits >> 8) % 5 == 0)
                memcpy(at, &(uint64_t){flavour == SPREAD_TEST_BITS ? bits : 0}, size);
            continue;
        }
        if (flavour == SPREAD_TEST_ZEROS && bits % 2)
            value = bits % 4 == 1 ? 0 : -0.0;
        else if (flavour == SPREAD_TEST_CONSTANT || flavour == SPREAD_TEST_CLOSE)
            value = centre;
        else if (flavour == SPREAD_TEST_TAILS && bits % 64 == 0)
            value *= ldexp(1, (int)(bits >> 60));
        else if (flavour == SPREAD_TEST_EDGES)
            value = (double)((int)(bits >> 56) - 160) * 0x1p-5;
        else if (flavour == SPREAD_TEST_NEGATIVE)
            value = -fabs(value) - 1;
        put(dtype, at, value);
        if (flavour == SPREAD_TEST_CLOSE)
            at[0] = (uint8_t)(at[0] ^ (bits & 3));
    }
}

/* Long doubles have more bits and a wider exponent: all of this is exact. */
static long double bin_of(double x, int k)
{
    return floorl(ldexpl(x, -k));
}

static int key_of(double x)
{
    int exponent, key;
    long double part = frexpl(fabsl(x), &exponent);

    if (x == 0)
        return 0;
    if (exponent >= -1021)
        key = 1 + 4 * (exponent + 1022) + (int)((2 * part - 1) * 4);
    else
        key = 1 + (int)ldexpl(fabsl(x), 1024);
    return x < 0 ? -key : key;
}

static int exponent_of(double min, double max)
{
    double most = fabs(min) > fabs(max) ? fabs(min) : fabs(max);
    int k;

    frexp(most, &k);
    k = most == 0 || k < -1021 ? -1074 : k - 53;
    while (bin_of(max, k) - bin_of(min, k) > 127)
        k++;
    return k;
}

static void naive_bins(const double *x, size_t n, struct spread *s)
{
    static uint64_t log[2 * SPREAD_KEYS + 1];

    memset(log, 0, sizeof log);
    s->exponent = exponent_of(s->min, s->max);
    s->first = (int64_t)bin_of(s->min, s->exponent);
    s->n_linear = (uint32_t)((int64_t)bin_of(s->max, s->exponent) - s->first + 1);
    for (size_t i = 0; i < n; i++) {
        s->linear[(int64_t)bin_of(x[i], s->exponent) - s->first]++;
        log[key_of(x[i]) + SPREAD_KEYS]++;
    }
    for (int key = -SPREAD_KEYS; key <= SPREAD_KEYS; key++)
        if (log[key + SPREAD_KEYS] > 0) {
            CHECK(spread_log_room(s, s->n_log + 1, NULL) == 0);
            s->log[s->n_log++] = (struct spread_bin){key, log[key + SPREAD_KEYS]};
        }
}

void spread_test_naive(enum dtype dtype, const void *at, size_t n,
                       struct spread *ret_spread)
{
    size_t values = n * dtype_info(dtype)->values, kept = 0;
    double *x = malloc((values + 1) * sizeof *x);

    CHECK(x != NULL);
    spread_release(ret_spread);
    decode_reals(dtype, at, 0, n, x);
    for (size_t i = 0; i < values; i++)
        if (isfinite(x[i]))
            x[kept++] = x[i] == 0 ? 0 : x[i];
    ret_spread->of = ret_spread->seen = values;
    ret_spread->counted = kept;
    for (size_t i = 0; i < kept; i++) {
        ret_spread->min = i == 0 || x[i] < ret_spread->min ? x[i] : ret_spread->min;
        ret_spread->max = i == 0 || x[i] > ret_spread->max ? x[i] : ret_spread->max;
    }
    if (kept > 0)
        naive_bins(x, kept, ret_spread);
    free(x);
}
