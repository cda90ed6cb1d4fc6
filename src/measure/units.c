#include "measure/units.h"

#include <math.h>
#include <string.h>

#include "measure/memory.h"

#define UNITS_MOST 65536
#define RANK_MOST  8
#define NEAR       1e-3

struct unit_walk {
    const struct memory *memory;
    size_t size; /* bytes of an element */
    int channel; /* dim */
    bool signs;  /* bounds are -1 and 1, not 0 and 1 */
};
typedef bool test_element(const struct unit_walk *walk, const uint8_t *at);

static bool is_zero(const struct unit_walk *walk, const uint8_t *at)
{
    uint64_t bits = 0;

    memcpy(&bits, at, walk->size);
    return (bits << (65 - 8 * walk->size)) == 0; /* without the sign */
}

static bool is_at_bound(const struct unit_walk *walk, const uint8_t *at)
{
    double x;
    float y;

    if (walk->size == sizeof x) {
        memcpy(&x, at, sizeof x);
    } else {
        memcpy(&y, at, sizeof y);
        x = (double)y;
    }
    return fabs(fabs(x) - 1) <= NEAR || (!walk->signs && fabs(x) <= NEAR);
}

/* Do all elements of a unit pass the test? Dims but that of channels are counted up like
 * the digits of a number. */
static bool all_of_unit(const struct unit_walk *walk, int64_t unit, test_element *test)
{
    const struct memory *memory = walk->memory;
    int64_t index[RANK_MOST] = {0}, at = unit * memory->strides[walk->channel];
    int dim;

    do {
        if (!test(walk, (const uint8_t *)memory->at + (size_t)at * walk->size))
            return false;
        for (dim = memory->rank - 1; dim >= 0; dim--) {
            if (dim == walk->channel)
                continue;
            at += memory->strides[dim];
            if (++index[dim] < memory->shape[dim])
                break;
            at -= index[dim] * memory->strides[dim];
            index[dim] = 0;
        }
    } while (dim >= 0);
    return true;
}

static uint32_t count_units(const struct unit_walk *walk, test_element *test)
{
    uint32_t n = 0;

    for (int64_t i = 0; i < walk->memory->shape[walk->channel]; i++)
        n += all_of_unit(walk, i, test);
    return n;
}

static size_t float_size(enum dtype dtype)
{
    switch (dtype) {
    case DTYPE_FLOAT16:
    case DTYPE_BFLOAT16:
        return 2;
    case DTYPE_FLOAT32:
        return 4;
    case DTYPE_FLOAT64:
        return 8;
    default:
        return 0;
    }
}

struct units units_count(const struct memory *memory, const struct stats *stats)
{
    struct unit_walk walk = {.memory = memory,
                             .size = float_size(memory->dtype),
                             .channel = memory->rank == 3 ? 2 : 1,
                             .signs = stats->min < 0};
    double most = fmax(fabs(stats->min), fabs(stats->max));
    struct units units = {0};
    int64_t n;

    if (walk.size == 0 || memory->rank < 2 || memory->rank > RANK_MOST)
        return units;
    n = memory->shape[walk.channel];
    if (n < 1 || n > UNITS_MOST || stats->count < 2 * (uint64_t)n)
        return units;
    units.n = (uint32_t)n;
    if (stats->zeros > 0)
        units.dead = count_units(&walk, is_zero);
    if (walk.size >= 4 && most <= 1 && most >= 1 - NEAR)
        units.saturated = count_units(&walk, is_at_bound);
    return units;
}
