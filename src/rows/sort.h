/* sort.h - a stable order of numbers by what they stand for. */
#ifndef ROWS_SORT_H
#define ROWS_SORT_H

#include <stdint.h>

#include "base/str.h"

/* Below zero if `a` comes first, above if `b` does, zero if their order stays. */
typedef int sort_compare(const void *about, uint32_t a, uint32_t b);

/* Sort ids[0 .. n), in n log n; `scratch` has room for n more. */
void sort_ids(uint32_t *ids, uint32_t n, uint32_t *scratch, sort_compare *compare,
              const void *about);

/* Names as people count: "layer2" before "layer10". */
int sort_names(struct str a, struct str b);

#endif
