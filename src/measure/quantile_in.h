/* quantile_in.h - elements as unsigned integers in the same order. */
#ifndef MEASURE_QUANTILE_IN_H
#define MEASURE_QUANTILE_IN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/dtype.h"

struct keys {
    enum dtype dtype;
    unsigned bits;      /* of a key */
    bool finite[256];   /* types of codes: by code */
    uint8_t order[256]; /* the key of each code */
    double values[256]; /* the value of each key */
};

void keys_init(struct keys *keys, enum dtype dtype);

/* The keys of the finite elements among first to first + n; returns their number. `to`
 * has room for 2 * n. */
size_t keys_of(const struct keys *keys, const void *at, size_t first, size_t n,
               uint64_t *to);

/* The element with this key. */
double keys_value(const struct keys *keys, uint64_t key);

#endif
