/* update.h - the change that an optimizer made to a parameter. The elements that a
 * spread would count (measure/spread.h: at most SPREAD_SAMPLE, those of
 * spread_places(), unless all are requested) are kept before the step and compared
 * after it, so a copy of the whole parameter is never needed. The result is a sample
 * unless the tensor is small. */
#ifndef MEASURE_UPDATE_H
#define MEASURE_UPDATE_H

#include "measure/memory.h"
#include "measure/spread.h"

/* The kept elements of one tensor; a zeroed struct holds none. It owns `values`. */
struct update {
    double *values; /* (n) */
    uint64_t n, of; /* `of`: elements of the whole tensor */
};

void update_release(struct update *update); /* it holds none again */
/* Keep the current elements. Fails with ERR_UNSUPPORTED for types that are not real
 * numbers, and with ERR_LIMIT without memory. */
int update_keep(struct update *update, const struct memory *memory,
                enum spread_choice choice, struct err *err);
/* A checksum of the kept elements and their order. */
uint64_t update_checksum(const struct update *update);

struct update_change {
    struct stats stats; /* of the differences: after less before */
    double ratio;       /* norm of the differences / norm of the elements before; NaN if
                           that is 0 */
};
/* Compare the same tensor with what was kept; its differences replace the kept
 * elements. Replaces what *ret_spread held. */
int update_measure(struct update *update, const struct memory *memory,
                   struct spread_counter *counter, struct spread *ret_spread,
                   struct update_change *ret_change, struct err *err);

#endif
