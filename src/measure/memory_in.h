/* memory_in.h - elements in memory, for the files that measure them. */
#ifndef MEASURE_MEMORY_IN_H
#define MEASURE_MEMORY_IN_H

#include "measure/memory.h"
#include "model/model.h"
#include "model/source.h"

#define MEMORY_RANK 255

/* Elements in memory, wrapped as the only tensor of a model, for elements_open(). */
struct memory_model {
    struct source source; /* first: a pointer to it is a pointer to the whole */
    struct model model;
    struct storage storage;
    struct tensor tensor;
    int64_t dims[2 * MEMORY_RANK];
    const void *at;
};

int memory_wrap(struct memory_model *wrapped, const struct memory *memory,
                struct err *err);

/* Are these numbers, contiguous in C order and usable in place? */
bool memory_plain(const struct memory *memory, uint64_t *ret_numel);

#endif
