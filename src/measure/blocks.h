/* blocks.h - the numbers behind a picture of a tensor: its elements are arranged as a
 * matrix and cut into equal blocks; one pass computes the root mean square of each.
 * Blocks of one element keep their sign. */
#ifndef MEASURE_BLOCKS_H
#define MEASURE_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/work.h"
#include "model/model.h"

/* Which elements, and how to cut them. The last blocks of a row or column may be
 * smaller. */
struct blocks_wanted {
    uint64_t first;                     /* index of the first element, in C order */
    uint64_t rows, columns;             /* of the matrix */
    uint64_t block_rows, block_columns; /* of a block; not 0 */
};

struct blocks {
    uint32_t rows, columns; /* of blocks */
    double *at;         /* (rows, columns); NaN or infinity if an element is (NaN takes
                           precedence) */
    double least, most; /* of the finite blocks; NaN if none */
    bool has_sign;      /* a block is one element and may be negative */
};

/* A whole tensor as a matrix: the first dimension down, the others across. A tensor of
 * one dimension is a row. */
void blocks_whole(struct blocks_wanted *wanted, const struct model *model,
                  const struct tensor *tensor);
/* Choose the size of blocks so that there are at most `rows` by `columns`. */
void blocks_fit(struct blocks_wanted *wanted, uint32_t rows, uint32_t columns);

/* Complex elements count by absolute value. ERR_UNSUPPORTED if the values are
 * unreadable or not numbers. */
int blocks_measure(const struct model *model, const struct tensor *tensor,
                   const struct blocks_wanted *wanted, struct arena *arena,
                   struct work *work, struct blocks *ret_blocks, struct err *err);

#endif
