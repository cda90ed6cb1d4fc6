/* value_grid.h - values of a tensor in rows and columns, with their indices:
 *
 *                  0       1       2
 *        0  │ -0.0413 -0.0039 -0.0560 →
 *        1  │  0.1060 -0.0584 -0.0717 →
 *
 * The last dimension of the slice that is not a single index runs across, the one
 * before it down. Of other dimensions only the first index is shown. */
#ifndef FACTS_VALUE_GRID_H
#define FACTS_VALUE_GRID_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "model/model.h"
#include "text/lines.h"

struct value_grid {
    const struct model *model;
    const struct tensor *tensor;
    struct str slice;   /* as typed; empty: everything */
    uint64_t left;      /* columns scrolled past */
    unsigned width;     /* in cells */
    uint32_t most_rows; /* maximum rows shown */

    /* Results. */
    uint64_t columns; /* shown */
    bool more;        /* more columns follow to the right */
};

/* Write the lines and the title: "values [0:5, 0:6] of 120×400". False: there are no
 * values, and the only line explains why. */
bool value_grid_lines(struct lines *to, struct buf *title, struct value_grid *grid);

#endif
