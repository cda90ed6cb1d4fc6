/* grid.h - the values of a tensor as lines of text:
 *
 *     [0, 0:5]  -0.0413  -0.0039  -0.0560  -0.0473   0.0020 …
 *     [1, 0:5]   0.1060  -0.0584  -0.0717  -0.2136  -0.1777 …
 *
 * All values of a grid share one format: four decimals, or %.3e when their range needs
 * it; integers are integers. */
#ifndef ROWS_GRID_H
#define ROWS_GRID_H

#include "base/buf.h"
#include "rows/slice.h"

/* Maximum number of values written as text. */
#define GRID_CELLS 10000u

/* The first values of a tensor, as `show` prints them by default: 2 rows of 5. */
int grid_first(struct slice *slice, const int64_t *shape, int rank, struct err *err);

/* The shared format of all cells, and one cell in that format. */
#define GRID_CELL 72 /* two reals of any size, and a sign between them */
const char *grid_format(const struct cells *cells);
void grid_cell(char to[GRID_CELL], const struct cells *cells, uint64_t i,
               const char *format);

/* Append the lines. `whole` is the tensor's shape: rows that extend beyond the slice
 * end in an ellipsis. `columns` is the width in cells, 0 for no limit: longer rows
 * wrap. */
void grid_text(struct buf *to, const struct slice *slice, const struct cells *cells,
               const int64_t *whole, unsigned columns, bool ascii);

#endif
