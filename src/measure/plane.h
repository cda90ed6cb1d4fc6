/* plane.h - a matrix of elements as a small picture that keeps signs: one pass cuts it
 * into equal cells and computes the mean of each, the number of non-finite elements,
 * and the means of |x| by row and by column of cells. */
#ifndef MEASURE_PLANE_H
#define MEASURE_PLANE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/work.h"
#include "model/model.h"

struct plane_wanted {
    uint64_t first;               /* element, in C order */
    uint64_t rows, columns;       /* of the matrix */
    uint32_t most;                /* maximum cells per side; not 0 */
    bool flip_rows, flip_columns; /* the last row or column comes first */
};

struct plane {
    uint32_t high, wide;              /* cells */
    uint64_t cell_rows, cell_columns; /* elements of a cell; the last may have fewer */
    double *means;                    /* (high, wide) of the finite elements */
    uint64_t *bad;                    /* (high, wide): number of non-finite elements */
    double *row_means, *column_means; /* of |x|: (high), (wide) */
    uint64_t count, nan, inf;         /* of all elements */
    double least, most;               /* of the finite ones; NaN if none */
    double mean_abs;                  /* likewise */
};

/* Complex elements count by absolute value, a packed pair by its mean. Means without a
 * finite element are NaN. In the arena. */
int plane_measure(struct plane *ret_plane, const struct model *model,
                  const struct tensor *tensor, const struct plane_wanted *wanted,
                  struct arena *arena, struct work *work, struct err *err);

#endif
