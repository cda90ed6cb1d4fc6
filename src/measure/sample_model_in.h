/* sample_model_in.h - for tests: a model of one tensor over bytes in memory. */
#ifndef MEASURE_SAMPLE_MODEL_IN_H
#define MEASURE_SAMPLE_MODEL_IN_H

#include "model/model.h"

struct sample_model {
    struct model model;
    struct tensor tensor;
    struct storage storage;
    struct storage_part part;
    struct source source;
    int64_t dims[2 * 16]; /* sizes, then strides */
    const uint8_t *bytes;
    uint64_t reads, bytes_read; /* requests to the source */
    uint64_t fails_from;        /* reads that reach beyond this fail; 0: none */
    bool in_memory;             /* the source gives its bytes directly */
};

/* A tensor of this shape over n bytes; strides NULL: C order. Borrows the bytes. */
void sample_init(struct sample_model *sample, enum dtype dtype, const void *bytes,
                 uint64_t n, const int64_t *shape, const int64_t *strides, int rank);

/* Let only the first `have` bytes (not 0, not all) be readable. */
void sample_cut(struct sample_model *sample, uint64_t have);

#endif
