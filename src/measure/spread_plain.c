/* The reference kernels for spreads: see struct kernels. */
#include <string.h>

#include "measure/kernels_in.h"

static uint32_t bits_at(const char *x, size_t i)
{
    uint32_t bits;

    memcpy(&bits, x + i * sizeof bits, sizeof bits);
    return bits;
}

void spread_range_plain(const void *x, size_t n, struct spread_range *ret_range)
{
    struct spread_range range = {INT32_MAX, INT32_MIN, 0, 0};

    for (size_t i = 0; i < n; i++) {
        uint32_t bits = bits_at(x, i), magnitude = bits & 0x7fffffff;
        int32_t order = spread_float_order(bits);

        range.min = order < range.min ? order : range.min;
        range.max = order > range.max ? order : range.max;
        range.most = magnitude > range.most ? magnitude : range.most;
        if (magnitude && (range.least == 0 || magnitude < range.least))
            range.least = magnitude;
    }
    *ret_range = range;
}

/* Scaling by a power of two is exact, except for results far below 1. */
static uint16_t key_of(uint32_t bits, float scale)
{
    uint32_t magnitude = bits & 0x7fffffff, t;
    float scaled;

    memcpy(&scaled, &magnitude, sizeof scaled);
    scaled *= scale;
    t = (uint32_t)scaled;
    if (bits >> 31 && t > 0 && (float)t == scaled)
        return (uint16_t)(SPREAD_EDGE + (t & 127));
    if (t >= 4)
        return (uint16_t)(SPREAD_FAR + ((bits >> 31 ? ~t : t) & 127));
    return (uint16_t)(bits >> 21);
}

void spread_keys_plain(const void *x, size_t n, float scale, uint16_t *keys)
{
    for (size_t i = 0; i < n; i++)
        keys[i] = key_of(bits_at(x, i), scale);
}
