/* sort.h - stable sort of ids by a comparison function. */
#ifndef ROWS_SORT_H
#define ROWS_SORT_H

#include <stdint.h>

#include "base/str.h"

/* Negative if `a` comes first, positive if `b` does, zero to keep their order. */
typedef int sort_compare(const void *about, uint32_t a, uint32_t b);

/* Sort ids[0 .. n) in O(n log n); `scratch` has room for n more. */
void sort_ids(uint32_t *ids, uint32_t n, uint32_t *scratch, sort_compare *compare,
              const void *about);

/* Natural order of names: "layer2" before "layer10". */
int sort_names(struct str a, struct str b);

#endif
