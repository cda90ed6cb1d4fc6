#include <math.h>
#include <string.h>

#include "base/str.h"
#include "measure/compare_in.h"
#include "measure/decode_in.h"

#define WINDOW 512u /* elements at the beginning, in the middle and at the end */

struct sampling {
    uint64_t hash;
    bool begun, plain;
    uint64_t first[2]; /* the doubles of the first element, as bits */
};

/* Equal values give equal bits, also 0 and -0 and all NaN. */
static uint64_t plain_bits(double value)
{
    uint64_t bits;

    if (isnan(value))
        return 0x7ff8ull << 48;
    value += 0.0; /* -0 becomes 0 */
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static void add_sampled(struct sampling *s, const double *values, size_t n,
                        unsigned per)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t bits = plain_bits(values[i]);

        s->hash = hash_mix(s->hash, bits);
        if (!s->begun)
            s->first[i] = bits;
        s->plain = s->plain && bits == s->first[i % per];
        s->begun = s->begun || i + 1 == per;
    }
}

static void decode_window(enum dtype dtype, const void *at, size_t n, double *values)
{
    const uint8_t *bytes = at;

    if (elements_decode(dtype, at, 0, n, values))
        return;
    /* Types without numbers: use their bytes. */
    for (size_t i = 0; i < n; i++) {
        size_t size = elements_size(dtype, 1);
        uint64_t code = 0;

        memcpy(&code, bytes + i * size, size < 8 ? size : 8);
        values[i] = (double)code;
    }
}

static int sample_window(struct compare_side side, uint64_t first, uint64_t n,
                         struct sampling *sampling, struct err *err)
{
    struct elements *elements =
        elements_open(side.model, side.tensor, first, n, false, err);
    double values[2 * WINDOW];
    uint64_t left = n;
    int more = 0;

    if (!elements)
        return -1;
    /* A tile is for whole tensors, not for a few elements. */
    if (elements->way == WAY_TILE)
        elements->way = WAY_STREAM;
    while (left > 0) {
        unsigned per = decode_doubles(side.tensor->dtype);
        const void *at;
        size_t some;

        more = elements_next(elements, NULL, &at, &some, err);
        if (more <= 0)
            break;
        decode_window(elements_dtype(side.tensor->dtype), at, some, values);
        add_sampled(sampling, values, some * per, per);
        left -= some;
    }
    elements_close(elements);
    return more < 0 ? -1 : 0;
}

int compare_sample(struct compare_side side, uint64_t *ret_sample, bool *ret_plain,
                   struct err *err)
{
    uint64_t numel = side.tensor->numel;
    uint64_t most = numel < WINDOW ? numel : WINDOW;
    uint64_t firsts[3] = {0, (numel - most) / 2, numel - most};
    struct sampling sampling = {.plain = true};

    sampling.hash = hash_mix(hash_u64(elements_dtype(side.tensor->dtype)), numel);
    for (int i = 0; i < (numel > WINDOW ? 3 : 1); i++)
        if (sample_window(side, firsts[i], most, &sampling, err) < 0)
            return -1;
    *ret_sample = sampling.hash;
    *ret_plain = sampling.plain;
    return 0;
}

int compare_sample_transposed(struct compare_side side, uint64_t *ret_sample,
                              bool *ret_plain, struct err *err)
{
    struct compare_input input = {.side = side};
    struct compare_view view;

    if (side.tensor->rank != 2 || !tensor_readable(side.model, side.tensor, NULL))
        return err_set(err, ERR_UNSUPPORTED, "it cannot be transposed");
    compare_swap(&input, &view);
    return compare_sample(input.side, ret_sample, ret_plain, err);
}
