/* memo.h - caches the points of series in steady columns (history_grid_steady) between
 * queries: as a run grows, only the last column is read again. */
#ifndef HISTORY_MEMO_H
#define HISTORY_MEMO_H

#include "history/grid.h"

struct history_memo;

struct history_memo *history_memo_new(struct history *history); /* NULL: no memory */
void history_memo_free(struct history_memo *memo);

/* Like history_grid_points(); valid until the next query. The grid must be complete:
 * made without `since`. */
int history_memo_points(struct history_memo *memo, const struct history_grid *grid,
                        uint32_t series, const struct history_point *const **ret_points,
                        struct err *err);

#endif
