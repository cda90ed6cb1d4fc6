/* blocks.h - a picture of a tensor in numbers: some of its elements are seen as a
 * matrix, which is cut into equal blocks; the root mean square of each is found in one
 * pass. Blocks of one element keep its sign. */
#ifndef MEASURE_BLOCKS_H
#define MEASURE_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/work.h"
#include "model/model.h"

/* Which elements, and how they are cut. The last blocks of a row or column may be
 * smaller. */
struct blocks_wanted {
    uint64_t first;                     /* element, in C order */
    uint64_t rows, columns;             /* of the matrix */
    uint64_t block_rows, block_columns; /* of a block; not 0 */
};

struct blocks {
    uint32_t rows, columns; /* of blocks */
    double *at; /* (rows, columns); NaN where one is among the elements, else infinity
                   where one is */
    double least, most; /* of the finite ones; NaN if there are none */
    bool has_sign;      /* a block is one element: it may be below zero */
};

/* See a whole tensor as a matrix: its first dimension down, all others across; one of a
 * single dimension is a row. */
void blocks_whole(struct blocks_wanted *wanted, const struct model *model,
                  const struct tensor *tensor);
/* Choose blocks so that at most so many are below and beside each other. */
void blocks_fit(struct blocks_wanted *wanted, uint32_t rows, uint32_t columns);

/* Complex elements count by their absolute value. ERR_UNSUPPORTED: they hold no
 * numbers, or cannot be read. */
int blocks_measure(const struct model *model, const struct tensor *tensor,
                   const struct blocks_wanted *wanted, struct arena *arena,
                   struct work *work, struct blocks *ret_blocks, struct err *err);

#endif
